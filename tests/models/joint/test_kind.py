"""The source words that target words belong to, and loss and measures of the network, by hand and by definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from xlate.align.links import Links
from xlate.config.model_schema import JointModelConfig
from xlate.jobs.train.joint import words_at
from xlate.models.joint.kind import affiliations
from xlate.models.joint.network import JointNetwork, noise_contrast
from xlate.text.vocabulary import EncodedText


@pytest.mark.parametrize(
    ("words", "links", "expected"),
    [
        (3, [(2, 0), (0, 1), (1, 2)], [2, 0, 1]),
        (1, [(0, 0), (2, 0), (5, 0)], [2]),
        (1, [(0, 0), (2, 0), (4, 0), (5, 0)], [2]),
        (4, [(1, 0), (3, 3)], [1, 1, 3, 3]),
        (3, [(1, 0), (3, 2)], [1, 3, 3]),
        (3, [(4, 1)], [4, 4, 4]),
        (2, [], [0, 0]),
        (0, [], []),
    ],
)
def test_words_belong_to_source_words(words: int, links: list[tuple[int, int]], expected: list[int]) -> None:
    """One link; the middle of several, rounded down; the nearest linked word, on the right of two; none."""
    assert affiliations(np.array([0, words]), Links.from_pairs([links])).tolist() == expected
    # Neighbouring sentences change nothing.
    around = Links.from_pairs([[(9, 0)], links, [(8, 0), (7, 1)]])
    assert affiliations(np.array([0, 1, 1 + words, 3 + words]), around).tolist() == [9, *expected, 8, 7]


def test_places_outside_of_sentences_hold_their_marks() -> None:
    text = EncodedText.from_ids([np.array([5, 6], np.int32), np.zeros(0, np.int32), np.array([7], np.int32)])
    rows, places = np.array([0, 0, 1, 2]), np.array([[-2, 0], [1, 2], [1, 2], [2, 3]])
    assert words_at(text, rows, places).tolist() == [[1, 5], [6, 2], [1, 2], [7, 2]]


def test_the_loss_is_that_of_telling_words_from_noise() -> None:
    torch.manual_seed(1)
    right_B, noise_BK = torch.randn(3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    expected = 0.0
    for right, row in zip(right_B.tolist(), noise_BK.tolist(), strict=True):
        expected -= math.log(1 / (1 + math.exp(-right))) / 3
        expected -= sum(math.log(1 - 1 / (1 + math.exp(-score))) for score in row) / 3
    assert float(noise_contrast(right_B, noise_BK)) == pytest.approx(expected, abs=1e-12)
    both = right_B.requires_grad_(), noise_BK.requires_grad_()
    assert torch.autograd.gradcheck(noise_contrast, both)


SHARE = torch.tensor([0.1, 0.2, 0.3, 0.3, 0.1], dtype=torch.float64)


def small_network() -> tuple[JointNetwork, torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    network = JointNetwork((6, 5), JointModelConfig(order=3, window=1, dimension=2, hidden=3), SHARE)
    return network.double(), torch.randint(0, 6, (4, 3)), torch.randint(0, 5, (4, 2))


def test_scores_are_compared_with_what_noise_makes_of_them() -> None:
    """A word's score minus ln of the expected number of times that it is drawn."""
    network, source, history = small_network()
    word, noise = torch.tensor([1, 0, 4, 4]), torch.tensor([2, 2, 4])
    scores = network(source, history) - (3 * SHARE).log()
    expected = noise_contrast(scores[range(4), word], scores[:, noise])
    assert float(network.contrast(source, history, word, noise).detach()) == pytest.approx(
        float(expected.detach()), abs=1e-12
    )


def test_before_training_words_are_as_frequent_as_in_the_text() -> None:
    network, source, history = small_network()
    torch.nn.init.zeros_(network.output.weight)
    perplexity, norm = network.measures(source, history, torch.tensor([1, 0, 4, 4]))
    assert perplexity == pytest.approx((0.2 * 0.1 * 0.1 * 0.1) ** (-1 / 4))
    assert norm == pytest.approx(0.0, abs=1e-7)

"""Losses over lists of candidates equal plain Python twins, also for empty lists, ties and single candidates."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from xlate.errors import InputError
from xlate.losses.expected_bleu import ExpectedBleu, ExpectedCorpusBleu
from xlate.losses.hinge import Hinge, Perceptron
from xlate.losses.local_softmax import LocalSoftmax
from xlate.losses.ramp import Ramp
from xlate.losses.softmax_margin import ConditionalLikelihood, SoftmaxMargin
from xlate.metrics.bleu import bleu_scores

One = list[tuple[float, float]]
Lists = list[One]
Twin = Callable[[One], float]
numbers = st.floats(-4, 4, allow_nan=False).map(lambda x: round(x, 3))
lists = st.lists(
    st.lists(st.tuples(numbers, st.sampled_from([0.0, 0.2, 0.5, 0.9])), max_size=4), min_size=1, max_size=4
)


def tensors(given: Lists) -> tuple[Tensor, Tensor, Tensor]:
    offsets = [0]
    for one in given:
        offsets.append(offsets[-1] + len(one))
    scores = torch.tensor([s for one in given for s, _ in one], dtype=torch.float64)
    gains = torch.tensor([g for one in given for _, g in one], dtype=torch.float64)
    return scores, gains, torch.tensor(offsets)


def logsumexp(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def ramp(good: float, bad: float) -> Twin:
    def loss(one: One) -> float:
        return max(s + bad * 2.0 * g for s, g in one) - max(s + good * 2.0 * g for s, g in one)

    return loss


def expected(one: One) -> float:
    total = logsumexp([1.7 * s for s, _ in one])
    return -sum(math.exp(1.7 * s - total) * g for s, g in one)


def best(one: One) -> tuple[float, float]:
    return max(one, key=lambda pair: pair[1])


def hinge(margin: float) -> Twin:
    def loss(one: One) -> float:
        own, gain = best(one)
        others = list(one)
        others.remove((own, gain))
        return max([0.0, *(s + margin * (gain - g) - own for s, g in others)])

    return loss


def softmax_margin(margin: float) -> Twin:
    def loss(one: One) -> float:
        own, gain = best(one)
        return logsumexp([s + margin * (gain - g) for s, g in one]) - own

    return loss


def local_softmax(one: One) -> float:
    """Eq. 7 with the sink of Table II, term by term; gains above 0 are those of true candidates."""
    against = math.exp(-1.5) + sum(math.exp(s) for s, g in one if not g)
    return -sum(math.log(math.exp(s) / (math.exp(s) + against)) for s, g in one if g)


CASES: dict[str, tuple[nn.Module, Twin]] = {
    "expected": (ExpectedBleu(1.7), expected),
    "likelihood": (ConditionalLikelihood(), softmax_margin(0.0)),
    "softmax margin": (SoftmaxMargin(margin=2.0), softmax_margin(2.0)),
    "hinge": (Hinge(margin=2.0), hinge(2.0)),
    "perceptron": (Perceptron(), hinge(0.0)),
    "local softmax": (LocalSoftmax(sink=-1.5), local_softmax),
    "ramp 1": (Ramp(2.0, 1), ramp(0.0, -1.0)),
    "ramp 2": (Ramp(2.0, 2), ramp(1.0, 0.0)),
    "ramp 3": (Ramp(2.0, 3), ramp(1.0, -1.0)),
}


@pytest.mark.parametrize(("loss", "twin"), CASES.values(), ids=CASES)
@settings(max_examples=40, deadline=None)
@given(given=lists)
def test_loss_is_its_definition(loss: nn.Module, twin: Twin, given: Lists) -> None:
    assert float(loss(*tensors(given))) == pytest.approx(sum(twin(one) for one in given if one), abs=1e-9)


def test_expected_corpus_bleu() -> None:
    """With one hypothesis a list it is BLEU, whether the text is shorter than its reference or longer."""
    scores = torch.tensor([0.3, -0.1, 0.7], dtype=torch.float64)
    for reference in (10, 3):
        statistics = torch.tensor(
            [[9, reference, 8, 5, 3, 2, 9, 8, 7, 6], [5, 4, 3, 2, 1, 1, 5, 4, 3, 2], [6, 7, 6, 4, 2, 1, 6, 5, 4, 3]],
            dtype=torch.float64,
        )
        single = ExpectedCorpusBleu()(scores, statistics, torch.tensor([0, 1, 2, 3]))
        assert -100 / 3 * float(single) == pytest.approx(float(bleu_scores(statistics.numpy().sum(0)[None])[0]))
    nothing = torch.zeros(3, 10, dtype=torch.float64)
    assert float(ExpectedCorpusBleu()(scores, nothing, torch.tensor([0, 2, 2, 3]))) == 0.0


def test_kinds_of_ramp() -> None:
    with pytest.raises(InputError, match="ramp"):
        Ramp(kind=4)

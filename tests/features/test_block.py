"""The float costs of a block: by hand on a language model of seven n-grams."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.phrases.small_corpora import encoded, phrase_of, table_of
from xlate.features.bigrams import feature_keys, frequent_keys
from xlate.features.block import FLOATS, block_arrays
from xlate.kernels.features.blocks import Before, Placed, block_costs
from xlate.kernels.memory import find_all
from xlate.kernels.pairs import NEUTRAL, RIGHT
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks
from xlate.text.vocabulary import Vocabulary

ARPA = """\
\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-2.0\t<unk>
-99\t<s>\t-0.5
-1.0\t</s>
-0.7\tthe\t-0.3
-0.9\thouse\t-0.1

\\2-grams:
-0.2\t<s> the
-0.4\tthe house

\\end\\
"""
DAS, HAUS, TIER = 3, 4, 5
HOUSE, THE, CAT = 3, 4, 5
TARGET = Vocabulary(["house", "the", "cat"])


@pytest.fixture
def lm(tmp_path) -> NgramModel:
    (tmp_path / "tiny.arpa").write_text(ARPA)
    return NgramModel.from_arpa(read_arpa(tmp_path / "tiny.arpa"))


@pytest.fixture
def blocks() -> BlockSet:
    """das|the twice, haus|house once on its right and once on its left, das haus|the house once."""
    table = table_of([([DAS], [THE]), ([HAUS], [HOUSE]), ([DAS, HAUS], [THE, HOUSE]), ([TIER], [CAT])])
    sides = encoded([[DAS, HAUS], [HAUS, DAS]]), encoded([[THE, HOUSE]] * 2)
    matches = match_blocks(table, *sides)
    return BlockSet.count(table, matches, collect_events(matches))


def costs(blocks, lm, block, orientation, state):
    """The five costs by name, and the state behind the block."""
    numbers = {phrase_of(blocks.table, b): b for b in range(len(blocks))}
    keys_F = frequent_keys(blocks, "BB", 0)
    out_5 = np.full(5, np.nan, dtype=np.float32)
    arrays = block_arrays(blocks, lm, TARGET, keys_F, smoothing=0.5)
    after = block_costs(arrays, lm.arrays, Before(-1, 0, state), Placed(numbers[block], 0, orientation), out_5)
    return dict(zip(FLOATS, out_5.tolist(), strict=True)), after


def log10(value: float) -> float:
    """A log10 figure of the ARPA text as a natural one."""
    return value * math.log(10)


def test_a_block_at_the_beginning_of_a_sentence(blocks, lm):
    found, after = costs(blocks, lm, ((DAS, HAUS), (THE, HOUSE)), NEUTRAL, lm.begin_state)
    # N(b) is 1 of 5 matches; das and haus are each always the and house in the blocks of single words.
    expected = {
        "unigram": math.log(5),
        "orientation": 0.0,
        "lm_first": log10(0.2),
        "lm_rest": log10(0.4),
        "lexical": 0.0,
    }
    assert found == pytest.approx(expected, rel=1e-6)
    assert after == lm.state_of([lm.vocabulary.id("house")])


def test_the_first_word_backs_off_and_the_rest_does_not(blocks, lm):
    state = lm.state_of([lm.vocabulary.id("house")])
    found, _ = costs(blocks, lm, ((DAS, HAUS), (THE, HOUSE)), RIGHT, state)
    assert found["lm_first"] == pytest.approx(log10(0.1 + 0.7), rel=1e-6)
    assert found["lm_rest"] == pytest.approx(log10(0.4), rel=1e-6)
    assert found["orientation"] == pytest.approx(math.log(2), rel=1e-6)


def test_a_block_never_matched_with_a_word_that_the_language_model_lacks(blocks, lm):
    found, after = costs(blocks, lm, ((TIER,), (CAT,)), RIGHT, lm.begin_state)
    expected = {
        "unigram": math.log(5 / 0.5),
        "orientation": math.log(2),
        "lm_first": log10(0.5 + 2.0),
        "lm_rest": 0.0,
        "lexical": -math.log(1e-7),
    }
    assert found == pytest.approx(expected, rel=1e-6)
    assert after == lm.empty_state


def test_bigram_features_are_found_by_their_place(blocks, lm):
    keys_F = feature_keys("BB", np.array([0, 2, 2]), np.array([1, 0, 3]))
    arrays = block_arrays(blocks, lm, TARGET, keys_F, smoothing=0.5)
    asked = np.append(keys_F[::-1], feature_keys("BB", np.array([1]), np.array([0])))
    assert find_all(arrays.bigrams.bigrams, asked).tolist() == [2, 1, 0, -1]

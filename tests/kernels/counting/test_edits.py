"""Edits and reference lengths equal those of sacrebleu's TER, whose Python is the definition."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER

from tests.phrases.small_corpora import encoded
from xlate.arrays.ragged import offsets_of
from xlate.errors import InputError
from xlate.kernels.counting.edits import edit_statistics
from xlate.metrics.score import edit_rows, measure_sentences
from xlate.text.lines import read_lines

Words = list[int]


def edits(lists: list[list[Words]], references: list[list[Words]]) -> list[list[float]]:
    hypotheses = encoded([one for some in lists for one in some])
    given = encoded([one for some in references for one in some])
    sides = hypotheses.ids_T, hypotheses.offsets_S1, offsets_of([len(some) for some in lists])
    found = edit_statistics(*sides, given.ids_T, given.offsets_S1, offsets_of([len(some) for some in references]))
    return found.tolist()  # type: ignore[no-any-return]


def expected(hypothesis: Words, references: list[Words]) -> list[float]:
    each = [translation_edit_rate([str(w) for w in hypothesis], [str(w) for w in one]) for one in references]
    return [min(count for count, _ in each), sum(length for _, length in each) / len(each)]


# Few words, so that they repeat and shifts tie.
SENTENCE = st.lists(st.integers(0, 4), max_size=12)
ITEM = st.tuples(st.lists(SENTENCE, max_size=3), st.lists(SENTENCE, min_size=1, max_size=3))


@given(st.lists(ITEM, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_equal_to_sacrebleu(items: list[tuple[list[Words], list[Words]]]) -> None:
    found = edits([hypotheses for hypotheses, _ in items], [references for _, references in items])
    assert found == [expected(one, references) for hypotheses, references in items for one in hypotheses]


@pytest.mark.parametrize(
    ("words", "length", "other"),
    # Longer than the band, shifts of more than 10 words and 50 places, more than 1,000 shifts, and a wider band.
    [(400, 90, 90), (2, 30, 30), (40, 65, 60), (9, 3, 400), (9, 400, 3)],
)
def test_limits_are_those_of_sacrebleu(words: int, length: int, other: int) -> None:
    drawn = random.Random(words)
    hypothesis = [drawn.randrange(words) for _ in range(length)]
    moved = hypothesis[60:] + hypothesis[12:60] + hypothesis[:12]
    references = [moved[:other], [drawn.randrange(words) for _ in range(other)]]
    for reference in references:
        assert edits([[hypothesis]], [[reference]]) == [expected(hypothesis, [reference])]


def test_words_are_compared_without_case_and_at_any_white_space() -> None:
    lines, references = ["The\u00a0CAT  sat", "ΟΔΟΣ b", ""], ["cat the sat ", "οδος\tB", "x"]
    found = measure_sentences("ter", lines, [references])
    theirs = TER()._extract_corpus_statistics(lines, [references])
    assert found.stats.values_SK.tolist() == theirs == [[1, 3], [0, 2], [1, 1]]


def test_a_long_line_is_refused() -> None:
    short, long = ["a", "a"], ["a", "a " * 2001]
    for lines, references in ((short, long), (long, short)):
        with pytest.raises(InputError, match="2,001 words in line 2"):
            edit_rows(lines, np.arange(3), [[line] for line in references])


@pytest.mark.corpus
def test_equal_to_sacrebleu_on_a_system(shared_data: Path) -> None:
    folder = shared_data / "eval-wmt10"
    lines, references = (read_lines(folder / name)[:300] for name in ("hyps.baseline.opt0.gz", "ref.lc.tok.en.gz"))
    theirs = TER()._extract_corpus_statistics(lines, [references])
    assert measure_sentences("ter", lines, [references]).stats.values_SK.tolist() == theirs

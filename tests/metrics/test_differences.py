"""Buckets by length and frequency, and n-grams gained and lost, by hand and by definition."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.metrics.differences import frequency_buckets, length_buckets, ngram_changes
from xlate.metrics.score import evaluate

LINES = st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=3, max_size=3)


def words(*lines: str) -> list[list[str]]:
    return [line.split() for line in lines]


def test_lengths_by_hand() -> None:
    references = ["a b c d e", "a b c d e f", " ".join("abcdefghijk"), "a b c d"]
    ours, theirs = references, ["a b c d x", *references[1:]]
    stats = [
        evaluate(lines, [references], tokenize="none", bootstrap=0, measures=["bleu"]).stats["bleu"]
        for lines in (ours, theirs)
    ]
    found = length_buckets(stats[0], stats[1], [line.split() for line in references])
    assert [(bucket.name, bucket.size) for bucket in found] == [("1-5", 2), ("6-10", 1), ("11-15", 1)]
    assert [bucket.ours for bucket in found] == pytest.approx([100, 100, 100])
    assert found[0].theirs < 100
    assert [bucket.theirs for bucket in found[1:]] == pytest.approx([100, 100])


def test_frequencies_by_hand() -> None:
    references, ours = words("the cat sat", "the the rare"), words("the cat cat", "the rare")
    theirs = words("the", "the the the")
    found = frequency_buckets(ours, theirs, references, {"the": 1500, "cat": 3, "sat": 4})
    assert [(bucket.name, bucket.size) for bucket in found] == [("0", 1), ("2-4", 2), ("1000 or more", 3)]
    # cat is right once of two given and two wanted (cat, sat); two of three thes; the other system has one too many.
    assert [bucket.ours for bucket in found] == pytest.approx([100, 100 * 2 / 4, 100 * 4 / 5])
    assert [bucket.theirs for bucket in found] == pytest.approx([0, 0, 100 * 6 / 7])


def test_ngrams_by_hand() -> None:
    references = [words("a red house"), words("a red boat", "the boat")]
    gained, lost = ngram_changes(words("a red house", "a boat"), words("a house", "the boat"), references, 10)
    # What `a red house` explains, `a` and `red house` among it, is left out.
    assert [(" ".join(c.ngram), c.ours, c.theirs, c.wanted) for c in gained] == [("a red house", 1, 0, 1)]
    assert [" ".join(c.ngram) for c in lost] == ["the boat"]


@settings(max_examples=30)
@given(LINES, LINES, LINES)
def test_differences_of_single_words_are_those_of_clipped_counts(
    ours: list[list[str]], theirs: list[list[str]], references: list[list[str]]
) -> None:
    gained, lost = ngram_changes(ours, theirs, [[line] for line in references], 1000)
    for change in (*gained, *lost):
        if len(change.ngram) == 1:
            word = change.ngram[0]
            counts = [
                sum(min(Counter(line)[word], Counter(wanted)[word]) for line, wanted in zip(lines, references))
                for lines in (ours, theirs)
            ]
            assert (change.ours, change.theirs) == tuple(counts)
    # Systems the other way round gain what was lost.
    back = ngram_changes(theirs, ours, [[line] for line in references], 1000)
    assert [c.ngram for c in back[0]] == [c.ngram for c in lost]
    assert [c.ngram for c in back[1]] == [c.ngram for c in gained]

"""Where two systems differ: by sentence length, by how often words occur in the training text, and in n-grams.

Letters of shapes: S sentences.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xlate.metrics.bleu import ORDER
from xlate.metrics.statistics import Ngram, Stats, ngram_counts

# The lowest length and the lowest frequency in each bucket.
LENGTHS = (1, 6, 11, 16, 21, 31, 41, 61)
FREQUENCIES = (0, 1, 2, 5, 10, 100, 1000)

Words = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Bucket:
    """The scores of two systems on a part of the text.

    Attributes:
        name: the range, such as `11-15`.
        size: the number of sentences, or of words in the references.
        ours, theirs: the scores, 0 to 100.
    """

    name: str
    size: int
    ours: float
    theirs: float


def length_buckets(ours: Stats, theirs: Stats, references_S: Words) -> list[Bucket]:
    """The scores by length of the sentence's reference in words; empty buckets are left out."""
    places_S = np.array([bisect(LENGTHS, max(1, len(words))) - 1 for words in references_S])
    found = []
    for place in np.unique(places_S).tolist():
        rows = np.flatnonzero(places_S == place)
        found.append(Bucket(_name(LENGTHS, place), len(rows), ours[rows].score(), theirs[rows].score()))
    return found


def frequency_buckets(ours_S: Words, theirs_S: Words, references_S: Words, counts: Mapping[str, int]) -> list[Bucket]:
    """F1 of words, by how often they occur in a training text.

    A word of an output is right as often as the reference of its sentence has it. Buckets without a word of the
    references are left out.

    Args:
        counts: how often each word occurs in the training text; words not listed do not occur.
    """
    wanted = _sizes(references_S, counts)
    scores = [_scores(lines_S, references_S, counts, wanted) for lines_S in (ours_S, theirs_S)]
    return [
        Bucket(_name(FREQUENCIES, place), wanted[place], scores[0][place], scores[1][place])
        for place in range(len(FREQUENCIES))
        if wanted[place]
    ]


def _scores(lines_S: Words, references_S: Words, counts: Mapping[str, int], wanted: Counter[int]) -> list[float]:
    matched_S = [
        list((Counter(line) & Counter(reference)).elements())
        for line, reference in zip(lines_S, references_S, strict=True)
    ]
    right, given = _sizes(matched_S, counts), _sizes(lines_S, counts)
    return [200.0 * right[place] / max(1, given[place] + wanted[place]) for place in range(len(FREQUENCIES))]


def _sizes(lines_S: Words, counts: Mapping[str, int]) -> Counter[int]:
    """The number of words in each bucket."""
    words = Counter(word for line in lines_S for word in line)
    sizes: Counter[int] = Counter()
    for word, times in words.items():
        sizes[bisect(FREQUENCIES, counts.get(word, 0)) - 1] += times
    return sizes


def _name(least: Sequence[int], place: int) -> str:
    if place == len(least) - 1:
        return f"{least[place]} or more"
    last = least[place + 1] - 1
    return str(last) if last == least[place] else f"{least[place]}-{last}"


@dataclass(frozen=True)
class NgramChange:
    """How often two systems match an n-gram of the references, within sentences.

    Attributes:
        wanted: how often it occurs in the references (with several per sentence, the most in one of them).
    """

    ngram: Ngram
    ours: int
    theirs: int
    wanted: int

    @property
    def difference(self) -> int:
        """How many more matches the first system has."""
        return self.ours - self.theirs


def ngram_changes(
    ours_S: Words, theirs_S: Words, references_S: Sequence[Words], top: int
) -> tuple[list[NgramChange], list[NgramChange]]:
    """The n-grams of 1 to 4 words that the first system gains over the second, and those that it loses.

    Matches are clipped within sentences as for BLEU. An n-gram is left out when a longer one that contains it has the
    same difference: `the red` is left out when `the red house` differs as much.

    Args:
        references_S: the references of each sentence.

    Returns:
        At most `top` of each kind, largest differences first and longer n-grams first among equals.
    """
    ours, theirs, wanted = Counter[Ngram](), Counter[Ngram](), Counter[Ngram]()
    for one, other, references in zip(ours_S, theirs_S, references_S, strict=True):
        most = Counter[Ngram]()
        for reference in references:
            most |= ngram_counts(reference, ORDER)
        wanted.update(most)
        ours.update(ngram_counts(one, ORDER) & most)
        theirs.update(ngram_counts(other, ORDER) & most)
    found = {
        ngram: NgramChange(ngram, ours[ngram], theirs[ngram], wanted[ngram])
        for ngram in ours.keys() | theirs.keys()
        if ours[ngram] != theirs[ngram]
    }
    explained = {
        shorter
        for ngram, change in found.items()
        for shorter in (ngram[1:], ngram[:-1])
        if shorter in found and found[shorter].difference == change.difference
    }
    kept = [change for ngram, change in found.items() if ngram not in explained]
    kept.sort(key=lambda change: (-abs(change.difference), -len(change.ngram), change.ngram))
    gained = [change for change in kept if change.difference > 0][:top]
    return gained, [change for change in kept if change.difference < 0][:top]

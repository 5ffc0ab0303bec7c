"""How far the translation of a source phrase stands from its place, as one of a few classes (Kolachina et al. 2010).

A source word at j of m, whose translation stands at i of n, both counted from 0, is at (section 3.1.2, Eq. 6)

    r = round(i · m / n - j)

as i · m / n is where the translation would stand if the target sentence were as long as the source sentence. Of a
phrase j is its first word, and i the first word linked to it. Distances beyond `reach` are the last class of their
side; the class behind all is INF of the paper: a word without links.

A decoder that has translated c source words before it places a phrase puts it at r = c - j.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xlate.align.links import Links
from xlate.array_types import AnyInts, Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.features.index import Numbers
from xlate.text.encoded import EncodedText

UNLINKED = -1
# How many occurrences the distances of all phrases count for, beside those of the phrase itself.
SMOOTHING = 2.0


@dataclass(frozen=True)
class Distances:
    """The R = 2 · reach + 2 classes: -reach, …, 0, …, +reach, nowhere."""

    reach: int

    def __len__(self) -> int:
        """The number of classes R."""
        return 2 * self.reach + 2

    @property
    def nowhere(self) -> int:
        """The class of words without links."""
        return 2 * self.reach + 1

    def classes(self, distance_N: AnyInts) -> Ints:
        """The classes of distances, (N,).

        >>> Distances(2).classes(np.array([-7, -1, 0, 2, 3])).tolist()
        [0, 1, 2, 4, 4]
        """
        return np.clip(np.asarray(distance_N, np.int64), -self.reach, self.reach) + self.reach

    def names(self, classes: Numbers) -> Iterator[str]:
        """What classes are called: `-2`, `0`, `+1`, `nowhere`; the last ones of each side `-6…`, `+6…`."""
        for number in classes.tolist():
            if number == self.nowhere:
                yield "nowhere"
            else:
                r = number - self.reach
                yield (f"{r:+d}" if r else "0") + ("…" if abs(r) == self.reach else "")

    def log_shares(self, count_PR: AnyInts) -> Floats:
        """ln p(r | source phrase), (P, R): counts of each phrase, smoothed with those of all."""
        total_R = count_PR.sum(axis=0) + 1.0
        share_R = SMOOTHING * total_R / total_R.sum()
        return np.asarray(np.log(count_PR + share_R) - np.log(count_PR.sum(axis=1, keepdims=True) + SMOOTHING))


def first_links(source: EncodedText, links: Links) -> Ints:
    """The first target word that each of T source tokens is linked to, `UNLINKED` of a token without links; (T,)."""
    first_T = np.full(len(source.ids_T), np.iinfo(np.int64).max)
    at_L = source.offsets_S1[row_numbers(links.offsets_S1)] + links.source_L
    np.minimum.at(first_T, at_L, links.target_L.astype(np.int64))
    return np.where(first_T == np.iinfo(np.int64).max, UNLINKED, first_T)


def distance_classes(
    distances: Distances,
    first_T: Ints,
    texts: tuple[EncodedText, EncodedText],
    sentence_I: AnyInts,
    start_I: AnyInts,
    end_I: AnyInts,
) -> Ints:
    """The class of each of I source spans of a text, (I,).

    Args:
        distances: the classes.
        first_T: see `first_links`.
        texts: source and target sentences.
        sentence_I, start_I, end_I: the half-open spans; none is empty.
    """
    source, target = texts
    begin_I = source.offsets_S1[sentence_I]
    first_I = np.full(len(start_I), np.iinfo(np.int64).max)
    for word in range(int((end_I - start_I).max(initial=0))):
        at_I = np.minimum(begin_I + start_I + word, begin_I + end_I - 1)
        here_I = first_T[at_I]
        first_I = np.where(here_I == UNLINKED, first_I, np.minimum(first_I, here_I))
    linked_I = first_I < np.iinfo(np.int64).max
    lengths = [np.diff(text.offsets_S1)[sentence_I] for text in (source, target)]
    place_I = np.where(linked_I, first_I, 0) * lengths[0] / np.maximum(lengths[1], 1)
    r_I = np.floor(place_I - start_I + 0.5).astype(np.int64)
    return np.where(linked_I, distances.classes(r_I), distances.nowhere)

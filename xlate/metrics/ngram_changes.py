"""N-grams that one system gets right and another does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

ORDER = 4

Words = Sequence[Sequence[str]]


@dataclass(frozen=True)
class NgramChange:
    """How often an n-gram of the references is matched by two systems, within sentences.

    Attributes:
        wanted: how often it stands in the references (of several, the most in one of a sentence).
    """

    ngram: tuple[str, ...]
    ours: int
    theirs: int
    wanted: int

    @property
    def difference(self) -> int:
        """How many matches more the first system has."""
        return self.ours - self.theirs


def ngram_changes(
    ours_S: Words, theirs_S: Words, references_S: Sequence[Words], top: int
) -> tuple[list[NgramChange], list[NgramChange]]:
    """The n-grams of 1 to 4 words that the first system gains over the second, and those that it loses.

    Matches are clipped within sentences as for BLEU. An n-gram is left out when a longer one around it explains all of
    its difference: `the red`, when `the red house` has as much.

    Args:
        references_S: the references of each sentence.

    Returns:
        At most `top` of each kind, those of the largest differences first, longer ones first among equals.
    """
    ours, theirs, wanted = Counter[tuple[str, ...]](), Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for one, other, references in zip(ours_S, theirs_S, references_S, strict=True):
        most = Counter[tuple[str, ...]]()
        for reference in references:
            most |= _ngrams(reference)
        wanted.update(most)
        ours.update(_ngrams(one) & most)
        theirs.update(_ngrams(other) & most)
    found = {
        ngram: NgramChange(ngram, ours[ngram], theirs[ngram], wanted[ngram])
        for ngram in ours.keys() | theirs.keys()
        if ours[ngram] != theirs[ngram]
    }
    kept = sorted(_unexplained(found), key=lambda change: (-abs(change.difference), -len(change.ngram), change.ngram))
    gained = [change for change in kept if change.difference > 0][:top]
    return gained, [change for change in kept if change.difference < 0][:top]


def _unexplained(found: dict[tuple[str, ...], NgramChange]) -> list[NgramChange]:
    explained = set()
    for ngram, change in found.items():
        for shorter in (ngram[1:], ngram[:-1]):
            if shorter in found and found[shorter].difference == change.difference:
                explained.add(shorter)
    return [change for ngram, change in found.items() if ngram not in explained]


def _ngrams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for n in range(1, ORDER + 1) for i in range(len(words) - n + 1))

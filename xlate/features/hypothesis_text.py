"""Sparse features of a hypothesis's text alone, for lists of any system: n-grams, classes, word pairs, length.

They need no derivation, so they fit the output of neural systems too. A feature is its name: `ngram=a b`,
`class=3 7`, `pair=haus|house`, `length=+1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# Differences in length beyond this count as this.
FURTHEST = 8
# For each target word the source words it may be linked to, and their probabilities.
Lexicon = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class TextTemplates:
    """Which features.

    Attributes:
        ngrams: target n-grams up to this order; 0 for none.
        length: the number of words, less that of the source, or of the list's first hypothesis without a source.
        class_ngrams: the same as `ngrams` of word classes.
        classes: class of each target word; words without one have `?`.
        lexicon: when given, each target word with the most probable word of the source.
    """

    ngrams: int = 2
    length: bool = True
    class_ngrams: int = 0
    classes: Mapping[str, str] = field(default_factory=dict)
    lexicon: Lexicon | None = None

    def features(self, words: Sequence[str], pairs: SourcePairs | None, length: int) -> Iterator[str]:
        """The features of one hypothesis, one for each time it has them.

        Args:
            words: the hypothesis. pairs: `pairs_of` its source. length: what its own is compared with.
        """
        yield from _grams("ngram", words, self.ngrams)
        if self.class_ngrams:
            yield from _grams("class", [self.classes.get(word, "?") for word in words], self.class_ngrams)
        if self.length:
            yield f"length={max(-FURTHEST, min(FURTHEST, len(words) - length)):+d}"
        if pairs is not None:
            yield from filter(None, map(pairs.__getitem__, words))

    def pairs_of(self, source: Sequence[str] | None) -> SourcePairs | None:
        """The word pairs with a source, for all of its hypotheses; None without a lexicon or a source."""
        return None if self.lexicon is None or not source else SourcePairs(self.lexicon, source)


class SourcePairs(dict[str, str]):
    """The pair feature of each target word with a word of one source, empty where there is none.

    A word is looked for once: the hypotheses of a list have most of theirs in common.
    """

    def __init__(self, lexicon: Lexicon, source: Sequence[str]) -> None:
        self._lexicon, self._source = lexicon, dict.fromkeys(source)

    def __missing__(self, word: str) -> str:
        """Looks for the likeliest word of the source, the first of several."""
        row = self._lexicon.get(word, {})
        linked = [one for one in self._source if row.get(one, 0.0) > 0.0]
        self[word] = name = f"pair={max(linked, key=row.__getitem__)}|{word}" if linked else ""
        return name


def _grams(kind: str, words: Sequence[str], order: int) -> Iterator[str]:
    ends = ["<s>", *words, "</s>"]
    for n in range(1, order + 1):
        # Single words without the ends, which every hypothesis has.
        row = words if n == 1 else ends
        for start in range(len(row) - n + 1):
            yield f"{kind}={' '.join(row[start : start + n])}"

"""Where sentences are cut that have more words than a search is given at once.

Estimates of what is left to translate are made for every span of a sentence, in time that grows with the cube of its
words: from a thousand words on that is most of the work, and 5,000 words take minutes. So a sentence of more than
`max_words` words is cut, from left to right, each piece as long as it may be: behind the last end of a sentence, else
behind the last mark inside one, else, where there is no mark, at the limit. Marks that are words of their own come
first, then those at the end of a word.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_WORDS = 400
ENDS = frozenset(".!?…。！？।؟۔")
INNER = frozenset(",;:–—،؛、，；：")
CLOSING = frozenset({'"', "'", "”", "’", "»", "“", ")", "]", "&quot;", "&apos;", "&#93;"})


def cut(words: Sequence[str], most: int) -> list[tuple[int, int]]:
    """The half-open spans of the pieces of a sentence, each of at most so many words; one when they are not more."""
    spans, start = [], 0
    while len(words) - start > most:
        end = start + _place(words[start : start + most])
        spans.append((start, end))
        start = end
    return [*spans, (start, len(words))]


def _place(words: Sequence[str]) -> int:
    """Behind which word to cut, counted from 1."""
    for whole in (True, False):
        for marks in (ENDS, INNER):
            for at in range(len(words), 0, -1):
                word = words[at - 1]
                if word[-1:] in marks and (not whole or set(word) <= marks):
                    return _behind_closing(words, at)
    return len(words)


def _behind_closing(words: Sequence[str], at: int) -> int:
    while at < len(words) and words[at] in CLOSING:
        at += 1
    return at

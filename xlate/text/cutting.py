"""Where a sentence is cut that is too long to be searched at once.

The search estimates the cost of every span of a sentence, in time that grows with the cube of its words: from a
thousand words on that is most of the work, and 5,000 words take minutes. So a sentence of more than `max_words` words
is cut from left to right into pieces as long as may be. A cut is made behind the last mark that ends a sentence; where
there is none, behind the last mark inside one, such as a comma; where there is none either, at the limit. Marks that
are words of their own are preferred to marks at the end of a word.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_WORDS = 400
ENDS = frozenset(".!?…。！？।؟۔")
INNER = frozenset(",;:–—،؛、，；：")
CLOSING = frozenset({'"', "'", "”", "’", "»", "“", ")", "]", "&quot;", "&apos;", "&#93;"})


def cut(words: Sequence[str], most: int) -> list[tuple[int, int]]:
    """The half-open spans of the pieces of a sentence, each of at most `most` words; a short sentence is one piece."""
    spans, start = [], 0
    while len(words) - start > most:
        end = start + _place(words[start : start + most])
        spans.append((start, end))
        start = end
    return [*spans, (start, len(words))]


def _place(words: Sequence[str]) -> int:
    """The number of words before the cut."""
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

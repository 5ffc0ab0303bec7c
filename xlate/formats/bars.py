"""Escapes the bar `|` in words, since Moses's text formats use it between fields and factors."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LITERAL = re.compile(r"&((?:amp;)*)#124;")


def escape_bars(word: str) -> str:
    """Writes `|` as `&#124;`. A text that would be read back as a bar gets one more `amp;`, so that `unescape_bars`
    restores every word.

    Example:
        >>> escape_bars("|||"), escape_bars("&#124;"), escape_bars("a&b")
        ('&#124;&#124;&#124;', '&amp;#124;', 'a&b')
    """
    return _LITERAL.sub(r"&amp;\1#124;", word).replace("|", "&#124;")


def unescape_bars(word: str) -> str:
    """Reads what `escape_bars` wrote; words without `#124;` stay as they are."""
    if "#124;" not in word:
        return word
    return _LITERAL.sub(lambda match: f"&{match[1][4:]}#124;" if match[1] else "|", word)


def needs_escape(words: Iterable[str]) -> bool:
    """Whether any of the words holds a bar."""
    return any("|" in word for word in words)

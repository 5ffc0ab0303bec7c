"""Lines to tokens and back, with sacremoses; and where a sentence is cut that is too long to be searched at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from html import unescape
from typing import Any

from xlate.progress import track

# Blanks of all kinds, control characters and zero-width marks: never part of a word.
BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u00a0\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+")
# Joiners shape the letters beside them, in Persian or Malayalam: part of a word, but not a word by themselves.
JOINERS = "\u200c\u200d"
# What Moses's scripts write in tokens in place of the signs & | < > ' " [ ], and of a dash within a word.
ESCAPED = ("&amp;", "&#124;", "&lt;", "&gt;", "&apos;", "&quot;", "&#91;", "&#93;")
DASH = "@-@"
JOINED_MARK = re.compile(r"[^\W\d_][.,!?;:]$")


class Preprocessor:
    """Turns lines of one language into tokens and tokens into lines.

    A token that this makes is never empty and holds no blank of any kind. NBSP, zero-width spaces, bare CR and U+2028
    separate tokens like a blank does; they never end a line. Joiners (U+200C, U+200D) stay inside their words. Of text
    that is tokenised already, whatever stands between blanks (U+0020), tabs and CRs is a token.

    Example:
        >>> english = Preprocessor("en")
        >>> english.tokens("Don't stop, he said.")
        ['Don', "'t", 'stop', ',', 'he', 'said', '.']
        >>> english.text(['Don', "'t", 'stop', ',', 'he', 'said', '.'])
        "Don't stop, he said."
    """

    def __init__(
        self,
        language: str,
        *,
        tokenize: bool = True,
        normalize: bool = True,
        escape: bool = False,
        dashes: bool = False,
    ) -> None:
        """Sets up a language by its two-letter code; a language without rules of its own gets the general rules.

        Args:
            language: its rules for abbreviations and apostrophes are used.
            tokenize: false splits only at blanks, tabs and CRs, for text that is tokenised already.
            normalize: whether typographic punctuation is made plain before tokenising.
            escape: whether signs in tokens are written as Moses's scripts write them, `&apos;s`; text never has these.
            dashes: whether a dash within a word is a token, `@-@`, as with Moses's `-a`.
        """
        self.language = language
        self._tokenize = tokenize
        self._normalize = normalize
        self._escape = escape
        self._dashes = dashes

    # Importing sacremoses compiles the letters of all languages, which takes longer than opening a model; text that is
    # tokenised already does not need it.
    @cached_property
    def _tokenizer(self) -> Any:
        from sacremoses import MosesTokenizer

        tokenizer = MosesTokenizer(lang=self.language)
        letters = tokenizer.IsAlnum + JOINERS
        tokenizer.PAD_NOT_ISALNUM = re.compile(rf"([^{letters}\s\.'\`\,\-])"), r" \1 "
        return tokenizer

    @cached_property
    def _detokenizer(self) -> Any:
        return _detokenizer(self.language)

    @cached_property
    def _normalizer(self) -> Any:
        from sacremoses import MosesPunctNormalizer

        return MosesPunctNormalizer(lang=self.language)

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line; none for a line of blanks."""
        if not self._tokenize:
            return between_blanks(line)
        text = BLANKS.sub(" ", line).strip()
        if self._normalize:
            text = self._normalizer.normalize(text)
        if not text:
            return []
        tokens: list[str] = self._tokenizer.tokenize(text, aggressive_dash_splits=self._dashes, escape=self._escape)
        return [piece for token in tokens for piece in BLANKS.sub(" ", token).split() if piece.strip(JOINERS)]

    def text(self, tokens: Sequence[str]) -> str:
        """The line that tokens stand for; without tokenising they are just joined with blanks."""
        if not self._tokenize or not tokens:
            return " ".join(tokens)
        return str(self._detokenizer.detokenize(list(tokens), unescape=self._escape))


def _detokenizer(language: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang=language)


def untokenized_lines(lines: Sequence[str], language: str) -> list[str]:
    """The plain text of lines that Moses's tokenizer has split and escaped.

    Example:
        >>> untokenized_lines(["I don &apos;t , he said ."], "en")
        ["I don't, he said."]
    """
    detokenizer = _detokenizer(language)
    return [str(detokenizer.detokenize(split_tokens(line), unescape=True)) for line in lines]


def between_blanks(text: str) -> list[str]:
    """The tokens of a line that comes tokenised: what stands between blanks (U+0020), tabs and CRs."""
    return split_tokens(text.replace("\t", " ").replace("\r", " "))


def untokenized_share(words: Iterable[str]) -> float:
    """The share of different words that a comma, full stop or the like is joined to, as in text that is not tokenised.

    Example:
        >>> untokenized_share(["no,", "he", "said", "."])
        0.25
    """
    different = set(words)
    return sum(JOINED_MARK.search(word) is not None for word in different) / max(1, len(different))


def same_letters(one: str, other: str) -> bool:
    """Whether two texts have the same letters and digits in a row, as a text and its tokens have.

    A text with `<unk>`, which neural systems write for words that they do not know, is the same as any other.

    Example:
        >>> same_letters("Don't stop!", "don &apos;t st@@ op !"), same_letters("Don't stop!", "do stop")
        (True, False)
    """
    if "<unk>" in one or "<unk>" in other:
        return True
    left, right = ([c for c in unescape(text).casefold() if c.isalnum()] for text in (one, other))
    return left == right


def split_tokens(line: str) -> list[str]:
    """The tokens of a tokenised line: what stands between blanks (U+0020). A no-break space is part of a token."""
    return [token for token in line.split(" ") if token]


def preprocess_lines(lines: Sequence[str], preprocessor: Preprocessor) -> list[list[str]]:
    """The tokens of every line; shows a progress bar."""
    return [preprocessor.tokens(line) for line in track(lines, f"tokenising {preprocessor.language}")]


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

"""Lines to tokens and back, with sacremoses; casing; cutting sentences that are too long for a search."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from html import unescape
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from xlate.text.lines import FileLines, write_lines
from xlate.text.opening import plain_file
from xlate.text.word_parts import WordSplitter, usual_forms

# Blanks of all kinds, control characters and zero-width marks: never part of a word.
BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u00a0\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+")
# Joiners shape the adjacent letters, in Persian or Malayalam: part of a word, but not a word on their own.
JOINERS = "\u200c\u200d"
# What Moses's scripts write in tokens in place of the signs & | < > ' " [ ], and of a dash within a word.
ESCAPED = ("&amp;", "&#124;", "&lt;", "&gt;", "&apos;", "&quot;", "&#91;", "&#93;")
DASH = "@-@"
JOINED_MARK = re.compile(r"[^\W\d_][.,!?;:]$")


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Preprocessor:
    """Turns lines of one language into tokens and tokens into lines.

    Tokens are never empty and hold no blanks of any kind. NBSP, zero-width spaces, bare CR and U+2028 separate tokens
    like a blank; they never end a line. Joiners (U+200C, U+200D) stay inside their words. Text that is already
    tokenised is split only at blanks (U+0020), tabs and CRs.

    Example:
        >>> english = Preprocessor("en")
        >>> english.tokens("Don't stop, he said.")
        ['Don', "'t", 'stop', ',', 'he', 'said', '.']
        >>> english.text(['Don', "'t", 'stop', ',', 'he', 'said', '.'])
        "Don't stop, he said."

    Attributes:
        language: a two-letter code; its rules for abbreviations and apostrophes are used, or general ones.
        tokenize: false splits only at blanks, tabs and CRs, for text that is already tokenised.
        normalize: whether typographic punctuation is made plain before tokenising.
        escape: whether signs in tokens are written as Moses's scripts write them, `&apos;s`; text never has these.
        dashes: whether a dash within a word is a token, `@-@`, as with Moses's `-a`.
    """

    language: str
    _: KW_ONLY
    tokenize: bool = True
    normalize: bool = True
    escape: bool = False
    dashes: bool = False

    # Importing sacremoses compiles the letters of all languages, which takes longer than opening a model; text that is
    # already tokenised does not need it.
    @cached_property
    def _tokenizer(self) -> Any:
        from sacremoses import MosesTokenizer

        tokenizer = MosesTokenizer(lang=self.language)
        letters = tokenizer.IsAlnum + JOINERS
        tokenizer.PAD_NOT_ISALNUM = re.compile(rf"([^{letters}\s\.'\`\,\-])"), r" \1 "
        return tokenizer

    @cached_property
    def _detokenizer(self) -> Any:
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(lang=self.language)

    @cached_property
    def _normalizer(self) -> Any:
        from sacremoses import MosesPunctNormalizer

        return MosesPunctNormalizer(lang=self.language)

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line; none for a line of blanks."""
        if not self.tokenize:
            return between_blanks(line)
        if "&apos;" in line or "&quot;" in line:
            _warn_of_escapes(self.language)
        text = BLANKS.sub(" ", line).strip()
        if self.normalize:
            text = self._normalizer.normalize(text)
        if not text:
            return []
        tokens: list[str] = self._tokenizer.tokenize(text, aggressive_dash_splits=self.dashes, escape=self.escape)
        return [piece for token in tokens for piece in BLANKS.sub(" ", token).split() if piece.strip(JOINERS)]

    def text(self, tokens: Sequence[str]) -> str:
        """The line for some tokens; without tokenising they are just joined with blanks."""
        if not self.tokenize or not tokens:
            return " ".join(tokens)
        return str(self._detokenizer.detokenize(list(tokens), unescape=self.escape))


@cache
def _warn_of_escapes(language: str) -> None:
    """Warns once of text that is not plain, but what Moses's tokenizer has made of it."""
    log.warning(
        "warning: text in %s holds &apos; or &quot;, as Moses's tokenizer writes them, and is tokenised as if it were "
        "plain; such parts of a corpus belong in data.tokenized, and the text to translate should be plain",
        language,
    )


def untokenized_lines(lines: Sequence[str], language: str) -> list[str]:
    """The plain text of lines that Moses's tokenizer has split and escaped.

    Example:
        >>> untokenized_lines(["I don &apos;t , he said ."], "en")
        ["I don't, he said."]
    """
    preprocessor = Preprocessor(language, escape=True)
    return [preprocessor.text(split_tokens(line)) for line in lines]


def between_blanks(text: str) -> list[str]:
    """The tokens of an already tokenised line, split at blanks (U+0020), tabs and CRs."""
    return split_tokens(text.replace("\t", " ").replace("\r", " "))


def untokenized_share(words: Iterable[str]) -> float:
    """The share of different words with a comma, full stop or the like attached, as in text that is not tokenised.

    Example:
        >>> untokenized_share(["no,", "he", "said", "."])
        0.25
    """
    different = set(words)
    return sum(JOINED_MARK.search(word) is not None for word in different) / max(1, len(different))


def same_letters(one: str, other: str) -> bool:
    """Whether two texts have the same sequence of letters and digits, as a text and its tokens do.

    A text with `<unk>`, which neural systems write for unknown words, equals any other.

    Example:
        >>> same_letters("Don't stop!", "don &apos;t st@@ op !"), same_letters("Don't stop!", "do stop")
        (True, False)
    """
    if "<unk>" in one or "<unk>" in other:
        return True
    left, right = ([c for c in unescape(text).casefold() if c.isalnum()] for text in (one, other))
    return left == right


def split_tokens(line: str) -> list[str]:
    """The tokens of a tokenised line, split only at blanks (U+0020). A no-break space is part of a token."""
    return list(filter(None, line.split(" ")))


MAX_WORDS = 400
ENDS = frozenset(".!?…。！？।؟۔")
INNER = frozenset(",;:–—،؛、，；：")
CLOSING = frozenset({'"', "'", "”", "’", "»", "“", ")", "]", "&quot;", "&apos;", "&#93;"})


def cut(words: Sequence[str], most: int) -> list[tuple[int, int]]:
    """The half-open spans of the pieces of a sentence, each of at most `most` words; a short sentence is one piece."""
    spans, start = [], 0
    while len(words) - start > most:
        end = start + _place(words[start : start + most])
        # The words of a term stay together.
        while getattr(words[end], "targets", None) == ():
            end -= 1
        end = max(end, start + getattr(words[start], "length", 1)) if end == start else end
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
                    closing = takewhile(CLOSING.__contains__, words[at:])
                    return at + len(list(closing))
    return len(words)


SENTENCE_ENDS = frozenset(".:?!")
MODEL_LINE = re.compile(r"[^ ]+ \(\d+(/\d+)?\)")
OPENERS = frozenset("\"'([{«„“‘¿¡")


class Truecaser:
    """Knows how each word is most often written inside sentences.

    Only tokens at the beginning of a sentence, or after `. : ? !`, are changed. Words seen nowhere else become
    lower-case, which is right more often than not.
    """

    def __init__(self, casing: dict[str, str]) -> None:
        """`casing` maps lower-cased words to how they are written."""
        self._casing = casing

    @classmethod
    def train(cls, counts: Mapping[str, int]) -> Truecaser:
        """Finds how words are most often written, given the sum of the `form_counts` of all parts of a text."""
        return cls({lower: form for lower, form in usual_forms(counts).items() if form != lower})

    def apply(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with sentence beginnings in their usual casing; tokens with further capitals are unchanged."""
        cased = list(tokens)
        for place in sentence_starts(tokens):
            token, lower = tokens[place], tokens[place].lower()
            if token[:1].isupper() and not any(letter.isupper() for letter in token[1:]):
                cased[place] = self._casing.get(lower, lower)
        return cased

    def restore(self, tokens: Sequence[str]) -> list[str]:
        """The tokens with a capital at each sentence beginning."""
        cased = list(tokens)
        for place in sentence_starts(tokens):
            cased[place] = tokens[place][:1].upper() + tokens[place][1:]
        return cased

    @property
    def words(self) -> list[str]:
        """The words whose usual form is not lower case."""
        return sorted(self._casing.values())

    def save(self, path: str | Path) -> None:
        """Writes the words whose usual form is not lower case, one per line."""
        write_lines(path, self.words)

    @classmethod
    def load(cls, path: str | Path) -> Truecaser:
        """Reads what `save` wrote.

        Raises:
            InputError: a line is not one word.
        """
        casing, lines = {}, FileLines(plain_file(path))
        for word in lines:
            if not word or " " in word:
                raise lines.error("not a casing file", word, "one word per line")
            casing[word.lower()] = word
        return cls(casing)

    def moses_lines(self, words: Iterable[str]) -> list[str]:
        """The lines of a model of Moses's truecaser for the words of a text in this casing.

        Each has the usual form of a word, then its other forms. Counts are 1, as they are not known here; Moses uses
        only the order.
        """
        forms = {lower: {form} for lower, form in self._casing.items()}
        for word in words:
            if word[:1].isalpha():
                forms.setdefault(word.lower(), set()).add(word)
        lines = []
        for lower in sorted(forms):
            usual = self._casing.get(lower, lower)
            others = sorted(forms[lower] - {usual})
            lines.append(" ".join([f"{usual} (1/{1 + len(others)})", *(f"{form} (1)" for form in others)]))
        return lines

    @classmethod
    def of_moses(cls, path: str | Path) -> Truecaser:
        """Reads a model of Moses's train-truecaser: `Haus (12/13) HAUS (1)`, the most frequent form first.

        Raises:
            InputError: a line is something else.
        """
        casing, lines = {}, FileLines(path)
        for line in lines:
            if MODEL_LINE.match(line) is None:
                expected = "a word and its counts, such as Haus (12/13)"
                raise lines.error("not a truecasing model", line, expected)
            word = line.split(" ", 1)[0]
            if word != word.lower():
                casing[word.lower()] = word
        return cls(casing)


def form_counts(sentences: Iterable[Sequence[str]]) -> Counter[str]:
    """How often each word is written in this way in places that do not force a capital."""
    counts: Counter[str] = Counter()
    for tokens in sentences:
        starts = sentence_starts(tokens)
        counts.update(token for place, token in enumerate(tokens) if place not in starts and token[:1].isalpha())
    return counts


def sentence_starts(tokens: Sequence[str]) -> set[int]:
    """The places of the first words of sentences in a line, after quotes and brackets."""
    starts = set()
    pending = True
    for place, token in enumerate(tokens):
        if pending and token not in OPENERS:
            starts.add(place)
            pending = False
        pending = pending or token in SENTENCE_ENDS
    return starts


def letters(word: str) -> set[str]:
    """The different letters of a word, in lower case."""
    return {sign for sign in word.lower() if sign.isalpha()}


def letters_of(words: Sequence[str]) -> frozenset[str]:
    """The letters that occur in at least one of a thousand words of a language."""
    count = Counter(chain.from_iterable(map(letters, words)))
    return frozenset(letter for letter, n in count.items() if 1000 * n >= len(words))


@dataclass(frozen=True)
class PreparedSide:
    """How the lines of a side of a text are tokenised, cased and, if asked for, split into parts of words.

    Attributes:
        preprocessor: turns lines into tokens. case: `true`, `lower` or `keep`.
        caser: the truecaser for `true`. splitter: of words, if they are split.
        letters: those of the language; `text` leaves out words in other letters only. None keeps all words.
    """

    preprocessor: Preprocessor
    case: str
    caser: Truecaser | None = None
    splitter: WordSplitter | None = None
    letters: frozenset[str] | None = None

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line, cased."""
        return self.cased(self.preprocessor.tokens(line))

    def cased(self, tokens: list[str]) -> list[str]:
        """Tokens in the casing of the training text, with words split."""
        if self.caser is not None:
            tokens = self.caser.apply(tokens)
        elif self.case == "lower":
            tokens = [token.lower() for token in tokens]
        return tokens if self.splitter is None else self.splitter.apply(tokens)

    def text(self, tokens: Sequence[str], detokenize: bool = True) -> str:
        """A line with the beginnings of sentences capitalised and, if requested, detokenised."""
        if (known := self.letters) is not None:
            tokens = [token for token in tokens if not (own := letters(token)) or own & known]
        if self.caser is not None:
            tokens = self.caser.restore(tokens)
        return self.preprocessor.text(tokens) if detokenize else " ".join(tokens)

"""Factored text: words with further values, such as parts of speech, as in `house|NOUN`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlate.errors import InputError
from xlate.text.lines import check_length, read_lines
from xlate.text.tokens import between_blanks

BAR = "&#124;"


class FactoredWord(str):
    """A word that carries its factors wherever words are used; it equals the same word with other factors.

    Example:
        >>> word = FactoredWord.of("house", {"pos": "NOUN"})
        >>> word == "house", word.factors["pos"]
        (True, 'NOUN')
    """

    factors: Mapping[str, str]

    @classmethod
    def of(cls, word: str, factors: Mapping[str, str]) -> FactoredWord:
        """A word with the value of each factor."""
        made = cls(word)
        made.factors = dict(factors)
        return made


def with_factors(words: Sequence[str], factors: Mapping[str, Sequence[str]]) -> list[str]:
    """The words with their factors, one value per word; plain words when there are none."""
    if not factors:
        return list(words)
    rows = zip(*factors.values(), strict=True)
    return [FactoredWord.of(word, dict(zip(factors, row, strict=True))) for word, row in zip(words, rows, strict=True)]


def told_apart(words: Sequence[str]) -> tuple[object, ...]:
    """A key of a sentence that differs if words or factors differ."""
    return tuple((word, *word.factors.items()) if isinstance(word, FactoredWord) else word for word in words)


def factor_values(words: Sequence[str], name: str) -> list[str]:
    """The value of a factor that each word carries.

    Raises:
        InputError: a word has none.
    """
    found = [word.factors.get(name) if isinstance(word, FactoredWord) else None for word in words]
    missing = [word for word, value in zip(words, found, strict=True) if value is None]
    if missing:
        raise InputError(
            f"a word without the factor {name}",
            f"{missing[0]!r} in: {' '.join(words)}",
            f"every word with its factors, such as {missing[0]}|{name.upper()}",
            "give text in the form of the training text, or train with model.factors=[]",
        )
    return [value for value in found if value is not None]


@dataclass(frozen=True)
class FactorNames:
    """The factors that follow the word in tokens of factored lines, and the separator.

    A line may also be plain, without factors; even then, a separator inside a word is written `&#124;`.

    Example:
        >>> FactorNames(("pos",)).split("houses|NOUN fall|VERB")
        (['houses', 'fall'], {'pos': ['NOUN', 'VERB']})
        >>> FactorNames(("pos",)).split("houses fall")
        (['houses', 'fall'], {})
    """

    names: tuple[str, ...] = ()
    separator: str = "|"

    def split(self, line: str) -> tuple[list[str], dict[str, list[str]]]:
        """The words of a line and the values of each factor, one per word; no factors for a plain line.

        Raises:
            InputError: some tokens have factors and some do not, or one has too many or too few.
        """
        tokens = between_blanks(line)
        if not any(self.separator in token for token in tokens):
            return [token.replace(BAR, self.separator) for token in tokens], {}
        return self.split_all(tokens)

    def split_all(self, tokens: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
        """Like `split`, for tokens that must all have factors; a separator within a word is written `&#124;`."""
        rows, count = [], 1 + len(self.names)
        for token in tokens:
            parts = token.split(self.separator)
            if len(parts) != count or "" in parts:
                raise InputError(
                    "wrong number of factors",
                    token,
                    f"{count} factors joined with {self.separator!r}",
                    f"write a {self.separator!r} inside a word as {BAR}",
                )
            rows.append([part.replace(BAR, self.separator) for part in parts])
        factors = {name: [row[place] for row in rows] for place, name in enumerate(self.names, 1)}
        return [row[0] for row in rows], factors

    def join(self, words: Sequence[str], factors: Mapping[str, Sequence[str]]) -> str:
        """The factored line of words and their factors."""
        rows = zip(words, *(factors[name] for name in self.names), strict=True)
        return " ".join(self.separator.join(part.replace(self.separator, BAR) for part in row) for row in rows)


@dataclass(frozen=True)
class FactoredLines:
    """Lines of text, and for each factor and line one value per token."""

    lines: list[str]
    factors: dict[str, list[list[str]]]

    def __len__(self) -> int:
        return len(self.lines)

    def rows(self, rows: Iterable[int]) -> FactoredLines:
        """A selection of the lines, in the order given; of factors alone if there are no lines."""
        chosen = list(rows)
        factors = {name: [values[row] for row in chosen] for name, values in self.factors.items()}
        return FactoredLines([self.lines[row] for row in chosen] if self.lines else [], factors)

    def factored(self, names: FactorNames) -> list[str]:
        """The lines in written form with their factors; unchanged if there are none."""
        if not names.names:
            return self.lines
        return [
            names.join(between_blanks(line), {name: self.factors[name][row] for name in names.names})
            for row, line in enumerate(self.lines)
        ]


def joined_lines(texts: Sequence[FactoredLines]) -> FactoredLines:
    """Concatenates texts with the same factors."""
    names = texts[0].factors if texts else {}
    factors = {name: [values for text in texts for values in text.factors[name]] for name in names}
    return FactoredLines([line for text in texts for line in text.lines], factors)


def read_factored(path: str | Path, joined: FactorNames, files: Mapping[str, Path]) -> FactoredLines:
    """Reads a text whose tokens hold the factors of `joined`, and further factors from separate files.

    Such a file has as many lines as the text and, on each line, one value per token, separated by blanks. In text with
    factors `&#124;` means the separator; text without factors is left unchanged.

    Raises:
        InputError: a token without its factors, a factor without a token, files of different lengths.
    """
    lines = read_lines(path)
    if not joined.names and not files:
        return FactoredLines(lines, {})
    words = []
    factors: dict[str, list[list[str]]] = {name: [] for name in joined.names}
    for number, line in enumerate(lines, 1):
        tokens = between_blanks(line)
        if joined.names:
            try:
                tokens, values = joined.split_all(tokens)
            except InputError as error:
                raise located(error, path, number) from error
            for name in joined.names:
                factors[name].append(values[name])
        else:
            tokens = [token.replace(BAR, joined.separator) for token in tokens]
        words.append(" ".join(tokens))
    for name, file in files.items():
        factors[name] = _read_values(file, name, words, path)
    return FactoredLines(words, factors)


def located(error: InputError, file: str | Path | None, line: int | None) -> InputError:
    """The same error, with the place where it occurred."""
    return InputError(error.message, error.seen, error.expected, error.remedy, file=file, line=line)


def _read_values(file: Path, name: str, lines: Sequence[str], text: str | Path) -> list[list[str]]:
    values = [between_blanks(line) for line in read_lines(file)]
    check_length(file, len(values), len(lines), f"a file of the factor {name}")
    for number, (row, line) in enumerate(zip(values, lines, strict=True), 1):
        tokens = len(between_blanks(line))
        if len(row) != tokens:
            raise InputError(
                f"the factor {name} does not have one value per token",
                f"{len(row)} values, {tokens} tokens in {text}",
                "one value per token, separated by spaces",
                file=file,
                line=number,
            )
    return values

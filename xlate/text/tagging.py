"""Taggers: a part of speech, or another class, for each word of a plain line, which becomes the factor `pos`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.classes import read_classes
from xlate.text.factors import FactorNames
from xlate.text.tokens import Preprocessor, between_blanks
from xlate.text.truecase import sentence_starts

# The models in HanTa's wheel, by language.
MODELS = {"de": "morphmodel_ger.pgz", "en": "morphmodel_en.pgz", "nl": "morphmodel_dutch.pgz"}
# Finding the morphemes of a word takes time in the square of its letters, and its end says what it is.
MOST_LETTERS = 60
KNOWN_WORDS = 1 << 16


class HantaTagger:
    """The tags of HanTa's model for a language: Stuttgart-Tübingen's for German (`VV(FIN)`), the BNC's for English
    (`NN1`), those of the Corpus Gesproken Nederlands for Dutch (`WW(pv,tgw,ev)`).

    HanTa takes one sentence whose first word may be a capital in any case, so a line is cut into sentences where its
    first words are, behind quotes and brackets. What it finds out about a word is kept for when the word comes again.
    """

    def __init__(self, language: str) -> None:
        """Loads the model of a language by its two-letter code.

        Raises:
            InputError: HanTa is not installed, or has no model of the language.
        """
        if language not in MODELS:
            raise InputError(
                "a language that the tagger HanTa does not know",
                language,
                ", ".join(MODELS),
                "take word classes instead: classes=FILE, in prepare data.tagger=classes",
            )
        hanta_version()
        import HanTa
        from HanTa.HanoverTagger import HanoverTagger

        # By its whole path: given a bare name, HanTa would first unpickle what has that name in the current folder.
        model = Path(HanTa.__file__).parent / MODELS[language]
        self._tagger: Any = HanoverTagger(str(model))
        self._tagger.analyze_forward = lru_cache(maxsize=KNOWN_WORDS)(self._tagger.analyze_forward)

    def tags(self, words: Sequence[str]) -> list[str]:
        """The part of speech of each word of a line."""
        short = [word if len(word) <= MOST_LETTERS else word[0] + word[1 - MOST_LETTERS :] for word in words]
        starts = sorted({0, *sentence_starts(words)})
        ends = [*starts[1:], len(words)]
        sentences = (short[start:end] for start, end in zip(starts, ends, strict=True))
        return [tag for sentence in sentences for tag in self._tagger.tag_sent(sentence, taglevel=0)]


def hanta_version() -> str:
    """The version of HanTa, which its tags depend on.

    Raises:
        InputError: it is not installed.
    """
    try:
        return version("HanTa")
    except PackageNotFoundError as error:
        raise InputError(
            "the tagger HanTa is not installed",
            expected="the package HanTa, version 1.2.1",
            remedy='pip install "xlate[tag]"; or take word classes: classes=FILE, in prepare data.tagger=classes',
        ) from error


# What the factor of a tagger is called.
POS = "pos"
# What a word without a class gets.
UNKNOWN = "UNKNOWN"


class ClassTagger:
    """Gives each word its class in a table; a word that is not there gets that of its lower-cased form, or `UNKNOWN`.

    Example:
        >>> ClassTagger({"das": "7", "Haus": "3"}).tags(["Das", "Haus", "fällt"])
        ['7', '3', 'UNKNOWN']
    """

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes

    @classmethod
    def read(cls, path: str | Path) -> ClassTagger:
        """The tagger of a file of word classes.

        Raises:
            InputError: it is no such file, or a class is empty or holds blanks.
        """
        classes = read_classes(path)
        for word, name in classes.items():
            if between_blanks(name) != [name]:
                seen, expected = f"{word!r}: {name!r}", "a class without blanks, for it stands behind its word"
                raise InputError("a class that cannot be a factor", seen, expected, file=path)
        return cls(classes)

    def tags(self, words: Sequence[str]) -> list[str]:
        """The class of each word of a line."""
        return [self._classes.get(word) or self._classes.get(word.lower(), UNKNOWN) for word in words]


Tagger = HantaTagger | ClassTagger


def tagged_line(line: str, preprocessor: Preprocessor, tagger: Tagger) -> str:
    """The tokens of a plain line with their tags behind them, as `xlate prepare` reads them; empty without words.

    Example:
        >>> tagged_line("Das Haus.", Preprocessor("de"), ClassTagger({"das": "7", "Haus": "3"}))
        'Das|7 Haus|3 .|UNKNOWN'
    """
    words = preprocessor.tokens(line)
    return FactorNames((POS,)).join(words, {POS: tagger.tags(words)})


def open_tagger(language: str, classes: str | Path | None = None) -> Tagger:
    """The tagger of a file of word classes where one is given, otherwise HanTa's for a language.

    Raises:
        InputError: the file is none of word classes; HanTa is not installed, or does not know the language.
    """
    return HantaTagger(language) if classes is None else ClassTagger.read(classes)

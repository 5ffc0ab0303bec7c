"""Word classes, their file, and taggers, which give each word of a plain line its part of speech or its class.

A file of classes has `word TAB class` on each line, as mkcls writes it, or Brown clustering's format. Tags become the
factor `pos`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyInts
from xlate.errors import InputError
from xlate.text.factors import FactorNames
from xlate.text.lines import FileLines, write_lines
from xlate.text.tokens import Preprocessor, between_blanks, sentence_starts
from xlate.text.vocabulary import END_ID


def read_classes(path: str | Path) -> dict[str, str]:
    """Reads the class of each word; classes are text, as in the file.

    A line of three or more columns is read as Brown clustering writes it: bit string, word, count.

    Raises:
        InputError: a line has no tab, or repeats a word; the line is named.
    """
    classes, lines = dict[str, str](), FileLines(path)
    for line in lines:
        columns = line.split("\t")
        if len(columns) < 2:
            raise lines.error("not a word and its class", line, "word TAB class")
        word, name = (columns[1], columns[0]) if len(columns) > 2 else (columns[0], columns[1].strip())
        if word in classes:
            raise lines.error("a word appears twice", word, "each word once")
        classes[word] = name
    return classes


def write_classes(path: str | Path, classes: Mapping[str, str]) -> None:
    """Writes `word TAB class`, one word per line."""
    write_lines(path, (f"{word}\t{name}" for word, name in classes.items()))


def commonest_classes(words: Sequence[str], word_T: AnyInts, value_T: AnyInts, names: Sequence[str]) -> dict[str, str]:
    """The most frequent value of each word in a text, such as its commonest part of speech.

    Args:
        words: by their numbers; special ones get no value.
        word_T: the tokens of the text, shape (T,).
        value_T: the value of each, shape (T,); the first of equally frequent ones is used.
        names: of the values.

    Example:
        >>> words, names = ["<unk>", "<s>", "</s>", "light"], ["NOUN", "VERB"]
        >>> commonest_classes(words, np.array([3, 3, 3]), np.array([1, 0, 1]), names)
        {'light': 'VERB'}
    """
    rows_N, count_N = np.unique(word_T.astype(np.int64) * len(names) + value_T, return_counts=True)
    word_N, value_N = np.divmod(rows_N, len(names))
    order = np.lexsort((value_N, -count_N, word_N))
    word_W, first = np.unique(word_N[order], return_index=True)
    found = zip(word_W.tolist(), value_N[order][first].tolist(), strict=True)
    return {words[word]: names[value] for word, value in found if word > END_ID}


# The models in HanTa's wheel, by language.
MODELS = {"de": "morphmodel_ger.pgz", "en": "morphmodel_en.pgz", "nl": "morphmodel_dutch.pgz"}
# Finding the morphemes of a word takes time quadratic in its length, and its end is enough to tag it.
MOST_LETTERS = 60
KNOWN_WORDS = 1 << 16


class HantaTagger:
    """The tags of HanTa's model for a language: Stuttgart-Tübingen's for German (`VV(FIN)`), the BNC's for English
    (`NN1`), those of the Corpus Gesproken Nederlands for Dutch (`WW(pv,tgw,ev)`).

    HanTa takes one sentence and expects that its first word may be capitalised, so a line is cut before the first word
    of each sentence, after quotes and brackets. Results for a word are cached.
    """

    def __init__(self, language: str) -> None:
        """Loads the model of a language by its two-letter code.

        Raises:
            InputError: HanTa is not installed, or has no model of the language.
        """
        if language not in MODELS:
            raise InputError(
                "the tagger HanTa does not support this language",
                language,
                ", ".join(MODELS),
                "use word classes instead: classes=FILE, or data.tagger=classes in xlate prepare",
            )
        hanta_version()
        import HanTa
        from HanTa.HanoverTagger import HanoverTagger

        # With its full path: given a bare name, HanTa would first unpickle a file of that name in the current folder.
        model = Path(HanTa.__file__).parent / MODELS[language]
        self._tagger: Any = HanoverTagger(str(model))
        self._tagger.analyze_forward = lru_cache(maxsize=KNOWN_WORDS)(self._tagger.analyze_forward)

    def tags(self, words: Sequence[str]) -> list[str]:
        """The part of speech of each word of a line."""
        short = [word if len(word) <= MOST_LETTERS else word[0] + word[1 - MOST_LETTERS :] for word in words]
        bounds = pairwise(sorted({0, *sentence_starts(words), len(words)}))
        return [tag for start, end in bounds for tag in self._tagger.tag_sent(short[start:end], taglevel=0)]


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
            remedy='pip install "xlate[tag]"; or use word classes: classes=FILE, in prepare data.tagger=classes',
        ) from error


# The name of a tagger's factor.
POS = "pos"
# The class of words without one.
UNKNOWN = "UNKNOWN"


class ClassTagger:
    """Gives each word its class from a table; a word that is not there gets that of its lower-cased form, or `UNKNOWN`.

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
            InputError: it is not such a file, or a class is empty or holds blanks.
        """
        classes = read_classes(path)
        for word, name in classes.items():
            if between_blanks(name) != [name]:
                seen, expected = f"{word!r}: {name!r}", "a class without spaces, because it is joined to its word"
                raise InputError("a class that cannot be a factor", seen, expected, file=path)
        return cls(classes)

    def tags(self, words: Sequence[str]) -> list[str]:
        """The class of each word of a line."""
        return [self._classes.get(word) or self._classes.get(word.lower(), UNKNOWN) for word in words]


Tagger = HantaTagger | ClassTagger


def tagged_line(line: str, preprocessor: Preprocessor, tagger: Tagger) -> str:
    """The tokens of a plain line, each followed by its tag, as `xlate prepare` reads them; empty without words.

    Example:
        >>> tagged_line("Das Haus.", Preprocessor("de"), ClassTagger({"das": "7", "Haus": "3"}))
        'Das|7 Haus|3 .|UNKNOWN'
    """
    words = preprocessor.tokens(line)
    return FactorNames((POS,)).join(words, {POS: tagger.tags(words)})


def open_tagger(language: str, classes: str | Path | None = None) -> Tagger:
    """The tagger of a file of word classes if one is given, otherwise HanTa's for a language.

    Raises:
        InputError: the file does not hold word classes; HanTa is not installed, or does not know the language.
    """
    return HantaTagger(language) if classes is None else ClassTagger.read(classes)

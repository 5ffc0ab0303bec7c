"""Parts of speech by HanTa, the Hanover Tagger (Wartena 2019), an optional package in plain Python with its models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from xlate.errors import InputError
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

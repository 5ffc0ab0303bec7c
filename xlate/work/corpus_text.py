"""How lines become the tokens of a prepared text, and its words lines again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from xlate.errors import InputError
from xlate.text.classes import POS, Tagger
from xlate.text.factors import FactorNames, with_factors
from xlate.text.folders import Fields, check_fields, read_json
from xlate.text.tokens import Preprocessor, Truecaser
from xlate.work.corpus_files import TAGGER, kept_tagger


@dataclass(frozen=True)
class PreparedSide:
    """Tokens and casing of a side.

    Attributes:
        preprocessor: makes tokens of lines. case: `true`, `lower` or `keep`.
        caser: what `true` goes by.
    """

    preprocessor: Preprocessor
    case: str
    caser: Truecaser | None = None

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line, cased."""
        return self.cased(self.preprocessor.tokens(line))

    def cased(self, tokens: list[str]) -> list[str]:
        """Tokens in the casing of the training text."""
        if self.caser is not None:
            return self.caser.apply(tokens)
        return [token.lower() for token in tokens] if self.case == "lower" else tokens

    def text(self, tokens: Sequence[str], detokenize: bool = True) -> str:
        """A line: beginnings of sentences as they are written and, when asked, detokenised."""
        if self.caser is not None:
            tokens = self.caser.restore(tokens)
        return self.preprocessor.text(tokens) if detokenize else " ".join(tokens)


PREPROCESSING = {"source_language": str, "target_language": str, "tokenize": bool, "case": str}
FACTORS: Fields = {"source": list, "target": list, "separator": str}


@dataclass(frozen=True)
class CorpusText:
    """Tokens, casing and factors as a work directory was prepared with them.

    Attributes:
        path: the work directory.

    Raises:
        InputError: (on any access) what is kept of them is missing or damaged.
    """

    path: Path

    @cached_property
    def preprocessing(self) -> dict[str, Any]:
        """Languages, tokenisation and casing."""
        path, remedy = self.path / "corpus" / "preprocessing.json", f"remove {self.path / 'corpus'} and prepare again"
        return read_json(path, "languages, tokenisation and casing", remedy, PREPROCESSING)

    @property
    def lowercased(self) -> bool:
        """Whether its text was lowercased, so that its translations are."""
        return bool(self.preprocessing["case"] == "lower")

    @property
    def casers(self) -> dict[str, Truecaser]:
        """What each side was truecased by; none where the text was not truecased."""
        return {name: side.caser for name, side in self._sides.items() if side.caser is not None}

    def factor_names(self, side: str) -> FactorNames:
        """The factors of `source` or `target`, in their order; none for most corpora.

        Lines may carry them behind their words, or a tagger finds them (`data.tagger`).
        """
        if side == "source" and "tagger" in self.preprocessing:
            return FactorNames((POS,))
        return self._factor_names[side]

    def source_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one source line as the training text was; the words of a line with factors bring them.

        Raises:
            InputError: some tokens of the line have factors and some have not, or one has too many or too few.
        """
        words = self._sides["source"].cased(self._source_words(line))
        return words if self._tagger is not None else with_factors(words, self.source_factors(line))

    def source_factors(self, line: str) -> dict[str, list[str]]:
        """The values of each factor of a source line, one a token; none for a plain line that no tagger reads.

        Raises:
            InputError: as `source_tokens` does; the tagger that the text was prepared with is not there.
        """
        if self._tagger is not None:
            return {POS: self._tagger.tags(self._source_words(line))}
        names = self._factor_names["source"]
        return names.split(line)[1] if names.names else {}

    @property
    def has_tagger(self) -> bool:
        """Whether the text was prepared with a tagger."""
        return self._tagger is not None

    def source_tags(self, words: Sequence[str]) -> list[str]:
        """The tags of a sentence's tokens by the tagger that the text was prepared with.

        Raises:
            InputError: it was prepared without one.
        """
        if self._tagger is None:
            raise InputError(
                "text without a tagger",
                file=self.path,
                seen="data.tagger=null",
                expected="a work directory prepared with data.tagger=hanta or classes",
            )
        return self._tagger.tags(words)

    def target_tokens(self, line: str) -> list[str]:
        """Tokenises and cases one target line, such as a reference, as the training text was."""
        return self._sides["target"].tokens(line)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:
        """One output line: sentence case restored and, when asked, detokenised."""
        return self._sides["target"].text(tokens, detokenize)

    def _source_words(self, line: str) -> list[str]:
        """The tokens of a source line as they were written."""
        names = self._factor_names["source"]
        return names.split(line)[0] if names.names else self._sides["source"].preprocessor.tokens(line)

    @cached_property
    def _tagger(self) -> Tagger | None:
        """What tags source lines; None for most corpora."""
        held = self.preprocessing.get("tagger")
        if held is None:
            return None
        corpus = self.path / "corpus"
        check_fields(held, TAGGER, corpus / "preprocessing.json", f"remove {corpus} and prepare again")
        return kept_tagger(held, self.preprocessing["source_language"], corpus)

    @cached_property
    def _factor_names(self) -> dict[str, FactorNames]:
        """The factors that lines of either side may carry behind their words."""
        held = self.preprocessing.get("factors")
        if held is None:
            return dict.fromkeys(("source", "target"), FactorNames())
        file, remedy = self.path / "corpus" / "preprocessing.json", f"remove {self.path / 'corpus'} and prepare again"
        check_fields(held, FACTORS, file, remedy)
        return {side: FactorNames(tuple(held[side]), held["separator"]) for side in ("source", "target")}

    @cached_property
    def _sides(self) -> dict[str, PreparedSide]:
        settings, sides = self.preprocessing, {}
        for side in ("source", "target"):
            path = self.path / "corpus" / f"truecase.{side}"
            preprocessor = Preprocessor(settings[f"{side}_language"], tokenize=settings["tokenize"])
            caser = Truecaser.load(path) if path.exists() else None
            sides[side] = PreparedSide(preprocessor, settings["case"], caser)
        return sides

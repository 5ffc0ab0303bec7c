"""How lines become what a run translates, and its words lines again, where no work directory says it.

An imported system knows tokens, made by scripts of its own. Its run takes them between blanks as they stand, or raw
text, with settings that are kept in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.models.run_files import located_runs
from xlate.text.folders import Fields, read_json, write_json
from xlate.text.tokens import DASH, Preprocessor, Truecaser, split_tokens
from xlate.work.corpus_files import SIDES
from xlate.work.corpus_text import PreparedSide
from xlate.work.directory import WorkDirectory

SETTINGS = "text.json"


class TokenizedText:
    """Lines that are tokens between blanks on both sides."""

    casers: Mapping[str, Truecaser] = {}
    source_tokens = target_tokens = staticmethod(split_tokens)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:  # noqa: ARG002
        return " ".join(tokens)


# What is kept of how raw text is prepared.
KEPT: Fields = {
    **dict.fromkeys(("source_language", "target_language", "case"), str),
    **dict.fromkeys(("tokenize", "escape", "dashes"), bool),
}


@dataclass(frozen=True)
class PreparedText:
    """Raw text on both sides of an imported system.

    Attributes:
        source_language, target_language: whose rules are used for tokens; tokenize: false leaves what is between
            blanks.
        case: `lower`, `keep`, or `true`, by the files `truecase.source` and `truecase.target`.
        escape: whether `'` and the like are written `&apos;`. dashes: whether `-` within a word is a token, `@-@`.
        casers: those of the sides where text is truecased.
    """

    source_language: str
    target_language: str
    tokenize: bool
    case: str
    escape: bool
    dashes: bool
    casers: Mapping[str, Truecaser] = field(default_factory=dict)

    def __str__(self) -> str:
        """In words, for people: what is taken."""
        ways = {"lower": "lower-cased", "keep": "with its capitals", "true": "truecased"}
        tokens = f"raw {self.source_language} text, tokenised by Moses's rules" if self.tokenize else "tokens"
        marks = ["with &apos; and the like"] * self.escape + [f"with {DASH} in words"] * self.dashes
        return ", ".join([tokens, *marks, ways[self.case]])

    def source_tokens(self, line: str) -> list[str]:
        """The tokens of a source line, as the system knows them."""
        return self._sides["source"].tokens(line)

    def target_tokens(self, line: str) -> list[str]:
        """The tokens of a target line, such as a reference."""
        return self._sides["target"].tokens(line)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:
        """The output line of target tokens."""
        return self._sides["target"].text(tokens, detokenize)

    def save(self, run: Path) -> None:
        """Keeps it in the folder of a run."""
        for side, caser in self.casers.items():
            caser.save(run / f"truecase.{side}")
        write_json(run / SETTINGS, self._kept)

    @property
    def identity(self) -> dict[str, Any]:
        """What makes it this one and no other."""
        return self._kept | {"casers": {side: caser.words for side, caser in self.casers.items()}}

    @classmethod
    def load(cls, run: Path) -> PreparedText:
        """What `save` kept.

        Raises:
            InputError: it is damaged.
        """
        held = read_json(run / SETTINGS, "how text is prepared", "import the system again", KEPT)
        sides = SIDES if held["case"] == "true" else ()
        casers = {side: Truecaser.load(run / f"truecase.{side}") for side in sides}
        return cls(**{name: held[name] for name in KEPT}, casers=casers)

    @property
    def _kept(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    @cached_property
    def _sides(self) -> dict[str, PreparedSide]:
        how = {"tokenize": self.tokenize, "escape": self.escape, "dashes": self.dashes}
        languages = zip(SIDES, (self.source_language, self.target_language), strict=True)
        return {
            side: PreparedSide(Preprocessor(language, **how), self.case, self.casers.get(side))
            for side, language in languages
        }


# How lines become tokens and tokens lines: by a work directory, by an import, or as they stand.
TextSides = WorkDirectory | PreparedText | TokenizedText


def text_of(run: Path) -> TextSides:
    """The text of a run without a work directory: that of the imported system it is, or is based on.

    Raises:
        InputError: what is kept of it is damaged.
    """
    while not (run / SETTINGS).exists():
        base = located_runs(run).base
        if base is None:
            return TokenizedText()
        run = Path(base)
    return PreparedText.load(run)


def text_of_base(config: TrainConfig) -> TextSides:
    """How files are read that a training is given: as its base run takes text, where that has no work directory."""
    if config.base is None or config.work:
        return TokenizedText()
    return text_of(Path(config.base))

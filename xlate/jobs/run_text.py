"""How lines become what a run translates, and its words lines again, where no work directory says it.

An imported system knows tokens, made by scripts of its own. Its run takes them between blanks as they stand, or raw
text, with settings that are kept in the run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from xlate.config.schema import ImportConfig, TrainConfig
from xlate.errors import InputError
from xlate.jobs.prepare.corpus_files import SIDES
from xlate.jobs.prepare.corpus_settings import CASES
from xlate.jobs.prepare.prepared_side import PreparedSide
from xlate.jobs.run_places import located_base
from xlate.text.json_files import read_json, write_json
from xlate.text.lines import iterate_lines
from xlate.text.tokens import DASH, ESCAPES, Preprocessor, split_tokens
from xlate.text.truecase import Truecaser

log = logging.getLogger(__name__)

SETTINGS = "text.json"
# So many lines of a table tell how its words are written.
LOOKED_AT = 1_000_000


class TextSides(Protocol):
    """How lines become tokens and tokens lines."""

    def source_tokens(self, line: str) -> list[str]:
        """The tokens of a source line."""

    def target_tokens(self, line: str) -> list[str]:
        """The tokens of a target line."""

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:
        """The output line of target tokens."""


class TokenizedText:
    """Lines that are tokens between blanks on both sides."""

    def source_tokens(self, line: str) -> list[str]:
        """The tokens between blanks."""
        return split_tokens(line)

    def target_tokens(self, line: str) -> list[str]:
        """The tokens between blanks."""
        return split_tokens(line)

    def target_text(self, tokens: list[str], detokenize: bool = True) -> str:  # noqa: ARG002
        """The tokens with blanks between them."""
        return " ".join(tokens)


@dataclass(frozen=True)
class TextSettings:
    """How raw text is prepared for an imported system.

    Attributes:
        source_language, target_language: whose rules are used for tokens; tokenize: false leaves what is between
            blanks.
        case: `lower`, `keep`, or `true`, by the files `truecase.source` and `truecase.target`.
        escape: whether `'` and the like are written `&apos;`. dashes: whether `-` within a word is a token, `@-@`.
    """

    source_language: str
    target_language: str
    tokenize: bool
    case: str
    escape: bool
    dashes: bool

    def __str__(self) -> str:
        """In words, for people: what is taken."""
        ways = {"lower": "lower-cased", "keep": "with its capitals", "true": "truecased"}
        tokens = f"raw {self.source_language} text, tokenised by Moses's rules" if self.tokenize else "tokens"
        marks = ["with &apos; and the like"] * self.escape + [f"with {DASH} in words"] * self.dashes
        return ", ".join([tokens, *marks, ways[self.case]])


@dataclass(frozen=True)
class PreparedText:
    """Raw text on both sides of an imported system; `casers` are those of the sides where text is truecased."""

    settings: TextSettings
    casers: Mapping[str, Truecaser] = field(default_factory=dict)

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
        write_json(run / SETTINGS, asdict(self.settings))

    @property
    def identity(self) -> dict[str, Any]:
        """What makes it this one and no other."""
        return {**asdict(self.settings), "casers": {side: caser.words for side, caser in self.casers.items()}}

    @classmethod
    def load(cls, run: Path) -> PreparedText:
        """What `save` kept.

        Raises:
            InputError: it is damaged.
        """
        kinds = {name: bool if name in ("tokenize", "escape", "dashes") else str for name in _FIELDS}
        held = read_json(run / SETTINGS, "how text is prepared", "import the system again", kinds)
        settings = TextSettings(**{name: held[name] for name in _FIELDS})
        sides = SIDES if settings.case == "true" else ()
        return cls(settings, {side: Truecaser.load(run / f"truecase.{side}") for side in sides})

    @cached_property
    def _sides(self) -> dict[str, PreparedSide]:
        s = self.settings
        languages = dict(zip(SIDES, (s.source_language, s.target_language), strict=True))
        return {
            side: PreparedSide(
                Preprocessor(language, tokenize=s.tokenize, escape=s.escape, dashes=s.dashes),
                s.case,
                self.casers.get(side),
            )
            for side, language in languages.items()
        }


_FIELDS = tuple(TextSettings.__annotations__)


def text_of(run: Path) -> TextSides:
    """The text of a run without a work directory: that of the imported system it is, or is based on.

    Raises:
        InputError: what is kept of it is damaged.
    """
    while not (run / SETTINGS).exists():
        base = located_base(run).base
        if base is None:
            return TokenizedText()
        run = Path(base)
    return PreparedText.load(run)


def text_of_base(config: TrainConfig) -> TextSides:
    """How files are read that a training is given: as its base run takes text, where that has no work directory."""
    if config.base is None or config.work:
        return TokenizedText()
    return text_of(Path(config.base))


def imported_text(config: ImportConfig, table: Path | None) -> TextSides:
    """How text is prepared for a system, as far as its import says; its table, if it has one, tells the rest.

    Raises:
        InputError: settings that are unknown or do not go together.
    """
    languages, case = _languages(config.pair), _case(config)
    if config.pair is None and case in (None, "keep"):
        return TokenizedText()
    written = _Written(True, False, False) if config.pair is None or table is None else _Written.of(table)
    case = case or ("keep" if written.capitals else "lower")
    tokenize = config.tokenize and config.pair is not None
    settings = TextSettings(*languages, tokenize, case, written.escape and tokenize, written.dashes and tokenize)
    files = dict(zip(SIDES, config.truecase, strict=True)) if case == "true" else {}
    return PreparedText(settings, {side: Truecaser.of_moses(file) for side, file in files.items()})


def say_text(text: TextSides, config: ImportConfig) -> None:
    """Says in a line how text will be taken, and what was assumed of it."""
    if not isinstance(text, PreparedText):
        log.info(
            "the run takes tokens between blanks, as they stand, and gives tokens; raw text with pair=SOURCE-TARGET"
        )
        return
    found = {
        "lower": " (the table has no capitals; else case=keep)",
        "keep": " (the table has capitals; truecase=[SOURCE,TARGET] names the models of a truecased one)",
    }
    assumed = "" if config.case is not None else found.get(text.settings.case, "")
    gives = f"plain {text.settings.target_language} text" if text.settings.tokenize else "tokens"
    log.info("the run takes %s%s, and gives %s", text.settings, assumed, gives)


def _languages(pair: str | None) -> tuple[str, str]:
    if pair is None:
        return "", ""
    source, _, target = pair.partition("-")
    if not source or not target:
        raise InputError("not a language pair", seen=pair, expected="pair=SOURCE-TARGET, such as de-en")
    return source, target


def _case(config: ImportConfig) -> str | None:
    """The casing that was asked for; None where the table is to tell it."""
    case = config.case or ("true" if config.truecase else None)
    if case not in (None, *CASES):
        raise InputError("unknown casing", seen=case, expected=", ".join(CASES))
    if (case == "true") != (len(config.truecase) == len(SIDES)) or len(config.truecase) not in (0, len(SIDES)):
        seen = f"case={case} truecase={list(config.truecase)}"
        raise InputError("truecasing goes by two models", seen=seen, expected="truecase=[SOURCE,TARGET], and case=true")
    return case


@dataclass(frozen=True)
class _Written:
    """How the source words of a table are written: any capitals, `&apos;`, `@-@`."""

    capitals: bool
    escape: bool
    dashes: bool

    @classmethod
    def of(cls, table: Path) -> _Written:
        """Looks at so many lines as tell it."""
        capitals = escape = dashes = False
        for line in islice(iterate_lines(table), LOOKED_AT):
            source = line.partition("|||")[0]
            capitals = capitals or source != source.lower()
            escape = escape or ("&" in source and any(mark in source for mark in ESCAPES.values()))
            dashes = dashes or DASH in source
            if capitals and escape and dashes:
                break
        return cls(capitals, escape, dashes)

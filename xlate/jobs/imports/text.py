"""How text is prepared for a system that is imported: what its import says, and what its words tell."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from xlate.config.schema import ImportConfig
from xlate.errors import InputError
from xlate.jobs.run_text import PreparedText, TextSettings, TextSides, TokenizedText
from xlate.text.tokens import DASH, ESCAPED
from xlate.text.truecase import Truecaser
from xlate.work.corpus_files import CASES, SIDES

log = logging.getLogger(__name__)

# So many source sides tell how words are written.
LOOKED_AT = 1_000_000


def imported_text(config: ImportConfig, sources: Iterable[str]) -> TextSides:
    """How text is prepared for a system, as far as its import says; the source sides of its units tell the rest.

    Raises:
        InputError: settings that are unknown or do not go together.
    """
    languages, case = _languages(config.pair), _case(config)
    if config.pair is None and case in (None, "keep"):
        return TokenizedText()
    written = _Written(True, False, False) if config.pair is None else _Written.of(sources)
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
        "lower": " (the system's words have no capitals; else case=keep)",
        "keep": " (the system's words have capitals; truecase=[SOURCE,TARGET] names the models of a truecased one)",
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
    """The casing that was asked for; None where the units are to tell it."""
    case = config.case or ("true" if config.truecase else None)
    if case not in (None, *CASES):
        raise InputError("unknown casing", seen=case, expected=", ".join(CASES))
    if (case == "true") != (len(config.truecase) == len(SIDES)) or len(config.truecase) not in (0, len(SIDES)):
        seen = f"case={case} truecase={list(config.truecase)}"
        raise InputError("truecasing goes by two models", seen=seen, expected="truecase=[SOURCE,TARGET], and case=true")
    return case


@dataclass(frozen=True)
class _Written:
    """How source words are written: any capitals, `&apos;`, `@-@`."""

    capitals: bool
    escape: bool
    dashes: bool

    @classmethod
    def of(cls, sources: Iterable[str]) -> _Written:
        """Looks at source sides until they tell it, or at `LOOKED_AT` of them."""
        capitals = escape = dashes = False
        for source in islice(sources, LOOKED_AT):
            capitals = capitals or source != source.lower()
            escape = escape or ("&" in source and any(mark in source for mark in ESCAPED))
            dashes = dashes or DASH in source
            if capitals and escape and dashes:
                break
        return cls(capitals, escape, dashes)

"""The phrase model of a work directory, made from its table, text and links when it is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xlate.align.links import Links
from xlate.errors import InputError
from xlate.models.phrase.model import PhraseModel, Reordering
from xlate.models.phrase.store import save_phrase_model
from xlate.phrases.table import PhraseTable
from xlate.text.encoded import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.stages import Stage, read_stage, run_stage

MODEL = "model"
REORDERINGS = ("none", "wbe", "phrase", "hier", "hier5")


def phrase_stage(work: WorkDirectory, reordering: str) -> Stage:
    """The phrase model of a work directory in its binary form, made when it is not there.

    Raises:
        InputError: an unknown reordering model.
    """
    if reordering not in REORDERINGS:
        raise InputError("unknown value of model.reordering", seen=reordering, expected=", ".join(REORDERINGS))
    settings: dict[str, Any] = {
        "reordering": reordering,
        "on": [read_stage(work.path, name).identity for name in ("phrases", "lm")],
        "version": 1,
    }
    return run_stage(work.path, f"phrase/{reordering}", settings, lambda folder: _build(work, reordering, folder))


def _build(work: WorkDirectory, reordering: str, folder: Path) -> dict[str, Any]:
    table = PhraseTable.load(work.path / "phrases" / "table", work.words)
    oriented = reordering_model(table, *work.encoded, work.links, reordering)
    model = PhraseModel(table, work.source_vocabulary, work.target_vocabulary, work.lm, oriented)
    save_phrase_model(folder / MODEL, model)
    return {"pairs": len(table)}


def reordering_model(
    table: PhraseTable, source: EncodedText, target: EncodedText, links: Links, kind: str, max_length: int = 7
) -> Reordering | None:
    """The reordering model of an aligned text, None of the kind `none`; `max_length` is that of its phrases.

    Raises:
        InputError: an unknown kind, or texts and links that do not fit.
    """
    if kind == "none":
        return None
    # Of training, which translating has no need of.
    from xlate.phrases.reordering import reordering_counts, reordering_probabilities

    counts_BK2 = reordering_counts(table, source, target, links, kind, max_length)
    return Reordering(kind if kind in ("hier", "hier5") else "wbe", reordering_probabilities(counts_BK2))

"""A phrase model in binary form, memory-mapped when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.decode.phrase_model import PhraseModel, Reordering
from xlate.errors import InputError
from xlate.kernels.hashing import HashTable
from xlate.kernels.matching import PhraseFinder
from xlate.lm.model import NgramModel
from xlate.phrases.table import PhraseTable
from xlate.text.lines import atomic_write
from xlate.text.vocabulary import Vocabulary

FORMAT = "xlate phrase model 1"
META = "model.json"
_FINDER = ("keys_H", "rows_H", "row_N")


def save_phrase_model(folder: str | Path, model: PhraseModel) -> None:
    """Writes a model into a folder; `model.json`, written last, says that it is complete."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / META).unlink(missing_ok=True)
    model.table.save(folder / "table")
    model.source_vocabulary.save(folder / "vocabulary.source")
    model.target_vocabulary.save(folder / "vocabulary.target")
    model.lm.save(folder / "lm")
    finder = model.source_finder
    arrays: tuple[NDArray[Any], ...] = (finder.table.keys_H, finder.table.rows_H, finder.row_N)
    for name, array in zip(_FINDER, arrays, strict=True):
        _save(folder / f"finder.{name}.npy", array)
    reordering = model.reordering
    if reordering is not None:
        _save(folder / "reordering.npy", reordering.probability_BK2)
    described = {
        "format": FORMAT,
        "pairs": len(model.table),
        "reordering": None if reordering is None else reordering.kind,
    }
    with atomic_write(folder / META) as stream:
        stream.write((json.dumps(described, indent=1) + "\n").encode())


def load_phrase_model(folder: str | Path) -> PhraseModel:
    """Reads what `save_phrase_model` wrote; arrays stay on disk until they are looked at, and processes share them.

    Raises:
        InputError: a file is missing, incomplete or of another kind.
    """
    folder = Path(folder)
    described = _described(folder / META)
    table = PhraseTable.load(folder / "table")
    if len(table) != described["pairs"]:
        raise _not_whole(folder / META, f"{described['pairs']} pairs, {len(table)} in the table")
    reordering = None
    if described["reordering"] is not None:
        reordering = Reordering(str(described["reordering"]), _load(folder / "reordering.npy"))
    model = PhraseModel(
        table,
        Vocabulary.load(folder / "vocabulary.source"),
        Vocabulary.load(folder / "vocabulary.target"),
        NgramModel.load(folder / "lm"),
        reordering,
    )
    keys_H, rows_H, row_N = (_load(folder / f"finder.{name}.npy") for name in _FINDER)
    # What would otherwise be made anew when it is first asked for.
    model.__dict__["source_finder"] = PhraseFinder(HashTable(keys_H, rows_H), row_N)
    return model


def _described(path: Path) -> dict[str, object]:
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _not_whole(path, error) from error
    if (
        not isinstance(described, dict)
        or described.get("format") != FORMAT
        or not {"pairs", "reordering"} <= described.keys()
    ):
        raise _not_whole(path, described)
    return described


def _save(path: Path, array: NDArray[Any]) -> None:
    with atomic_write(path) as stream:
        np.save(stream, np.ascontiguousarray(array), allow_pickle=False)


def _load(path: Path) -> NDArray[Any]:
    try:
        # A plain array over the map: numba takes it for what it is, and has no second version compiled.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise _not_whole(path, error) from error


def _not_whole(path: Path, seen: object) -> InputError:
    return InputError(
        "not a whole phrase model", file=path, seen=seen, expected=FORMAT, remedy="import or prepare the model again"
    )

"""A phrase model in binary form, memory-mapped when it is read."""

from __future__ import annotations

from pathlib import Path

from xlate.array_types import AnyArray
from xlate.arrays.ranges import check_hash_table, check_lengths, check_within
from xlate.arrays.stored import HEADER, StoredArrays, check_seals, open_arrays, save_arrays, seal_of, unusable
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.memory.hashing import EMPTY, HashTable
from xlate.lm.model import KIND as LM
from xlate.lm.model import NgramModel
from xlate.models.phrase.model import REORDERINGS, PhraseModel, Reordering
from xlate.phrases.table import KIND as TABLE
from xlate.phrases.table import PhraseTable
from xlate.text.vocabulary import Vocabulary

KIND = "phrase model"
VOCABULARIES = ("vocabulary.source", "vocabulary.target")
FINDER = {"finder.keys_H": ("<u8", 1), "finder.rows_H": ("<i4", 1), "finder.row_N": ("<i4", 1)}
REORDERING = "reordering"


def save_phrase_model(folder: str | Path, model: PhraseModel) -> None:
    """Writes a model into a folder: the finder of its source phrases and its reordering, table and LM below."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / HEADER).unlink(missing_ok=True)
    model.table.save(folder / "table")
    for name, vocabulary in zip(VOCABULARIES, (model.source_vocabulary, model.target_vocabulary), strict=True):
        vocabulary.save(folder / name)
    model.lm.save(folder / "lm")
    finder, reordering = model.source_finder, model.reordering
    arrays: dict[str, AnyArray] = dict(
        zip(FINDER, (finder.table.keys_H, finder.table.rows_H, finder.row_N), strict=True)
    )
    if reordering is not None:
        arrays[REORDERING] = reordering.probability_BK2
    described = {
        "source_phrases": len(model.table.source_phrases),
        "reordering": None if reordering is None else reordering.kind,
        "table": seal_of(folder / "table", TABLE),
        "lm": seal_of(folder / "lm", LM),
    }
    save_arrays(folder, KIND, arrays, described, VOCABULARIES)


def load_phrase_model(folder: str | Path) -> PhraseModel:
    """Reads what `save_phrase_model` wrote; arrays stay on disk until they are looked at, and processes share them.

    Raises:
        InputError: a file is missing, damaged or of another kind, or ids are outside of their ranges.
    """
    stored = open_arrays(folder, KIND, {**FINDER, REORDERING: ("<f8", 2)}, _check, optional=[REORDERING])
    check_seals(stored, table=TABLE, lm=LM)
    source, target = (Vocabulary.load(stored.folder / name) for name in VOCABULARIES)
    table = PhraseTable.load(stored.folder / "table", (len(source), len(target)))
    if stored.number("source_phrases") != len(table.source_phrases):
        path, seen = stored.folder / HEADER, f"{stored.number('source_phrases')} source phrases"
        raise unusable(path, "not a whole phrase model", seen, f"{len(table.source_phrases)}, as in the table")
    reordering, kind = None, stored.metadata["reordering"]
    if kind is not None:
        check_lengths(stored, reordering=(len(table), 2 * REORDERINGS[kind]))
        reordering = Reordering(kind, stored[REORDERING])
    model = PhraseModel(table, source, target, NgramModel.load(stored.folder / "lm"), reordering)
    keys_H, rows_H, row_N = (stored[name] for name in FINDER)
    # What would otherwise be made anew when it is first asked for.
    model.__dict__["source_finder"] = PhraseFinder(HashTable(keys_H, rows_H), row_N)
    return model


def _check(stored: StoredArrays) -> None:
    """Looks whether the finder leads to phrases that are there, and a reordering model has its array."""
    kind = stored.metadata.get("reordering")
    if kind not in (None, *REORDERINGS) or (kind is None) == (REORDERING in stored.arrays):
        raise unusable(stored.folder / HEADER, "not a whole phrase model", f"reordering {kind}", "a kind and its array")
    check_hash_table(stored, "finder.keys_H", "finder.rows_H", len(stored["finder.row_N"]), int(EMPTY))
    check_within(stored, "finder.row_N", -1, stored.number("source_phrases"))

"""Every kind of folder of arrays: a flipped bit in any file, and values out of range under a checksum that fits."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.arrays.folders import OPENERS, write_folders
from tests.arrays.forged import edited_header, forged
from xlate.errors import InputError
from xlate.kernels.lm import slot_tags
from xlate.kernels.memory import EMPTY
from xlate.phrases.table import GAP, RuleTable, gaps_of


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("folders")
    write_folders(root)
    return root


@pytest.fixture
def folders(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "folders"))


@pytest.mark.parametrize("kind", OPENERS)
def test_a_flipped_bit_is_refused_and_named(folders: Path, kind: str) -> None:
    paths = [path for path in (folders / kind).rglob("*") if path.is_file()]
    assert folders / kind / "header.json" in paths
    for path in paths:
        raw = bytearray(path.read_bytes())
        for place in (len(raw) - 2, len(raw) // 2, 140):
            flipped = raw.copy()
            flipped[min(place, len(raw) - 1)] ^= 1
            path.write_bytes(flipped)
            with pytest.raises(InputError) as caught:
                OPENERS[kind](folders / kind)
            assert str(path) in str(caught.value)
            assert "again" in str(caught.value)
        path.write_bytes(raw)
    OPENERS[kind](folders / kind)


@pytest.mark.parametrize("stem", ["target_B", "scores_B4"])
def test_another_dtype_shape_or_no_file_is_refused(folders: Path, stem: str) -> None:
    folder, name = folders / "table", f"{stem}.npy"
    array = np.load(folder / name)
    for other in (array.astype(np.float32), array[:-1], array.reshape(-1, 1), array[:0]):
        forged(folder, stem, other)
        with pytest.raises(InputError):
            OPENERS["table"](folder)
    forged(folder, stem, array)
    OPENERS["table"](folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name}: missing"):
        OPENERS["table"](folder)


Forgery = Callable[[Path], None]


def filled(name: str, value: float, place: int | slice = slice(None)) -> Forgery:
    """A value in all places of an array, or in one."""

    def forge(folder: Path) -> None:
        array = np.load(folder / f"{name}.npy")
        array[place] = value
        forged(folder, name, array)

    return forge


def edited(**changes: object) -> Forgery:
    return partial(edited_header, **changes)


def slots(field: str, value: int, *, taken: bool = True) -> Forgery:
    """A value in a slot of the language model, or in all that are not taken."""

    def forge(folder: Path) -> None:
        slots_H = np.load(folder / "slots.npy")
        places = np.flatnonzero((slots_H["key"] != EMPTY) == taken)
        slots_H[field][places[-1:] if taken else places] = value
        forged(folder, "slots", slots_H)
        forged(folder, "tags", slot_tags(slots_H["key"]))

    return forge


def _contexts(folder: Path) -> None:
    contexts_N = np.load(folder / "contexts.npy")
    contexts_N["suffix"][-1] = len(contexts_N) - 1
    forged(folder, "contexts", contexts_N)


def _link_to_gap(folder: Path) -> None:
    table = RuleTable.load(folder)
    gapped = int(np.flatnonzero(gaps_of(table.source_sides)[table.source_B] == 1)[0])
    gap = table.source_sides[table.source_B[gapped]].tolist().index(GAP)
    filled("link_source_K", gap, int(table.link_offsets_B1[gapped]))(folder)


HUGE = 2**30
FORGED: dict[str, dict[str, Forgery]] = {
    "table": {
        "all target rows 2^30": filled("target_B", HUGE),
        "source rows that fall": filled("source_B", 5, 0),
        "a word number": filled("target_phrases_ids", HUGE, 0),
        "offsets past the end": filled("target_phrases_offsets", HUGE, -1),
        "a link outside its phrase": filled("link_source_K", 3, 0),
        "fewer words than there are": edited(metadata={"source_words": 1}),
    },
    "rules": {
        "more inserted words than there are": filled("insertion_B", 99, 0),
        "fewer deleted words than none": filled("deletion_B", -1, 0),
        "a link to a gap": _link_to_gap,
        "sides of gaps alone": filled("source_sides_ids", GAP),
        "one gap in another order": filled("swapped_B", True),
    },
    "lm": {
        "a next state": slots("next", HUGE),
        "a context that is not there": slots("key", HUGE << 32),
        "no empty slot": slots("key", 3, taken=False),
        "tags of other keys": filled("tags", 7),
        "suffixes that never end": _contexts,
    },
    "model": {
        "a row of the finder": filled("finder.row_N", HUGE, -1),
        "a node of the finder": filled("finder.rows_H", HUGE),
        "a finder without an empty slot": filled("finder.keys_H", 1),
        "fewer pairs oriented": lambda f: forged(f, "reordering", np.load(f / "reordering.npy")[1:]),
        "another kind of reordering": edited(metadata={"reordering": "zz"}),
    },
    "grammar": {
        "a left side that is no label": filled("lhs_B", 3),
        "a gap of no label": filled("source_ids", -4, 0),
        "a word of no vocabulary": filled("target_ids", HUGE, 1),
        "a gap twice": filled("target_ids", -1, 0),
        "a gap more than on the source side": filled("target_ids", -3, 1),
        "a rule without a side": filled("source_offsets", 0, 1),
        "a negative limit": filled("limit_B", -1, 0),
        "a feature without a name": filled("sparse_name_V", 4),
        "a feature that is no number": filled("dense_BD", np.nan, 0),
        "a goal that is no label": edited(metadata={"goal": 3, "copied": 0, "lm": None}),
    },
    "blocks": {
        "a bigram of no block": filled("bigram_keys_U", HUGE, -1),
        "more counts than blocks": lambda f: forged(f, "left_B", np.zeros(10_000, np.int32)),
    },
    "matches": {
        "a match of no block": filled("rows_M5", HUGE, 0),
        "a span that ends before it begins": filled("rows_M5", 3, 0),
    },
    "jumps": {
        "an even number of jumps": lambda f: forged(f, "inbound_VK", np.ones((7, 4), np.float32)),
    },
    "store": {
        "no sparse size": edited(metadata={}),
        "an id that is not there": filled("part_ids_N", HUGE),
        "a part that is not there": filled("candidate_parts_K", 1, 3),
        "a path for a name": edited(arrays={"../x": {}}),
        "an array that is no object": edited(arrays={"dense_CD": 7}),
        "a negative shape": edited(arrays={"dense_CD": {"dtype": "<f4", "shape": [-1], "bytes": 1, "sha256": ""}}),
    },
}


@pytest.mark.parametrize(("kind", "what"), [(kind, what) for kind, forgeries in FORGED.items() for what in forgeries])
def test_values_out_of_range_are_refused_though_the_checksums_fit(folders: Path, kind: str, what: str) -> None:
    FORGED[kind][what](folders / kind)
    with pytest.raises(InputError) as caught:
        OPENERS[kind](folders / kind)
    assert str(folders / kind) in str(caught.value)
    assert "again" in str(caught.value)

"""Every kind of folder of arrays: a flipped bit in any file, and values out of range under a checksum that fits."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.arrays.folders import OPENERS, write_folders
from tests.arrays.forged import edited_header, forged
from xlate.errors import InputError
from xlate.kernels.lm import slot_tags
from xlate.kernels.memory import EMPTY


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


def _slots(folder: Path, field: str, value: int, *, taken: bool = True) -> None:
    slots_H = np.load(folder / "slots.npy")
    places = np.flatnonzero((slots_H["key"] != EMPTY) == taken)
    slots_H[field][places if field == "key" and not taken else places[-1:]] = value
    forged(folder, "slots", slots_H)
    forged(folder, "tags", slot_tags(slots_H["key"]))


def _filled(folder: Path, name: str, value: int, place: int | None = None) -> None:
    array = np.load(folder / f"{name}.npy")
    array[slice(None) if place is None else place] = value
    forged(folder, name, array)


def _contexts(folder: Path) -> None:
    contexts_N = np.load(folder / "contexts.npy")
    contexts_N["suffix"][-1] = len(contexts_N) - 1
    forged(folder, "contexts", contexts_N)


HUGE = 2**30
FORGED = {
    "all target rows 2^30": ("table", lambda f: _filled(f, "target_B", HUGE)),
    "source rows that fall": ("table", lambda f: _filled(f, "source_B", 5, 0)),
    "a word number": ("table", lambda f: _filled(f, "target_phrases_ids", HUGE, 0)),
    "offsets past the end": ("table", lambda f: _filled(f, "target_phrases_offsets", HUGE, -1)),
    "a link outside its phrase": ("table", lambda f: _filled(f, "link_source_K", 3, 0)),
    "fewer words than there are": ("table", lambda f: edited_header(f, metadata={"source_words": 1})),
    "a next state": ("lm", lambda f: _slots(f, "next", HUGE)),
    "a context that is not there": ("lm", lambda f: _slots(f, "key", HUGE << 32)),
    "no empty slot": ("lm", lambda f: _slots(f, "key", 3, taken=False)),
    "tags of other keys": ("lm", lambda f: _filled(f, "tags", 7)),
    "suffixes that never end": ("lm", _contexts),
    "a row of the finder": ("model", lambda f: _filled(f, "finder.row_N", HUGE, -1)),
    "a node of the finder": ("model", lambda f: _filled(f, "finder.rows_H", HUGE)),
    "a finder without an empty slot": ("model", lambda f: _filled(f, "finder.keys_H", 1)),
    "fewer pairs oriented": ("model", lambda f: forged(f, "reordering", np.load(f / "reordering.npy")[1:])),
    "another kind of reordering": ("model", lambda f: edited_header(f, metadata={"reordering": "zz"})),
    "a left side that is no label": ("grammar", lambda f: _filled(f, "lhs_B", 3)),
    "a gap of no label": ("grammar", lambda f: _filled(f, "source_ids", -4, 0)),
    "a word of no vocabulary": ("grammar", lambda f: _filled(f, "target_ids", HUGE, 1)),
    "a gap twice": ("grammar", lambda f: _filled(f, "target_ids", -1, 0)),
    "a gap more than on the source side": ("grammar", lambda f: _filled(f, "target_ids", -3, 1)),
    "a rule without a side": ("grammar", lambda f: _filled(f, "source_offsets", 0, 1)),
    "a negative limit": ("grammar", lambda f: _filled(f, "limit_B", -1, 0)),
    "a feature without a name": ("grammar", lambda f: _filled(f, "sparse_name_V", 4)),
    "a feature that is no number": ("grammar", lambda f: _filled(f, "dense_BD", np.nan, 0)),
    "a goal that is no label": ("grammar", lambda f: edited_header(f, metadata={"goal": 3, "copied": 0, "lm": None})),
    "a bigram of no block": ("blocks", lambda f: _filled(f, "bigram_keys_U", HUGE, -1)),
    "more counts than blocks": ("blocks", lambda f: forged(f, "left_B", np.zeros(10_000, np.int32))),
    "a match of no block": ("matches", lambda f: _filled(f, "rows_M5", HUGE, 0)),
    "a span that ends before it begins": ("matches", lambda f: _filled(f, "rows_M5", 3, 0)),
    "an even number of jumps": ("jumps", lambda f: forged(f, "inbound_VK", np.ones((7, 4), np.float32))),
    "no sparse size": ("store", lambda f: edited_header(f, metadata={})),
    "an id that is not there": ("store", lambda f: _filled(f, "part_ids_N", HUGE)),
    "a path for a name": ("store", lambda f: edited_header(f, arrays={"../x": {}})),
    "an array that is no object": ("store", lambda f: edited_header(f, arrays={"dense_CD": 7})),
    "a negative shape": (
        "store",
        lambda f: edited_header(f, arrays={"dense_CD": {"dtype": "<f4", "shape": [-1], "bytes": 1, "sha256": ""}}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_values_out_of_range_are_refused_though_the_checksums_fit(folders: Path, what: str) -> None:
    kind, forge = FORGED[what]
    forge(folders / kind)
    with pytest.raises(InputError) as caught:
        OPENERS[kind](folders / kind)
    assert str(folders / kind) in str(caught.value)
    assert "again" in str(caught.value)

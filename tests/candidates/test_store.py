"""The candidate store: what was appended comes back; what is damaged is refused; what fails leaves nothing.

Orders of an epoch are permutations that depend on their arguments and on nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.candidates.plain_lists import listed
from tests.candidates.test_batch import example
from tests.phrases.small_corpora import assert_same
from tests.strategies import ragged_batches
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import CandidateStore, StoreWriter, epoch_order, is_whole, shard_path, spread
from xlate.errors import InputError


def write(directory: Path, *batches: CandidateBatch, sparse_size: int = 10) -> Path:
    names = [f"f{d}" for d in range(batches[0].dense_CD.shape[1])] if batches else ["f0"]
    with StoreWriter(directory, names, sparse_size, metadata={"made": "här"}) as writer:
        for batch in batches:
            writer.append(batch)
    return directory


@settings(max_examples=25, deadline=None)
@given(ragged_batches(dense=2), st.data())
def test_appended_batches_come_back(whole: CandidateBatch, data: st.DataObject) -> None:
    """Cut anywhere into pieces, appended piece by piece, opened: the same arrays, the same instances."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    pieces = [whole.select(range(a, b)) for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        store = CandidateStore.open(write(Path(folder) / "store", *pieces))
        assert_same(store.arrays, whole.select(range(len(whole))))
        assert (len(store), store.dense_names, store.gain_names) == (len(whole), ["f0", "f1"], ["gain"])
        assert (store.sparse_size, store.metadata) == (10, {"made": "här"})
        rows = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=5)) if len(whole) else []
        assert listed(store.batch(rows)) == [listed(whole)[row] for row in rows]


def test_arrays_are_mapped_not_read_and_batches_are_copies(tmp_path: Path) -> None:
    store = CandidateStore.open(write(tmp_path / "s", example()))
    assert isinstance(store.arrays.part_ids_N.base, np.memmap)
    assert store.batch([1, 0]).part_ids_N.flags.writeable


def test_a_finished_writer_replaces_the_older_store_and_one_that_failed_leaves_it(tmp_path: Path) -> None:
    write(tmp_path / "s", example())
    before = CandidateStore.open(tmp_path / "s")

    def fail_midway() -> None:
        with StoreWriter(tmp_path / "s", ["a", "b"], 10) as writer:
            writer.append(example())
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail_midway()
    assert len(CandidateStore.open(tmp_path / "s")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    write(tmp_path / "s", example().select([0]))
    assert len(CandidateStore.open(tmp_path / "s")) == 1
    assert before.arrays.part_ids_N.tolist() == [7, 9, 4], "a reader keeps the store it opened"
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("dense_CD: 1 columns, named", {"dense_CD": np.zeros((3, 1), np.float32)}),
        ("part_ids_N: id 10, expected below 10", {"part_ids_N": np.array([1, 10, 2], np.int32)}),
        ("the batches before had", {"base_C": None}),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(tmp_path: Path, message: str, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "s", example(), replace(example(), **change))
    assert list(tmp_path.iterdir()) == []


def units(instances: int) -> CandidateBatch:
    """Lists of units: one candidate of one unit of two numbers, with one more number in between."""
    count = np.arange(instances + 1)
    return CandidateBatch(
        count,
        np.ones((instances, 1), np.float32),
        np.ones((instances, 1), np.float32),
        0 * count,
        np.zeros(0, np.int32),
        count,
        count,
        np.zeros(instances, np.int32),
        sentence_I=count[1:] * 10,
        draws_C=np.ones(instances, np.int32),
        unit_PU=np.arange(2 * instances, dtype=np.int32).reshape(-1, 2),
        between_offsets_P1=count,
        between_T=np.arange(instances, dtype=np.int32),
    ).validate()


def shards(folder: Path, *sizes: int) -> list[Path]:
    paths = [shard_path(folder, number) for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        write(path, units(size), sparse_size=0)
    return paths


def test_shards_are_one_store(tmp_path: Path) -> None:
    shards(tmp_path, 2, 0, 3)
    store = CandidateStore.open(tmp_path)
    assert_same(store.arrays, CandidateBatch.joined([units(2), units(3)]))
    assert store.arrays.sentence_I.tolist() == [10, 20, 10, 20, 30]
    assert store.batch([4, 0]).between_T.tolist() == [2, 0]
    # A store has the features of all its shards, not those of the first.
    write(shard_path(tmp_path, 1), units(1), sparse_size=7)
    assert CandidateStore.open(tmp_path).sparse_size == 7


def test_a_damaged_shard_is_named_and_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = shards(tmp_path, 2, 3)
    assert is_whole(first)
    assert not is_whole(shard_path(tmp_path, 7))
    damaged = second / "unit_PU.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    with pytest.raises(InputError, match="damaged") as refused:
        CandidateStore.open(tmp_path)
    assert refused.value.file == str(damaged)
    assert not is_whole(second)
    assert str(damaged) in caplog.text
    assert not second.exists()
    assert is_whole(first)


def test_a_folder_of_somebody_else_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary").write_text("dear")
    with pytest.raises(InputError):
        is_whole(tmp_path / "mine")
    assert (tmp_path / "mine" / "diary").exists()


def test_shards_of_other_features_are_no_store(tmp_path: Path) -> None:
    shards(tmp_path, 2)
    write(shard_path(tmp_path, 1), example())
    with pytest.raises(InputError, match="dense_names are not those of the first shard"):
        CandidateStore.open(tmp_path)
    shutil.rmtree(shard_path(tmp_path, 1))
    write(shard_path(tmp_path, 1), replace(units(1), draws_C=None), sparse_size=0)
    with pytest.raises(InputError, match="differ"):
        CandidateStore.open(tmp_path)


def test_units_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unit_PU: shape \(2, 2\), expected shape \(3, 2\)"):
        replace(units(3), unit_PU=np.zeros((2, 2), np.int32)).validate()
    with pytest.raises(ValueError, match="3 columns, but 2 in the batches before"):
        write(tmp_path / "s", units(1), replace(units(1), unit_PU=np.zeros((1, 3), np.int32)), sparse_size=0)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 99), st.integers(0, 9), st.none() | st.integers(1, 70))
def test_an_order_is_a_permutation(size: int, seed: int, epoch: int, block: int | None) -> None:
    order = epoch_order(size, seed, epoch, name="floats", block=block)
    assert sorted(order.tolist()) == list(range(size))
    assert order.dtype == np.int64
    # Runs of neighbours stay together.
    assert block is None or np.count_nonzero(np.diff(order // block)) == max(-(-size // block) - 1, 0)


def test_equal_arguments_give_equal_orders_and_others_other_ones() -> None:
    def order(**given: Any) -> tuple[int, ...]:
        return tuple(epoch_order(100, **{"seed": 1, "epoch": 0, "name": "a"} | given).tolist())

    assert order() == order()
    assert order(block=10) == order(block=10)
    assert len({order(), order(seed=2), order(epoch=1), order(name="b"), order(block=10)}) == 5
    # A seed and an epoch that change places must not give the same stream.
    assert order(seed=3, epoch=5) != order(seed=5, epoch=3)


def test_runs_and_what_is_within_them_are_both_shuffled() -> None:
    order = epoch_order(1000, 1, 0, block=100)
    assert (order[::100] // 100).tolist() != list(range(10))
    assert order[:100].tolist() != sorted(order[:100].tolist())


@settings(deadline=None)
@given(st.integers(0, 300), st.floats(0.001, 1.0))
def test_spread_takes_its_share_evenly(size: int, fraction: float) -> None:
    chosen = spread(size, fraction)
    assert len(chosen) == (min(size, max(1, round(size * fraction))) if size else 0)
    assert (np.diff(chosen) > 0).all()
    if size:
        assert chosen[0] == 0
        assert chosen[-1] < size
        gaps = np.diff(np.append(chosen, size))
        assert gaps.max() - gaps.min() <= 1

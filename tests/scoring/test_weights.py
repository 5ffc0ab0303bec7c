"""Weights files: what was saved comes back to the bit; anything else is refused, and nothing in a file can run.

Families of sparse weights without their mean.
"""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors

from xlate.arrays.ranges import pieces
from xlate.candidates.batch import CandidateBatch
from xlate.errors import InputError
from xlate.features.index import NamedFeatures
from xlate.scoring.weights import Weights, centred, load_weights, save_weights, true_occurrences

NAMES = ("der ||| the → Ü", "日本語|N", "", "a b", "مرحبا", "never seen")
EXTREME = [1e-310, -0.0, np.pi, -1e38, 5.0, 0.0]


def write(path: Path) -> Path:
    sets = {
        "linked": Weights(np.array([0.1, -1 / 3]), np.array(EXTREME), ("unigram", "größe")),
        "neutral": Weights(np.array([7.0]), np.zeros(0), ("unigram",)),
    }
    extra = {"linked.keys": np.array([1, 2**63, 3], np.uint64)}
    save_weights(
        path, sets, features={"linked": NamedFeatures(NAMES)}, extra=extra, metadata={"work": "ünï", "n": [1, 2.5]}
    )
    return path


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    file = load_weights(write(tmp_path / "w.safetensors"))
    linked = file.sets["linked"]
    assert list(file.sets) == ["linked", "neutral"]
    assert linked.dense_D.tobytes() == np.array([0.1, -1 / 3]).tobytes()
    assert linked.sparse_F.tobytes() == np.array(EXTREME).tobytes()
    assert linked.dense_names == ("unigram", "größe")
    assert file.sets["neutral"].sparse_F.shape == (0,)
    weighted = [row for row in zip(NAMES, EXTREME, strict=True) if row[1]]
    assert [(name, weight) for *_, name, weight in file.learned("linked")] == weighted
    # Minus 0 is written, too; the feature that weighs 0 is not.
    assert file.features["linked"].names_A == list(NAMES[:5])
    assert list(file.learned("neutral")) == []
    assert file.metadata == {"work": "ünï", "n": [1, 2.5]}
    assert file.extra["linked.keys"].tolist() == [1, 2**63, 3]
    assert file.extra["linked.keys"].dtype == np.uint64


def test_only_weights_that_are_not_0_are_written_in_the_type_they_have(tmp_path: Path) -> None:
    sparse_F = np.zeros(100_000)
    sparse_F[[7, 99_999]] = 1 / 3, -2.0
    weights = Weights(np.ones(1), sparse_F, ("x",))
    save_weights(tmp_path / "w", {"wide": weights, "narrow": weights.single()})
    sets = load_weights(tmp_path / "w").sets
    assert (tmp_path / "w").stat().st_size < 2000
    assert sets["wide"].sparse_F.tobytes() == sparse_F.tobytes()
    assert sets["narrow"].sparse_F.dtype == np.float32
    assert np.array_equal(sets["narrow"].sparse_F, sparse_F.astype(np.float32))


def test_as_many_features_as_weights(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 features, 2 weights"):
        save_weights(tmp_path / "w", {"m": Weights.zeros(["x"], 2)}, features={"m": NamedFeatures(("a",))})
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_earlier_form_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(_foreign({"xlate": '{"format": "xlate weights 1"}'}))
    with pytest.raises(InputError, match="weights of an earlier version") as caught:
        load_weights(tmp_path / "w")
    assert "train or import it again" in str(caught.value.remedy)


class Bomb:
    """Unpickled, it would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    with pytest.raises(InputError, match="not a usable weights file"):
        load_weights(tmp_path / "w")
    assert not (tmp_path / "exploded").exists()


def test_every_cut_and_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "w").read_bytes()
    for place in [*range(0, len(whole), 7), len(whole) - 1]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << (place % 8)
        for damaged in (whole[:place], flipped):
            (tmp_path / "damaged").write_bytes(damaged)
            with pytest.raises(InputError, match="not a usable weights file"):
                load_weights(tmp_path / "damaged")


def _foreign(metadata: dict[str, str] | None) -> bytes:
    return save_tensors({"layer.weight": np.ones(3)}, metadata)


@pytest.mark.parametrize(
    ("seen", "raw"),
    [
        ("__metadata__", _foreign(None)),
        ("KeyError: 'xlate'", _foreign({"made": "elsewhere"})),
        ("JSONDecodeError", _foreign({"xlate": "no JSON"})),
        ("format 'xlate weights 9'", _foreign({"xlate": '{"format": "xlate weights 9"}'})),
        ("crc32", _foreign({"xlate": '{"format": "xlate weights 2"}'})),
        ("Error", b"just some text, and rather more of it than eight bytes\n"),
        ("No such file", None),
    ],
)
def test_a_foreign_or_missing_file_is_refused(tmp_path: Path, seen: str, raw: bytes | None) -> None:
    if raw is not None:
        (tmp_path / "w").write_bytes(raw)
    with pytest.raises(InputError, match=seen) as caught:
        load_weights(tmp_path / "w")
    assert caught.value.file == str(tmp_path / "w")
    assert caught.value.expected == "xlate weights 2"


def test_a_name_with_a_line_end_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a line end in a feature name"):
        save_weights(
            tmp_path / "w",
            {"a": Weights(np.zeros(1), np.ones(2), ("x",))},
            features={"a": NamedFeatures(("fine", "not\nfine"))},
        )
    assert list(tmp_path.iterdir()) == []


def test_names_are_packed_the_same_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = NamedFeatures(tuple(f"a={n}" for n in range(7)))
    weights, written = Weights(np.zeros(1), np.ones(7), ("f",)), []
    for most in (100, 3, 7):
        monkeypatch.setattr("xlate.scoring.weights.pieces", partial(pieces, size=most))
        save_weights(tmp_path / "w.safetensors", {"w": weights}, features={"w": index})
        written.append((tmp_path / "w.safetensors").read_bytes())
    assert written[0] == written[1] == written[2]
    assert load_weights(tmp_path / "w.safetensors").features["w"].names_A == list(index.names_F)


def test_metadata_that_json_cannot_say_leaves_the_older_file(tmp_path: Path) -> None:
    before = write(tmp_path / "w").read_bytes()
    with pytest.raises(TypeError):
        save_weights(tmp_path / "w", {"a": Weights.zeros(["x"], 2)}, metadata={"x": object()})
    assert (tmp_path / "w").read_bytes() == before


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e308])
def test_weights_that_would_ruin_every_score_are_not_written(tmp_path: Path, value: float) -> None:
    for weights in (Weights(np.array([value]), np.zeros(0), ("x",)), Weights(np.zeros(0), np.array([0.0, value]), ())):
        with pytest.raises(InputError, match=r"w: a weight is not a finite number(?s:.*)smaller rates"):
            save_weights(tmp_path / "w", {"linked": weights})
    assert not (tmp_path / "w").exists()


FAMILIES = {"BB": slice(0, 3), "TP": slice(3, 5), "WB": slice(5, 6)}


def test_the_mean_over_occurrences_of_each_family_goes_and_differences_stay() -> None:
    weights = Weights(np.array([-1.0]), np.array([1.0, 2.0, 4.0, 5.0, 5.0, 7.0]), ("length",))
    count_F = np.array([2, 1, 1, 3, 0, 0])
    found = centred(weights, FAMILIES, count_F)
    # 2, 5, and nothing for a family that does not occur.
    assert found.sparse_F.tolist() == [-1.0, 0.0, 2.0, 0.0, 0.0, 7.0]
    assert found.dense_D.tolist() == [-1.0]
    assert weights.sparse_F[0] == 1.0, "the weights that were given stay"


def test_only_true_candidates_count() -> None:
    events = CandidateBatch(
        candidate_offsets_I1=np.array([0, 2, 3]),
        dense_CD=np.zeros((3, 1), np.float32),
        gain_CG=np.array([[1.0], [-1.0], [1.0]], np.float32),
        part_id_offsets_P1=np.array([0, 2, 3, 5]),
        part_ids_N=np.array([0, 1, 2, 1, 4], np.int32),
    )
    assert true_occurrences(events, 6).tolist() == [1, 2, 0, 0, 1, 0]

"""Given lists as they are learned from, by hand: floats, sparse features and held-out lists; pairs of translations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.ranking import RankedLists, begin
from xlate.models.rerank.lists import preference_pairs
from xlate.models.rerank.ranker import POSITION, TOTAL

LINES = [
    "0 ||| a b ||| LM= 1 X= 3 ||| -1",
    "0 ||| a c ||| LM= 3 ||| -3",
    "1 ||| a b ||| LM= 0 X= 4 ||| -2",
    "1 ||| a d ||| LM= 4 ||| -2",
    "2 ||| c b ||| LM= 5 ||| 0",
]


@pytest.fixture
def nbest(tmp_path: Path) -> Path:
    (tmp_path / "list").write_text("\n".join(LINES) + "\n")
    (tmp_path / "ref").write_text("a b\na d\nc b\n")
    return tmp_path / "list"


def test_lists_are_centred_scaled_and_held_out(nbest: Path) -> None:
    keys = {"ngrams": 1, "length": "false", "min_lists": 2, "position": "true"}
    given = [f"nbest={nbest}", f"references=[{nbest.parent / 'ref'}]", "loss.lists.heldout_every=3"]
    model = ["model=rerank", "loss=xbleu", *(f"model.rerank.{key}={value}" for key, value in keys.items())]
    ranked = RankedLists.read(load(TrainConfig, "train", [*model, *given]))
    assert ranked.heldout_I.tolist() == [False, False, True]
    # The mean of a list is 0; spread is the standard deviation over all candidates.
    assert ranked.dense_names == ("LM", TOTAL, POSITION)
    centred = np.array([[-1, 1, 0.25], [1, -1, -0.25], [-2, 0, 0.25], [2, 0, -0.25], [0, 0, 0]])
    assert ranked.spread_D == pytest.approx(np.sqrt([2.0, 0.4, 0.05]))
    assert ranked.batch.dense_CD == pytest.approx(centred / ranked.spread_D)
    # `a` is in every candidate that is trained on, `c` and `d` differ in one list. X has its values by their root mean
    # square.
    named = list(ranked.features.names(np.arange(len(ranked.features))))
    assert len(named) == 2
    own = named.index("X")
    assert np.diff(ranked.batch.part_id_offsets_P1).tolist() == [2, 0, 2, 0, 1]
    assert ranked.scale_F[[own, 1 - own]] == pytest.approx([np.sqrt(12.5), 1.0])
    values_N, ids_N = ranked.batch.part_values_N, ranked.batch.part_ids_N
    assert values_N is not None
    assert values_N[ids_N == own] == pytest.approx(np.array([3.0, 4.0]) / np.sqrt(12.5))
    assert (values_N[ids_N != own] == 1.0).all()


@pytest.mark.parametrize(("names", "expected"), [(("LM", POSITION, TOTAL), [0, 0, 2]), (("LM", POSITION), [0, 2])])
def test_weights_begin_with_the_order_of_the_list(names: tuple[str, ...], expected: list[float]) -> None:
    assert begin(names, 2.0).tolist() == expected


@pytest.mark.parametrize(
    ("most", "least", "expected"),
    [
        (1, 0.0, [("b", "a", 0.8)]),
        (9, 0.0, [("b", "a", 0.8), ("d", "c", 0.4)]),
        (9, 0.5, [("b", "a", 0.8)]),
    ],
)
def test_pairs_are_best_with_worst(
    most: int, least: float, expected: list[tuple[str, str, float]], nbest: Path
) -> None:
    """The fifth hypothesis has the words of the first; the second list has equal gains."""
    nbest.write_text(
        "".join(f"{s} ||| {text} ||| LM= 1 ||| 0\n" for s, texts in enumerate(("abcda", "ab")) for text in texts)
    )
    gain_C = np.array([0.1, 0.9, 0.5, 0.9, 0.1, 0.3, 0.3])
    lists = list(NbestFile(str(nbest)).lists())
    found = list(preference_pairs(lists, ["x", "y"], gain_C, most, least))
    assert [(pair["chosen"], pair["rejected"], pair["margin"]) for pair in found] == expected
    assert all((pair["id"], pair["prompt"]) == (0, "x") for pair in found)

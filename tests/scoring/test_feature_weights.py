"""Weights by name from Moses's files and ours, and lists rescored with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.errors import InputError
from xlate.features.index import NamedFeatures
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import Style, by_sentence, iterate_hypotheses
from xlate.scoring.feature_weights import load_feature_weights, rescored, unweighted, write_feature_weights
from xlate.scoring.weights import Weights, save_weights

LINES = [
    "0 ||| a ||| lm: -1 tm: 1 2 s=1: 1 ||| 9 ||| 0=0",
    "0 ||| b ||| lm: -3 tm: 1 2 ||| 5",
    "0 ||| c ||| lm: -1 tm: 2 2",
    "4 ||| d ||| lm: 2 tm: 0 0 ||| 1",
]
READ = [Style().line(line, number)[0] for number, line in enumerate(LINES, start=1)]


def test_a_configuration_with_a_sparse_file(tmp_path: Path) -> None:
    (tmp_path / "sparse").write_text("WT_a~b 0.5\nTB_=: -2e-3\n")
    ini = tmp_path / "moses.ini"
    ini.write_text("[feature]\nLM path=x order=5\n# no\n[weight-file]\nsparse\n[weight]\nLM0= 0.5\nTM0= 1 -2 3\n")
    expected = {"WT_a~b": 0.5, "TB_=:": -0.002, "LM0": 0.5, "TM0_0": 1, "TM0_1": -2, "TM0_2": 3}
    assert load_feature_weights(ini) == expected


def test_our_weights(tmp_path: Path) -> None:
    one = Weights(np.array([1.0, 2.0]), np.array([3.0]), ("lm", "tm_0"))
    save_weights(tmp_path / "weights.safetensors", {"model": one}, features={"model": NamedFeatures(("s",))})
    assert load_feature_weights(tmp_path) == {"lm": 1, "tm_0": 2, "s": 3}
    save_weights(tmp_path / "two.safetensors", {"linked": one, "neutral": one})
    two = load_feature_weights(tmp_path / "two.safetensors")
    assert (two["linked_lm"], two["neutral_tm_0"], two["bigrams"], two["partition"]) == (1, 2, 1, 1)


NAME = st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" =:|\x0b\x85\xa0\u2028")).filter(
    lambda name: name and name == name.strip(" ") and name[0] not in "#["
)


@given(weights=st.dictionaries(NAME, st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_weights_written_as_text_are_read_to_the_bit(tmp_path_factory, weights: dict[str, float]) -> None:
    path = tmp_path_factory.mktemp("text") / "weights"
    write_feature_weights(path, weights)
    assert list(load_feature_weights(path).items()) == list(weights.items())


def test_names_with_blanks_and_lines_of_cdec(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_text("# cdec\nPassThrough -2.5\na\u2028b= 1\nplain:pair=das haus|the house\t0.25\nngram=a =\t-1e-3\n")
    expected = {"PassThrough": -2.5, "a\u2028b": 1.0, "plain:pair=das haus|the house": 0.25, "ngram=a =": -0.001}
    assert load_feature_weights(path) == expected


@pytest.mark.parametrize("name", ["", "#lm", "[weight]", "lm ", " lm", "a\tb", "a\nb"])
def test_names_that_would_not_be_read_again(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="a text file of weights cannot hold"):
        write_feature_weights(tmp_path / "weights", {"lm": 1.0, name: 2.0})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("lm= 1\nlm= 2\n", 2),
        ("lm= much\n", 1),
        ("lm\n", 1),
        ("lm x\t1 2\n", 1),
        ("lm\t\n", 1),
        ("lm x\tnan\n", 1),
        ("a\tb\t1\n", 1),
        ("[weight]\nlm=\n", 2),
        ("lm= nan\n", 1),
        ("lm= 1\ntm= 1 -inf\n", 2),
        ("lm= 1e999\n", 1),
        ("lm= 1_0\n", 1),
        ("[weight-file]\nweights\n[weight]\nlm= 1\n", 2),
        ("[weight-file]\n./../\n", None),
        ("[weight-file]\na\0b\n", 2),
    ],
)
def test_weights_that_cannot_be_used(text: str, line: int | None, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_feature_weights(path)
    assert caught.value.line == line


def test_weight_files_that_lead_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[weight-file]\nb\n")
    (tmp_path / "b").write_text("[weight-file]\na\n")
    with pytest.raises(InputError, match="includes itself") as caught:
        load_feature_weights(tmp_path / "a")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "b"), 2)


def test_our_weights_are_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as unchecked:
        unchecked.setattr(Weights, "finite", True)
        save_weights(tmp_path / "w.safetensors", {"model": Weights(np.ones(1), np.array([-np.inf]), ("lm",))})
    with pytest.raises(InputError, match="a weight is not a finite number"):
        load_feature_weights(tmp_path / "w.safetensors")


def test_totals_are_finite_or_refused() -> None:
    arrays = nbest_arrays(by_sentence(READ, "list"))
    for weights in ({"tm_0": 1e308, "tm_1": 1e308}, {"lm": 1e308, "tm_0": 1e308, "tm_1": -1e308}):
        with pytest.raises(InputError, match="the total is not a finite number") as caught:
            arrays.scores(weights)
        assert "of hypothesis" in str(caught.value.seen)


def test_rescored_lists_are_best_first_and_else_the_same() -> None:
    """Equal scores keep their order."""
    again = rescored(by_sentence(READ, "list"), np.zeros(4))
    assert [[hypothesis.text for hypothesis in group] for group in again] == [["a", "b", "c"], ["d"]]
    arrays = nbest_arrays(by_sentence(READ, "list"))
    score_C = arrays.scores({"lm": 2, "tm_0": 1, "tm_1": 0.5, "s=1": -7})
    assert score_C.tolist() == [-7, -4, 1, 4]
    lines = [" ||| ".join(h.fields) for group in rescored(by_sentence(READ, "list"), score_C) for h in group]
    assert lines == [
        "0 ||| c ||| lm: -1 tm: 2 2 ||| 1",
        "0 ||| b ||| lm: -3 tm: 1 2 ||| -4",
        "0 ||| a ||| lm: -1 tm: 1 2 s=1: 1 ||| -7 ||| 0=0",
        "4 ||| d ||| lm: 2 tm: 0 0 ||| 4",
    ]


@pytest.mark.parametrize("count", [3, 5])
def test_scores_of_another_list(count: int) -> None:
    with pytest.raises(ValueError, match="scores for"):
        list(rescored(by_sentence(READ, "list"), np.zeros(count)))


def test_columns_without_a_weight() -> None:
    arrays = nbest_arrays(by_sentence(READ, "list"))
    assert unweighted(arrays, {"lm": 1.0}) == ["tm_0", "tm_1", "s=1"]
    for weights in ({"other": 1.0}, {"lm": 1.0, "tm_0": 1.0}, {"lm": 1.0, "tm_0": 1.0, "tm_1": 1.0, "tm_2": 1.0}):
        with pytest.raises(InputError):
            unweighted(arrays, weights)


def test_totals_of_moses(shared_data: Path) -> None:
    moses = shared_data / "moses"
    path = moses / "nbest" / "val.100best.gz"
    arrays = nbest_arrays(by_sentence(iterate_hypotheses(path), path))
    weights = load_feature_weights(moses / "moses.ini")
    assert unweighted(arrays, weights) == []
    # What is left is -100 for each unknown word.
    left_C = (arrays.total_C - arrays.scores(weights)) / 100
    assert np.abs(left_C - np.round(left_C)).max() < 1e-5

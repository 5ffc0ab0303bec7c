"""The features that a run gave a weight, how they are shown, and those that fired in a derivation."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.models.test_every_system import SYSTEMS, structured
from xlate.errors import InputError
from xlate.features.block import FAMILIES as BLOCK_FAMILIES
from xlate.features.phrase_sparse import PLAIN, REORDERING
from xlate.features.structure import FAMILIES as STRUCTURE_FAMILIES
from xlate.jobs.inspect import changes_between
from xlate.jobs.sparse_features import (
    PARTS,
    FiredFeatures,
    Learned,
    by_family,
    decimals,
    families_of,
    family_table,
    full_explanation,
    learned_features,
    legend,
    meaning,
    of_families,
    print_legend,
    strongest,
    strongest_table,
)
from xlate.jobs.translate import TokenizedText, Translator
from xlate.scoring.weights import Weights, load_weights, save_weights

FAMILIES = ["reordering:source_first:top80", "reordering:pair", "plain:source_first:top80", "WB"]


def learned(family: str, weight: float, name: str = "", set_name: str = "phrase") -> Learned:
    return Learned(set_name, 0, family, name or f"{family}={weight}", weight)


ALL = [learned(family, 1.0 + place) for place, family in enumerate(FAMILIES)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("reordering", [0, 1]),
        ("source_first", [0, 2]),
        ("source_first:top80", [0, 2]),
        ("plain:source_first:top80", [2]),
        ("WB", [3]),
    ],
)
def test_families_are_named_by_parts(asked: str | None, expected: list[int]) -> None:
    assert of_families(ALL, asked, FAMILIES) == [ALL[place] for place in expected]


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [("source_frist", "did you mean family=source_first?"), ("top8", "did you mean family=top80?"), ("xyz", None)],
)
def test_an_unknown_family_names_the_nearest(asked: str, remedy: str | None) -> None:
    with pytest.raises(InputError, match="no such family") as caught:
        of_families(ALL, asked, FAMILIES)
    assert caught.value.expected == "reordering, source_first, top80, pair, plain, WB"
    assert caught.value.remedy == remedy
    with pytest.raises(InputError, match=r"no such family(?s:.*)no sparse features"):
        of_families([], asked, [])


def test_learned_features_keep_their_ids(tmp_path: Path) -> None:
    system = structured()
    index = system.features
    assert index is not None
    sparse_F = np.where(np.arange(len(index)) % 3 == 0, 0.0, np.arange(len(index)) / 7)
    weights = Weights(np.zeros(1), sparse_F, ("float",))
    save_weights(tmp_path / "weights.safetensors", {"hierarchical": weights}, features={"hierarchical": index})
    file = load_weights(tmp_path / "weights.safetensors")
    found, ids = learned_features(file), np.flatnonzero(sparse_F)
    assert [feature.feature for feature in found] == ids.tolist()
    assert [feature.name for feature in found] == list(index.names(ids))
    assert [feature.weight for feature in found] == sparse_F[ids].tolist()
    assert set(families_of(file)) == {feature.family for feature in found}


def test_families_with_the_largest_weights_stand_first_and_small_weights_are_told_apart() -> None:
    weights = {"word_pair": (0.00112, -0.00057), "parent_child": (-0.00208,)}
    features = [learned(family, weight) for family, values in weights.items() for weight in values]
    families = by_family(features)
    found = [(family, weights_A.tolist()) for family, weights_A in families.items()]
    assert found == [("parent_child", [-0.00208]), ("word_pair", [0.00112, -0.00057])]
    console, listed = Console(width=100, record=True), strongest(features, 3)
    console.print(family_table(families))
    console.print(strongest_table("strongest", listed, [feature.name for feature in listed]))
    print_legend(list(families), console)
    text = console.export_text()
    assert re.search(r"word_pair +│ +2 │ +1 │ +0\.00 │ +0\.00112", text)
    for weight in ("+0.00112", "-0.00208", "-0.00057"):
        assert weight in text
    assert "an aligned source word of a rule, and one of a rule that fills one of its gaps" in text
    assert [decimals([w]) for w in (123.4, 0.1, 0.0999, -0.01, 1e-6)] == [3, 3, 4, 4, 8]
    more = [learned("a", weight) for weight in (0.5, -2.0, 3.0, -0.1, 1.0)]
    assert [feature.weight for feature in strongest(more, 2)] == [3.0, 1.0, -2.0, -0.1]


def test_changes_are_by_set_and_name_largest_first() -> None:
    here = [learned("a", 1.0, "x"), learned("a", -2.0, "y"), learned("b", 0.5, "z"), learned("b", 7.0, "s")]
    there = [learned("a", 3.0, "x"), learned("a", -2.5, "y"), learned("b", 4.0, "w"), learned("b", 7.0, "s")]
    found = changes_between(here, [*there, learned("b", 9.0, "z", "other set")])
    assert [(change.name, change.word, change.size) for change in found] == [
        ("z", "gone", -9.0), ("w", "gone", -4.0), ("x", "down", -2.0), ("y", "up", 0.5), ("z", "new", 0.5),
        ("s", "same", 0.0),
    ]  # fmt: skip


def test_every_template_and_family_is_explained() -> None:
    assert {*REORDERING, *PLAIN, *STRUCTURE_FAMILIES, *BLOCK_FAMILIES} <= set(PARTS)


def test_features_of_given_lists_are_explained_by_their_own_words() -> None:
    # Of other names only the parts are looked at.
    for name, parts in (
        ("reordering:source_first:class50=17{all top},D", ["reordering", "source_first", "class"]),
        ("word_pair:all,class50(pair,17{insertion})", ["word_pair", "all", "class"]),
        ("WB:all>top", ["WB"]),
    ):
        assert [part for part, _ in legend([name])] == parts
    told = dict(legend(["pair=haus|house", "length=+1", "ngram=a b", "plain:lengths=1,2"]))
    assert list(told) == ["plain", "lengths", "ngram", "pair", "length"]
    assert told["pair"] == "a source word and a target word"
    assert dict(legend(["plain:pair=das haus|the house"]))["pair"] == PARTS["pair"]


def test_features_without_weight_are_counted() -> None:
    plain = SYSTEMS["phrase"]().with_search(nbest=1)
    derivation = plain.translate(["a", "b"])[0]
    assert FiredFeatures(plain).of(derivation) == [([], 0)] * len(derivation.steps)
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    none = system.changed(sparse_F=np.zeros_like(system.weights.sparse_F))
    translation = Translator(TokenizedText(), none).translate_line("a b")
    derivation = translation.derivations[0]
    weighted, without = zip(*FiredFeatures(none).of(derivation), strict=True)
    assert not any(weighted)
    assert sum(without) > 0
    # Then the trace alone explains it.
    assert full_explanation(translation) == none.explain(translation.source, derivation)


def test_the_strongest_features_stand_behind_the_trace() -> None:
    system = SYSTEMS["phrase sparse"]().with_search(nbest=1)
    translation = Translator(TokenizedText(), system).translate_line("b d a")
    derivation = translation.derivations[0]
    text = full_explanation(translation, top=3)
    trace = system.explain(translation.source, derivation)
    assert text.startswith(f"{trace}\nsparse features that fired: ")
    title, *rows = text.removeprefix(trace).strip().splitlines()
    fired = [one for weighted, _ in FiredFeatures(system).of(derivation) for one in weighted]
    assert f"{len(fired)} with a weight" in title
    assert title.endswith("; the strongest:")
    largest = sorted((one.score for one in fired), key=lambda score: -abs(score))[:3]
    told = [re.match(r" +([+-][\d.]+)(?: ×(\d+))? +\S.*?  in (?:.*→.*|end of sentence)$", row) for row in rows]
    assert [float(row[1]) * int(row[2] or 1) for row in told if row] == pytest.approx(largest, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TranslationModel0_2", "ln p(target phrase | source phrase)"),
        ("FiveWayReordering0_8", "ln p of the orientation to the next phrase: jumps back"),
        ("reordering:source_first:class20=7{a, …},D", "the first source word of the phrase: {a, …}; jumps"),
        ("reordering:top_target_last:all=,,M", "the target word before the phrase: ,; continues forward"),
        ("plain:pair=a b|c", "source and target phrase: a b → c"),
        ("plain:target_bigram:all=a=b|c", "two target words in a row: a=b|c"),
        ("word_pair:all,class50(a),17{b c})", "a source word and a target word that are aligned: a),{b c}"),
        ("BB:a=b>c|d", "a block and the preceding one"),
        ("insertion", "an unaligned target word, with each source word of the sentence"),
        ("unheard", ""),
        ("reordering:unheard:all=a,D", ""),
    ],
)
def test_names_are_put_into_words(name: str, expected: str) -> None:
    assert meaning(name) == expected

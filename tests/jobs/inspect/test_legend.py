"""Every part of a feature's name is explained."""

from __future__ import annotations

from xlate.features.bigrams import FAMILIES as BLOCK_FAMILIES
from xlate.features.phrase_sparse import PLAIN, REORDERING
from xlate.features.structure import FAMILIES
from xlate.jobs.inspect.legend import PARTS, legend


def test_every_template_and_family_is_explained() -> None:
    assert {*REORDERING, *PLAIN, *FAMILIES, *BLOCK_FAMILIES} <= set(PARTS)


def test_only_the_parts_of_a_name_are_looked_at() -> None:
    assert [part for part, _ in legend(["reordering:source_first:class50=17{all top},D"])] == [
        "reordering",
        "source_first",
        "class",
    ]
    assert [part for part, _ in legend(["word_pair:all,class50(pair,17{insertion})"])] == ["word_pair", "all", "class"]
    assert [part for part, _ in legend(["WB:all>top"])] == ["WB"]
    assert legend(["n=a b"]) == []


def test_features_of_given_lists_are_explained_by_their_own_words() -> None:
    told = dict(legend(["pair=haus|house", "length=+1", "ngram=a b", "plain:lengths=1,2"]))
    assert list(told) == ["plain", "lengths", "ngram", "pair", "length"]
    assert told["pair"] == "a source word and a target word"
    assert dict(legend(["plain:pair=das haus|the house"]))["pair"] == PARTS["pair"] == "source and target phrase"

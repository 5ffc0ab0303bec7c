"""Reachable translations and their derivations are counted as enumeration counts them."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.grammar.enumeration import whole_grammars
from tests.models.grammar.forced import count_derivations
from tests.models.grammar.test_decoder import enumerated, sentences, small
from xlate.models.grammar.parsing import SynchronousGrammar


@settings(max_examples=100)
@given(whole_grammars(), sentences, st.lists(st.sampled_from("uvwc"), max_size=5))
def test_derivations_are_counted(grammar: SynchronousGrammar, sentence: list[str], other: list[str]) -> None:
    ways = enumerated(grammar, sentence)
    counts = Counter(tuple(word for word in way.words if word not in ("<s>", "</s>")) for way in ways)
    for words in [*list(counts)[:30], tuple(other)]:
        assert count_derivations(grammar, sentence, words) == counts[words]


def test_one_derivation_each_way() -> None:
    grammar = small()
    assert count_derivations(grammar, ["ne", "va", "pas"], ["not", "goes"]) == 1
    assert count_derivations(grammar, ["ne", "va", "pas"], ["goes", "not"]) == 0
    assert count_derivations(grammar, ["va", "de", "Paul"], ["Paul", "'s", "goes"]) == 1
    assert count_derivations(grammar, ["va", "de", "va", "de", "Paul"], ["Paul", "'s", "goes", "'s", "goes"]) == 2
    assert count_derivations(grammar, [], []) == 1
    assert count_derivations(grammar, [], ["goes"]) == 0
    assert count_derivations(grammar, ["va"], []) == 0

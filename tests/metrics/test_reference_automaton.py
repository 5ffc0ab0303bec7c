"""The automaton's counts against counting n-grams."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.metrics.reference_automaton import ReferenceAutomaton

SENTENCES = st.lists(st.sampled_from("abc"), max_size=7)


def ngrams(words, n):
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


@settings(max_examples=40)
@given(st.lists(SENTENCES, max_size=3), st.lists(st.lists(st.sampled_from("abcx"), max_size=4), max_size=4))
def test_matches_are_those_of_counting(references, phrases):
    """Every occurrence in the hypothesis of an n-gram that some reference has, however it is cut into phrases."""
    automaton = ReferenceAutomaton(references)
    next_SP, matches_SPn = automaton.walk_phrases([tuple(phrase) for phrase in phrases])
    state, found = 0, [0] * 4
    for p in range(len(phrases)):
        found = [a + b for a, b in zip(found, matches_SPn[state, p].tolist(), strict=True)]
        state = int(next_SP[state, p])
    words = [word for phrase in phrases for word in phrase]
    for n in range(1, 5):
        known = {gram for reference in references for gram in ngrams(reference, n)}
        assert found[n - 1] == sum(gram in known for gram in ngrams(words, n))


def test_states_are_the_contexts_of_the_references():
    automaton = ReferenceAutomaton([list("abc"), list("ab")], order=3)
    assert len(automaton) == 1 + 3 + 2
    assert automaton.word("q") == 0
    assert not automaton.next_SW[:, 0].any()
    assert len(ReferenceAutomaton([])) == 1

"""Sentences that a grammar knows nothing of, of no words, and of very many."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.hierarchical.small_hierarchical_models import random_rule_weights, random_rules
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch, TunedRules

ALGORITHMS = ("stack", "cube", "cky")


def decoder(algorithm: str, **search: object) -> HierarchicalDecoder:
    rng = np.random.default_rng(7)
    given = {"algorithm": algorithm, "stack": 10, "pop_limit": 20, **search}
    return HierarchicalDecoder(random_rules(rng), random_rule_weights(rng), RuleSearch(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_source_word_that_is_written_like_a_symbol_is_unknown(algorithm: str) -> None:
    system = decoder(algorithm)
    (other,) = system.translate(["a", "zz", "b", "zz", "c", "a"])
    for word in ("<unk>", "<s>", "</s>"):
        (found,) = system.translate(["a", word, "b", word, "c", "a"])
        assert found.words == [word if w == "zz" else w for w in other.words]
        assert found.score == other.score


def test_a_sentence_of_no_words() -> None:
    system = decoder("cube", nbest=3)
    (found,) = system.translate([])
    assert (found.words, found.score) == ([], 0.0)
    for tunes_sparse in (False, True):
        listed = TunedRules(system, tunes_sparse=tunes_sparse).listing(system.weights, system, [])
        assert listed.dense_CD.shape == (1, system.model.size)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_hypotheses_grow_with_the_words_and_no_faster(algorithm: str) -> None:
    system = decoder(algorithm, max_words=400)
    sizes = []
    for repeated in (10, 20):
        words = ["a", "b", "zz", "c"] * repeated
        (found,) = system.translate(words)
        assert sorted(place for step in found.steps for a, b in step.source_spans for place in range(a, b)) == list(
            range(len(words))
        )
        sizes.append(len(system.graph(words).score_N))
    assert sizes[1] <= 2.5 * sizes[0]
    assert sizes[1] <= 80 * 10 * 20


def test_pieces_of_a_long_sentence_keep_their_gaps() -> None:
    """A sentence of more than `max_words` words has the rules of its pieces where their words stand."""
    words = ["c", "a", "b", "a"] * 50
    system = decoder("stack", max_words=8)
    (found,) = system.translate(words)
    for step in found.steps:
        assert step.span[0] <= step.source_span[0] <= step.source_span[1] <= step.span[1]
        assert all(step.span[0] <= begin < end <= step.span[1] for begin, end in step.gaps)
    assert any(step.gaps and step.span[0] >= 8 for step in found.steps)
    linked = {source for source, _ in system.word_links(found)}
    assert len(words) - 8 <= max(linked) < len(words)


def test_the_longest_span_is_that_of_the_settings() -> None:
    """`tests/models/grammar/test_kind.py` counts longer sentences."""
    assert decoder("cube", max_span=10).span_limit == (10, "decoder.max_span")

"""Sentences that a grammar knows nothing of, of no words, and of very many."""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.hierarchical.small_hierarchical_models import random_rule_weights, random_rules
from xlate.jobs.translate import TokenizedText, Translator, say_counts
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch, TunedRules

ALGORITHMS = ("stack", "cube", "cky")


def decoder(algorithm: str, **search: object) -> HierarchicalDecoder:
    rng = np.random.default_rng(7)
    given = {"algorithm": algorithm, "stack": 10, "pop_limit": 20, **search}
    return HierarchicalDecoder(random_rules(rng), random_rule_weights(rng), RuleSearch(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("word", ["<unk>", "<s>", "</s>"])
def test_a_source_word_that_is_written_like_a_symbol_is_unknown(algorithm: str, word: str) -> None:
    system = decoder(algorithm)
    sentence = ["a", "zz", "b", "zz", "c", "a"]
    (found,), (other,) = system.translate([word if w == "zz" else w for w in sentence]), system.translate(sentence)
    assert found.words == [word if w == "zz" else w for w in other.words]
    assert found.score == other.score


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_sentence_of_no_words(algorithm: str) -> None:
    system = decoder(algorithm, nbest=3)
    (found,) = system.translate([])
    assert (found.words, found.score) == ([], 0.0)
    for tunes_sparse in (False, True):
        listed = TunedRules(system, tunes_sparse=tunes_sparse).listing(system.weights, system, [])
        assert listed.dense_CD.shape == (1, system.model.size)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_hypotheses_grow_with_the_words_and_no_faster(algorithm: str) -> None:
    system = decoder(algorithm, max_words=400)
    sizes = []
    for repeated in (25, 50):
        words = ["a", "b", "zz", "c"] * repeated
        (found,) = system.translate(words)
        assert sorted(place for step in found.steps for a, b in step.source_spans for place in range(a, b)) == list(
            range(len(words))
        )
        sizes.append(len(system.graph(words).score_N))
    assert sizes[1] <= 2.5 * sizes[0]
    assert sizes[1] <= 200 * 10 * 20


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


def test_sentences_that_are_longer_than_a_rule_may_span_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    lines = ["a b", " ".join(["a", "b", "zz", "c"] * 50), "c"]
    for longest in (200, 10):
        assert "have more words" not in caplog.text
        translator = Translator(TokenizedText(), decoder("cube", max_span=longest))
        assert [len(one.source) for one in translator.translate(lines)] == [2, 200, 1]
        say_counts(translator.counts)
    assert "1 of 3 sentences have more words" in caplog.text
    assert "decoder.max_span=10" in caplog.text

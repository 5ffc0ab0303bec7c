"""Sparse features in the phrase decoder: their names from the definitions, their sums, and real sentences."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.models.phrase.definition import force, score_steps, sparse_ids
from tests.models.phrase.small_phrase_models import random_case, random_phrase_model, random_weights, with_sparse
from xlate.errors import InputError
from xlate.features.phrase_sparse import PLAIN, REORDERING, SparseFeatures, make_families
from xlate.features.word_values import every_word, frequent_words
from xlate.formats.moses_ini import read_moses_ini
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.model import Reordering
from xlate.models.phrase.moses import moses_model
from xlate.text.lines import read_lines


def test_features_are_what_their_names_say():
    """A swap behind a group of two phrases, and a jump, read off the names."""
    _, model, _, _ = random_case(13, None, "every")
    one = {}
    for b in range(len(model.table)):
        row = model.table.source_phrases[model.table.source_B[b]].tolist()
        if len(row) == 1:
            one.setdefault(model.source_vocabulary.word(row[0]), model.target_words(b))
    source = ["b", "a", "c", "a"]
    order = [1, 0, 3, 2]
    target, cuts = [], []
    for i in order:
        words = one[source[i]]
        cuts.append(((i, i + 1), (len(target), len(target) + len(words))))
        target += words
    derivation = force(model, random_weights(np.random.default_rng(1), model.size), source, target, cuts)
    offsets, ids = sparse_ids(model, source, derivation.steps)
    names = [set(model.sparse.names(ids[a:b])) for a, b in pairwise(offsets)]
    first = [one[source[i]][0] for i in order]
    last = [one[source[i]][-1] for i in order]
    some = [
        {
            "reordering:source_first:all=a,D",
            "reordering:between:all=b,D",
            "reordering:top_source_first:all=<s>,D",
            f"plain:target_bigram:all=<s>|{first[0]}",
        },
        {
            "reordering:source_first:all=b,S",
            "reordering:top_source_last:all=a,S",
            f"plain:target_bigram:all={last[0]}|{first[1]}",
        },
        # The group of the first two covers "b a".
        {
            "reordering:top_source_first:all=b,D",
            "reordering:top_source_last:all=a,D",
            f"reordering:top_target_first:all={first[0]},D",
            f"reordering:top_target_last:all={last[1]},D",
            "reordering:between:all=c,D",
        },
        {
            f"reordering:pair=c|{' '.join(one['c'])},S",
            f"plain:lengths=1-{len(one['c'])}",
            "plain:source_phrase=c",
        },
    ]
    assert [expected - held for expected, held in zip(some, names, strict=True)] == [set()] * 4


def test_refusals():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="hierarchical"):
        with_sparse(rng, random_phrase_model(rng, "wbe"))
    model = random_phrase_model(rng, "hier")
    for templates in (("source_middle",), ("pair", "pair")):
        with pytest.raises(InputError, match="template"):
            with_sparse(rng, model, templates)
    with pytest.raises(InputError, match="do not fit"):
        replace(model, reordering=Reordering("wbe", np.zeros((1, 6))))


@pytest.mark.corpus
@pytest.mark.slow
def test_a_thousand_real_sentences_are_charged_what_their_features_weigh(shared_data):
    """Moses's tables, random weights of all templates: search, compiled lists and definitions agree."""
    rng = np.random.default_rng(1)
    model, weights_D = moses_model(read_moses_ini(shared_data / "moses" / "moses.mira.hier.ini"))
    table, sides = model.table, (model.source_vocabulary, model.target_vocabulary)
    values = []
    for vocabulary, phrases in zip(sides, (table.source_phrases, table.target_phrases), strict=True):
        counts = np.bincount(phrases.ids_T, minlength=len(vocabulary))
        values.append([every_word(vocabulary.words), frequent_words(vocabulary.words, counts, 80)])
    families = make_families(REORDERING, PLAIN, *values, table, 3)
    model = replace(model, sparse=SparseFeatures(families, 3, table, *sides))
    weights_D = np.concatenate([weights_D, np.ones(4)])
    sparse_F = np.where(rng.random(len(model.sparse)) < 0.5, rng.normal(0, 0.02, size=len(model.sparse)), 0.0)
    search = PhraseSearch(algorithm="cube", pop_limit=100, stack=50, nbest=5)
    decoder = PhraseDecoder(model, weights_D, search, sparse_F=sparse_F)
    lines = read_lines(shared_data / "moses" / "corpus" / "test_2016_flickr.tok.de.gz")
    assert len(lines) == 1000
    for line in lines:
        source = line.split()
        graph, found = decoder.graph(source), decoder.translate(source)
        assert found[0].score == pytest.approx(graph.score_N[graph.goal], abs=1e-6)
        for derivation in found:
            expected = score_steps(model, weights_D, source, derivation.steps, sparse_F)
            assert derivation.features_D == pytest.approx(expected.features_D, abs=1e-6)
            assert derivation.features_D @ weights_D == pytest.approx(derivation.score, abs=1e-9)

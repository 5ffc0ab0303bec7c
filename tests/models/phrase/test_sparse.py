"""Sparse features in the phrase decoder: enumeration, the readable search, names from definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.models.phrase.definition import force, score_steps, sparse_ids
from tests.models.phrase.small_phrase_models import (
    enumerate_derivations,
    random_phrase_model,
    random_weights,
    with_sparse,
)
from tests.models.small_models import random_words
from xlate.errors import InputError
from xlate.features.phrase_sparse import PLAIN, REORDERING, SparseFeatures, make_families
from xlate.features.word_values import every_word, frequent_words
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.moses import load_moses_model
from xlate.text.lines import read_lines

WHOLE = {"stack": 10**9, "threshold": 0.0}
LOCAL_PLAIN = ("pair", "source_phrase", "target_phrase", "word_pair", "lengths", "source_first", "target_last")
TEMPLATES = {
    "every": (REORDERING, PLAIN),
    "local": (("source_first", "target_last", "pair"), LOCAL_PLAIN),
    "groups": (("top_source_last", "top_target_first", "top_target_last", "between"), ()),
    "bigrams": ((), ("target_bigram",)),
}
CASES = [(k, t) for k in (None, "wbe", "hier", "hier5") for t in TEMPLATES if k != "wbe" or t in ("bigrams", "local")]


def random_case(seed, kind, templates):
    rng = np.random.default_rng(seed)
    model = with_sparse(rng, random_phrase_model(rng, kind), *TEMPLATES[templates])
    return rng, model, random_weights(rng, model.size), rng.normal(0, 0.7, size=len(model.sparse))


def decoders(model, weights_D, sparse_F, **settings):
    """The readable stack search, the compiled one, and cube pruning without a limit that matters."""
    yield PhraseDecoder(model, weights_D, PhraseSearch(algorithm="stack", **settings), fast=False, sparse_F=sparse_F)
    yield PhraseDecoder(model, weights_D, PhraseSearch(**{"algorithm": "stack", **settings}), sparse_F=sparse_F)
    cube = PhraseSearch(algorithm="cube", pop_limit=10**9, **settings)
    yield PhraseDecoder(model, weights_D, cube, sparse_F=sparse_F)


@pytest.mark.parametrize(("kind", "templates"), CASES)
def test_an_unlimited_beam_finds_the_best_of_all(kind, templates):
    rng, model, weights_D, sparse_F = random_case(3, kind, templates)
    # Which options are kept must not matter: the enumeration ranks them without sparse features.
    settings = {"distortion_limit": 3, "options": 10, "max_phrase": 2, **WHOLE}
    for length in (1, 2, 3, 4, 5):
        words = random_words(rng, length)[:length]
        every = enumerate_derivations(model, weights_D, PhraseSearch(**settings), words, sparse_F)
        plain = enumerate_derivations(model, weights_D, PhraseSearch(**settings), words)
        assert len(every) == len(plain)
        for decoder in decoders(model, weights_D, sparse_F, **settings):
            found = decoder.translate(words)[0]
            assert found.score == pytest.approx(every[0].score, abs=1e-9)
            graph = decoder.graph(words)
            assert graph.score_N[graph.goal] == pytest.approx(found.score, abs=1e-9)


@pytest.mark.parametrize(("kind", "templates"), CASES)
def test_nbest_lists_are_the_sorted_enumeration(kind, templates):
    _, model, weights_D, sparse_F = random_case(5, kind, templates)
    words = ["a", "zz", "c", "b"]
    settings = {"distortion_limit": 3, **WHOLE}
    every = enumerate_derivations(model, weights_D, PhraseSearch(**settings), words, sparse_F)
    for decoder in decoders(model, weights_D, sparse_F, nbest=10**6, distinct=False, **settings):
        found = decoder.translate(words)
        assert [d.score for d in found] == pytest.approx([d.score for d in every], abs=1e-9)


@pytest.mark.parametrize(("kind", "templates"), CASES)
@pytest.mark.parametrize("beam", [2, 20])
def test_the_compiled_search_equals_the_readable_one(kind, templates, beam):
    rng, model, weights_D, sparse_F = random_case([7, beam], kind, templates)
    for length in (3, 6, 9, 70):
        words = random_words(rng, length)
        slow, fast, _ = decoders(model, weights_D, sparse_F, stack=beam, threshold=0.01, distortion_limit=3)
        expected, found = slow.translate(words)[0], fast.translate(words)[0]
        assert found.score == pytest.approx(expected.score, abs=1e-9)
        assert found.steps == expected.steps


def test_a_copied_word_has_features():
    _, model, weights_D, sparse_F = random_case(11, "hier", "every")
    for decoder in decoders(model, weights_D, sparse_F, **WHOLE):
        graph = decoder.graph(["d", "zz", "d"])
        best = decoder.translate(["d", "zz", "d"])[0]
        assert graph.score_N[graph.goal] == pytest.approx(best.score, abs=1e-9)
        assert best.features_D @ weights_D == pytest.approx(best.score)


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
    assert "reordering:source_first:all=a,D" in names[0]
    assert "reordering:between:all=b,D" in names[0]
    assert "reordering:top_source_first:all=<s>,D" in names[0]
    assert f"plain:target_bigram:all=<s>|{first[0]}" in names[0]
    assert "reordering:source_first:all=b,S" in names[1]
    assert "reordering:top_source_last:all=a,S" in names[1]
    assert f"plain:target_bigram:all={last[0]}|{first[1]}" in names[1]
    # The group of the first two covers "b a".
    assert "reordering:top_source_first:all=b,D" in names[2]
    assert "reordering:top_source_last:all=a,D" in names[2]
    assert f"reordering:top_target_first:all={first[0]},D" in names[2]
    assert f"reordering:top_target_last:all={last[1]},D" in names[2]
    assert "reordering:between:all=c,D" in names[2]
    assert f"reordering:pair=c|{' '.join(one['c'])},S" in names[3]
    assert f"plain:lengths=1-{len(one['c'])}" in names[3]
    assert "plain:source_phrase=c" in names[3]


def test_sums_by_orientation_and_weights_of_them():
    rng, model, weights_D, sparse_F = random_case(17, "hier5", "every")
    words = random_words(rng, 7)
    decoder = next(iter(decoders(model, weights_D, sparse_F, stack=10)))
    best = decoder.translate(words)[0]
    _, ids = sparse_ids(model, words, best.steps)
    names = list(model.sparse.names(ids))
    for o, orientation in enumerate((",M", ",S", ",DL", ",DR", ",MG", "plain")):
        column = model.slots["SparseReordering0"].start + o
        mine = ids[
            [n.startswith(orientation) or (n.startswith("reordering") and n.endswith(orientation)) for n in names]
        ]
        assert best.features_D[column] == pytest.approx(sparse_F[mine].sum(), abs=1e-9)
    assert model.columns[-6:] == (*(f"SparseReordering0_{o}" for o in range(5)), "SparsePhrase0")


def test_refusals():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="hierarchical"):
        with_sparse(rng, random_phrase_model(rng, "wbe"))
    with pytest.raises(InputError, match="template"):
        with_sparse(rng, random_phrase_model(rng, "hier"), ("source_middle",))
    with pytest.raises(InputError, match="template"):
        with_sparse(rng, random_phrase_model(rng, "hier"), ("pair", "pair"))
    model = with_sparse(rng, random_phrase_model(rng, "hier"))
    with pytest.raises(InputError, match="weights"):
        PhraseDecoder(model, random_weights(rng, model.size), sparse_F=np.zeros(3))


@pytest.mark.corpus
@pytest.mark.slow
def test_a_thousand_real_sentences_are_charged_what_their_features_weigh(shared_data):
    """Moses's tables, random weights of all templates: search, compiled lists and definitions agree."""
    rng = np.random.default_rng(1)
    model, weights_D, _ = load_moses_model(shared_data / "moses" / "moses.mira.hier.ini")
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

"""What every system must do: small random models of each, against the enumeration of all paths of the search space."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.models.hierarchical.small_hierarchical_models import random_rule_weights, random_rules, with_structure
from tests.models.phrase.small_phrase_models import (
    RandomPlaces,
    RandomScores,
    random_phrase_model,
    random_weights,
    with_sparse,
)
from tests.models.small_models import jumping, model_and_arpa, with_more
from tests.models.test_lcs import decoder as lcs_decoder
from tests.search.lattice_paths import nbest, rescored
from xlate.features.phrase_sparse import BIGRAM, REORDERING, WORD_PAIR
from xlate.formats.nbest_list import Style
from xlate.models.block.decoder import BlockDecoder, BlockSearch
from xlate.models.derivation import Span
from xlate.models.distortion import DistortionDecoder, DistortionSearch
from xlate.models.hierarchical.decoder import HierarchicalDecoder, RuleSearch
from xlate.models.lcs import LcsDecoder
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights
from xlate.search.beam import SearchSpace
from xlate.search.lattice import chosen_arcs
from xlate.text.terms import HARD, SOFT, TERM, Glossary

EXACT = {"threshold": 0.0, "options": 2, "nbest": 10**6}
BEAM = {"beam": 10**9, **EXACT}
STACK = {"stack": 10**9, **EXACT}


def with_term(words: list[str], source: str, target: str, use: str) -> list[str]:
    """A sentence whose words are marked with one term."""
    return Glossary.of([(1, source, target)], (str.split, str.split), 9, use).marked(words)


SENTENCES = [
    ["a"],
    ["a", "b"],
    ["qq", "zz", "a"],
    ["d", "a", "b", "c"],
    with_term(["b", "a", "c"], "a", "new u", HARD),
    with_term(["a", "zz"], "z*", "new", SOFT),
]


def block(seed: int = 0, **search: object) -> BlockDecoder:
    return BlockDecoder(model_and_arpa(seed)[0], BlockSearch(**BEAM | search))  # type: ignore[arg-type]


def distortion(seed: int = 0) -> DistortionDecoder:
    return DistortionDecoder(jumping(seed)[0], DistortionSearch(coverage_beam=10**9, **BEAM))  # type: ignore[arg-type]


def phrase(kind: str | None, *, sparse: bool = False) -> PhraseDecoder:
    rng = np.random.default_rng(3)
    model = random_phrase_model(rng, kind)
    if sparse:
        model = with_sparse(rng, model, REORDERING, (WORD_PAIR, BIGRAM))
    size = 0 if model.sparse is None else len(model.sparse)
    search = PhraseSearch(algorithm="stack", distortion_limit=3, **STACK)  # type: ignore[arg-type]
    return PhraseDecoder(model, random_weights(rng, model.size), search, sparse_F=rng.normal(0, 0.3, size=size))


def in_context(kind: str, **parts: object) -> PhraseDecoder:
    """A phrase system with floats of phrases in their sentence, or of where they are put."""
    system = phrase(kind, sparse=True)
    model = replace(system.model, **parts)
    return system.changed(model=model, weights_D=random_weights(np.random.default_rng(5), model.size))


def lcs() -> LcsDecoder:
    """A lattice of one-word blocks, permuted in a window."""
    return lcs_decoder(2, window=3, least_probability=0.0, deletions=True, deletion_cost=1.5, options=2, distinct=True)


def lcs_placed() -> LcsDecoder:
    """A lattice decoder that looks at where blocks are put."""
    system = lcs()
    model = replace(system.model, placed=RandomPlaces())
    return system.changed(model=model, weights_D=np.append(system.weights_D, 0.7))


def hierarchical(**search: object) -> HierarchicalDecoder:
    rng = np.random.default_rng(8)
    settings = {"algorithm": "stack", **STACK, **search}
    return HierarchicalDecoder(random_rules(rng), random_rule_weights(rng), RuleSearch(**settings))  # type: ignore[arg-type]


def structured() -> HierarchicalDecoder:
    """A hierarchical system with features of the structure of derivations."""
    rng = np.random.default_rng(9)
    model, sparse_F = with_structure(rng, random_rules(rng, 2))
    search = RuleSearch(algorithm="stack", **STACK)  # type: ignore[arg-type]
    return HierarchicalDecoder(model, random_rule_weights(rng, model.size), search, sparse_F=sparse_F)


def more(system: AnySystem) -> AnySystem:
    """A block system with every optional float, and many binary features of weight 0."""
    model = with_more(system.model, 4)
    weights_F = np.where(np.arange(len(model.feature_keys)) % 3, 0.0, model.feature_weights)
    return system.changed(model=replace(model, feature_weights=weights_F))


SYSTEMS = {
    "block": block,
    "block swap": lambda: block(2, mode="swap", min_left_count=0, end_of_sentence=False),
    "block partition": lambda: block(3, partition="local"),
    "block more": lambda: more(block(4)),
    "distortion": distortion,
    "distortion more": lambda: more(distortion(5)),
    "phrase": lambda: phrase(None),
    "phrase wbe": lambda: phrase("wbe"),
    "hierarchical": hierarchical,
    "hierarchical structure": structured,
    "hierarchical bottom-up": lambda: hierarchical(algorithm="cky", pop_limit=10**6),
    # Some phrases are no options in a sentence.
    "phrase predicted": lambda: in_context("hier", in_sentence=RandomScores()).with_search(options=20),
    "phrase placed": lambda: in_context("hier5", placed=RandomPlaces()),
    "lcs deletions": lcs,
    "lcs placed": lcs_placed,
    "phrase sparse": lambda: phrase("hier", sparse=True),
}


@pytest.fixture(params=list(SYSTEMS))
def system(request: pytest.FixtureRequest) -> AnySystem:
    """A small random system that searches everything."""
    return SYSTEMS[request.param]()


def every_path(space: SearchSpace, state: object = None, covered: int = 0) -> Iterator[tuple[list[int], float]]:
    """The labels and the score of every way from a state to the goal, move by move."""
    if covered == space.levels:
        yield [], 0.0
        return
    for move in space.expand(space.start if state is None else state):
        for labels, score in every_path(space, move.state, move.covered):
            yield [move.label, *labels], move.score + score


def test_everything_is_found(system: AnySystem) -> None:
    """Without limits the list holds every path of the space, and the readable search finds the same.

    A list of distinct translations has the best path of each, best first.
    """
    every = system.with_search(distinct=False)
    for words in SENTENCES:
        expected = sorted((score for _, score in every_path(system.space(words))), reverse=True)
        for one in (every.changed(fast=False), every):
            found = one.translate(words)
            assert [derivation.score for derivation in found] == pytest.approx(expected, abs=1e-6)
        assert [system.weights_D @ one.features_D for one in found] == pytest.approx(expected, abs=1e-6)
        assert system.with_search(nbest=1).translate(words)[0].score == pytest.approx(expected[0])
        best: dict[tuple[str, ...], float] = {}
        for derivation in found:
            best.setdefault(tuple(derivation.words), derivation.score)
        distinct = system.translate(words)
        assert {tuple(derivation.words): derivation.score for derivation in distinct} == pytest.approx(best)
        assert [derivation.score for derivation in distinct] == pytest.approx(sorted(best.values(), reverse=True))


def test_forced_decoding_finds_every_output(system: AnySystem) -> None:
    """Under a limit of one option per span, too, it finds what the free search finds without a limit.

    Only a partition is over the options of the free search.
    """
    local = getattr(system.search, "partition", "off") == "local"
    narrow = system if local else system.with_search(options=1)
    for words in SENTENCES:
        whole = system if local or len(words) > 3 else system.with_search(options=1000)
        for derivation in whole.translate(words)[:: 4 * len(words)]:
            found = narrow.force(words, derivation.words)
            assert found.words == derivation.words
            # It may know units beyond the limit of the free search.
            assert found.score >= derivation.score - 1e-9
            assert local or len(words) > 3 or found.score == pytest.approx(derivation.score, abs=1e-9)
            assert narrow.force(words, [*derivation.words, "no", "such", "words"]) is None
    assert narrow.force([], ["u"]) is None
    assert narrow.force([], []).words == []


def test_arcs_have_the_features_of_their_derivations(system: AnySystem) -> None:
    """The lattice has all paths, the translation first; each sums to the features that its derivation has.

    Their weighted sum is the score, also under other weights. Every source word is translated once.
    """
    names = system.weights.dense_names
    columns = [system.feature_names.index(name) for name in names]
    sums = [name.startswith("Sparse") for name in names]
    higher = Weights(system.weights.dense_D * np.where(sums, 1.0, 1.5), system.weights.sparse_F * 1.5, names)
    linear = getattr(system.search, "partition", "off") == "off"
    fired = 0
    for words in SENTENCES:
        space, lattice = system.space(words), system.lattice(words)
        arcs, arc_words = system.plain_lattice(words)
        assert len(arc_words) == len(arcs.score_A) <= len(lattice)
        np.testing.assert_allclose(
            rescored(lattice, system.weights.dense_D * used(system), system.weights.sparse_F).score_A,
            lattice.score_A,
            atol=1e-9,
        )
        every = system.with_search(distinct=False, nbest=10**6).translate(words)
        assert lattice.best().words == tuple(every[0].words)
        if linear:
            best = system.with_weights(higher).with_search(nbest=1).translate(words)[0]
            assert best.score == pytest.approx(1.5 * every[0].score)
        paths = nbest(lattice, distinct=False)
        assert [path.score for path in paths] == pytest.approx([one.score for one in every], abs=1e-6)
        for path in paths[:200]:
            arcs = chosen_arcs(lattice.arcs, path.arcs, lattice.graph)
            derivation = system.derivation(space, arcs.label_A[arcs.label_A >= 0].tolist())
            assert path.words == tuple(derivation.words)
            places = [place for step in derivation.blocks for span in step.source_spans for place in range(*span)]
            assert sorted(places) == list(range(len(words)))
            assert derivation.score == pytest.approx(path.score, abs=1e-9)
            assert derivation.score == pytest.approx(system.weights_D @ derivation.features_D, abs=1e-9)
            expected = derivation.features_D[columns]
            expected[sums] = 0.0
            np.testing.assert_allclose(arcs.dense_AD.sum(axis=0), expected * used(system), atol=1e-9)
            offsets_N1, ids_A = system.step_features(derivation)
            assert sorted(arcs.sparse_ids_M) == sorted(ids_A)
            assert len(offsets_N1) == len(derivation.steps) + 1
            assert offsets_N1[-1] == len(ids_A)
            fired += len(ids_A)
    assert bool(fired) == bool(system.features)


def used(system: AnySystem) -> np.ndarray:
    """1 for the floats that a search uses, 0 for those it leaves out (orientation in mode `swap`)."""
    names = system.weights.dense_names
    weights = dict(zip(system.feature_names, system.weights_D, strict=True))
    return np.array([float(weights[name] != 0.0 or name.startswith("Sparse")) for name in names])


def test_processes_and_pickles_give_the_same(system: AnySystem) -> None:
    system = system.with_search(nbest=3)
    expected = [[(d.words, d.score, d.features_D.tolist()) for d in system.translate(words)] for words in SENTENCES]
    found = pickle.loads(pickle.dumps(system)).translate_many(SENTENCES, 2)
    assert [[(d.words, d.score, d.features_D.tolist()) for d in one] for one in found] == expected
    best = system.translate(SENTENCES[-1])[0]
    assert pickle.loads(pickle.dumps(best)) == best


@pytest.mark.parametrize("source", ["b", "a b"])
def test_a_hard_term_is_in_every_translation(system: AnySystem, source: str) -> None:
    """A soft one is only one more translation, which scores the same."""
    if len(source.split()) > system.longest_term:
        pytest.skip("translates single words")
    plain = ["d", "a", "b", "c"]
    hard, soft = (system.translate(with_term(plain, source, "new v", use)) for use in (HARD, SOFT))
    at = plain.index(source[0])
    for derivation in hard:
        [term] = [step for step in derivation.blocks if step.unit == TERM]
        assert term.source_span == (at, at + len(source.split()))
        assert term.target_words == ("new", "v")
        assert "(term)" in system.explain(plain, derivation)
    assert any(step.unit == TERM for derivation in soft for step in derivation.blocks)
    assert any(step.unit != TERM and step.source_span == term.source_span for d in soft for step in d.blocks) or (
        len(source) > 1
    )
    scores = {tuple(d.words): d.score for d in soft}
    if getattr(system.search, "partition", "off") == "off":
        assert all(scores[tuple(d.words)] >= d.score - 1e-9 for d in hard)


def span_of(text: str) -> Span:
    """A span as lines have it: `2` or `2-4`, the last word included."""
    first, _, last = text.partition("-")
    return int(first), int(last or first) + 1


def test_lines_and_explanations(system: AnySystem) -> None:
    for words in SENTENCES:
        for derivation in system.with_search(nbest=2).translate(words):
            [line] = Style().line(system.nbest_line(4, derivation), 1)
            assert (line.sentence, line.text.split()) == (4, derivation.words)
            assert line.total == pytest.approx(derivation.score, rel=1e-6)
            features = [value for _, values in system.shown_features(derivation) for value in values]
            assert line.values == pytest.approx(features, rel=1e-6)
            written = [tuple(map(span_of, block.split("="))) for block in line.fields[4].split()]
            spans = zip((step.source_span for step in derivation.blocks), derivation.target_spans, strict=True)
            assert written == [(source, target) for source, target in spans if target[0] < target[1]]
            assert len(system.orientations(derivation)) == len(derivation.blocks)
            parts = [weight * value for _, weight, value in system.contributions(derivation)]
            assert sum(parts) == pytest.approx(derivation.features_D @ system.weights_D)
            assert all(parts)
            assert [*map(abs, parts)] == sorted(map(abs, parts), reverse=True)
            text = system.explain(words, derivation)
            assert text.count("->") == len(derivation.blocks)
            shown = [float(row.rsplit("=", 1)[1]) for row in text.splitlines() if " × " in row]
            assert not shown or shown == pytest.approx(parts, abs=1e-4)
            assert f"sum {derivation.score:.4f}" in text

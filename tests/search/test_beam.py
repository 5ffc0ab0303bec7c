"""The readable beam on a small search space; the graph of a finished search, and lines of n-best lists."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.search.lattices import all_paths
from tests.models.small_models import SOURCE, block_set, model_and_arpa
from xlate.formats.moses_table import unescape_bars
from xlate.kernels.search.hypotheses import ARC, NODE, Limits
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch
from xlate.search.beam import END_LABEL, Move, SearchGraph, SearchSpace, TextsOf, labels_of, search_graph
from xlate.search.settings import PhraseSearch
from xlate.text.vocabulary import WordNumbers


class Space(SearchSpace):
    """Moves and estimates given as functions."""

    start, levels = None, 0

    def __init__(self, start, levels, expand, future=lambda _: 0.0):
        self.start, self.levels, self._expand, self._future = start, levels, expand, future

    def expand(self, state):
        return self._expand(state)

    def future(self, state):
        return self._future(state)

    def words_of(self, label):
        raise NotImplementedError


def test_recombination_keeps_the_first_of_equals():
    def expand(_):
        return [Move("same", 1, score, label) for label, score in enumerate((-2.0, -1.0, -1.0, -3.0))]

    graph = search_graph(Space("start", 1, expand), Limits(0, 0, -np.inf, True))
    assert graph.best_labels() == [1]
    assert graph.label_A.tolist() == [0, 1, 2, 3]
    assert graph.target_A.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(0, 0, -np.inf, True), [1, 2, 3, 0]),
        (Limits(2, 0, -np.inf, True), [1, 2]),
        (Limits(0, 0, -1.0, True), [1, 2, 3]),
        (Limits(0, 0, -0.5, True), [1]),
        (Limits(0, 1, -np.inf, True), [1, 2]),
    ],
)
def test_pruning_by_number_by_threshold_and_by_coverage(limits, expected):
    """Estimates are -3, -1, -2, -2; states of one parity are one coverage. The order is that of expansion."""
    scores, futures = (-3.0, -9.0, -2.0, -2.0), (0.0, 8.0, 0.0, 0.0)

    def expand(state):
        if state == "start":
            return [Move(i, 1, score, i) for i, score in enumerate(scores)]
        return [Move("end", 2, 0.0, state)]

    space = Space("start", 2, expand, lambda state: futures[state] if isinstance(state, int) else 0.0)
    space.coverage = lambda state: state % 2 if isinstance(state, int) else None
    assert search_graph(space, limits).label_A[4:].tolist() == expected


def test_a_dead_end_has_no_goal():
    graph = search_graph(
        Space(0, 2, lambda s: [Move(s + 1, s + 1, -1.0, 0)] if s == 0 else []), Limits(5, 0, -np.inf, True)
    )
    assert graph.goal == -1
    assert graph.best_labels() == []


def test_arcs_go_to_kernels_without_gaps() -> None:
    """With gaps there would be a second version of each compiled loop."""
    graph = SearchGraph.of_hypotheses(np.zeros(3, NODE), np.zeros(2, ARC), 2)
    assert all(held.flags.c_contiguous for held in graph.arcs[:4])


def random_graph(rng: np.random.Generator, nodes: int = 8, arcs: int = 24) -> SearchGraph:
    """Arcs between random nodes, forwards, sorted by where they start; the last node is the goal."""
    source = np.sort(rng.integers(0, nodes - 1, size=arcs)).astype(np.int32)
    target = np.array([rng.integers(s + 1, nodes) for s in source], np.int32)
    labels = np.where(target == nodes - 1, END_LABEL, rng.integers(0, 4, size=arcs)).astype(np.int32)
    nothing = np.zeros(nodes)
    return SearchGraph(source, target, labels, rng.normal(size=arcs), nothing, nothing.astype(np.int32), nodes - 1)


def enumerate_paths(graph: SearchGraph) -> list[tuple[float, list[int]]]:
    """Every path from the start to the goal, the last node."""
    paths = all_paths(ArcGraph(graph.source_A, graph.target_A, graph.goal + 1))
    own = [[label for label in graph.label_A[path].tolist() if label != END_LABEL] for path in paths]
    found = [(float(graph.score_A[path].sum()), labels) for path, labels in zip(paths, own, strict=True)]
    return sorted(found, key=lambda path: -path[0])


def listed(graph: SearchGraph, most: int, texts_of: TextsOf | None = None) -> list[tuple[float, list[int]]]:
    """Score and labels of the best paths."""
    paths, score_N = graph.best_paths(most, texts_of)
    return list(zip(score_N.tolist(), labels_of(paths), strict=True))


def words_of(label: int) -> tuple[str, ...]:
    """Labels whose words can be cut in several ways."""
    return [("a",), ("b",), ("a", "b"), (), ()][label]


@pytest.mark.parametrize("ends", [True, False])
def test_paths_are_the_sorted_enumeration(rng, ends):
    total = 0
    for _ in range(30):
        graph = random_graph(rng)
        if not ends:
            graph = replace(graph, label_A=np.arange(len(graph.label_A), dtype=np.int32))
        expected = enumerate_paths(graph)
        found = listed(graph, 10**6)
        assert [score for score, _ in found] == pytest.approx([score for score, _ in expected])
        assert sorted(labels for _, labels in found) == sorted(labels for _, labels in expected)
        assert listed(graph, 3) == found[:3]
        total += len(found)
    assert total > 300


def test_texts_are_the_best_of_each(rng):
    dropped = 0
    for _ in range(30):
        graph = random_graph(rng)
        every = enumerate_paths(graph)
        best: dict[tuple[str, ...], float] = {}
        for score, labels in every:
            best.setdefault(tuple(w for label in labels for w in words_of(label)), score)
        found = listed(graph, 10**6, lambda labels: WordNumbers().encode(words_of(label) for label in labels.tolist()))
        texts = [tuple(w for label in labels for w in words_of(label)) for _, labels in found]
        assert dict(zip(texts, (score for score, _ in found), strict=True)) == pytest.approx(best)
        assert len(texts) == len(best)
        assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)
        dropped += len(every) - len(found)
    assert dropped > 100


def test_a_graph_without_goal_has_no_path(rng):
    graph = random_graph(rng)
    assert listed(replace(graph, goal=-1), 5) == []


def test_a_line_in_full():
    base, _ = model_and_arpa(1)
    blocks = block_set({("a b", "v w"): (3, 0, 0, 0.5)})
    weights = np.array([0.0, 0.0, 0.0, 0.0, -2.0])
    model = BlockModel(blocks, base.lm, SOURCE, base.lm.vocabulary, weights, weights)
    search = BlockSearch(end_of_sentence=False, unknown_unigram=1.0, unknown_lexical=3.0)
    decoder = BlockDecoder(model, search)
    [derivation] = decoder.translate(["a", "b", "|||"])
    one, first, rest = derivation.steps[0], derivation.steps[1].floats[2], derivation.steps[0].floats[3]
    assert decoder.nbest_line(7, derivation) == (
        "7 ||| v w &#124;&#124;&#124; ||| "
        f"linked_unigram= 1 linked_orientation= {np.log(2):.9g} linked_lm_first= {first:.9g} linked_lm_rest= 0 "
        f"linked_lexical= 3 neutral_unigram= 0 neutral_orientation= 0 neutral_lm_first= {one.floats[2]:.9g} "
        f"neutral_lm_rest= {rest:.9g} neutral_lexical= 0.5 binary= 0 ||| -7 ||| 0-1=0-1 2=2"
    )
    assert unescape_bars("&#124;&#124;&#124;") == "|||"
    [empty] = decoder.translate([])
    assert decoder.nbest_line(0, empty).endswith(" ||| 0 ||| ")


def test_thresholds_are_logs_of_shares() -> None:
    assert PhraseSearch(threshold=0.0).log_threshold == -math.inf
    search = PhraseSearch(threshold=0.5, early_threshold=0.25)
    assert search.log_threshold == pytest.approx(math.log(0.5))

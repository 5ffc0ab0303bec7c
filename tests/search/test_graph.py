"""The graph of a finished search: its arrays, its best paths against their enumeration, and lines of n-best lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.models.small_models import SOURCE, block_set, model_and_arpa, random_words
from xlate.features.block import FLOATS
from xlate.formats.moses_table import unescape_bars
from xlate.kernels.search.hypotheses import ARC, NODE
from xlate.models.block.decoder import BlockDecoder, BlockModel, BlockSearch
from xlate.search.graph import END_LABEL, SearchGraph


def test_arcs_of_a_compiled_search_go_to_kernels_as_arrays_without_gaps() -> None:
    nodes, arcs = np.zeros(3, dtype=NODE), np.zeros(2, dtype=ARC)
    arcs["source"], arcs["target"], arcs["label"], arcs["score"] = [0, 1], [1, 2], [7, -1], [0.5, -2.0]
    nodes["arc"] = [-1, 0, 1]
    graph = SearchGraph.of_hypotheses(nodes, arcs, 2)
    assert graph.best_labels() == [7, -1]
    given = graph.arcs
    assert (given.goal, given.nodes) == (2, 3)
    for name in ("source_A", "target_A", "label_A", "score_A"):
        held = getattr(given, name)
        assert held.flags.c_contiguous, name
        np.testing.assert_array_equal(held, getattr(graph, name))
        assert held.dtype == getattr(graph, name).dtype


def random_graph(rng: np.random.Generator, nodes: int = 8, arcs: int = 24) -> SearchGraph:
    """Arcs between random nodes, forwards, sorted by where they start; the last node is the goal."""
    source = np.sort(rng.integers(0, nodes - 1, size=arcs)).astype(np.int32)
    target = np.array([rng.integers(s + 1, nodes) for s in source], dtype=np.int32)
    labels = np.where(target == nodes - 1, END_LABEL, rng.integers(0, 4, size=arcs)).astype(np.int32)
    nothing = np.zeros(nodes)
    return SearchGraph(source, target, labels, rng.normal(size=arcs), nothing, nothing.astype(np.int32), nodes - 1)


def enumerate_paths(graph: SearchGraph, node: int = 0) -> list[tuple[float, list[int]]]:
    """Every path from a node to the goal."""
    if node == graph.goal:
        return [(0.0, [])]
    found = []
    for arc in np.flatnonzero(graph.source_A == node).tolist():
        for score, labels in enumerate_paths(graph, int(graph.target_A[arc])):
            found.append((float(graph.score_A[arc]) + score, [int(graph.label_A[arc]), *labels]))
    return sorted(found, key=lambda path: -path[0])


def words_of(label: int) -> tuple[str, ...]:
    """Labels whose words can be cut in several ways."""
    return [("a",), ("b",), ("a", "b"), (), ()][label]


def test_paths_are_the_sorted_enumeration(rng):
    total = 0
    for _ in range(30):
        graph = random_graph(rng)
        expected = enumerate_paths(graph)
        found = graph.best_paths(10**6)
        assert [score for score, _ in found] == pytest.approx([score for score, _ in expected])
        assert sorted(labels for _, labels in found) == sorted(labels for _, labels in expected)
        assert graph.best_paths(3) == found[:3]
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
        found = graph.best_paths(10**6, words_of)
        texts = [tuple(w for label in labels for w in words_of(label)) for _, labels in found]
        assert dict(zip(texts, (score for score, _ in found), strict=True)) == pytest.approx(best)
        assert len(texts) == len(best)
        assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)
        dropped += len(every) - len(found)
    assert dropped > 100


def test_a_graph_without_goal_has_no_path(rng):
    graph = random_graph(rng)
    assert replace(graph, goal=-1).best_paths(5) == []


def test_lines_add_up():
    for seed in range(8):
        model, _ = model_and_arpa(seed)
        words = random_words(np.random.default_rng(seed), 5)
        search = BlockSearch(nbest=10, partition=["off", "local"][seed % 2])
        weights = {f"linked_{n}": w for n, w in zip(FLOATS, model.linked, strict=True)}
        weights |= {f"neutral_{n}": w for n, w in zip(FLOATS, model.neutral, strict=True)}
        weights |= {"binary": 1.0, "partition": 1.0}
        decoder = BlockDecoder(model, search)
        for derivation in decoder.translate(words):
            number, text, features, total, segmentation = decoder.nbest_line(seed, derivation).split(" ||| ")
            assert (number, text.split()) == (str(seed), derivation.words)
            fields = features.split()
            values = {name.removesuffix("="): float(v) for name, v in zip(fields[::2], fields[1::2], strict=True)}
            assert sum(weights[n] * v for n, v in values.items()) == pytest.approx(float(total), abs=1e-5)
            sides = [segment.split("=") for segment in segmentation.split()]
            for side, length in ((0, len(words)), (1, len(derivation.words))):
                assert sorted(i for pair in sides for i in inclusive(pair[side])) == list(range(length))


def inclusive(span: str) -> range:
    """The positions of `3` or `3-5`."""
    ends = [int(x) for x in span.split("-")]
    return range(ends[0], ends[-1] + 1)


def test_a_line_in_full():
    base, _ = model_and_arpa(1)
    blocks = block_set({("a b", "v w"): (3, 0, 0, 0.5)})
    weights = np.array([0.0, 0.0, 0.0, 0.0, -2.0])
    model = BlockModel(blocks, base.lm, SOURCE, weights, weights)
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


def test_an_empty_sentence_has_a_line():
    model, _ = model_and_arpa(1)
    decoder = BlockDecoder(model, BlockSearch())
    [derivation] = decoder.translate([])
    fields = decoder.nbest_line(0, derivation).split(" ||| ")
    assert (fields[0], fields[1], fields[3:]) == ("0", "", ["0", ""])

"""Lattices of words have the paths of those of phrases; the text of their files, and every arc read out of it by a few
lines that follow the format's definition.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.kernels.search.lattices import all_paths, arc_graphs
from xlate.errors import InputError
from xlate.formats.lattice import WordArc, spelled_out, write_fst, write_slf, write_symbols
from xlate.kernels.search.lattice_passes import ArcGraph, trimmed
from xlate.text.lines import read_lines

WORDS = st.text(st.sampled_from("aü\"'\\=#1\u2028|!\u00a0"), max_size=4)
Arc = tuple[int, int, str, float]


@st.composite
def word_lattices(draw: st.DrawFn) -> list[WordArc]:
    """Lattices with any words and scores; every node lies on a path."""
    graph = trimmed(draw(arc_graphs()))[0]
    arcs = len(graph.source_A)
    assume(arcs)
    scores = draw(st.lists(st.floats(-1e300, 1e300), min_size=arcs, max_size=arcs))
    words = draw(st.lists(WORDS, min_size=arcs, max_size=arcs))
    return list(zip(graph.source_A.tolist(), graph.target_A.tolist(), words, scores, strict=True))


named_slf = partial(write_slf, utterance="s1")


def arcs_of_slf(path: Path) -> tuple[list[Arc], int]:
    """Links of an HTK lattice and its end node."""
    found: list[Arc] = []
    end = -1
    for line in read_lines(path):
        if link := re.fullmatch(r"J=\d+ S=(\d+) E=(\d+) W=(.*) a=(\S+)", line):
            source, target, word, score = link.groups()
            word = "" if word == "!NULL" else re.sub(r"\\(.)", r"\1", word)
            found.append((int(source), int(target), word, float(score)))
        elif header := re.fullmatch(r"start=0 end=(\d+)", line):
            end = int(header[1])
    return found, end


@settings(max_examples=50)
@given(arc_graphs(), st.data())
def test_paths_of_phrases_are_paths_of_words(graph: ArcGraph, data: st.DataObject):
    graph, arcs = trimmed(graph)
    assume(len(arcs))
    phrase = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
    phrases = data.draw(st.lists(phrase, min_size=len(arcs), max_size=len(arcs)))
    score_A = np.arange(1.0, len(arcs) + 1)
    made = spelled_out(graph, score_A, phrases)
    sources, targets, words, scores = zip(*made, strict=True)
    spelled = ArcGraph(np.array(sources, np.int32), np.array(targets, np.int32), max(targets) + 1)
    assert (spelled.source_A < spelled.target_A).all()
    assert (np.diff(spelled.source_A) >= 0).all()
    found, expected = (
        sorted(("".join(word for arc in path for word in words[arc]), scores[path].sum()) for path in all_paths(whole))
        for whole, words, scores in ((spelled, words, np.array(scores)), (graph, phrases, score_A))
    )
    assert found == expected


@settings(max_examples=50)
@given(word_lattices())
def test_every_arc_of_a_standard_lattice_is_written_with_all_digits(tmp_path_factory, lattice):
    path = tmp_path_factory.mktemp("lattice") / "lattice.gz"
    named_slf(path, lattice)
    assert arcs_of_slf(path) == (lattice, max(target for _, target, _, _ in lattice))


SMALL = [(0, 1, "the", -1 / 3), (0, 2, "hau\u2028s'", 1e300), (1, 2, "", 0.0)]
SMALL_SLF = """\
VERSION=1.1
UTTERANCE=s1
start=0 end=2
N=3 L=3
I=0
I=1
I=2
J=0 S=0 E=1 W=the a=-0.3333333333333333
J=1 S=0 E=2 W=hau\u2028s\\' a=1e+300
J=2 S=1 E=2 W=!NULL a=0.0
"""


def test_the_text_of_both(tmp_path):
    write_fst(tmp_path / "fst.gz", SMALL)
    assert read_lines(tmp_path / "fst.gz") == [
        "0 1 the 0.3333333333333333",
        "0 2 hau\u2028s' -1e+300",
        "1 2 <eps> 0.0",
        "2",
    ]
    named_slf(tmp_path / "slf", SMALL)
    assert (tmp_path / "slf").read_text() == SMALL_SLF


def test_symbols_are_distinct_sorted_and_begin_with_epsilon(tmp_path):
    write_symbols(tmp_path / "symbols", ["b", "", "a", "b"])
    assert (tmp_path / "symbols").read_text() == "<eps>\t0\na\t1\nb\t2\n"


def test_words_that_cannot_be_written(tmp_path):
    for write, word in ((write_fst, "<eps>"), (named_slf, "!NULL"), (write_fst, "a b"), (named_slf, "a\tb")):
        with pytest.raises(InputError, match="cannot hold"):
            write(tmp_path / "out", [(0, 1, word, 0.5)])
    with pytest.raises(InputError, match="cannot hold"):
        write_symbols(tmp_path / "out", ["a b"])
    assert not (tmp_path / "out").exists()

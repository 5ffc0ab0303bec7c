"""Lattice files: read back as written, and read as other tools write them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.search.lattices import all_paths, arc_graphs
from xlate.errors import InputError
from xlate.formats.lattice import WordLattice
from xlate.formats.lattice_fst import read_fst, read_symbols, write_fst, write_symbols
from xlate.formats.lattice_slf import read_slf, write_slf
from xlate.kernels.search.lattice_passes import trimmed

WORDS = st.text(st.sampled_from("aü\"'\\=#1\u2028|!\u00a0"), max_size=4)


@st.composite
def word_lattices(draw: st.DrawFn) -> WordLattice:
    """Lattices with any words and scores; every node lies on a path."""
    graph = trimmed(draw(arc_graphs()))[0]
    arcs = len(graph.source_A)
    if not arcs:
        graph = graph._replace(nodes=1)
    scores = draw(st.lists(st.floats(-1e300, 1e300), min_size=arcs, max_size=arcs))
    words = draw(st.lists(WORDS, min_size=arcs, max_size=arcs))
    return WordLattice(graph, tuple(words), np.array(scores, dtype=np.float64))


def spelled(lattice: WordLattice) -> list[tuple[tuple[str, ...], float]]:
    """Words and score of every path."""
    found = []
    for path in all_paths(lattice.graph):
        words = tuple(lattice.words[arc] for arc in path if lattice.words[arc])
        found.append((words, math.fsum(lattice.score_A[path])))
    return sorted(found)


@settings(deadline=None, max_examples=150)
@given(word_lattices(), st.sampled_from([(write_fst, read_fst), (write_slf, read_slf)]))
def test_read_back_is_what_was_written(tmp_path_factory, lattice, form):
    write, read = form
    path = tmp_path_factory.mktemp("lattice") / "lattice.gz"
    write(path, lattice)
    again = read(path)
    assert again.words == lattice.words
    assert again.score_A.tolist() == lattice.score_A.tolist()
    assert again.graph.nodes == lattice.graph.nodes
    for ours, theirs in zip(again.graph[:2], lattice.graph[:2], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_text_of_both(tmp_path):
    (tmp_path / "made").write_text("0 1 the 0.5\n1 2 <eps> 0\n0 2 house -1.25\n2\n")
    lattice = read_fst(tmp_path / "made")
    write_fst(tmp_path / "fst", lattice)
    assert (tmp_path / "fst").read_text() == "0 1 the 0.5\n0 2 house -1.25\n1 2 <eps> 0.0\n2\n"
    write_slf(tmp_path / "slf", lattice, "s1")
    assert (tmp_path / "slf").read_text().split("\n") == [
        "VERSION=1.1",
        "UTTERANCE=s1",
        "start=0 end=2",
        "N=3 L=3",
        "I=0",
        "I=1",
        "I=2",
        "J=0 S=0 E=1 W=the a=-0.5",
        "J=1 S=0 E=2 W=house a=1.25",
        "J=2 S=1 E=2 W=!NULL a=0.0",
        "",
    ]


def test_an_acceptor_as_fstprint_writes_it(tmp_path):
    """States in any order, labels by number, several final states, one with a weight and an arc from it."""
    write_symbols(tmp_path / "symbols", ["b", "", "a", "b"])
    assert (tmp_path / "symbols").read_text() == "<eps>\t0\na\t1\nb\t2\n"
    (tmp_path / "fst").write_text("7\t3\t1\t0.5\n7\t5\t2\n3\t5\t0\t2\n3\t0.25\n5\n")
    lattice = read_fst(tmp_path / "fst", read_symbols(tmp_path / "symbols"))
    assert spelled(lattice) == [(("a",), -2.5), (("a",), -0.75), (("b",), 0.0)]


def test_a_lattice_as_htk_writes_it(tmp_path):
    """Words on nodes, long names, quotes, octal numbers, comments, scales, a base, and ends that are not named."""
    (tmp_path / "slf").write_text(
        "# made by hand\nVERSION=1.0\nbase=10 lmscale=2.0 wdpenalty=-1\nN=4 L=4\n"
        "I=0 t=0.0 W=!NULL\nI=1 W='a b'\nI=2 W=\\303\\274\nI=3\n"
        'J=0 START=0 END=1 acoustic=-2 language=-0.5\nJ=1 S=0 E=2 a=-1\nJ=2 S=1 E=3\nJ=3 S=2 E=3 W="x\\""\n'
    )
    ten = math.log(10)
    assert spelled(read_slf(tmp_path / "slf")) == [
        (("a b",), pytest.approx(-4 * ten)),
        (("ü", 'x"'), pytest.approx(-3 * ten)),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 a x\n1\n", "not a number"),
        ("0 1 a nan\n1\n", "not a finite number"),
        ("0 1 a 1_0\n1\n", "not a finite number"),
        ("0 1 a b c 2\n1\n", "neither an arc"),
        ("0 1 a 1e999\n1\n", "not a finite number"),
        (f"1{'0' * 22} 1 a\n1\n", "out of range"),
        (f"0 1{'0' * 30} a\n1\n", "out of range"),
        ("-1 1 a\n1\n", "not a whole number"),
        ("\n", "neither an arc"),
        ("0 1 a 2\n", "without final state"),
        ("", "without final state"),
        ("0 1 a\n1 0 b\n1\n", "a cycle"),
        ("0 1 a\n1 2 a\n2 1 a\n2\n", "a cycle"),
    ],
)
def test_acceptors_that_are_refused(tmp_path, text, message):
    (tmp_path / "fst").write_text(text)
    with pytest.raises(InputError, match=message):
        read_fst(tmp_path / "fst")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("J=0 S=0 E=1 a=x\n", "not a number"),
        ("J=0 S=0\n", "without ends"),
        ("J=0 S=0 E=1_0\n", "not a whole number"),
        (f"J=0 S=0 E=1{'0' * 30}\n", "out of range"),
        ("lmscale=1e300\nJ=0 S=0 E=1 l=1e300\n", ":2: a score out of range"),
        ("VERSION=1.1\nbase=1e999\nJ=0 S=0 E=1\n", ":2: not a finite number"),
        ("base=1\nJ=0 S=0 E=1\n", "no logs"),
        ("J=0 S=0 E=1\nJ=1 S=0 E=2\n", "no single end"),
        ("J=0 S=0 E=2\nJ=1 S=1 E=2\n", "no single start"),
        ("start=0 end=1\nJ=0 S=0 E=1\nJ=1 S=1 E=0\n", "a cycle"),
    ],
)
def test_slf_files_that_are_refused(tmp_path, text, message):
    (tmp_path / "slf").write_text(text)
    with pytest.raises(InputError, match=message):
        read_slf(tmp_path / "slf")


@pytest.mark.parametrize("text", ["a\n", "a 0\nb 0\n", "a 1\n", "a -1\n", "a x\n"])
def test_symbol_tables_that_are_refused(tmp_path, text):
    (tmp_path / "symbols").write_text(text)
    with pytest.raises(InputError):
        read_symbols(tmp_path / "symbols")


def test_a_long_word_without_a_name_is_passed_over(tmp_path):
    """Looked at once, not from each of its characters: half a million of them took an hour."""
    (tmp_path / "slf").write_text("J=0 S=0 E=1 W=a " + "x" * 500_000 + "\n")
    assert spelled(read_slf(tmp_path / "slf")) == [(("a",), 0.0)]


def test_words_that_cannot_be_written(tmp_path):
    (tmp_path / "fst").write_text("0 1 a\n1\n")
    lattice = read_fst(tmp_path / "fst")
    for write, word in ((write_fst, "<eps>"), (write_slf, "!NULL"), (write_fst, "a b"), (write_slf, "a\tb")):
        with pytest.raises(InputError, match="cannot hold"):
            write(tmp_path / "out", lattice._replace(words=(word,)))
    assert not (tmp_path / "out").exists()
    (tmp_path / "fst").write_text("0 1 7\n1\n")
    with pytest.raises(InputError, match="symbol table lacks"):
        read_fst(tmp_path / "fst", ["", "a"])

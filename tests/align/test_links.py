"""Links and Pharaoh files: round trip, and refusals that name the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.align.links import Links, read_links, write_links
from xlate.errors import InputError

SENTENCES = st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12), max_size=5)


def write(folder: Path, text: str) -> Path:
    path = folder / "a.links"
    path.write_text(text)
    return path


@given(SENTENCES)
def test_from_pairs_sorts_and_drops_repeats(sentences):
    links = Links.from_pairs(sentences)
    assert [links.pairs(s) for s in range(len(links))] == [sorted(set(pairs)) for pairs in sentences]


@given(SENTENCES)
def test_transposed_exchanges_the_sides(sentences):
    turned = Links.from_pairs(sentences).transposed()
    assert [turned.pairs(s) for s in range(len(turned))] == [sorted({(j, i) for i, j in pairs}) for pairs in sentences]


@given(sentences=SENTENCES)
def test_what_was_written_is_read(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("links") / "a.links.gz"
    links = Links.from_pairs(sentences)
    write_links(path, links)
    again = read_links(path, [7] * len(sentences), [7] * len(sentences))
    for one, other in zip(vars(links).values(), vars(again).values(), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_read_links_by_hand(tmp_path):
    path = write(tmp_path, "1-2 0-0  1-2 \n\n0-1\n")
    links = read_links(path, [2, 0, 1], [3, 4, 2])
    assert [links.pairs(s) for s in range(3)] == [[(0, 0), (1, 2)], [], [(0, 1)]]
    turned = read_links(write(tmp_path, "2-0\n"), [1], [3], reverse=True)
    assert turned.pairs(0) == [(0, 2)]


@pytest.mark.parametrize("link", ["3-", "-3", "1-2-3", "1p2", "1", "+1-2", "1-2\r", "٣-1"])
def test_malformed_link_is_refused_with_its_line(tmp_path, link):
    with pytest.raises(InputError, match="malformed link") as caught:
        read_links(write(tmp_path, f"0-0\n0-0 {link}\n"), [5, 5], [5, 5])
    assert caught.value.line == 2
    assert str(caught.value.file).endswith("a.links")


@pytest.mark.parametrize(("link", "source", "target"), [("2-0", 2, 9), ("0-2", 9, 2), ("999999999-0", 5, 5)])
def test_link_outside_its_sentence_is_refused_with_its_line(tmp_path, link, source, target):
    with pytest.raises(InputError, match="outside its sentence pair") as caught:
        read_links(write(tmp_path, f"0-0\n{link}\n"), [1, source], [1, target])
    assert caught.value.line == 2


@pytest.mark.parametrize("text", ["0-0\n", "0-0\n0-0\n0-0\n", ""])
def test_wrong_number_of_lines_is_refused(tmp_path, text):
    with pytest.raises(InputError, match="wrong number of lines") as caught:
        read_links(write(tmp_path, text), [1, 1], [1, 1])
    assert caught.value.seen == f"{text.count(chr(10))} lines"


def test_differing_lengths_are_refused(tmp_path):
    with pytest.raises(InputError, match="differ in number of sentences"):
        read_links(write(tmp_path, "0-0\n"), [1], [1, 1])

"""Links and Pharaoh files: round trip, refusals that name the line; error rates by hand, naively, and as published."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.phrases.small_corpora import assert_same
from xlate.align.links import (
    GoldLinks,
    Links,
    alignment_error_rate,
    read_gold,
    read_hypothesis_links,
    read_links,
    write_links,
)
from xlate.errors import InputError
from xlate.text.lines import read_lines

SENTENCES = st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12), max_size=5)


def write(folder: Path, text: str) -> Path:
    path = folder / "a.links"
    path.write_text(text)
    return path


@given(SENTENCES)
def test_links_are_sorted_without_repeats_either_way(sentences):
    turned = [[(j, i) for i, j in pairs] for pairs in sentences]
    links = Links.from_pairs(sentences)
    for found, given_links in ((links, sentences), (links.transposed(), turned)):
        assert [found.pairs(s) for s in range(len(found))] == [sorted(set(pairs)) for pairs in given_links]


@given(sentences=SENTENCES)
def test_what_was_written_is_read(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("links") / "a.links.gz"
    links = Links.from_pairs(sentences)
    write_links(path, links)
    assert_same(read_links(path, [7] * len(sentences), [7] * len(sentences)), links)


def test_read_links_by_hand(tmp_path):
    path = write(tmp_path, "1-2 0-0  1-2 \n\n0-1\n")
    links = read_links(path, [2, 0, 1], [3, 4, 2])
    assert [links.pairs(s) for s in range(3)] == [[(0, 0), (1, 2)], [], [(0, 1)]]


@pytest.mark.parametrize("link", ["3-", "-3", "1-2-3", "1p2", "1", "+1-2", "1-2\r", "٣-1"])
def test_malformed_link_is_refused_with_its_line(tmp_path, link):
    with pytest.raises(InputError, match=":2: malformed link"):
        read_links(write(tmp_path, f"0-0\n0-0 {link}\n"), [5, 5], [5, 5])


@pytest.mark.parametrize(("link", "source", "target"), [("2-0", 2, 9), ("0-2", 9, 2), ("999999999-0", 5, 5)])
def test_link_outside_its_sentence_is_refused_with_its_line(tmp_path, link, source, target):
    with pytest.raises(InputError, match=":2: link outside its sentence pair"):
        read_links(write(tmp_path, f"0-0\n{link}\n"), [1, source], [1, target])


@pytest.mark.parametrize(("lines", "seen"), [(0, "0 lines"), (1, "1 line"), (3, "3 lines")])
def test_wrong_number_of_lines_is_refused(tmp_path, lines, seen):
    with pytest.raises(InputError, match="a file of links of a different length") as caught:
        read_links(write(tmp_path, "0-0\n" * lines), [1, 1], [1, 1])
    assert caught.value.seen == seen


def test_differing_lengths_are_refused(tmp_path):
    with pytest.raises(InputError, match="differ in number of sentences"):
        read_links(write(tmp_path, "0-0\n"), [1], [1, 1])


LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=4))
def test_equals_a_naive_count(corpus):
    corpus = [(links, sure, sure | more) for links, sure, more in corpus]
    given_links, *gold = zip(*corpus, strict=True)
    score = alignment_error_rate(Links.from_pairs(given_links), GoldLinks(*map(list, gold)))
    proposed, sure, possible = (
        {(n, *link) for n, row in enumerate(corpus) for link in row[column]} for column in range(3)
    )
    certain, right = len(proposed & sure), len(proposed & possible)
    expected = 1 - (certain + right) / (len(proposed) + len(sure)) if proposed or sure else 0.0
    assert score.aer == pytest.approx(expected)
    assert score.precision == (right / len(proposed) if proposed else 1)
    assert score.recall == (certain / len(sure) if sure else 1)
    either = score.precision + score.recall
    assert score.f1 == pytest.approx(2 * score.precision * score.recall / either if either else 0)


def test_perfect_and_empty():
    gold = GoldLinks([frozenset({(0, 0)}), frozenset()], [frozenset({(0, 0)}), frozenset()])
    assert alignment_error_rate(Links.from_pairs([[(0, 0)], []]), gold).aer == 0
    nothing = alignment_error_rate(Links.from_pairs([[], []]), gold)
    assert str(nothing).startswith("AER = 100.0 precision = 100.0 recall = 0.0")
    with pytest.raises(InputError, match="differ in number"):
        alignment_error_rate(Links.from_pairs([[]]), gold)


def test_gold_marks_and_first_position(tmp_path):
    gold = read_gold(write(tmp_path, "1-1 2p3 2?1\n\n"))
    assert gold.sure == [{(0, 0)}, set()]
    assert gold.possible == [{(0, 0), (1, 2), (1, 0)}, set()]
    assert read_gold(write(tmp_path, "0-0 1?2\n")).possible == [{(0, 0), (1, 2)}]


@pytest.mark.parametrize("text", ["1-1\n1x1\n", "1-1\n1p\n"])
def test_bad_gold_is_refused(tmp_path, text):
    with pytest.raises(InputError, match=":2: malformed link"):
        read_gold(write(tmp_path, text))


def test_hypothesis_links(tmp_path):
    path = write(tmp_path, "0-1 2-0\n")
    assert read_hypothesis_links(path).pairs(0) == [(0, 1), (2, 0)]
    assert read_hypothesis_links(path, swapped=True).pairs(0) == [(0, 2), (1, 0)]
    with pytest.raises(InputError, match="malformed"):
        read_hypothesis_links(write(tmp_path, "0p1\n"))


PUBLISHED = {
    "giza": {"forward": 8.0, "reverse": 9.8, "grow-diagonal": 5.9, "grow-diagonal-final": 6.2},
    "fastalign": {"forward": 16.4, "reverse": 15.9, "grow-diagonal": 10.5, "grow-diagonal-final": 12.1},
}


@pytest.mark.corpus
@pytest.mark.parametrize(("system", "name"), [(s, n) for s, names in PUBLISHED.items() for n in names])
def test_published_figures(shared_data, system, name):
    folder = shared_data / "wordalign"
    pairs = [line.split("|||") for line in read_lines(folder / "enfr.src-tgt.gz")]
    lengths = [[len(pair[side].split()) for pair in pairs] for side in (0, 1)]
    gold = read_gold(folder / "enfr.gold.gz")
    path = folder / f"lilt-enfr.{system}.{name}.talp.gz"
    links = read_links(path, *lengths[::-1]).transposed() if name == "reverse" else read_links(path, *lengths)
    assert round(100 * alignment_error_rate(links, gold).aer, 1) == PUBLISHED[system][name]

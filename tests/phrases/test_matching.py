"""Matching: against every pair of spans tried one by one, on the edges, and on the Multi30k corpus."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import corpora, encoded, matches_by_trial, phrase_of, table_of, tables, texts
from xlate.errors import InputError
from xlate.formats.moses_table import read_phrase_table
from xlate.kernels.orientation import LEFT, RIGHT
from xlate.phrases.events import collect_events
from xlate.phrases.matching import Matches, match_blocks
from xlate.text.encoded import EncodedText
from xlate.text.lines import iterate_lines


def rows_of(matches: Matches, sentence: int) -> list[tuple[int, ...]]:
    low, high = matches.offsets_S1[sentence : sentence + 2]
    return [tuple(row) for row in matches.rows_M5[low:high].tolist()]


@settings(max_examples=150, deadline=None)
@given(tables, corpora)
def test_equal_to_trying_every_pair_of_spans(table, corpus):
    matches = match_blocks(table, *texts(corpus))
    assert len(matches.offsets_S1) == len(corpus) + 1
    for s, (source, target) in enumerate(corpus):
        assert rows_of(matches, s) == matches_by_trial(table, source, target)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.integers(3, 6), min_size=7, max_size=10), st.lists(st.integers(3, 6), min_size=7))
def test_long_phrases_cut_from_the_sentences_are_found(data, source, target):
    spans = st.tuples(st.integers(0, 3), st.integers(1, 7)).map(lambda span: slice(span[0], span[0] + span[1]))
    cuts = data.draw(st.lists(st.tuples(spans, spans), min_size=1, max_size=12))
    table = table_of([(source[s], target[t]) for s, t in cuts])
    found = rows_of(match_blocks(table, encoded([source]), encoded([target])), 0)
    assert found == matches_by_trial(table, source, target)
    assert {row[0] for row in found} == set(range(len(table)))


def test_one_pair_by_hand():
    # das=3 haus=4 | the=3 house=4
    table = table_of([([3], [3]), ([4], [4]), ([3, 4], [3, 4]), ([4], [3, 4])])
    matches = match_blocks(table, encoded([[3, 4]]), encoded([[3, 4]]))
    found = [(phrase_of(table, row[0]), *row[1:]) for row in rows_of(matches, 0)]
    assert found == [
        (((3,), (3,)), 0, 1, 0, 1),
        (((3, 4), (3, 4)), 0, 2, 0, 2),
        (((4,), (3, 4)), 1, 2, 0, 2),
        (((4,), (4,)), 1, 2, 1, 2),
    ]


def test_many_options_and_many_target_spans_find_the_same():
    """A source phrase with more blocks than the sentence has spans is looked up from the other side."""
    table = table_of([([3], [t]) for t in range(3, 60)])
    matches = match_blocks(table, encoded([[3]] * 2), encoded([[5, 5], list(range(3, 60)) * 2]))
    assert [row[3] for row in rows_of(matches, 0)] == [0, 1]
    assert len(rows_of(matches, 1)) == 2 * 57


def test_empty_sides_and_an_empty_table_match_nothing():
    table = table_of([([3], [3])])
    matches = match_blocks(table, encoded([[], [3], [3]]), encoded([[3], [], [3]]))
    assert matches.offsets_S1.tolist() == [0, 0, 0, 1]
    nothing = match_blocks(table.select(np.array([False])), encoded([[3]]), encoded([[3]]))
    assert nothing.offsets_S1.tolist() == [0, 0]
    assert match_blocks(table, encoded([]), encoded([])).offsets_S1.tolist() == [0]


def test_sides_of_unequal_length_are_refused():
    with pytest.raises(InputError, match="1 and 2"):
        match_blocks(table_of([([3], [3])]), encoded([[3]]), encoded([[3], [3]]))


def test_a_sentence_too_long_is_refused_with_its_number():
    long = encoded([[3], [3] * 40_000])
    with pytest.raises(InputError) as caught:
        match_blocks(table_of([([3], [3])]), encoded([[3], [3]]), long)
    assert caught.value.line == 2


def test_saved_matches_come_back(tmp_path):
    matches = match_blocks(table_of([([3], [3])]), encoded([[3, 3]]), encoded([[3]]))
    matches.save(tmp_path)
    again = Matches.load(tmp_path)
    assert again.rows_M5.tolist() == matches.rows_M5.tolist()
    assert again.offsets_S1.tolist() == matches.offsets_S1.tolist()
    (tmp_path / "rows_M5.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(InputError, match="rows_M5"):
        Matches.load(tmp_path)


PROTOTYPE_SENTENCES = 500
PROTOTYPE_FIGURES = [107, 225, 34]


def figures_by_strings(pairs, source, target):
    """Matches, R and L bigrams of one sentence pair, over phrases as strings and every two matches compared."""
    spans_of: dict[str, list[tuple[int, int]]] = {}
    for i in range(len(target)):
        for j in range(i + 1, len(target) + 1):
            spans_of.setdefault(" ".join(target[i:j]), []).append((i, j))
    found = []
    for i in range(len(source)):
        for j in range(i + 1, len(source) + 1):
            for phrase in pairs.get(" ".join(source[i:j]), ()):
                found += [(i, j, *span) for span in spans_of.get(phrase, ())]
    above = [(a, b) for a in found for b in found if a[3] == b[2]]
    return len(found), sum(a[1] == b[0] for a, b in above), sum(b[1] == a[0] for a, b in above)


def read_words(path):
    return [[word for word in line.split(" ") if word] for line in iterate_lines(path)]


@pytest.mark.corpus
@pytest.mark.slow
def test_moses_phrase_pairs_on_multi30k(shared_data):
    """791,331 phrase pairs matched against the 29,000 sentence pairs that Moses extracted them from.

    An earlier prototype by others counted 107 matches, 225 R and 34 L bigrams a sentence; that was over the first 500
    sentences, rounded down. All 29,000 have 101.2, 218.4 and 30.2: the later sentences are shorter.
    """
    folder = shared_data / "moses"
    moses = read_phrase_table(folder / "model" / "phrase-table.gz", unescape=False)
    sides = [read_words(folder / "corpus" / f"train.tok.{side}.gz") for side in ("de", "en")]
    source, target = (
        EncodedText.encode(side, vocabulary)
        for side, vocabulary in zip(sides, (moses.source_vocabulary, moses.target_vocabulary), strict=True)
    )
    matches = match_blocks(moses.table, source, target)
    # Extraction is a match too, so no block is matched less often than it was extracted.
    assert (np.bincount(matches.block_M, minlength=len(moses.table)) >= moses.table.count_B).all()

    pairs: dict[str, set[str]] = {}
    for line in iterate_lines(folder / "model" / "phrase-table.gz"):
        source_phrase, target_phrase, _ = line.split(" ||| ", 2)
        pairs.setdefault(source_phrase, set()).add(target_phrase)
    first = islice(zip(*sides, strict=True), PROTOTYPE_SENTENCES)
    expected = np.sum([figures_by_strings(pairs, s, t) for s, t in first], axis=0)
    events = collect_events(matches)
    end = matches.offsets_S1[PROTOTYPE_SENTENCES]
    orientation_E = events.orientation_E[events.predecessor_E < end]
    assert [end, (orientation_E == RIGHT).sum(), (orientation_E == LEFT).sum()] == expected.tolist()
    assert (expected // PROTOTYPE_SENTENCES).tolist() == PROTOTYPE_FIGURES

"""Where pairs were extracted, against the textbook definition, and what is listed of them.

Orientation counts: by the definitions on small sentence pairs, and Moses's own tables.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.phrases.moses_corpus import moses_corpus
from tests.phrases.small_corpora import encoded, linked_pairs, linked_texts, phrase_of, random_corpus, table_of
from tests.phrases.test_extract import naive_spans
from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.formats.moses_table import read_phrase_table
from xlate.formats.reordering_table import read_reordering_table, write_reordering_table
from xlate.phrases.extract import extract_phrases
from xlate.phrases.occurrences import listed_pairs, occurrences_of, reordering_counts, reordering_probabilities
from xlate.phrases.runs import Runs
from xlate.phrases.table import score_phrases
from xlate.text.lines import read_lines
from xlate.text.vocabulary import EncodedText

Block = tuple[int, int, int, int]
Corpus = list[tuple[list[int], list[int], set[tuple[int, int]]]]


def orientations(block: Block, n: int, m: int, links: set[tuple[int, int]], beside: list[Block]) -> tuple[int, int]:
    """Backward and forward orientation: 0 monotone, 1 swap, 2 neither."""
    a, b, c, d = block

    def linked(i: int, j: int) -> bool:
        return (i, j) in links or (i, j) in {(-1, -1), (n, m)}

    before, after = [x for x in beside if x[3] == c], [x for x in beside if x[2] == d]
    left, right = linked(a - 1, c - 1), linked(b, c - 1)
    backward = 2
    if (left and not right) or any(x[1] == a for x in before):
        backward = 0
    elif (right and not left) or any(x[0] == b for x in before):
        backward = 1
    right, left = linked(b, d), linked(a - 1, d)
    forward = 2
    if (right and not left) or any(x[0] == b for x in after):
        forward = 0
    elif (left and not right) or any(x[1] == a for x in after):
        forward = 1
    return backward, forward


def finer(block: Block, n: int, m: int, links: set[tuple[int, int]], beside: list[Block]) -> tuple[int, int]:
    """Five orientations: 3 is a jump from the right (forward: to the left), 4 monotone with all the rest."""
    a, b, c, d = block
    backward, forward = orientations(block, n, m, links, beside)
    if backward == 0 and ((a, c) == (0, 0) or any(x[1:] == (a, 0, c) for x in beside)):
        backward = 4
    if forward == 0 and ((b, d) == (n, m) or any((x[0], x[2], x[3]) == (b, d, m) for x in beside)):
        forward = 4
    before = [(j, i) for i, j in links if j < c]
    if backward == 2 and before and max(before)[1] >= a:
        backward = 3
    after = [(j, i) for i, j in links if j >= d]
    if forward == 2 and after and min(after)[1] < b:
        forward = 3
    return backward, forward


@pytest.mark.parametrize("kind", ["wbe", "phrase", "hier", "hier5"])
@example(corpus=[([1, 2, 3, 4, 6], [1, 2, 3], {(0, 0), (4, 0), (2, 1), (1, 2), (3, 2)})])
@example(corpus=[([1, 2, 3, 4, 6], [1, 2, 3, 5], {(0, 0), (4, 1), (2, 2), (1, 3), (3, 3)})])
@example(corpus=[([1, 2, 3], [1, 2, 3], {(0, 0), (2, 1), (1, 2)})])
@settings(max_examples=50, deadline=None)
@given(corpus=linked_pairs(least=1, longest=5))
def test_counts_are_the_definition(kind: str, corpus: Corpus) -> None:
    most = 3
    # An unknown word is in no phrase.
    corpus = [([w % 5 for w in source], [w % 4 for w in target], links) for source, target, links in corpus]
    expected: Counter[tuple[tuple[int, ...], tuple[int, ...], int]] = Counter()
    for s, t, given_links in corpus:
        phrases = list(naive_spans(s, t, given_links, most, most))
        beside = {"wbe": [], "phrase": phrases}.get(kind, list(naive_spans(s, t, given_links, 5, 5)))
        for block in phrases:
            define = finer if kind == "hier5" else orientations
            backward, forward = define(block, len(s), len(t), given_links, beside)
            pair = tuple(s[block[0] : block[1]]), tuple(t[block[2] : block[3]])
            if 0 not in (*pair[0], *pair[1]):
                expected[(*pair, backward)] += 1
                expected[(*pair, (5 if kind == "hier5" else 3) + forward)] += 1
    texts = linked_texts(corpus)
    table = score_phrases(extract_phrases(*texts, most), lexical_table(*texts))
    counts = reordering_counts(table, *texts, kind, most)
    assert {(*phrase_of(table, b), o): counts[b, o] for b, o in np.argwhere(counts).tolist()} == expected


def test_orientations_are_counted_in_bounded_memory(tmp_path: Path, rng: np.random.Generator) -> None:
    texts = linked_texts(random_corpus(rng, 1200, 40, longest=8))
    table = score_phrases(extract_phrases(*texts), lexical_table(*texts))
    whole = reordering_counts(table, *texts, "hier")
    kept_B = rng.random(len(table)) < 0.7
    with Runs(0, tmp_path) as runs:
        assert (reordering_counts(table, *texts, "hier", runs=runs) == whole).all()
        some = reordering_counts(table.select(kept_B), *texts, "hier", runs=runs)
        assert (some == whole[kept_B]).all()
        shares = reordering_probabilities(some, scratch=runs)
        assert (shares == reordering_probabilities(whole)[kept_B]).all()
        assert len(list(tmp_path.glob("scratch-*/*"))) == 3
    assert not list(tmp_path.iterdir())


def test_probabilities_are_smoothed() -> None:
    probabilities = reordering_probabilities(np.array([[1, 0, 0, 0, 2, 1]]))
    assert probabilities[0].tolist() == pytest.approx([0.6, 0.2, 0.2, 0.5 / 4.5, 2.5 / 4.5, 1.5 / 4.5])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [("wbe", "wbe"), ("hier-moses", "hier")])
def test_mosess_tables_come_out(shared_data: Path, tmp_path: Path, kind: str, name: str) -> None:
    folder = shared_data / "moses" / "model"
    table, source, target = read_phrase_table(folder / "phrase-table.gz")
    *tokens, links = moses_corpus(shared_data)
    texts = [EncodedText.encode(side, words) for side, words in zip(tokens, (source, target), strict=True)]
    probabilities = reordering_probabilities(reordering_counts(table, *texts, links, kind))
    path = folder / f"reordering-table.{name}-msd-bidirectional-fe.gz"
    given_B6 = read_reordering_table(path, table, source, target)
    assert np.isclose(probabilities, given_B6, atol=2e-6).all()
    write_reordering_table(tmp_path / "r.gz", table, given_B6, source, target, escape=False)
    assert [line.strip() for line in read_lines(tmp_path / "r.gz")] == [line.strip() for line in read_lines(path)]


@settings(max_examples=50, deadline=None)
@given(linked_pairs(), st.data())
def test_places_are_those_of_the_textbook(corpus: Corpus, data: st.DataObject) -> None:
    every = [
        (s, i1, i2, (tuple(source[i1:i2]), tuple(target[j1:j2])), {j for _, j in links} >= {j1, j2 - 1})
        for s, (source, target, links) in enumerate(corpus)
        for i1, i2, j1, j2 in naive_spans(source, target, links, 3, 3)
    ]
    pairs = sorted({row[3] for row in every})
    listed = [pair for pair in pairs if data.draw(st.booleans())] or pairs
    if not listed:
        return
    table = table_of(listed)
    rows = zip(*(column.tolist() for column in occurrences_of(table, *linked_texts(corpus), 3)), strict=True)
    seen = [(s, a, b, phrase_of(table, pair), tight) for s, a, b, pair, tight in rows]
    assert sorted(seen) == sorted(row for row in every if row[3] in listed)
    assert seen == sorted(seen, key=lambda row: row[:3])


def test_an_unknown_kind_and_texts_that_do_not_fit_are_refused() -> None:
    table, text, none = table_of([([3], [4])]), encoded([[3]]), encoded([])
    with pytest.raises(InputError, match="kind of reordering"):
        reordering_counts(table, text, text, Links.from_pairs([[]]), "left")
    with pytest.raises(InputError, match="differ in number"):
        occurrences_of(table, text, none, Links.from_pairs([]))


def test_the_most_frequent_pairs_are_listed_first() -> None:
    table = table_of([([3], [3]), ([3], [4]), ([3], [5]), ([4], [3]), ([5], [3])])
    listed = listed_pairs(table, np.array([1, 3, 3, 0, 2]), 2)
    assert listed.offsets_P1.tolist() == [0, 2, 2, 3]
    assert listed.pair_N.tolist() == [1, 2, 4]
    # Shares are of all translations, those that are not listed with them.
    assert np.exp(listed.log_share_N) == pytest.approx([3 / 7, 3 / 7, 1.0])

"""Phrase tables: scores by the definition, saving, selecting, and Moses's own table."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lm.oracles import KneserNey
from tests.phrases.moses_corpus import moses_corpus
from tests.phrases.small_corpora import assert_same, encoded, linked_texts, pair_links, phrase_of, random_corpus
from xlate.align.lexical import LexicalTable, lexical_table
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.formats.moses_table import read_phrase_table
from xlate.phrases.extract import extract_pairs, extract_phrases, phrase_limits
from xlate.phrases.runs import Runs
from xlate.phrases.table import PhraseTable, score_phrases
from xlate.text.vocabulary import EncodedText, Vocabulary


def random_table(rng):
    """A scored table of a random corpus, with its counts and the lexical table."""
    texts = linked_texts(random_corpus(rng, 80, 6, longest=6))
    counts, lexical = extract_phrases(*texts, 4), lexical_table(*texts)
    return score_phrases(counts, lexical), counts, lexical


def test_memory_is_bounded_and_changes_nothing(tmp_path, rng):
    source, target = (EncodedText.from_ids([rng.integers(3, 60, size=8) for _ in range(4000)]) for _ in range(2))
    links = Links.from_pairs({(int(i), j) for j, i in enumerate(rng.integers(8, size=8))} for _ in range(4000))
    lexical, whole = lexical_table(source, target, links), extract_phrases(source, target, links)
    with Runs(1, tmp_path) as runs:
        counts = extract_pairs(source, target, links, phrase_limits(7), runs)
        for smoothing in ("none", "kneser_ney"):
            table = score_phrases(counts, lexical, runs, smoothing)
            assert_same(table, score_phrases(whole, lexical, smoothing=smoothing))
        assert len(list(tmp_path.glob("scratch-*/*"))) > 50
    assert not list(tmp_path.iterdir())


def word_probabilities(lexical):
    """p(t|s) by (s, t), and p(s|t) by (t, s)."""
    pairs = list(zip(lexical.source_K.tolist(), lexical.target_K.tolist(), strict=True))
    turned = [(t, s) for s, t in pairs]
    forward, backward = lexical.target_given_source_K, lexical.source_given_target_K
    return dict(zip(pairs, forward, strict=True)), dict(zip(turned, backward, strict=True))


def naive_lexical(given, words, links, probability):
    """Koehn et al. 2003, section 4.4: links are (given position, word position)."""
    weight = 1.0
    for at, word in enumerate(words):
        partners = [given[g] for g, w in links if w == at]
        weight *= np.mean([probability[g, word] for g in partners]) if partners else probability[-1, word]
    return weight


def test_scores_by_the_definition(rng):
    table, counts, lexical = random_table(rng)
    forward, backward = word_probabilities(lexical)
    of_source, of_target = (np.bincount(rows, counts.count_B) for rows in (counts.source_B, counts.target_B))
    for b in range(len(table)):
        p, q, n = table.source_B[b], table.target_B[b], counts.count_B[b]
        s, t = table.source_phrases[p].tolist(), table.target_phrases[q].tolist()
        turned = [(j, i) for i, j in pair_links(counts, b, inverse=True)]
        expected = (
            n / of_target[q],
            naive_lexical(t, s, turned, backward),
            n / of_source[p],
            naive_lexical(s, t, table.links(b), forward),
        )
        np.testing.assert_allclose(table.scores_B4[b], expected, rtol=1e-12)
        assert (table.count_B[b], table.source_count_P[p], table.target_count_Q[q]) == (n, of_source[p], of_target[q])
        assert table.links(b) == pair_links(counts, b)
    assert len(counts) > 200
    assert (counts.shape_B != counts.inverse_shape_B).any()


def naive_smoothed(joint):
    """p(e|f) of all f and e, also of pairs that were never seen (Foster, Kuhn & Johnson 2006, section 3.2)."""
    discounts = KneserNey.discounts_of(joint.values())
    sources, targets = ({pair[side] for pair in joint} for side in (0, 1))
    found = {}
    for f in sources:
        seen = {e: count for (g, e), count in joint.items() if g == f}
        off = {e: discounts[min(count, 3)] for e, count in seen.items()}
        for e in targets:
            share = sum(d == e for _, d in joint) / len(joint)
            kept = seen[e] - off[e] if e in seen else 0
            found[f, e] = (kept + sum(off.values()) * share) / sum(seen.values())
    return found


def test_smoothed_by_the_definition(rng, caplog):
    _, counts, lexical = random_table(rng)
    table = score_phrases(counts, lexical, smoothing="kneser_ney")
    pairs = zip(counts.source_B.tolist(), counts.target_B.tolist(), strict=True)
    joint = dict(zip(pairs, counts.count_B.tolist(), strict=True))
    direct = naive_smoothed(joint)
    inverse = naive_smoothed({(e, f): count for (f, e), count in joint.items()})
    # All e together, seen with f or not, have probability 1.
    np.testing.assert_allclose(sum(direct.values()), len(table.source_phrases))
    np.testing.assert_allclose(table.scores_B4[:, 2], [direct[pair] for pair in joint], rtol=1e-12)
    np.testing.assert_allclose(table.scores_B4[:, 0], [inverse[e, f] for f, e in joint], rtol=1e-12)
    assert "too few counts" not in caplog.text


def test_missing_lexical_entry_is_refused(rng):
    _, counts, lexical = random_table(rng)
    shorter = LexicalTable(*(column[1:] for column in vars(lexical).values()))
    with pytest.raises(InputError, match="lacks a linked word pair"):
        score_phrases(counts, shorter)


def test_save_and_load(tmp_path, rng):
    table, _, _ = random_table(rng)
    table.save(tmp_path / "table")
    table.save(tmp_path / "table")
    assert_same(table, PhraseTable.load(tmp_path / "table"))
    empty = table.select(np.zeros(len(table), bool))
    empty.save(tmp_path / "empty")
    assert_same(empty, PhraseTable.load(tmp_path / "empty"))


def test_a_table_over_a_larger_vocabulary_is_refused(tmp_path, rng):
    table, _, _ = random_table(rng)
    table.save(tmp_path)
    words = tuple(int(p.ids_T.max()) + 1 for p in (table.source_phrases, table.target_phrases))
    assert len(PhraseTable.load(tmp_path, words)) == len(table)
    with pytest.raises(InputError, match="a different vocabulary"):
        PhraseTable.load(tmp_path, (words[0], words[1] - 1))


def described(table, b):
    """The phrases of a pair, its counts, scores and links."""
    counts = table.count_B[b], table.source_count_P[table.source_B[b]], table.target_count_Q[table.target_B[b]]
    return phrase_of(table, b), counts, table.scores_B4[b].tolist(), table.links(b)


def test_select_keeps_pairs_and_drops_unused_phrases(rng):
    table, _, _ = random_table(rng)
    keep = rng.random(len(table)) < 0.3
    part = table.select(keep)
    expected = [described(table, b) for b in np.flatnonzero(keep)]
    assert [described(part, b) for b in range(len(part))] == expected
    assert set(part.source_B.tolist()) == set(range(len(part.source_phrases)))
    assert set(part.target_B.tolist()) == set(range(len(part.target_phrases)))


def test_phrases_of_rows_that_are_not_there_are_refused():
    phrases = encoded([[3], [4]])
    assert len(phrases.select(np.zeros(0, int))) == 0
    for row in (-1, 2):
        with pytest.raises(IndexError, match="rows from"):
            phrases.select(np.array([0, row]))


@pytest.mark.corpus
@pytest.mark.slow
def test_equals_moses_on_multi30k(shared_data):
    theirs, *words = read_phrase_table(shared_data / "moses" / "model" / "phrase-table.gz")
    *corpus, links = moses_corpus(shared_data)
    # Numbering by the table's own words, a superset being needed for words that are in no phrase.
    both = [
        Vocabulary([*w.words[3:], *sorted({x for s in c for x in s} - set(w.words))]) for w, c in zip(words, corpus)
    ]
    texts = [EncodedText.encode(side, v) for side, v in zip(corpus, both, strict=True)]
    ours = score_phrases(extract_phrases(*texts, links), lexical_table(*texts, links))
    for name in ("source_B", "target_B", "count_B", "link_offsets_B1", "link_source_K", "link_target_K"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ("source_phrases", "target_phrases"):
        np.testing.assert_array_equal(getattr(ours, name).ids_T, getattr(theirs, name).ids_T)
    np.testing.assert_array_equal(ours.source_count_P, theirs.source_count_P)
    np.testing.assert_array_equal(ours.target_count_Q, theirs.target_count_Q)
    # Theirs are sums in single precision, written with six digits.
    np.testing.assert_allclose(ours.scores_B4, theirs.scores_B4, rtol=1e-5)

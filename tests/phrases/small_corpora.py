"""Small phrase tables and sentence pairs, matching and orientation bigrams of them by trial, and equality of arrays."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from xlate.align.lexical import lexical_table
from xlate.align.links import Links
from xlate.kernels.pairs import LEFT, RIGHT
from xlate.phrases.rule_extraction import extract_rules, score_rules
from xlate.phrases.runs import PairCounts
from xlate.phrases.table import PhraseTable, RuleTable
from xlate.text.vocabulary import EncodedText


def encoded(sentences) -> EncodedText:
    """Sentences of word numbers as one text."""
    return EncodedText.from_ids(np.array(sentence, np.int32) for sentence in sentences)


def table_of(pairs) -> PhraseTable:
    """A phrase table of (source words, target words) pairs, sorted as the class says; scores and links mean nothing."""
    pairs = sorted({(tuple(s), tuple(t)) for s, t in pairs})
    sources, targets = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    size = len(pairs)
    return PhraseTable(
        source_phrases=encoded(sources),
        target_phrases=encoded(targets),
        source_B=np.array([sources.index(s) for s, _ in pairs], np.int32),
        target_B=np.array([targets.index(t) for _, t in pairs], np.int32),
        count_B=np.ones(size),
        scores_B4=np.ones((size, 4)),
        link_offsets_B1=np.zeros(size + 1, np.int64),
        link_source_K=np.zeros(0, np.int16),
        link_target_K=np.zeros(0, np.int16),
        source_count_P=np.ones(len(sources)),
        target_count_Q=np.ones(len(targets)),
    )


def phrase_of(table: PhraseTable, b: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The source and target words of block b."""
    source, target = table.source_phrases[table.source_B[b]], table.target_phrases[table.target_B[b]]
    return tuple(source.tolist()), tuple(target.tolist())


def matches_by_trial(table: PhraseTable, source, target) -> list[tuple[int, int, int, int, int]]:
    """All matches of one sentence pair as (block, source span, target span), by trying every pair of spans."""
    blocks = {phrase_of(table, b): b for b in range(len(table))}
    rows = []
    for t0 in range(len(target)):
        for t1 in range(t0 + 1, len(target) + 1):
            for s0 in range(len(source)):
                for s1 in range(s0 + 1, len(source) + 1):
                    b = blocks.get((tuple(source[s0:s1]), tuple(target[t0:t1])))
                    if b is not None:
                        rows.append((b, s0, s1, t0, t1))
    return sorted(rows, key=lambda row: (row[3], row[1], row[4], row[2]))


def bigrams_by_trial(rows) -> list[tuple[int, int, int]]:
    """(predecessor, orientation, successor) among the matches of one sentence, by the words of TZ07 section 2."""
    found = []
    for m, (_, s0, s1, _, t1) in enumerate(rows):
        for n, (_, next_s0, next_s1, next_t0, _) in enumerate(rows):
            if next_t0 == t1 and next_s0 == s1:
                found.append((m, RIGHT, n))
            elif next_t0 == t1 and next_s1 == s0:
                found.append((m, LEFT, n))
    return found


def assert_same(one: Any, other: Any) -> None:
    """Equal to the last bit, array by array, and of the same types."""
    for field in fields(one):
        values = getattr(one, field.name), getattr(other, field.name)
        if is_dataclass(values[0]):
            assert_same(*values)
        else:
            assert np.asarray(values[0]).dtype == np.asarray(values[1]).dtype, field.name
            np.testing.assert_array_equal(*values, err_msg=field.name)


def small_rules() -> RuleTable:
    """The rules of one sentence pair, with up to two non-terminals: 3 and 5 go round what 4 and 6 are in between."""
    text = encoded([[3, 4, 5, 6, 7]]), encoded([[8, 9, 10, 11]])
    links = Links.from_pairs([{(0, 0), (2, 1), (3, 2), (1, 3)}])
    return score_rules(extract_rules(*text, links), lexical_table(*text, links))


def random_corpus(rng, sentences, words, longest=13):
    """Sentence pairs with up to so many words on a side; most target words have a link, to any source word."""
    sizes = rng.integers(1, longest + 1, size=(sentences, 2))
    return [
        (
            rng.integers(3, words, size=n).tolist(),
            rng.integers(3, words, size=m).tolist(),
            {(int(rng.integers(n)), int(j)) for j in range(m) if rng.random() < 0.8},
        )
        for n, m in sizes
    ]


@st.composite
def linked_pairs(draw, least=0, longest=6):
    """Up to four sentence pairs of few words, each side of so many words, with a set of links."""
    words, lengths, corpus = st.integers(3, 5), st.integers(least, longest), []
    for n, m in draw(st.lists(st.tuples(lengths, lengths), min_size=1, max_size=4)):
        source, target = (draw(st.lists(words, min_size=k, max_size=k)) for k in (n, m))
        grid = [(i, j) for i in range(n) for j in range(m)]
        corpus.append((source, target, draw(st.sets(st.sampled_from(grid), max_size=6)) if grid else set()))
    return corpus


words = st.integers(3, 5)
phrases = st.lists(words, min_size=1, max_size=3).map(tuple)
tables = st.lists(st.tuples(phrases, phrases), min_size=1, max_size=25).map(table_of)
# Few words, so that they repeat and phrases match; 0 is the unknown word.
sentence = st.lists(st.sampled_from((3, 4, 5, 3, 4, 5, 0)), max_size=7)
corpora = st.lists(st.tuples(sentence, sentence), min_size=1, max_size=6)


def texts(corpus) -> tuple[EncodedText, EncodedText]:
    """The two sides of a corpus, with links or without."""
    return encoded([source for source, *_ in corpus]), encoded([target for _, target, *_ in corpus])


def linked_texts(corpus) -> tuple[EncodedText, EncodedText, Links]:
    """The two sides of a corpus and its links."""
    return *texts(corpus), Links.from_pairs(links for _, _, links in corpus)


def pair_links(counts: PairCounts, b: int, inverse: bool = False) -> list[tuple[int, int]]:
    """The most frequent internal links of pair b as (source, target) positions; `inverse` breaks ties the other way."""
    x = (counts.inverse_shape_B if inverse else counts.shape_B)[b]
    part = slice(counts.link_offsets_X1[x], counts.link_offsets_X1[x + 1])
    return list(zip(counts.link_source_K[part].tolist(), counts.link_target_K[part].tolist(), strict=True))

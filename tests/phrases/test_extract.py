"""Phrase extraction against the textbook definition written naively."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import encoded, linked_pairs, linked_texts, pair_links, phrase_of, random_corpus
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.phrases.extract import extract_phrases


def naive_spans(source, target, links, most_source, most_target):
    """Koehn, Och and Marcu 2003: every pair of spans with a link inside and none that leaves it on one side only."""
    for i1 in range(len(source)):
        for i2 in range(i1 + 1, min(i1 + most_source, len(source)) + 1):
            for j1 in range(len(target)):
                for j2 in range(j1 + 1, min(j1 + most_target, len(target)) + 1):
                    inside = [(i1 <= i < i2, j1 <= j < j2) for i, j in links]
                    if any(s and t for s, t in inside) and all(s == t for s, t in inside):
                        yield i1, i2, j1, j2


def naive(source, target, links, max_length):
    """The words of the phrase pairs, and their links."""
    for i1, i2, j1, j2 in naive_spans(source, target, links, max_length, max_length):
        kept = [(i - i1, j - j1) for i, j in links if i1 <= i < i2 and j1 <= j < j2]
        yield tuple(source[i1:i2]), tuple(target[j1:j2]), tuple(sorted(kept))


def moses_choice(shapes, length, side):
    """Of the most frequent shapes the one whose partners, listed word for word of one side, are greatest."""
    most = max(shapes.values())

    def partners(shape):
        return [sorted(link[1 - side] for link in shape if link[side] == at) for at in range(length)]

    return max((shape for shape, count in shapes.items() if count == most), key=partners)


def check(corpus, max_length):
    """Compares pairs, counts, and the links that Moses would choose, both ways; returns the number of pairs."""
    counts = extract_phrases(*linked_texts(corpus), max_length)
    shapes = defaultdict(Counter)
    for sentence in corpus:
        for s, t, shape in naive(*sentence, max_length):
            shapes[s, t][shape] += 1
    found = [phrase_of(counts, b) for b in range(len(counts))]
    assert found == sorted(shapes)
    for side, phrases in enumerate((counts.source_phrases, counts.target_phrases)):
        assert [tuple(phrases[p].tolist()) for p in range(len(phrases))] == sorted({pair[side] for pair in shapes})
    for b, (s, t) in enumerate(found):
        assert counts.count_B[b] == shapes[s, t].total()
        assert tuple(sorted(pair_links(counts, b))) == moses_choice(shapes[s, t], len(t), 1)
        assert tuple(sorted(pair_links(counts, b, inverse=True))) == moses_choice(shapes[s, t], len(s), 0)
    return len(found)


@settings(max_examples=60, deadline=None)
@given(linked_pairs(), st.integers(1, 5))
def test_equals_the_textbook_definition(corpus, max_length):
    check(corpus, max_length)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1), min_size=2, max_size=6))
def test_ties_between_shapes_are_broken_as_moses_breaks_them(linkings):
    check([([3, 4, 5], [6, 7, 8], links) for links in linkings], 3)


def test_large_random_corpus_grows_every_table(rng):
    assert check(random_corpus(rng, 400, 400), 4) > 1024


def test_refusals():
    one, two = encoded([[3, 4]]), encoded([[3], [4]])
    with pytest.raises(InputError, match="differ in number of sentences"):
        extract_phrases(one, two, Links.from_pairs([[]]))
    with pytest.raises(InputError, match="unusable phrase length"):
        extract_phrases(one, one, Links.from_pairs([[]]), 0)
    with pytest.raises(InputError, match="outside its target sentence") as caught:
        extract_phrases(two, two, Links.from_pairs([[(0, 0)], [(0, 1)]]))
    assert caught.value.line == 2

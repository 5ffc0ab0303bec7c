"""Phrase extraction: complete sets on tiny sentence pairs, and the textbook definition written naively."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.small_corpora import encoded, linked_pairs, pair_links
from xlate.align.links import Links
from xlate.errors import InputError
from xlate.phrases.extract import extract_phrases
from xlate.text.vocabulary import EncodedText, Vocabulary


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


def inverse_links(counts, b):
    x = counts.inverse_shape_B[b]
    part = slice(counts.link_offsets_X1[x], counts.link_offsets_X1[x + 1])
    return tuple(sorted(zip(counts.link_source_K[part].tolist(), counts.link_target_K[part].tolist(), strict=True)))


def rows(text):
    return [tuple(text[k].tolist()) for k in range(len(text))]


def in_words(corpus, max_length=7):
    """Extracts from (source, target, links) strings; {(source, target): (count, links)} in words."""
    source, target = ([line.split() for line in side] for side in list(zip(*corpus, strict=True))[:2])
    pairs = [[tuple(map(int, link.split("-"))) for link in links.split()] for _, _, links in corpus]
    words = Vocabulary.build(source), Vocabulary.build(target)
    texts = EncodedText.encode(source, words[0]), EncodedText.encode(target, words[1])
    counts = extract_phrases(*texts, Links.from_pairs(pairs), max_length)
    phrases = [
        [" ".join(v.word(w) for w in row) for row in rows(text)]
        for v, text in zip(words, (counts.source_phrases, counts.target_phrases), strict=True)
    ]
    return {
        (phrases[0][counts.source_B[b]], phrases[1][counts.target_B[b]]): (
            int(counts.count_B[b]),
            " ".join(f"{i}-{j}" for i, j in pair_links(counts, b)),
        )
        for b in range(len(counts))
    }


def test_complete_set_of_two_sentence_pairs():
    # "ja" has no link, so it joins or leaves the phrases beside it; "is small" turns round.
    corpus = [("das haus ja klein ist", "the house is small", "0-0 1-1 4-2 3-3"), ("das haus", "the house", "0-0 1-1")]
    assert in_words(corpus) == {
        ("das", "the"): (2, "0-0"),
        ("haus", "house"): (2, "0-0"),
        ("haus ja", "house"): (1, "0-0"),
        ("das haus", "the house"): (2, "0-0 1-1"),
        ("das haus ja", "the house"): (1, "0-0 1-1"),
        ("klein", "small"): (1, "0-0"),
        ("ja klein", "small"): (1, "1-0"),
        ("ist", "is"): (1, "0-0"),
        ("klein ist", "is small"): (1, "1-0 0-1"),
        ("ja klein ist", "is small"): (1, "2-0 1-1"),
        ("haus ja klein ist", "house is small"): (1, "0-0 3-1 2-2"),
        ("das haus ja klein ist", "the house is small"): (1, "0-0 1-1 4-2 3-3"),
    }


@settings(max_examples=60, deadline=None)
@given(linked_pairs(), st.integers(1, 5))
def test_equals_the_textbook_definition(corpus, max_length):
    source, target, links = zip(*corpus, strict=True)
    counts = extract_phrases(encoded(source), encoded(target), Links.from_pairs(links), max_length)

    expected, shapes = Counter(), defaultdict(Counter)
    for sentence in corpus:
        for s, t, shape in naive(*sentence, max_length):
            expected[s, t] += 1
            shapes[s, t][shape] += 1
    sources, targets = rows(counts.source_phrases), rows(counts.target_phrases)
    found = [(sources[p], targets[q]) for p, q in zip(counts.source_B, counts.target_B, strict=True)]
    assert dict(zip(found, counts.count_B.tolist(), strict=True)) == expected
    assert found == sorted(expected)
    assert sources == sorted({s for s, _ in expected})
    assert targets == sorted({t for _, t in expected})
    check_shapes(counts, shapes)


def check_shapes(counts, shapes):
    """Whether pairs have the links that Moses would choose of their sets of links, both ways."""
    for b in range(len(counts)):
        s, t = rows(counts.source_phrases)[counts.source_B[b]], rows(counts.target_phrases)[counts.target_B[b]]
        assert tuple(sorted(pair_links(counts, b))) == moses_choice(shapes[s, t], len(t), 1)
        assert inverse_links(counts, b) == moses_choice(shapes[s, t], len(s), 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1), min_size=2, max_size=6))
def test_ties_between_shapes_are_broken_as_moses_breaks_them(linkings):
    corpus = [([3, 4, 5], [6, 7, 8], links) for links in linkings]
    source, target, links = zip(*corpus, strict=True)
    counts = extract_phrases(encoded(source), encoded(target), Links.from_pairs(links), 3)
    shapes = defaultdict(Counter)
    for sentence in corpus:
        for s, t, shape in naive(*sentence, 3):
            shapes[s, t][shape] += 1
    check_shapes(counts, shapes)


def test_large_random_corpus_grows_every_table(rng):
    source = [rng.integers(3, 400, size=rng.integers(1, 12)) for _ in range(400)]
    target = [rng.integers(3, 400, size=rng.integers(1, 12)) for _ in range(400)]
    links = [
        {(int(rng.integers(len(s))), int(rng.integers(len(t)))) for _ in range(min(len(s), len(t)))}
        for s, t in zip(source, target, strict=True)
    ]
    counts = extract_phrases(encoded(source), encoded(target), Links.from_pairs(links), 4)
    expected = Counter()
    for s, t, pairs in zip(source, target, links, strict=True):
        expected.update((a, b) for a, b, _ in naive(s.tolist(), t.tolist(), pairs, 4))
    sources, targets = rows(counts.source_phrases), rows(counts.target_phrases)
    found = {
        (sources[p], targets[q]): n
        for p, q, n in zip(counts.source_B, counts.target_B, counts.count_B.tolist(), strict=True)
    }
    assert len(found) > 1024
    assert found == expected


def test_refusals():
    one, two = encoded([[3, 4]]), encoded([[3], [4]])
    with pytest.raises(InputError, match="differ in number of sentences"):
        extract_phrases(one, two, Links.from_pairs([[]]))
    with pytest.raises(InputError, match="unusable phrase length"):
        extract_phrases(one, one, Links.from_pairs([[]]), 0)
    with pytest.raises(InputError, match="outside its target sentence") as caught:
        extract_phrases(two, two, Links.from_pairs([[(0, 0)], [(0, 1)]]))
    assert caught.value.line == 2

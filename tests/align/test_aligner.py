"""The aligner finds an invented dictionary again and is repeatable; symmetrisation equals its definition and atools."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.phrases.moses_corpus import moses_corpus
from tests.phrases.small_corpora import assert_same
from xlate.align.aligner import SYMMETRIZATIONS, align, symmetrize
from xlate.align.direction import METHODS
from xlate.align.links import Links, read_links
from xlate.errors import InputError


def corpus(size, rng):
    """Sentences of an invented language whose word k means the English word k; the first word comes last."""
    source, target = [], []
    for _ in range(size):
        words = rng.choice(12, size=rng.integers(2, 6), replace=False).tolist()
        source.append([f"s{word}" for word in words])
        target.append([f"t{word}" for word in [*words[1:], words[0]]])
    return source, target


@pytest.mark.parametrize("method", sorted(METHODS))
def test_finds_the_dictionary(method, rng):
    source, target = corpus(120, rng)
    links = align(source, target, method, "intersection")
    found = [(source[s][i][1:], target[s][j][1:]) for s in range(len(links)) for i, j in links.pairs(s)]
    right = sum(i == j for i, j in found)
    assert right > 0.9 * len(found)
    assert right > 0.6 * sum(map(len, source))


def test_forward_gives_each_target_word_one_source_word(rng):
    source, target = corpus(60, rng)
    source = [[*sentence, "extra"] for sentence in source]
    forward, backward, both = (align(source, target, "ibm1", way) for way in ("forward", "backward", "intersection"))
    for s in range(len(source)):
        for linked in (forward.sentence(s)[1].tolist(), backward.sentence(s)[0].tolist()):
            assert len(linked) == len(set(linked))
        assert set(forward.pairs(s)) & set(backward.pairs(s)) == set(both.pairs(s)) != set()


def test_another_seed_draws_other_links(rng):
    source, target = ([rng.choice(list("abcdefgh"), size=6).tolist() for _ in range(30)] for _ in range(2))
    one, two = (align(source, target, "eflomal", "backward", seed=seed) for seed in (1, 2))
    assert [one.pairs(s) for s in range(30)] != [two.pairs(s) for s in range(30)]


def test_odd_sentences_get_no_links_and_do_no_harm(rng, caplog):
    source, target = corpus(60, rng)
    source[3], target[5], source[7] = [], [], ["s1"] * 1025
    source.append(["NULL", "UNKNOWN_WORD", "|||", "a b"])
    target.append(["NULL", "UNKNOWN_WORD", "|||", "a b"])
    with caplog.at_level(logging.WARNING):
        links = align(source, target, "fast_align", "union")
    assert len(links) == len(source)
    assert all(not links.pairs(s) for s in (3, 5, 7))
    assert caplog.text.count("left without links: 1") == 1
    assert links.pairs(60)


def test_nothing_to_align():
    for sample in (None, 1):
        links = align([[], ["a"]], [["b"], []], "fast_align", sample=sample)
        assert [links.pairs(s) for s in range(len(links))] == [[], []]
    assert len(align([], [], "eflomal")) == 0


def test_refusals():
    with pytest.raises(InputError, match="unknown alignment method") as caught:
        align([["a"]], [["b"]], "efflomal")
    assert "fast_align" in str(caught.value)
    with pytest.raises(InputError, match="unknown symmetrisation"):
        align([["a"]], [["b"]], "ibm1", "grown")
    with pytest.raises(InputError, match="differ in number of sentences") as caught:
        align([["a"]], [], "ibm1")
    assert caught.value.seen == "1 source and 0 target sentences"


Pairs = set[tuple[int, int]]
STRAIGHT = [(-1, 0), (1, 0), (0, -1), (0, 1)]
ACROSS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
LINKS = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=12)
CORPORA = st.lists(st.tuples(LINKS, LINKS), max_size=4)


def naive(forward: Pairs, backward: Pairs, method: str) -> Pairs:
    """The rules of `xlate.align.aligner` word for word, over sets."""
    kept = forward & backward
    if method == "intersection":
        return kept
    if method == "union":
        return forward | backward
    if method in ("forward", "backward"):
        return forward if method == "forward" else backward

    def lone_source(i: int) -> bool:
        return i not in {source for source, _ in kept}

    def lone_target(j: int) -> bool:
        return j not in {target for _, target in kept}

    beside = STRAIGHT + (ACROSS if "diag" in method else [])
    before = None
    while kept != before:
        before = set(kept)
        for i, j in sorted(forward | backward):
            if (lone_source(i) or lone_target(j)) and any((i + a, j + b) in kept for a, b in beside):
                kept.add((i, j))
    for direction in (forward, backward):
        for i, j in sorted(direction):
            if method.endswith("final") and (lone_source(i) or lone_target(j)):
                kept.add((i, j))
            if method.endswith("final-and") and lone_source(i) and lone_target(j):
                kept.add((i, j))
    return kept


@settings(max_examples=200)
@given(CORPORA, st.sampled_from(SYMMETRIZATIONS))
def test_equals_the_definition(corpus, method):
    forward, backward = (Links.from_pairs(pair[side] for pair in corpus) for side in (0, 1))
    combined = symmetrize(forward, backward, method, [6] * len(corpus), [5] * len(corpus))
    expected = [sorted(naive(set(f), set(b), method)) for f, b in corpus]
    assert_same(combined, Links.from_pairs(expected))


def test_refusals_of_links():
    one, two = Links.from_pairs([[(0, 0)]]), Links.from_pairs([[], []])

    with pytest.raises(InputError, match="differ in number of sentences"):
        symmetrize(one, two, "union", [1], [1])
    with pytest.raises(InputError, match="outside its target sentence") as caught:
        symmetrize(Links.from_pairs([[], [(0, 3)]]), two, "grow", [1, 1], [3, 3])
    assert caught.value.line == 2


@pytest.mark.corpus
def test_equals_fast_align_on_multi30k(shared_data):
    *texts, gold = moses_corpus(shared_data)
    lengths = [[len(sentence) for sentence in sentences] for sentences in texts]
    folder = shared_data / "moses" / "align"
    forward, backward = (read_links(folder / f"train.fast_align.{way}.gz", *lengths) for way in ("fwd", "rev"))
    combined = symmetrize(forward, backward, "grow-diag-final-and", *lengths)
    assert_same(combined, gold)

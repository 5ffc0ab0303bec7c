"""The statistics of lists equal those of sacrebleu.

Shared n-grams of all pairs of a list, against counting each pair by itself.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from tests.phrases.small_corpora import encoded
from xlate.arrays.ragged import offsets_of
from xlate.kernels.counting.ngram_statistics import list_overlap, list_statistics

# Few words, so that n-grams repeat and are clipped.
SENTENCE = st.lists(st.integers(3, 6), max_size=9)
ITEM = st.tuples(st.lists(SENTENCE, max_size=4), st.lists(SENTENCE, min_size=1, max_size=3))


def statistics(items: list[tuple[list[list[int]], list[list[int]]]]) -> NDArray[np.int64]:
    hypotheses = encoded([h for hyps, _ in items for h in hyps])
    references = encoded([r for _, refs in items for r in refs])
    candidate_offsets = np.cumsum([0, *(len(hyps) for hyps, _ in items)])
    rows = np.cumsum([0, *(len(refs) for _, refs in items)])
    return list_statistics(
        hypotheses.ids_T,
        hypotheses.offsets_S1,
        candidate_offsets,
        references.ids_T,
        references.offsets_S1,
        rows,
        4,
    )


@given(st.lists(ITEM, min_size=1, max_size=5))
def test_equal_to_sacrebleu(items: list[tuple[list[list[int]], list[list[int]]]]) -> None:
    bleu = BLEU(tokenize="none", force=True)

    def joined(words: list[int]) -> str:
        return " ".join(map(str, words))

    expected = [
        bleu._extract_corpus_statistics([joined(hypothesis)], [[joined(reference)] for reference in references])[0]
        for hypotheses, references in items
        for hypothesis in hypotheses
    ]
    assert statistics(items).tolist() == expected


TEXTS = st.lists(st.lists(st.integers(0, 3), max_size=7), max_size=6)


def grams(text: list[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


@given(TEXTS, st.integers(1, 6))
@settings(max_examples=80, deadline=None)
def test_every_pair_shares_what_both_have(texts: list[list[int]], order: int) -> None:
    flat = np.array([word for text in texts for word in text], np.int32)
    found = list_overlap(flat, offsets_of([len(text) for text in texts]), order)
    wanted = [[[sum((grams(a, n) & grams(b, n)).values()) for n in range(1, order + 1)] for b in texts] for a in texts]
    assert found.tolist() == wanted

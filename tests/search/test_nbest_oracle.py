"""Oracle, first and worst choice from n-best lists against enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from xlate.arrays.ragged import offsets_of
from xlate.metrics.bleu import bleu_scores
from xlate.search.nbest_oracle import first_best, oracle

# Lengths and matches of hypotheses as they can be: correct below total, totals falling with the order.
LENGTHS = st.tuples(st.integers(0, 12), st.integers(1, 12), st.lists(st.floats(0, 1), min_size=4, max_size=4))
LISTS = st.lists(st.lists(LENGTHS, min_size=1, max_size=4), min_size=1, max_size=4)


def statistics(rows: list[tuple[int, int, list[float]]]) -> NDArray[np.float64]:
    table = []
    for length, reference, shares in rows:
        total = [max(0, length - n) for n in range(4)]
        correct = [int(np.prod(shares[: n + 1]) * total[n]) for n in range(4)]
        table.append([length, reference, *correct, *total])
    return np.array(table, dtype=np.float64)


@given(LISTS)
def test_between_start_and_the_best_of_all_choices(lists: list[list[tuple[int, int, list[float]]]]) -> None:
    stats = statistics([row for rows in lists for row in rows])
    offsets = offsets_of([len(rows) for rows in lists])
    every = [
        bleu_scores(stats[list(chosen)].sum(axis=0, keepdims=True))[0]
        for chosen in product(*(range(a, b) for a, b in pairwise(offsets)))
    ]
    best, worst = oracle(stats, offsets), oracle(stats, offsets, worst=True)
    greedy = bleu_scores(stats, smooth="add-1")
    for found, sign in ((best, 1), (worst, -1)):
        start = [a + int((sign * greedy[a:b]).argmax()) for a, b in pairwise(offsets)]
        begun = bleu_scores(stats[start].sum(axis=0, keepdims=True))[0]
        assert sign * found.bleu >= sign * begun - 1e-9
        # No single change makes it better.
        for i, (a, b) in enumerate(pairwise(offsets)):
            for c in range(a, b):
                changed = found.chosen_I.copy()
                changed[i] = c
                assert sign * bleu_scores(stats[changed].sum(axis=0, keepdims=True))[0] <= sign * found.bleu + 1e-9
    assert min(every) - 1e-9 <= worst.bleu <= best.bleu <= max(every) + 1e-9
    if len(lists) == 1:
        assert np.isclose(best.bleu, max(every))
        assert np.isclose(worst.bleu, min(every))


def test_where_sentence_by_sentence_is_not_best() -> None:
    texts = [["a b c d e f g h i j k l", "a b c d"], ["x y z", "m n x y o p"]]
    references = ["a b c d e f g h i j k m", "x y q w e r t u i o"]
    bleu = BLEU(tokenize="none")
    stats = np.array(
        [
            bleu._extract_corpus_statistics([hypothesis], [[reference]])[0]
            for hypotheses, reference in zip(texts, references, strict=True)
            for hypothesis in hypotheses
        ]
    )
    found = oracle(stats, np.array([0, 2, 4]))
    chosen = [texts[0][found.chosen_I[0]], texts[1][found.chosen_I[1] - 2]]
    assert np.isclose(found.bleu, bleu.corpus_score(chosen, [references]).score)
    assert np.isclose(found.bleu, max(bleu.corpus_score(list(c), [references]).score for c in product(*texts)))


def test_first_best() -> None:
    stats = statistics([(4, 4, [1.0] * 4), (5, 4, [0.5] * 4), (6, 4, [0.9] * 4)])
    offsets = np.array([0, 2, 3])
    assert first_best(stats, offsets).chosen_I.tolist() == [0, 2]
    assert first_best(stats, offsets, np.array([-2.0, -1.0, -5.0])).chosen_I.tolist() == [1, 2]
    assert first_best(stats, offsets, np.array([-1.0, -1.0, -5.0])).chosen_I.tolist() == [0, 2]

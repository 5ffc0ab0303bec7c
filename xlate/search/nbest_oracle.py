"""The best and the worst corpus BLEU that choosing from n-best lists can give, and that of the first choice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, AnyFloats, Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.metrics.bleu import bleu_scores


class Choice(NamedTuple):
    """One hypothesis of each list: its place among all C, (I,), and the corpus BLEU of them, 0 to 100."""

    chosen_I: Ints
    bleu: float


def first_best(stats_CK: AnyArray, candidate_offsets_I1: Ints, score_C: Floats | None = None) -> Choice:
    """The hypothesis of highest score in each list, the first of equals; without scores the first."""
    starts = candidate_offsets_I1[:-1]
    if score_C is None:
        return _choice(stats_CK, np.asarray(starts))
    return _choice(stats_CK, best_of_each(score_C, candidate_offsets_I1))


def oracle(stats_CK: AnyArray, candidate_offsets_I1: Ints, *, worst: bool = False, passes: int = 50) -> Choice:
    """The choice of highest corpus BLEU that hill climbing finds; of lowest with `worst`.

    Corpus BLEU is no sum over sentences, so the best choice cannot be read off them. This starts with the hypothesis
    of highest sentence BLEU+1 (Lin & Och 2004) in each list, then goes through the lists in their order and takes the
    hypothesis with which the whole corpus scores best, until a pass changes nothing. The result is never below its
    start, no single change makes it better, and it is the same every time; a better one by several changes at once may
    exist. BLEU is sacrebleu's, with exponential smoothing.

    Args:
        stats_CK: statistics of all hypotheses, see `metrics.bleu.bleu_scores`.
        candidate_offsets_I1: hypotheses of list i; none may be empty.
        worst: look for the lowest.
        passes: at most so many.
    """
    sign = -1.0 if worst else 1.0
    stats = np.asarray(stats_CK, dtype=np.float64)
    chosen_I = best_of_each(sign * bleu_scores(stats, smooth="add-1"), candidate_offsets_I1)
    total_K = stats[chosen_I].sum(axis=0)
    for _ in range(passes):
        changed = False
        for i in range(len(chosen_I)):
            start, end = candidate_offsets_I1[i], candidate_offsets_I1[i + 1]
            others_K = total_K - stats[chosen_I[i]]
            corpus_C = sign * bleu_scores(others_K + stats[start:end])
            best = int(corpus_C.argmax())
            if corpus_C[best] > corpus_C[chosen_I[i] - start]:
                chosen_I[i] = start + best
                total_K = others_K + stats[start + best]
                changed = True
        if not changed:
            break
    return _choice(stats, chosen_I)


def _choice(stats_CK: AnyArray, chosen_I: Ints) -> Choice:
    return Choice(chosen_I, float(bleu_scores(stats_CK[chosen_I].sum(axis=0, keepdims=True))[0]))


def best_of_each(score_C: AnyFloats, offsets_I1: Ints) -> Ints:
    """The place of the highest score of each list, the first of equals."""
    lists = row_numbers(offsets_I1)
    order = np.lexsort((-score_C, lists))
    return np.asarray(order[offsets_I1[:-1]])

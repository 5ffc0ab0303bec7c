"""BLEU as a function of summed statistics, and the states of hypotheses that determine which n-grams they match.

Shapes: B sums, H hypotheses, K = 2 + 2·order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from xlate.array_types import AnyArray, Bools, Floats, Ints32
from xlate.errors import check_choice

ORDER = 4
SMOOTHING = ("none", "floor", "exp", "add-1")
FLOOR, PRIOR = 0.1, 5.0


def bleu_scores(stats_BK: AnyArray, *, smooth: str = "exp", effective_order: bool = False) -> Floats:
    """BLEU, 0 to 100, for each of B rows of statistics (Papineni et al. 2002).

    A row has the K = 2 + 2·order numbers that sacrebleu adds up: the lengths of the hypothesis and of the closest
    reference, the correct n-grams for n = 1…order, and all n-grams for n = 1…order. Each result equals that of
    `sacrebleu.BLEU.compute_bleu`.

    Args:
        stats_BK: statistics, (B, K).
        smooth: `none`; `exp`, where the i-th order without a match counts 1/2^i matches (sacrebleu's default);
            `floor`, 0.1 matches where there are none (sacrebleu's `floor`);
            `add-1`, one more match and one more n-gram for n > 1: BLEU+1 (Lin & Och 2004), sacrebleu's `add-k` 1.
        effective_order: whether orders longer than the hypothesis are left out; meant for single sentences.

    Raises:
        InputError: an unknown smoothing.
    """
    check_choice("unknown BLEU smoothing", smooth, SMOOTHING)
    sums_BK = np.asarray(stats_BK, np.float64)
    order = (sums_BK.shape[1] - 2) // 2
    length_B, reference_B = sums_BK[:, 0], sums_BK[:, 1]
    correct_BN, total_BN = sums_BK[:, 2 : 2 + order].copy(), sums_BK[:, 2 + order :].copy()
    matched_B = correct_BN.any(axis=1)
    if smooth == "add-1":
        correct_BN[:, 1:] += 1.0
        total_BN[:, 1:] += 1.0
    elif smooth == "floor":
        correct_BN = np.where(correct_BN == 0, FLOOR, correct_BN)
    elif smooth == "exp":
        halvings_BN = np.cumsum(correct_BN == 0, axis=1)
        correct_BN = np.where(correct_BN == 0, 0.5**halvings_BN, correct_BN)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_precision_BN = np.where(total_BN > 0, np.log(correct_BN / total_BN), -np.inf)
        log_brevity_B = np.where(length_B < reference_B, 1.0 - reference_B / length_B, 0.0)
        if effective_order:
            counted_BN = np.cumprod(total_BN > 0, axis=1).astype(bool)
            sum_B = np.where(counted_BN, log_precision_BN, 0.0).sum(axis=1)
            mean_log_B = sum_B / np.maximum(1, counted_BN.sum(axis=1))
        else:
            mean_log_B = log_precision_BN.mean(axis=1)
        scores_B = 100.0 * np.exp(log_brevity_B + mean_log_B)
    return np.where(matched_B, scores_B, 0.0)


SENTENCE_SMOOTHING = (*SMOOTHING, "gao")


def sentence_bleu(stats_HK: AnyArray, smooth: str = "add-1") -> Floats:
    """Sentence BLEU, 0 to 100, of H hypotheses, (H,); by default BLEU+1 (Lin & Och 2004).

    With `exp`, orders for which the hypothesis is too short are left out, as sacrebleu advises for single sentences;
    `gao` is `prior_bleu`.

    Raises:
        InputError: an unknown smoothing.
    """
    if smooth == "gao":
        return prior_bleu(stats_HK)
    return bleu_scores(stats_HK, smooth=smooth, effective_order=smooth == "exp")


def prior_bleu(stats_HK: AnyArray) -> Floats:
    """Sentence BLEU with precisions of long n-grams smoothed by those of shorter ones, 0 to 100; (H,).

    p_n = (matches + η p') / (n-grams + η) for n > 2, with p' = p_(n-1)² / p_(n-2) and η = 5; the brevity penalty
    exp(1 - r/c) is not clipped, so that it distinguishes longer hypotheses too (He & Deng 2012; Gao et al. 2014). A
    hypothesis without a matching word or bigram scores 0; one longer than its reference may exceed 100.
    """
    sums_HK = np.asarray(stats_HK, np.float64)
    order = (sums_HK.shape[1] - 2) // 2
    correct_HN, total_HN = sums_HK[:, 2 : 2 + order], sums_HK[:, 2 + order :]
    precision_HN = correct_HN / np.maximum(total_HN, 1.0)
    for n in range(2, order):
        shorter_H = np.maximum(precision_HN[:, n - 2], 1e-300)
        likely_H = precision_HN[:, n - 1] ** 2 / shorter_H
        precision_HN[:, n] = (correct_HN[:, n] + PRIOR * likely_H) / (total_HN[:, n] + PRIOR)
    positive_H: Bools = np.min(precision_HN, axis=1) > 0
    logs_HN = np.log(np.where(positive_H[:, None], precision_HN, 1.0))
    brevity_H = 1.0 - sums_HK[:, 1] / np.maximum(sums_HK[:, 0], 1.0)
    return np.where(positive_H, 100.0 * np.exp(logs_HN.mean(axis=1) + brevity_H), 0.0)


Words = tuple[str, ...]


class ReferenceAutomaton:
    """S states, one for each sequence of fewer than four words that occurs in a reference; state 0 is the empty
    sequence.

    A hypothesis is in the state of its longest suffix that has one (Aho & Corasick 1975). Later matches depend only
    on this state. Words outside the references lead to state 0.

    Attributes:
        next_SW: the next state, by state and word; words are numbered by `word`.
        depth_SW: the length n ≤ 4 of the longest reference n-gram that ends with this word; all shorter n-grams
            that end with it are then also in the references.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        """Collects the n-grams of a sentence's references, however many."""
        followers: dict[Words, set[str]] = defaultdict(set)
        for reference in references:
            for end in range(1, len(reference) + 1):
                for n in range(1, min(ORDER, end) + 1):
                    followers[tuple(reference[end - n : end - 1])].add(reference[end - 1])
        grams = [(*context, word) for context, words in followers.items() for word in words]
        contexts = [(), *sorted((g for g in grams if len(g) < ORDER), key=lambda g: (len(g), g))]
        states = {context: state for state, context in enumerate(contexts)}
        self._words = {word: number for number, word in enumerate(sorted(followers[()]), 1)}
        self.next_SW: Ints32 = np.zeros((len(contexts), len(self._words) + 1), np.int32)
        self.depth_SW: Ints32 = np.zeros_like(self.next_SW)
        for context, state in states.items():
            if context:
                # The same as without the first word, except where a longer n-gram of a reference continues.
                shorter = states[context[1:]]
                self.next_SW[state], self.depth_SW[state] = self.next_SW[shorter], self.depth_SW[shorter]
            for word in followers.get(context, ()):
                longer = (*context, word)
                self.depth_SW[state, self.word(word)] = len(longer)
                if len(longer) < ORDER:
                    self.next_SW[state, self.word(word)] = states[longer]

    def word(self, word: str) -> int:
        """The number of a word, 0 when no reference has it."""
        return self._words.get(word, 0)

    def __len__(self) -> int:
        """The number of states S."""
        return len(self.next_SW)

    def walk_phrases(self, phrases: Sequence[Words]) -> tuple[Ints32, Ints32]:
        """The states that P phrases lead to from each state, and the n-grams that they match.

        Returns:
            The states after the phrases, (S, P), and how many n-grams of the references end in the phrases for n = 1
            to 4, each occurrence counted, (S, P, 4).
        """
        next_SP = np.empty((len(self), len(phrases)), np.int32)
        matches_SPn = np.zeros((len(self), len(phrases), ORDER), np.int32)
        lengths_n = np.arange(1, ORDER + 1)
        for p, phrase in enumerate(phrases):
            state_S = np.arange(len(self))
            for number in map(self.word, phrase):
                matches_SPn[:, p] += self.depth_SW[state_S, number][:, None] >= lengths_n
                state_S = self.next_SW[state_S, number]
            next_SP[:, p] = state_S
        return next_SP, matches_SPn

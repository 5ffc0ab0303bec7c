"""BLEU as a function of summed statistics, and the statistics of many sentences at once, over word numbers.

Shapes: B sums, R reference streams, S sentences, H hypotheses (any number for a sentence), T words, K = 2 + 2·order, G
places where an n-gram begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from xlate.array_types import AnyArray, AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import joined_offsets, places_of_keys, row_numbers
from xlate.errors import InputError, check_choice
from xlate.text.encoded import EncodedText

ORDER = 4
SMOOTHING = ("none", "floor", "exp", "add-1")
FLOOR, PRIOR = 0.1, 5.0


def bleu_scores(stats_BK: AnyArray, *, smooth: str = "exp", effective_order: bool = False) -> Floats:
    """BLEU, 0 to 100, of each of B rows of statistics (Papineni et al. 2002).

    A row has the K = 2 + 2·order numbers that sacrebleu sums: the lengths of the hypothesis and of the closest
    reference, the correct n-grams for n = 1…order, and all n-grams for n = 1…order. Each result equals that of
    `sacrebleu.BLEU.compute_bleu`.

    Args:
        stats_BK: statistics, (B, K).
        smooth: `none`; `exp`, where the i-th order without a match counts 1/2^i matches (sacrebleu's default);
            `floor`, 0.1 matches where there is none (sacrebleu's `floor`);
            `add-1`, one more match and one more n-gram for n > 1: BLEU+1 (Lin & Och 2004), sacrebleu's `add-k` 1.
        effective_order: whether orders longer than the hypothesis are left out; meant for single sentences.

    Raises:
        InputError: an unknown smoothing.
    """
    check_choice("unknown BLEU smoothing", smooth, SMOOTHING)
    sums_BK: Floats = np.asarray(stats_BK, np.float64)
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


class ReferenceNgrams:
    """The n-grams of the references of S sentences, ready to be matched against any number of hypotheses.

    Words are compared by number. So hypotheses and references must be numbered by one vocabulary that has every word of
    the references: unknown words, which all have the number 0, would match each other.

    Example:
        >>> references = ReferenceNgrams([EncodedText.from_ids([np.array([3, 4, 5], np.int32)])])
        >>> references.statistics(EncodedText.from_ids([np.array([3, 4, 6], np.int32)]), np.array([0])).tolist()
        [[3, 3, 2, 1, 0, 0, 3, 2, 1, 0]]
    """

    def __init__(self, streams: Sequence[EncodedText]) -> None:
        """Counts the n-grams of the references; an n-gram counts as often as it stands in the reference that has most
        of it.

        Raises:
            InputError: there is no stream, or the streams have different lengths.
        """
        if not streams or len({len(stream) for stream in streams}) != 1:
            raise InputError(
                "reference streams do not fit",
                [len(stream) for stream in streams],
                "one stream or more, all with the same number of sentences",
            )
        self.lengths_RS: Ints = np.stack([np.diff(stream.offsets_S1) for stream in streams])
        # For n = 1 and up: the keys of all n-grams, the pairs of a sentence and its n-gram, and how often each counts.
        self._counts: list[tuple[Ints, Ints, Ints]] = []
        # All streams as one text of R·S rows; row r·S + s is reference r of sentence s.
        offsets = joined_offsets([stream.offsets_S1 for stream in streams])
        self._count(EncodedText(np.concatenate([stream.ids_T for stream in streams]), offsets))

    def __len__(self) -> int:
        return int(self.lengths_RS.shape[1])

    def statistics(self, hypotheses: EncodedText, sentence_H: AnyInts) -> Ints:
        """BLEU statistics of H hypotheses in sacrebleu's layout, (H, K); see `bleu.bleu_scores`.

        Args:
            hypotheses: H numbered hypotheses.
            sentence_H: the sentence that each one translates.

        Raises:
            InputError: the number of hypotheses or a sentence number does not fit the references.
        """
        count, sentences = len(hypotheses), len(self)
        sentences_H = np.asarray(sentence_H, np.int64)
        outside = count and not 0 <= sentences_H.min() <= sentences_H.max() < sentences
        if outside or len(sentences_H) != count:
            raise InputError(
                "hypotheses do not fit the references",
                f"{count} hypotheses with {len(sentences_H)} sentence numbers and {sentences} sentences",
                "a sentence number, below the number of sentences, for each hypothesis",
            )
        lengths_H = np.diff(hypotheses.offsets_S1)
        stats_HK = np.zeros((count, 2 + 2 * ORDER), np.int64)
        stats_HK[:, 0] = lengths_H
        stats_HK[:, 1] = self._closest(lengths_H, sentences_H)
        rank_T = np.zeros(len(hypotheses.ids_T), np.int64)
        for n in range(1, ORDER + 1):
            stats_HK[:, 1 + ORDER + n] = np.maximum(0, lengths_H - n + 1)
            start_G, owner_G = _places(hypotheses, n)
            begun_G = rank_T[start_G] >= 0
            start_G, owner_G = start_G[begun_G], owner_G[begun_G]
            known, cells, most = self._counts[n - 1]
            rank_G = places_of_keys(known, _pair(rank_T[start_G], hypotheses.ids_T[start_G + n - 1]))
            rank_T = np.full(len(rank_T), -1, np.int64)
            rank_T[start_G] = rank_G
            size = max(1, len(known))
            found, times = np.unique((owner_G * size + rank_G)[rank_G >= 0], return_counts=True)
            owner = found // size
            place = places_of_keys(cells, sentences_H[owner] * size + found % size)
            clipped = np.minimum(times, most[place])[place >= 0]
            stats_HK[:, 1 + n] = np.bincount(owner[place >= 0], weights=clipped, minlength=count)
        return stats_HK

    def _count(self, joined: EncodedText) -> None:
        sentences = len(self)
        rank_T = np.zeros(len(joined.ids_T), np.int64)
        for n in range(1, ORDER + 1):
            start_G, row_G = _places(joined, n)
            keys_G = _pair(rank_T[start_G], joined.ids_T[start_G + n - 1])
            known, rank_G = np.unique(keys_G, return_inverse=True)
            rank_T[start_G] = rank_G
            size = max(1, len(known))
            cells, counts = np.unique(row_G * size + rank_G, return_counts=True)
            merged, place = np.unique(cells // size % sentences * size + cells % size, return_inverse=True)
            most = np.zeros(len(merged), np.int64)
            np.maximum.at(most, place, counts)
            self._counts.append((known, merged, most))

    def _closest(self, lengths_H: Ints, sentence_H: Ints) -> Ints:
        """The reference length nearest to that of each hypothesis, the shorter of two equally near."""
        lengths_RH = self.lengths_RS[:, sentence_H]
        # The last bit, free in twice the distance, tells the longer of two equally near.
        order_RH = 2 * np.abs(lengths_RH - lengths_H) + (lengths_RH > lengths_H)
        return np.asarray(np.take_along_axis(lengths_RH, order_RH.argmin(axis=0)[None], axis=0)[0])


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
    exp(1 - r/c) is not clipped, so that it tells longer hypotheses apart too (He & Deng 2012; Gao et al. 2014). A
    hypothesis without a matching word or bigram has 0; one longer than its reference may have more than 100.
    """
    sums_HK: Floats = np.asarray(stats_HK, np.float64)
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
    scores_H: Floats = np.where(positive_H, 100.0 * np.exp(logs_HN.mean(axis=1) + brevity_H), 0.0)
    return scores_H


def _places(text: EncodedText, n: int) -> tuple[Ints, Ints]:
    """The places where n-grams begin, and the row of each, both (G,)."""
    row_T = row_numbers(text.offsets_S1)
    start_T = np.arange(len(text.ids_T))
    fits_T = start_T + n <= text.offsets_S1[row_T + 1]
    return start_T[fits_T], row_T[fits_T]


def _pair(rank_G: Ints, word_G: Ints32) -> Ints:
    return (rank_G << 32) | word_G.astype(np.int64)


Words = tuple[str, ...]


class ReferenceAutomaton:
    """S states, one for each sequence of fewer than four words that stands in a reference; state 0 is the empty
    sequence.

    A hypothesis is in the state of its longest suffix that has one (Aho & Corasick 1975). Later matches depend on
    nothing else. Words outside the references lead to state 0.

    Attributes:
        next_SW: the next state, by state and word; words are numbered by `word`.
        depth_SW: the length n ≤ 4 of the longest reference n-gram that ends with this word; all shorter n-grams
            that end with it are then in the references too.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        """Collects the n-grams of the references of one sentence, any number of them."""
        followers: dict[Words, set[str]] = defaultdict(set)
        for reference in references:
            for end in range(1, len(reference) + 1):
                for n in range(1, min(ORDER, end) + 1):
                    followers[tuple(reference[end - n : end - 1])].add(reference[end - 1])
        grams = [(*context, word) for context, words in followers.items() for word in words]
        contexts: list[Words] = [(), *sorted((g for g in grams if len(g) < ORDER), key=lambda g: (len(g), g))]
        states = {context: state for state, context in enumerate(contexts)}
        self._words = {word: number for number, word in enumerate(sorted(followers[()]), 1)}
        self.next_SW: Ints32 = np.zeros((len(contexts), len(self._words) + 1), np.int32)
        self.depth_SW: Ints32 = np.zeros_like(self.next_SW)
        for context, state in states.items():
            if context:
                # The same as without the first word, except where a longer n-gram of a reference goes on.
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
        """Where P phrases lead from each state, and which n-grams they match.

        Returns:
            The states behind the phrases, (S, P), and how many n-grams of the references end in them for n = 1 to
            4, each occurrence counted, (S, P, 4).
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

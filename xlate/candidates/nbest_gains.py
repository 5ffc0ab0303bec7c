"""The gains of the hypotheses of n-best lists: BLEU, chrF, TER, a column of the list, or a mixture of them.

Without references the hypotheses of a list judge each other by minimum Bayes risk: the mean gain of each with the
others as its reference. They count as equally probable, or as probable as their totals say (Kumar & Byrne 2004).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.candidates.lists import ngram_statistics
from xlate.candidates.nbest import NbestArrays, nbest_statistics
from xlate.errors import InputError, check_choice, refuse_if
from xlate.kernels.counting.ngram_statistics import list_overlap
from xlate.metrics.bleu import ORDER, bleu_scores
from xlate.metrics.objective import COLUMN, Objective
from xlate.metrics.score import edit_rows
from xlate.metrics.statistics import chrf_scores, mean_statistics
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import EncodedText, WordNumbers

CHARACTER_ORDER = 6


def characters(text: EncodedText, numbers: WordNumbers) -> EncodedText:
    """Numbered words as their characters, without blanks, as chrF counts them (Popović 2015)."""
    spelled = EncodedText.from_ids(np.array([ord(c) for c in "".join(word.split())], np.int32) for word in numbers)
    told = spelled.select(text.ids_T)
    return EncodedText(told.ids_T, told.offsets_S1[text.offsets_S1])


def chrf_statistics(arrays: NbestArrays, references: Sequence[Sequence[str]]) -> Floats:
    """chrF's statistics of every hypothesis against the best of its references, (C, 18); see `chrf_scores`.

    Args:
        arrays: I lists. references: those of each list, one or more.
    """
    hypotheses = characters(arrays.text, arrays.numbers)
    streams = [[lines[min(k, len(lines) - 1)] for lines in references] for k in range(max(map(len, references)))]
    best_CK = _against(hypotheses, arrays, streams[0])
    for stream in streams[1:]:
        other_CK = _against(hypotheses, arrays, stream)
        better_C = chrf_scores(other_CK) > chrf_scores(best_CK)
        best_CK = np.where(better_C[:, None], other_CK, best_CK)
    return best_CK


def _against(hypotheses: EncodedText, arrays: NbestArrays, stream: Sequence[str]) -> Floats:
    text = characters(arrays.numbers.encode(map(split_tokens, stream)), arrays.numbers)
    one_each = np.arange(len(stream) + 1)
    counted_CK = ngram_statistics(hypotheses, arrays.candidate_offsets_I1, text, one_each, CHARACTER_ORDER)
    match_CN, total_CN = counted_CK[:, 2 : 2 + CHARACTER_ORDER], counted_CK[:, 2 + CHARACTER_ORDER :]
    given_CN = ngram_totals(counted_CK[:, 1])
    return statistics_rows(total_CN, given_CN, match_CN)


def ngram_totals(length_C: Ints) -> Ints:
    """How many character n-grams of each order texts of given lengths have, (C, 6)."""
    totals_CN: Ints = np.maximum(0, length_C[:, None] - np.arange(CHARACTER_ORDER))
    return totals_CN


def statistics_rows(total_CN: Ints, given_CN: Ints, match_CN: Ints) -> Floats:
    """Counts of hypothesis, reference and matches in sacrebleu's layout, (C, 18).

    N-grams of a hypothesis do not count for an order of which the reference has none.
    """
    rows_CN3 = np.stack([np.where(given_CN > 0, total_CN, 0), given_CN, match_CN], axis=2)
    return rows_CN3.reshape(len(rows_CN3), -1).astype(np.float64)


def gain_objective(
    metric: str, column: str | None, keys: tuple[str, str] = ("metric", "gain_column"), smooth: str = "add-1"
) -> Objective:
    """The objective of lists, which may be a feature; `keys` are those of the metric and of the column, for messages.

    Raises:
        InputError: there is no such measure or smoothing, or the column of gains is not named.
    """
    objective = Objective.of(metric, smooth, column=True)
    unknown, expected = COLUMN in objective.weights and column is None, f"{keys[1]}=NAME, a feature of the list"
    refuse_if(unknown, "the column of gains is not named", f"{keys[0]}={metric}", expected)
    return objective


def gain_statistics(
    arrays: NbestArrays,
    references: Sequence[Sequence[str]],
    objective: Objective,
    column: str | None = None,
) -> Floats:
    """The statistics of an objective for every hypothesis, (C, K), as `Objective` needs them; words stay as they are.

    Args:
        arrays: the lists.
        references: those of each list, one or more; none if the gain is only a column.
        objective: the gain. column: the feature that its measure `column` means.

    Raises:
        InputError: there is no such column, or references are needed.
    """
    refuse_if(not (references or objective.is_column), "no references", str(objective), "those of each list")
    parts = [nbest_statistics(arrays, references).astype(np.float64)]
    for name in objective.others:
        if name == "chrf":
            parts.append(chrf_statistics(arrays, references))
        elif name == "ter":
            parts.append(ter_statistics(arrays, references))
        else:
            parts.append(mean_statistics(column_values(arrays, column)).values_SK)
    return np.concatenate(parts, axis=1)


def column_values(arrays: NbestArrays, name: str | None) -> Floats:
    """A feature of every hypothesis, (C,).

    Raises:
        InputError: there is none of this name, or some lines lack it.
    """
    if name is None or name not in arrays.names:
        expected = f"one of {', '.join(arrays.names[:10])}" if arrays.names else "a feature of the list"
        raise InputError("the list has no such feature", name, expected, "add_scores=[NAME=FILE]")
    lines, lacking = len(arrays.total_C), len(arrays.without(name))
    seen = f"{name} on {lines - lacking} of {lines} lines"
    refuse_if(lacking, "the feature is missing from some lines", seen, "a value for every hypothesis")
    return arrays.table([name])[:, 0]


def ter_statistics(arrays: NbestArrays, references: Sequence[Sequence[str]], some: Ints | None = None) -> Floats:
    """Edits and reference length of every hypothesis, (C, 2); with `some`, 0 for all others.

    `references` are those of each list, `some` the numbers of hypotheses, in order.
    """
    counted_C2 = np.zeros((len(arrays.text), 2))
    chosen_C = np.arange(len(counted_C2)) if some is None else some
    offsets_I1 = np.searchsorted(chosen_C, arrays.candidate_offsets_I1)
    counted_C2[chosen_C] = edit_rows(arrays.texts(chosen_C), offsets_I1, references)
    return counted_C2


UTILITIES = ("bleu", "chrf")
# The gain of a hypothesis with a reference.
Utility = Callable[[str, str], float]
# The most pairs of hypotheses whose gains are computed at once.
MOST_PAIRS = 1 << 17


def utilities(arrays: NbestArrays, measure: str | Utility, scale: float = 0.0) -> Floats:
    """The expected BLEU+1, chrF (both 0 to 1) or other gain of each hypothesis against its list, itself included, (C,).

    Args:
        arrays: the lists.
        measure: one of `UTILITIES`, or a function of two texts.
        scale: hypotheses have probabilities proportional to exp(scale · total); 0 for equal ones.

    Raises:
        InputError: the measure is another one, there is a scale but no totals, or a value of a function is not finite.
    """
    p_C = probabilities(arrays, scale)
    if not isinstance(measure, str):
        return _expected(arrays, measure, p_C)
    check_choice("no such utility", measure, UTILITIES)
    text = arrays.text if measure == "bleu" else characters(arrays.text, arrays.numbers)
    utility_C = np.empty(len(p_C))
    order, gains = (ORDER, _bleu) if measure == "bleu" else (CHARACTER_ORDER, _chrf)
    bounds = arrays.candidate_offsets_I1.tolist()
    for first, last in pairwise(bounds):
        ends_H1 = text.offsets_S1[first : last + 1]
        length_H = np.diff(ends_H1)
        match_HHN = list_overlap(text.ids_T[ends_H1[0] : ends_H1[-1]], offsets_of(length_H), order)
        # Long lists are processed in parts to save memory.
        step = max(1, MOST_PAIRS // max(1, last - first))
        for begin in range(0, last - first, step):
            part = slice(begin, min(begin + step, last - first))
            gain_BH = gains(match_HHN[part], length_H[part], length_H)
            utility_C[first + part.start : first + part.stop] = gain_BH @ p_C[first:last] / 100.0
    return utility_C


def _expected(arrays: NbestArrays, utility: Utility, p_C: Floats) -> Floats:
    """The expected utility of every hypothesis, from a function that is called once per pair of texts."""
    texts, found = arrays.texts(np.arange(len(p_C))), list[float]()
    for first, last in pairwise(arrays.candidate_offsets_I1.tolist()):
        group, share = texts[first:last], defaultdict[str, float](float)
        for text, p in zip(group, p_C[first:last].tolist(), strict=True):
            share[text] += p
        gains = {text: sum(p * utility(text, other) for other, p in share.items()) for text in share}
        found += [gains[text] for text in group]
    return arrays.finite(np.array(found))


def probabilities(arrays: NbestArrays, scale: float) -> Floats:
    """The probability of each hypothesis in its list, (C,): exp(scale · total), normalised.

    Raises:
        InputError: there is a scale but no totals.
    """
    refuse_if(scale and not arrays.has_totals, "hypotheses without totals", f"scale {scale:g}", "a scale of 0")
    total_C = arrays.total_C if scale else np.zeros(len(arrays.total_C))
    starts_I, row_C = arrays.candidate_offsets_I1[:-1], row_numbers(arrays.candidate_offsets_I1)
    weight_C = np.exp(scale * (total_C - np.maximum.reduceat(total_C, starts_I)[row_C]))
    return weight_C / np.add.reduceat(weight_C, starts_I)[row_C]


def _bleu(match_BHN: Ints32, length_B: Ints, length_H: Ints) -> Floats:
    """BLEU+1 of some hypotheses against all of their list, (B, H)."""
    some, size, _ = match_BHN.shape
    rows_BHK = np.empty((some, size, 2 + 2 * ORDER))
    rows_BHK[..., 0], rows_BHK[..., 1] = length_B[:, None], length_H[None]
    rows_BHK[..., 2 : 2 + ORDER] = match_BHN
    rows_BHK[..., 2 + ORDER :] = np.maximum(0, length_B[:, None, None] - np.arange(ORDER))
    return bleu_scores(rows_BHK.reshape(some * size, -1), smooth="add-1").reshape(some, size)


def _chrf(match_BHN: Ints32, length_B: Ints, length_H: Ints) -> Floats:
    """chrF of some hypotheses against all of their list, (B, H)."""
    some, size, _ = match_BHN.shape
    ours, theirs = np.repeat(ngram_totals(length_B), size, axis=0), np.tile(ngram_totals(length_H), (some, 1))
    rows = statistics_rows(ours, theirs, match_BHN.reshape(some * size, -1).astype(np.int64))
    return chrf_scores(rows).reshape(some, size)

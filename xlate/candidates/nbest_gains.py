"""What the hypotheses of n-best lists gain: BLEU, chrF, TER, a column of the list, or a mixture of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ragged import row_numbers
from xlate.candidates.nbest_characters import chrf_statistics
from xlate.candidates.nbest_columns import NbestArrays
from xlate.candidates.nbest_store import nbest_statistics, reference_lines
from xlate.errors import InputError
from xlate.metrics.measures import measure_sentences
from xlate.metrics.objective import COLUMN, COLUMNS, Objective


def gain_objective(
    metric: str, column: str | None, keys: tuple[str, str] = ("metric", "gain_column"), smooth: str = "add-1"
) -> Objective:
    """What lists gain, where a feature may be it; `keys` are those of the metric and of the column, for messages.

    Raises:
        InputError: no such measure or smoothing, or the column of gains is not named.
    """
    objective = Objective.of(metric, smooth, column=True)
    if COLUMN in objective.weights and column is None:
        seen, expected = f"{keys[0]}={metric}", f"{keys[1]}=NAME, a feature of the list"
        raise InputError("which column of the list is gained is not said", seen=seen, expected=expected)
    return objective


def gain_statistics(
    arrays: NbestArrays,
    references: Sequence[Sequence[str | None]],
    objective: Objective,
    column: str | None = None,
    first_sentence: int | None = None,
) -> Floats:
    """The statistics of an objective for every hypothesis, (C, K), as `Objective` wants them; words are as they are.

    Args:
        arrays: the lists.
        references: streams of references, one sentence a line; none where only a column is gained.
        objective: what is gained. column: the feature that its measure `column` means.
        first_sentence: see `candidates.nbest_store.reference_rows`.

    Raises:
        InputError: lists and references do not fit, or there is no such column.
    """
    if not references and set(objective.weights) == {COLUMN}:
        parts, lines = [np.zeros((len(arrays.total_C), COLUMNS["bleu"]))], []
    else:
        parts = [nbest_statistics(arrays, references, first_sentence).astype(np.float64)]
        lines = reference_lines(arrays.sentence_I, references, first_sentence)
    for name in objective.others:
        if name == "chrf":
            parts.append(chrf_statistics(arrays, lines))
        elif name == "ter":
            parts.append(ter_statistics(arrays, lines))
        else:
            value_C = column_values(arrays, column)
            parts.append(np.stack([value_C, np.ones(len(value_C))], axis=1))
    return np.concatenate(parts, axis=1)


def column_values(arrays: NbestArrays, name: str | None) -> Floats:
    """A feature of every hypothesis, (C,).

    Raises:
        InputError: there is none of this name, or not on every line.
    """
    if name not in arrays.names:
        expected = f"one of {', '.join(arrays.names[:10])}" if arrays.names else "a feature of the list"
        raise InputError("the list has no such feature", seen=name, expected=expected, remedy="add_scores=[NAME=FILE]")
    of_V = arrays.columns_V == arrays.names.index(name)
    candidates = row_numbers(arrays.value_offsets_C1)[of_V]
    if len(candidates) != len(arrays.total_C):
        seen = f"{name} on {len(candidates)} of {len(arrays.total_C)} lines"
        raise InputError("a feature that is not on every line", seen=seen, expected="a value for each hypothesis")
    return np.asarray(arrays.values_V[of_V])


def ter_statistics(arrays: NbestArrays, references: Sequence[Sequence[str]], some: Ints | None = None) -> Floats:
    """Edits and reference length of every hypothesis, (C, 2), or of some, and 0 of the others.

    The same words of a list are counted once. `references` are those of each list, `some` numbers of hypotheses.
    """
    words, row_C = list(arrays.numbers), row_numbers(arrays.candidate_offsets_I1)
    chosen = np.arange(len(row_C)) if some is None else some
    keys = [(int(row_C[c]), " ".join(words[i] for i in arrays.text[c])) for c in chosen.tolist()]
    wanted = list(dict.fromkeys(keys))
    most = max(map(len, references))
    streams: list[list[str | None]] = [
        [references[row][k] if k < len(references[row]) else None for row, _ in wanted] for k in range(most)
    ]
    values_SK = measure_sentences("ter", [text for _, text in wanted], streams).stats.values_SK
    place = {key: number for number, key in enumerate(wanted)}
    counted_CK = np.zeros((len(row_C), 2))
    counted_CK[chosen] = values_SK[[place[key] for key in keys]]
    return counted_CK

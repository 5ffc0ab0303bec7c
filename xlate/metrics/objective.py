"""What tuning maximises: BLEU, chrF, TER or a mixture, as functions of statistics that add up over sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from xlate.array_types import AnyArray, Floats
from xlate.errors import InputError, check_choice
from xlate.metrics.bleu import ORDER, SENTENCE_SMOOTHING, bleu_scores, sentence_bleu
from xlate.metrics.statistics import chrf_scores, ter_scores

# The number of columns of each measure, in order; the columns of BLEU are always present.
# `column` is one number per sentence, from 0 to 1, and a count of such numbers.
COLUMNS = {"bleu": 2 + 2 * ORDER, "chrf": 18, "ter": 2, "column": 2}
COLUMN = "column"
_NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "(100 - TER)", COLUMN: "column"}
_PART = re.compile(r"(bleu|chrf|ter|column)(?::([0-9]+\.?[0-9]*|\.[0-9]+))?")


@dataclass(frozen=True)
class Objective:
    """A mixture of measures with weights that sum to 1; TER counts as 100 - TER, so that more is better.

    A row of statistics has the columns of BLEU, then those of the other measures in use, in the order of `COLUMNS`.
    `smooth` says how BLEU of a sentence is smoothed; see `sentence_bleu`.

    Example: `Objective.of("bleu:1,chrf:1")` is the mean of BLEU and chrF.
    """

    weights: Mapping[str, float]
    smooth: str = "add-1"

    @classmethod
    def of(cls, text: str, smooth: str = "add-1", *, column: bool = False) -> Objective:
        """Reads `bleu`, or measures with weights like `bleu:0.5,ter:0.5`; `column` only where such a column exists.

        Raises:
            InputError: an unknown measure or smoothing, a measure given twice, or a weight that is not above 0.
        """
        check_choice("unknown smoothing of sentence BLEU", smooth, SENTENCE_SMOOTHING)
        found = {}
        for part in text.split(","):
            match = _PART.fullmatch(part.strip())
            weight = float(match[2] or 1.0) if match else 0.0
            if match is None or match[1] in found or not weight > 0.0 or (match[1] == COLUMN and not column):
                more = ", column" if column else ""
                expected = f"bleu, chrf, ter{more}, or a mixture like bleu:1,chrf:2"
                raise InputError("not a measure to tune for", text, expected)
            found[match[1]] = weight
        total = sum(found.values())
        return cls({name: found[name] / total for name in COLUMNS if name in found}, smooth)

    @property
    def is_bleu(self) -> bool:
        """Whether the objective is BLEU alone."""
        return set(self.weights) == {"bleu"}

    @property
    def is_column(self) -> bool:
        """Whether the objective is a column of the lists alone, which needs no references."""
        return set(self.weights) == {COLUMN}

    def __str__(self) -> str:
        """The name of its figures: `BLEU`, `chrF`, `(100 - TER)`, or `0.5 BLEU + 0.5 chrF`."""
        if len(self.weights) == 1:
            return _NAMES[next(iter(self.weights))]
        return " + ".join(f"{weight:.3g} {_NAMES[name]}" for name, weight in self.weights.items())

    @property
    def width(self) -> int:
        """The number of columns in a row of statistics."""
        return sum(COLUMNS[name] for name in ("bleu", *self.others))

    @property
    def others(self) -> tuple[str, ...]:
        """The measures other than BLEU whose statistics are needed."""
        return tuple(name for name in self.weights if name != "bleu")

    def corpus(self, sums_BK: AnyArray) -> Floats:
        """The objective, 0 to 100, for each of B rows of summed statistics, (B,)."""
        return self._mixed(sums_BK, bleu_scores)

    def sentences(self, statistics_CK: AnyArray) -> Floats:
        """The objective for each of C sentences, 0 to 1; (C,)."""
        return self._mixed(statistics_CK, lambda rows: sentence_bleu(rows, self.smooth)) / 100.0

    def beside_bleu(self, statistics_CK: AnyArray) -> Floats:
        """The part of the objective that is not BLEU, for each of C sentences, 0 to 1; (C,)."""
        only = {name: weight for name, weight in self.weights.items() if name != "bleu"}
        return Objective(only)._mixed(statistics_CK, sentence_bleu) / 100.0

    def _mixed(self, rows_BK: AnyArray, bleu: Callable[[AnyArray], Floats]) -> Floats:
        total_B = np.zeros(len(rows_BK))
        order = ORDER if self.others else (rows_BK.shape[1] - 2) // 2
        at = 2 + 2 * order
        if "bleu" in self.weights:
            total_B += self.weights["bleu"] * bleu(rows_BK[:, :at])
        for name in self.others:
            part_BK = rows_BK[:, at : at + COLUMNS[name]]
            at += COLUMNS[name]
            total_B += self.weights[name] * _MORE[name](part_BK)
        return total_B


_MORE: Mapping[str, Callable[[AnyArray], Floats]] = {
    "chrf": chrf_scores,
    "ter": lambda rows_BK: 100.0 - ter_scores(rows_BK),
    # 100 times the mean, from a sum and a count.
    COLUMN: lambda rows_BK: 100.0 * np.asarray(rows_BK[:, 0], np.float64) / np.maximum(rows_BK[:, 1], 1.0),
}


BLEU = Objective({"bleu": 1.0})


DOCUMENT = "document"


@dataclass
class OracleDocument:
    """The statistics of the best translations of I sentences, 0 for those without one yet.

    Attributes:
        statistics_IK: the statistics of each sentence's best translation.
        objective: the measure, of the document or, with `by_sentence`, of single sentences.
        by_sentence: whether a gain is the objective of the translation on its own.
        sums_K: the statistics of the document, (K,).
    """

    statistics_IK: Floats
    objective: Objective = BLEU
    by_sentence: bool = False
    sums_K: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums_K = self.statistics_IK.sum(axis=0)

    @property
    def score(self) -> float:
        """The objective of the document, 0 to 100."""
        return float(self.objective.corpus(self.sums_K[None])[0])

    def gains(self, sentence: int, statistics_CK: AnyArray) -> Floats:
        """The gains of C translations of a sentence, (C,).

        For the document, a gain is the difference to the objective without the sentence, times the number of
        sentences, so that its scale is that of BLEU of single sentences, 0 to 1. One is added to every statistic of the
        document, since the first sentences would otherwise gain nothing.
        """
        if self.by_sentence:
            return self.objective.sentences(statistics_CK)
        others_K = self.sums_K - self.statistics_IK[sentence] + 1.0
        rows_BK = np.concatenate([others_K[None], others_K + statistics_CK])
        sentences = int(np.count_nonzero(self.statistics_IK[:, 1])) + (self.statistics_IK[sentence, 1] == 0)
        values_B: Floats = self.objective.corpus(rows_BK) * (sentences / 100.0)
        gain_C: Floats = values_B[1:] - values_B[0]
        return gain_C

    def replace(self, sentence: int, statistics_K: AnyArray) -> None:
        """Replaces the best translation of a sentence in the document."""
        self.sums_K += statistics_K - self.statistics_IK[sentence]
        self.statistics_IK[sentence] = statistics_K

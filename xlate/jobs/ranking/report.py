"""What choosing from lists is worth: first, reranked, oracle, random and MBR choices, tested against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.candidates.nbest import NbestArrays, bleu_statistics
from xlate.candidates.nbest_gains import chrf_statistics, ter_statistics, utilities
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.significance import PairedTest, PairedTests, paired_runs
from xlate.metrics.statistics import Stats, chrf_scores, ter_scores
from xlate.search.oracle import best_of_each, first_best, oracle

FIRST, RERANKED, ORACLE, RANDOM, MBR = "first", "reranked", "oracle", "random", "mbr"
ORDER = (FIRST, RERANKED, ORACLE, RANDOM, MBR)
# How often a random choice is made; its figure is the mean. TER counts the edits of fewer: it takes a search for each.
DRAWS, DRAWS_OF_TER = 20, 2


@dataclass(frozen=True)
class Reported:
    """The figures of each choice, and tests of some of them against the first.

    Attributes:
        rows: by choice and measure, 0 to 100. tests: of reranked and MBR choices.
        chosen: the place of the hypothesis that is chosen of each list; none for those by lot.
        sentences: how many lists there are.
    """

    rows: Mapping[str, Mapping[str, float]]
    tests: Mapping[str, PairedTests]
    chosen: Mapping[str, Ints]
    sentences: int

    def to_json(self) -> dict[str, Any]:
        """Plain values: a row a choice, with difference, interval and p where it was tested."""
        plain: dict[str, Any] = {"sentences": self.sentences}
        for name, row in self.rows.items():
            plain[name] = {measure: round(score, 4) for measure, score in row.items()}
            for measure, test in self.tests[name].tests.items() if name in self.tests else ():
                plain[name][f"{measure}_against_first"] = {
                    "difference": round(test.difference, 4),
                    "interval": round(test.interval.half_width, 4),
                    "p": test.p_randomisation,
                }
        return plain

    def headroom(self) -> dict[str, float]:
        """BLEU of the choices, and the share of the way from the first to the best that was gone."""
        bleu = {name: row["bleu"] for name, row in self.rows.items()}
        gone = (bleu.get(RERANKED, bleu[FIRST]) - bleu[FIRST]) / max(bleu[ORACLE] - bleu[FIRST], 1e-9)
        names = {"first": FIRST, "ranked": RERANKED, "oracle": ORACLE}
        found = {f"{key}_BLEU": round(bleu[name], 2) for key, name in names.items() if name in bleu}
        return {**found, "headroom_closed": round(100 * gone, 2)}

    def table(self, learned: Sequence[str] = (), agreed: Sequence[str] = ()) -> str:
        """A line a choice for people; `learned` are the measures that reranking was learned for, `agreed` those in
        which hypotheses of a list agree.
        """
        head = "".join(f"{name:>7}{'against first':>15}{'p':>7}" for name in ("BLEU", "chrF", "TER"))
        lines = [f"{'':<9}{head}"]
        for name, row in self.rows.items():
            tests = self.tests[name].tests if name in self.tests else {}
            cells = [f"{score:7.2f}{_told(tests.get(measure)):<22}" for measure, score in row.items()]
            lines.append(f"{name:<9}{''.join(cells)}".rstrip())
        for named, how in ((learned, "learned for"), (agreed, "by agreement in")):
            same = [name for name in named if name in self.rows[FIRST]]
            if same and RERANKED in self.rows:
                lines.append(
                    f"warning: reranking was {how} {' and '.join(same)}, which is measured here too; "
                    "another measure tells more about its gain"
                )
        return "\n".join(lines)


def reported(arrays: NbestArrays, references: Sequence[Sequence[str]], score_C: Floats | None = None) -> Reported:
    """The rows of some lists; measured are words as they are.

    Args:
        arrays: I lists, with totals where they have them: the first hypothesis is that of the highest total.
        references: those of each list, one or more.
        score_C: scores by which they are ranked anew; None for lists that are not.
    """
    offsets_I1 = arrays.candidate_offsets_I1
    bleu_CK = bleu_statistics(arrays, references)
    totals_C = arrays.total_C if np.isfinite(arrays.total_C).all() else None
    chosen = {FIRST: first_best(bleu_CK, offsets_I1, totals_C).chosen_I}
    if score_C is not None:
        chosen[RERANKED] = best_of_each(score_C, offsets_I1)
    chosen[ORACLE] = oracle(bleu_CK, offsets_I1).chosen_I
    chosen[MBR] = best_of_each(utilities(arrays, "bleu"), offsets_I1)
    # Choices by lot, the same every time.
    random = np.random.default_rng(1)
    drawn = [offsets_I1[:-1] + random.integers(np.diff(offsets_I1)) for _ in range(DRAWS)]
    some = np.unique(np.concatenate([*chosen.values(), *drawn[:DRAWS_OF_TER]]))
    stats = {
        "bleu": Stats("bleu", bleu_CK.astype(np.float64), bleu_scores),
        "chrf": Stats("chrf", chrf_statistics(arrays, references), chrf_scores),
        "ter": Stats("ter", ter_statistics(arrays, references, some), ter_scores),
    }
    choices = {name: [chosen_I] for name, chosen_I in chosen.items()} | {RANDOM: drawn}
    rows = {name: _figures(stats, choices[name]) for name in ORDER if name in choices}
    first = {measure: given[chosen[FIRST]] for measure, given in stats.items()}
    tests = {
        name: paired_runs([{measure: given[chosen[name]] for measure, given in stats.items()}], [first])
        for name in (RERANKED, MBR)
        if name in chosen
    }
    return Reported(rows, tests, chosen, len(offsets_I1) - 1)


def _told(test: PairedTest | None) -> str:
    if test is None:
        return ""
    return f"  {test.difference:+.2f} ± {test.interval.half_width:.2f}{test.p_randomisation:8.4f}"


def _figures(stats: Mapping[str, Stats], choices: Sequence[Ints]) -> dict[str, float]:
    """The mean score of some choices by each measure."""
    return {
        measure: float(
            np.mean([given[chosen_I].score() for chosen_I in choices[: DRAWS_OF_TER if measure == "ter" else DRAWS]])
        )
        for measure, given in stats.items()
    }

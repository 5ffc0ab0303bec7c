"""What lists are ranked by: a trained run, weights, or how much their hypotheses agree; and what choosing is worth."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.candidates.nbest import NbestArrays, bleu_statistics, reference_lines
from xlate.candidates.nbest_gains import UTILITIES, chrf_statistics, ter_statistics, utilities
from xlate.config.schema import NbestConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.ranking.lists import computed_floats, ranking_objective, text_templates
from xlate.jobs.ranking.texts import Gaps, ListText
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.significance import PairedTest, PairedTests, paired_runs
from xlate.metrics.statistics import Stats, chrf_scores, ter_scores
from xlate.models.run_files import weights_of
from xlate.scoring.feature_weights import load_feature_weights, unweighted
from xlate.search.oracle import best_of_each, first_best, oracle
from xlate.text.folders import Fields, read_json

log = logging.getLogger(__name__)


# The set of weights, and the file with what the features know of words.
SET, KNOWN = "rerank", "words.json"
# Whether sources were known in training, and float features that some lines lacked there.
SOURCES, NEARLY = "sources", "nearly"


def rerank_scores(run: Path, nbest: NbestFile, source: str | None, first_id: int | None) -> Floats:
    """The scores that a run gives the hypotheses of a list, (C,).

    Raises:
        InputError: not a finished run of this kind, or a list without the floats or sources it was trained with.
    """
    config = config_of_run(run)
    if config.model.rerank is None:
        raise InputError("not a run that ranks lists", file=run, seen=config.model.kind, expected="model=rerank")
    file = weights_of(run, config)
    weights, sparse = file.sets[SET], {name: weight for *_, name, weight in file.learned(SET)}
    fields: Fields = {"classes": dict, "lexicon": (dict, type(None)), SOURCES: bool, NEARLY: list}
    known = read_json(run / KNOWN, "the words a ranking run knows", "train the run again", fields)
    arrays, text = ListText.read(nbest, source, first_id)
    floats = dict(zip(weights.dense_names, weights.dense_D.tolist(), strict=True))
    computed = computed_floats(arrays, config.model.rerank)
    missing = [name for name in floats if name not in {*arrays.names, *computed, *known[NEARLY]}]
    if missing:
        raise InputError(
            "the list lacks features",
            file=nbest.path,
            seen=", ".join(missing[:5]),
            expected="what the run was trained with: " + ", ".join(floats),
            remedy="give lists of the same system, with the same columns",
        )
    Gaps.of(arrays).warn_of_lacking(arrays, floats, nbest.path, text.line_C)
    if not known[SOURCES]:
        text = replace(text, sources=None)
    elif text.sources is None and (config.model.rerank.length or known["lexicon"]):
        raise InputError(
            "the run was trained with sources, and those of this list are not known",
            file=nbest.path,
            seen="a list without sources",
            expected="the sentences that were translated, for the features of word pairs and lengths",
            remedy="source=FILE",
        )
    scores: list[float] = []
    for rows in text.features(text_templates(config.model.rerank, known["classes"], known["lexicon"])):
        scores += [sum(sparse[name] for name in row if name in sparse) for row in rows]
    with np.errstate(over="ignore", invalid="ignore"):
        # What is no feature of the list has no column there.
        own = {**(sparse if config.model.rerank.given_sparse else {}), **floats}
        columns = (floats[name] * column_C for name, column_C in computed.items() if name in floats)
        score_C: Floats = arrays.scores(own) + sum(columns, np.zeros(len(scores)))
        return arrays.finite(np.array(scores) + score_C)


CHOICES = "one of weights=FILE, run=RUN or mbr=chrf"


def check_alone(config: NbestConfig) -> None:
    """Checks that lists are ranked by one thing.

    Raises:
        InputError: there is nothing to rank by, or several things.
    """
    ranked = {"run": config.run, "weights": config.weights, "mbr": config.mbr if config.mbr in UTILITIES else None}
    given = [f"{key}={value}" for key, value in ranked.items() if value is not None]
    if not given:
        raise InputError("nothing to rank by", seen="neither run, weights nor mbr", expected=CHOICES)
    if len(given) > 1:
        remedy = f"leave out {' and '.join(given[1:])}, or rank by one after the other"
        raise InputError("several things to rank by", seen=" ".join(given), expected=CHOICES, remedy=remedy)


def new_scores(config: NbestConfig, nbest: NbestFile, arrays: NbestArrays) -> tuple[Floats, dict[str, Any]]:
    """The scores by a run, by the utility within lists or by weights, and what is to be told about them."""
    if config.run is not None:
        return rerank_scores(Path(config.run), nbest, config.source, config.first_id), {}
    if config.source is not None:
        # Nothing is computed from sources here, but those of other sentences are refused all the same.
        ListText.read(nbest, config.source, config.first_id)
    if config.weights is None:
        return utilities(arrays, config.mbr), {}
    weights = load_feature_weights(config.weights)
    missing = unweighted(arrays, weights)
    if missing:
        log.warning("without a weight: %d features, first %s", len(missing), ", ".join(missing[:5]))
    return arrays.scores(weights), {"features_without_weight": len(missing)}


def reranked(config: NbestConfig, arrays: NbestArrays, references: list[list[str]], score_C: Floats) -> dict[str, Any]:
    """What the new order is worth; the table for people goes to standard error."""
    found = reported(arrays, reference_lines(arrays.sentence_I, references, config.first_id), score_C)
    learned = () if config.run is None else tuple(ranking_objective(config_of_run(Path(config.run))).weights)
    # What ranks by agreement in a measure is no more to be judged by that measure.
    agreed = (config.mbr,) if config.mbr in UTILITIES else ()
    print(found.table(learned, agreed), file=sys.stderr)
    return found.to_json()


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
        first, ranked, best = (self.rows[name]["bleu"] for name in (FIRST, RERANKED, ORACLE))
        found = {"first_BLEU": first, "ranked_BLEU": ranked, "oracle_BLEU": best}
        found["headroom_closed"] = 100 * (ranked - first) / max(best - first, 1e-9)
        return {name: round(value, 2) for name, value in found.items()}

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
            if same:
                lines.append(
                    f"warning: reranking was {how} {' and '.join(same)}, which is measured here too; "
                    "another measure tells more about its gain"
                )
        return "\n".join(lines)


def reported(arrays: NbestArrays, references: Sequence[Sequence[str]], score_C: Floats) -> Reported:
    """The rows of some lists; measured are words as they are.

    Args:
        arrays: I lists, with totals where they have them: the first hypothesis is that of the highest total.
        references: those of each list, one or more.
        score_C: scores by which they are ranked anew.
    """
    offsets_I1 = arrays.candidate_offsets_I1
    bleu_CK = bleu_statistics(arrays, references)
    totals_C = arrays.total_C if np.isfinite(arrays.total_C).all() else None
    chosen = {
        FIRST: first_best(bleu_CK, offsets_I1, totals_C).chosen_I,
        RERANKED: best_of_each(score_C, offsets_I1),
        ORACLE: oracle(bleu_CK, offsets_I1).chosen_I,
        MBR: best_of_each(utilities(arrays, "bleu"), offsets_I1),
    }
    # Choices by lot, the same every time.
    random = np.random.default_rng(1)
    drawn = [offsets_I1[:-1] + random.integers(np.diff(offsets_I1)) for _ in range(DRAWS)]
    some = np.unique(np.concatenate([*chosen.values(), *drawn[:DRAWS_OF_TER]]))
    stats = {
        "bleu": Stats(bleu_CK.astype(np.float64), bleu_scores),
        "chrf": Stats(chrf_statistics(arrays, references), chrf_scores),
        "ter": Stats(ter_statistics(arrays, references, some), ter_scores),
    }
    choices = {name: [chosen_I] for name, chosen_I in chosen.items()} | {RANDOM: drawn}
    rows = {name: _figures(stats, choices[name]) for name in ORDER}
    outputs = {
        name: [{measure: given[chosen_I] for measure, given in stats.items()}] for name, chosen_I in chosen.items()
    }
    tests = {name: paired_runs(outputs[name], outputs[FIRST]) for name in (RERANKED, MBR)}
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

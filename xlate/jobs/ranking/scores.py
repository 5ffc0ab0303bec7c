"""What lists are ranked by: a trained run, weights, or how much their hypotheses agree."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Floats
from xlate.candidates.nbest import NbestArrays, reference_lines
from xlate.candidates.nbest_gains import UTILITIES, utilities
from xlate.config.nbest_schema import NbestConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.ranking.lists import computed_floats, ranking_objective, text_templates
from xlate.jobs.ranking.report import reported
from xlate.jobs.ranking.texts import Gaps, ListText
from xlate.jobs.run_weights import weights_of
from xlate.scoring.feature_weights import load_feature_weights, unweighted
from xlate.text.json_files import Fields, read_json

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
    weights, sparse = file.sets[SET], {name: weight for _, name, weight in file.learned(SET)}
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

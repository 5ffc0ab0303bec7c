"""What `xlate nbest rescore` ranks lists by: a run, weights, or how much their hypotheses agree."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from xlate.array_types import Floats
from xlate.candidates.nbest import NbestArrays, reference_lines
from xlate.candidates.nbest_gains import UTILITIES, utilities
from xlate.config.nbest_schema import NbestConfig
from xlate.errors import InputError
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.ranking.given import ListText
from xlate.jobs.ranking.report import reported
from xlate.jobs.ranking.scores import learned_for, rerank_scores
from xlate.scoring.feature_weights import load_feature_weights, unweighted

CHOICES = "one of weights=FILE, run=RUN or mbr=chrf"
log = logging.getLogger(__name__)


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
    learned = learned_for(Path(config.run)) if config.run is not None else ()
    # What ranks by agreement in a measure is no more to be judged by that measure.
    agreed = (config.mbr,) if config.mbr in UTILITIES else ()
    print(found.table(learned, agreed), file=sys.stderr)
    return found.to_json()

"""The rule table of a work directory, extracted from its text and links when it is not there."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.lexical import lexical_table
from xlate.phrases.rule_extraction import RuleSettings, extract_rules, score_rules
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, WithoutFold
from xlate.work.stages import Stage, identity_of, read_stage, run_stage

log = logging.getLogger(__name__)
TABLE = "table"


def rule_stage(work: WorkDirectory, settings: RuleSettings, without: WithoutFold | None = None) -> Stage:
    """The rule table of a work directory (`RuleTable.load(stage.folder / TABLE)`), made when it is not there.

    Tables of several settings stand beside each other; how much memory may be taken is no part of what a table is.
    Rules may be those of the text without a fold.

    Raises:
        InputError: the work directory lacks its text or links.
    """
    asked = settings.identity()
    identity: dict[str, Any] = {
        "rules": asked,
        "on": [read_stage(work.path, name).identity for name in ("corpus", "align")],
        "version": 1,
    }
    if without is not None:
        identity["without"] = without.identity
    estimates = without or Estimates(work)
    name = str(estimates.folder / "rules" / identity_of(asked)[:12])
    return run_stage(work.path, name, identity, lambda folder: _build(estimates, settings, folder))


def _build(estimates: Estimates, settings: RuleSettings, folder: Path) -> dict[str, Any]:
    text = estimates.text
    start = time.perf_counter()
    table = score_rules(extract_rules(*text, settings, folder), lexical_table(*text), settings)
    log.info("%d rules, %.0f rules/s", len(table), len(table) / (time.perf_counter() - start))
    table.save(folder / TABLE)
    by_gaps = np.bincount(table.gaps()[table.source_B], minlength=settings.most_gaps + 1)
    return {"rules": len(table), "source_sides": len(table.source_sides), "rules_by_gaps": by_gaps.tolist()}

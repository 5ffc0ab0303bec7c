"""A sentence translated by a run, and the features that fired in it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.config.schema import InspectConfig
from xlate.errors import InputError
from xlate.jobs.inspect.fired import FiredFeatures, StepFeatures
from xlate.jobs.inspect.fired_text import fired_title, phrase_text
from xlate.jobs.inspect.learned import families_of
from xlate.jobs.inspect.opened import InspectedRun
from xlate.jobs.inspect.tables import decimals, new_table, print_legend, print_table


def print_sentence(run: InspectedRun, line: str, config: InspectConfig, console: Console) -> None:
    """Prints a line, its translation, how it came about, and of each step the features that fired with their weights.

    Raises:
        InputError: the run cannot translate.
    """
    if "\n" in line:
        raise InputError("one sentence at a time", seen=repr(line), expected="a line")
    translation = run.translator.translate_line(line)
    for text in (line, translation.text, translation.explanation):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    derivation = translation.derivations[0]
    if run.translator.system.features is None or not families_of(run.weights) or not derivation.steps:
        return
    fired = [_asked(one, config) for one in FiredFeatures(run.translator.system).of(derivation)]
    places = decimals(feature.weight for one in fired for feature in one.weighted)
    table = new_table(fired_title(fired, places), ("phrase", "left"), ("weight", "right"), ("feature", "left"))
    for step, one in zip(derivation.steps, fired, strict=True):
        if one.weighted or not step.is_end:
            _add_step(table, phrase_text(translation.source, step), _rows(one, config.top, places))
    print_table(table, console)
    print_legend([feature.name for one in fired for feature in one.weighted[: config.top]], console)


def _asked(features: StepFeatures, config: InspectConfig) -> StepFeatures:
    """Those of the families that are asked for, and with the text that is searched for in their names."""
    kept = [
        feature
        for feature in features.weighted
        if (config.family is None or f":{config.family}:" in f":{feature.family}:")
        and (config.find is None or config.find in feature.name)
    ]
    return StepFeatures(kept, features.without_weight)


def _rows(features: StepFeatures, top: int, places: int) -> list[tuple[str, str]]:
    """The strongest features of a step, then how many more there are and what they add up to."""
    shown, rest = features.weighted[:top], features.weighted[top:]
    rows = [
        (f"{one.weight:+.{places}f}" + (f" ×{one.times}" if one.times > 1 else ""), escape(one.name)) for one in shown
    ]
    if rest:
        rows.append((f"{sum(one.score for one in rest):+.{places}f}", f"{len(rest)} more"))
    return rows or [("", "none with a weight")]


def _add_step(table: Table, side: str, rows: Sequence[tuple[str, str]]) -> None:
    for place, row in enumerate(rows):
        table.add_row(escape(side) if place == 0 else "", *row, end_section=place == len(rows) - 1)

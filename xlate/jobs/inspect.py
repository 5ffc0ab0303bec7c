"""xlate inspect: what a run learned, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from xlate.config.load import load
from xlate.config.schema import InspectConfig, TranslateConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.context.inspected import inspect_context
from xlate.jobs.packs.archive import unpacked
from xlate.jobs.run_places import located_config
from xlate.jobs.run_weights import weights_of
from xlate.jobs.systems.registry import kind_of
from xlate.jobs.translate import Translator
from xlate.scoring.feature_weights import load_feature_weights, write_feature_weights
from xlate.scoring.stored_features import LearnedFeature
from xlate.scoring.weights import WeightsFile


def inspect(config: InspectConfig, console: Console) -> None:
    """Prints float weights, the strongest sparse features of each family, and one translation explained.

    With `weights` also writes every weight that is not 0 into a text file. Of a classifier in context it prints what
    `inspect_context` does instead.

    Raises:
        InputError: no finished run, nothing has the text searched for, or `weights` cannot hold a name.
    """
    run = unpacked(Path(config.run))
    trained, weights = config_of_run(run), weights_of(run)
    if kind_of(trained.model.kind).predicts:
        console.print(_floats(weights, of_costs=False))
        inspect_context(run, Path(located_config(run, work=config.work).work), config, console)
        return
    if config.weights is not None:
        write_feature_weights(config.weights, load_feature_weights(run))
    console.print(_floats(weights, kind_of(trained.model.kind).of_costs))
    learned = (f for name in weights.sets for f in weights.learned(name))
    features = [f for f in learned if config.find is None or config.find in f.name]
    if config.find is not None and not features:
        raise InputError("no feature has this in its name", seen=config.find, expected="part of a name")
    for family in dict.fromkeys(f.family for f in features):
        console.print(_strongest(family, [f for f in features if f.family == family], config.top))
    if config.sentence is not None:
        options = [f"run={config.run}", f"work={config.work or 'null'}", "trace=true"]
        translation = Translator.open(load(TranslateConfig, "translate", options)).translate_line(config.sentence)
        for text in (config.sentence, translation.text, translation.explanation):
            console.print(text, markup=False, highlight=False, soft_wrap=True)


def _floats(weights: WeightsFile, of_costs: bool) -> Table:
    kind = " of costs: below 0 is the rule" if of_costs else ""
    table = Table(title=f"float weights{kind}", title_justify="left")
    table.add_column("float")
    for name in weights.sets:
        table.add_column(name, justify="right")
    for row, name in enumerate(next(iter(weights.sets.values())).dense_names):
        table.add_row(name, *(f"{w.dense_D[row]:.4f}" for w in weights.sets.values()))
    return table


def _strongest(family: str, features: list[LearnedFeature], top: int) -> Table:
    """The features of the largest weights, upwards and downwards, with how the weights are spread."""
    values = np.array([f.weight for f in features])
    title = f"{family}: {len(features):,} weights, {(values > 0).sum():,} above 0, largest {np.abs(values).max():.3f}"
    table = Table(title=title, title_justify="left")
    for column, justify in (("for", "right"), ("feature", "left"), ("against", "right"), ("feature", "left")):
        table.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    ordered = sorted(features, key=lambda f: f.weight)
    low = [f for f in ordered[:top] if f.weight < 0]
    high = [f for f in ordered[::-1][:top] if f.weight > 0]
    for row in range(max(len(low), len(high))):
        cells: list[str] = []
        for side in (high, low):
            cells += [f"{side[row].weight:+.3f}", _escaped(side[row].name)] if row < len(side) else ["", ""]
        table.add_row(*cells)
    return table


def _escaped(name: str) -> str:
    """Square brackets are markup to the table."""
    return name.replace("[", "\\[")

"""xlate inspect: what a run learned, in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from xlate.config.schema import InspectConfig
from xlate.errors import InputError
from xlate.jobs.context.inspection import inspect_context
from xlate.jobs.inspect.difference import print_difference
from xlate.jobs.inspect.learned import FamilySummary, Learned, families_of, learned_features, of_families, summaries
from xlate.jobs.inspect.opened import InspectedRun
from xlate.jobs.inspect.sentence import print_sentence
from xlate.jobs.inspect.tables import (
    MOST_FAMILIES,
    decimals,
    family_table,
    float_table,
    print_legend,
    print_table,
    strongest,
    strongest_table,
)
from xlate.jobs.run_places import located_config
from xlate.jobs.systems.registry import kind_of
from xlate.scoring.feature_weights import load_feature_weights, write_feature_weights


def inspect(config: InspectConfig, console: Console) -> None:
    """Prints float weights, families of sparse features and the strongest ones; of a sentence what decided it instead.

    With `weights` also writes every weight that is not 0 into a text file; with `diff` prints what differs from another
    run in place of the weights. Of a classifier in context it prints what `inspect_context` does instead.

    Raises:
        InputError: no finished run, nothing has the text or the family searched for, or `weights` cannot hold a name.
    """
    run = InspectedRun(config.run, config.work)
    kind = kind_of(run.trained.model.kind)
    if kind.predicts:
        _only_without(config, "a classifier in context has no families, and is not compared")
        if config.find is None and config.sentence is None:
            print_table(float_table(run.weights.sets, of_costs=False), console)
        work = Path(located_config(run.folder, work=config.work).work)
        inspect_context(run.folder, work, config, console)
        return
    if config.weights is not None:
        write_feature_weights(config.weights, load_feature_weights(run.folder))
    if config.diff is not None:
        print_difference(run, InspectedRun(config.diff), config, console)
    elif config.sentence is None:
        _print_weights(run, config, kind.of_costs, console)
    if config.sentence is not None:
        print_sentence(run, config.sentence, config, console)


def _only_without(config: InspectConfig, why: str) -> None:
    for key in ("family", "diff"):
        if getattr(config, key) is not None:
            raise InputError(why, seen=f"{key}={getattr(config, key)}", expected="find=WORD or sentence='…'")


def _asked_features(run: InspectedRun, config: InspectConfig) -> list[Learned]:
    """The features with a weight that the configuration asks for, by family and by part of the name.

    Raises:
        InputError: there is no such family, or no name has such a part.
    """
    features = of_families(learned_features(run.weights), config.family, families_of(run.weights))
    if config.find is None:
        return features
    found = [feature for feature in features if config.find in feature.name]
    if not found:
        seen = f"find={config.find}" + (f" family={config.family}" if config.family else "")
        raise InputError("no feature has this in its name", seen=seen, expected="part of a name")
    return found


def _print_weights(run: InspectedRun, config: InspectConfig, of_costs: bool, console: Console) -> None:
    features = _asked_features(run, config)
    listed = strongest(features, config.top)
    names = run.names(listed)
    print_table(float_table(run.weights.sets, of_costs), console)
    if not features:
        if run.weights.features:
            console.print("no sparse feature has a weight", highlight=False)
        return
    rows = summaries(features)
    if len(rows) > 1:
        print_table(family_table(rows), console)
    print_table(strongest_table(_title(rows), listed, names), console)
    print_legend([*names, *(row.family for row in rows[:MOST_FAMILIES])], console)
    if run.without_members is not None:
        why = str(run.without_members).splitlines()[0]
        console.print(f"word classes are shown by number only: {why}", markup=False, highlight=False)


def _title(rows: Sequence[FamilySummary]) -> str:
    which = rows[0].family if len(rows) == 1 else "the largest of all families"
    counts, above, largest = sum(r.weights for r in rows), sum(r.above_0 for r in rows), max(r.largest for r in rows)
    shown = f"{largest:.{decimals([largest])}f}"
    return f"{which}: {counts:,} weights, {above:,} above 0, largest {shown}; + speaks for, - against"

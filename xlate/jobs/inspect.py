"""xlate inspect: what a run learned, why it translates a sentence as it does, and how it differs from another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.array_types import Ints32
from xlate.config.schema import InspectConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.jobs.sparse_features import (
    MEMBERS,
    MOST_FAMILIES,
    FiredFeatures,
    Learned,
    by_family,
    decimals,
    families_of,
    family_table,
    fired_title,
    float_table,
    learned_features,
    new_table,
    of_families,
    phrase_text,
    print_legend,
    print_table,
    strongest,
    strongest_table,
)
from xlate.jobs.translate import Translator
from xlate.kernels.search.spans import span_rows
from xlate.models.context.classifiers import classifier, factors_of_text
from xlate.models.context.inspection import changes, influences
from xlate.models.context.model import Classifier
from xlate.models.kind import kind_of
from xlate.models.pack_format import unpacked
from xlate.models.run_files import located_config, weights_of
from xlate.scoring.feature_weights import load_feature_weights, write_feature_weights
from xlate.scoring.weights import WeightsFile
from xlate.text.tokens import split_tokens
from xlate.work.directory import WorkDirectory


class InspectedRun:
    """The configuration and the weights of a finished run.

    Attributes:
        folder: the run; if `folder` was the file of a pack, the packed run.
        work: the work directory, if the user has named it.
        without_members: why word classes are shown by number only; None if they are not, or nothing was requested.

    Raises:
        InputError: there is no finished run.
    """

    def __init__(self, folder: str | Path, work: str | None = None) -> None:
        self.folder, self.work = unpacked(Path(folder)), work
        self.trained = config_of_run(self.folder)
        self.weights = weights_of(self.folder, self.trained)
        self.without_members: InputError | None = None

    @cached_property
    def translator(self) -> Translator:
        """The run's translator, which also explains translations.

        Raises:
            InputError: its work directory is gone, or it translates nothing.
        """
        translator = Translator.of_run(self.trained, self.folder, given=self.work)
        translator.trace = True
        return translator

    def names(self, features: Sequence[Learned]) -> list[str]:
        """The names of some features; word classes come with their most frequent words if the system has them."""
        classed = self.trained.model.sparse is not None or self.trained.model.structure is not None
        if classed and features and self.without_members is None:
            try:
                index = self.translator.system.features
            except InputError as error:
                self.without_members, index = error, None
            if index is not None and index.sizes == self.weights.features[features[0].set_name].sizes:
                ids_A = np.array([feature.feature for feature in features], np.int64)
                return list(index.names(ids_A, MEMBERS))
        return [feature.name for feature in features]


def print_sentence(run: InspectedRun, line: str, config: InspectConfig, console: Console) -> None:
    """Prints a line, its translation and derivation, and for each step the features that fired with their weights.

    Raises:
        InputError: the run cannot translate.
    """
    refuse_if("\n" in line, "one sentence at a time", repr(line), "a line")
    translation = run.translator.translate_line(line)
    for text in (line, translation.text, translation.explanation):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    derivation = translation.derivations[0]
    if run.translator.system.features is None or not families_of(run.weights) or not derivation.steps:
        return
    # Only features of the requested families whose names contain the searched text.
    family, find = "" if config.family is None else f":{config.family}:", config.find or ""
    fired = [
        ([one for one in weighted if family in f":{one.family}:" and find in one.name], without)
        for weighted, without in FiredFeatures(run.translator.system).of(derivation)
    ]
    places = decimals(feature.weight for weighted, _ in fired for feature in weighted)
    table = new_table(fired_title(fired, places), "phrase", "weight", "feature")
    for step, (weighted, _) in zip(derivation.steps, fired, strict=True):
        if not weighted and step.is_end:
            continue
        # The strongest features of a step, then the number and sum of the others.
        rows = [(feature.text(places), escape(feature.name)) for feature in weighted[: config.top]]
        if rest := weighted[config.top :]:
            rows.append((f"{sum(feature.score for feature in rest):+.{places}f}", f"{len(rest)} more"))
        phrase = escape(phrase_text(translation.source, step))
        for place, row in enumerate(rows or [("", "none with a weight")]):
            table.add_row("" if place else phrase, *row)
        table.add_section()
    print_table(table, console)
    print_legend([feature.name for weighted, _ in fired for feature in weighted[: config.top]], console)


NEW, GONE, UP, DOWN, SAME = "new", "gone", "up", "down", "same"


class Change(NamedTuple):
    """A feature whose weight may differ: its weight in this run and in the other one, 0 if it has none."""

    set_name: str
    family: str
    name: str
    here: float
    there: float

    @property
    def size(self) -> float:
        """How much higher the weight is in this run."""
        return self.here - self.there

    @property
    def word(self) -> str:
        """What happened to it from the other run to this one: `new`, `gone`, `up`, `down` or `same`."""
        if not self.there or not self.here:
            return NEW if self.here else GONE
        return SAME if self.here == self.there else UP if self.here > self.there else DOWN


def changes_between(here: Sequence[Learned], there: Sequence[Learned]) -> list[Change]:
    """The features that have a weight in one of two runs, by set and name; the largest changes first."""
    ours, theirs = ({(f.set_name, f.family, f.name): f.weight for f in side} for side in (here, there))
    found = [Change(*key, ours.get(key, 0.0), theirs.get(key, 0.0)) for key in ours | theirs]
    return sorted(found, key=lambda change: -abs(change.size))


def print_difference(run: InspectedRun, other: InspectedRun, config: InspectConfig, console: Console) -> None:
    """Prints the float weights of two runs side by side, and what changed most among their sparse ones.

    Raises:
        InputError: neither run has the requested family or text, or they are the same run.
    """
    refuse_if(
        run.folder.resolve() == other.folder.resolve(),
        "a run does not differ from itself",
        f"diff={other.folder}",
        "another run",
    )
    known = list(dict.fromkeys([*families_of(run.weights), *families_of(other.weights)]))
    here, there = (of_families(learned_features(side.weights), config.family, known) for side in (run, other))
    found = [c for c in changes_between(here, there) if config.find is None or config.find in c.name]
    refuse_if(
        config.find is not None and not found,
        "no feature of the two runs has this text in its name",
        config.find,
        "part of a feature name",
    )
    largest = [change for change in found if change.word != SAME][: config.top]
    # A feature has the name that the last of the two runs with it gives it.
    named = dict.fromkeys(((change.set_name, change.name) for change in largest), "")
    for side, features in ((other, there), (run, here)):
        own = [feature for feature in features if (feature.set_name, feature.name) in named]
        named |= zip(((f.set_name, f.name) for f in own), side.names(own), strict=True)
    names = list(named.values())
    console.print(f"run    {run.folder}\nother  {other.folder}", markup=False, highlight=False, soft_wrap=True)
    floats = _floats(run.weights, other.weights)
    if floats.row_count:
        print_table(floats, console)
    else:
        console.print("float weights: all identical", highlight=False)
    if found:
        print_table(_counts(found), console)
        table = new_table("the largest changes", "change", "", "run", "other", "feature")
        places = decimals(change.size for change in largest)
        for change, name in zip(largest, names, strict=True):
            weights = (f"{weight:+.{places}f}" if weight else "-" for weight in (change.here, change.there))
            table.add_row(f"{change.size:+.{places}f}", change.word, *weights, escape(name))
        print_table(table, console)
        print_legend(names, console)


def _floats(here: WeightsFile, there: WeightsFile) -> Table:
    """The float weights of both, `-` where a run has none."""
    sides = [
        {(s, n): weight for s, held in file.sets.items() for n, weight in zip(held.dense_names, held.dense_D.tolist())}
        for file in (here, there)
    ]
    several = max(len(here.sets), len(there.sets)) > 1 or set(here.sets) != set(there.sets)
    keys = list(sides[0] | sides[1])
    differing = [key for key in keys if sides[0].get(key) != sides[1].get(key)]
    same = len(keys) - len(differing)
    table = new_table(f"float weights that differ; {same} are identical", "float", "run", "other", "change")
    for key in differing:
        here_w, there_w = (side.get(key) for side in sides)
        shown = ["-" if weight is None else f"{weight:.4f}" for weight in (here_w, there_w)]
        change = "" if here_w is None or there_w is None else f"{here_w - there_w:+.4f}"
        table.add_row(escape(" ".join(key) if several else key[1]), *shown, change)
    return table


def _counts(found: Sequence[Change]) -> Table:
    """The number of new, gone, higher, lower and unchanged weights per family; families that changed most first."""
    words = (NEW, GONE, UP, DOWN, SAME)
    table = new_table("sparse weights, from the other run to this one", "family", *words)
    moved: dict[str, float] = {}
    for change in found:
        moved[change.family] = moved.get(change.family, 0.0) + abs(change.size)
    of_family = Counter((change.family, change.word) for change in found)
    families = sorted(moved, key=lambda family: -moved[family])
    for family in families[:MOST_FAMILIES]:
        table.add_row(escape(family), *(f"{of_family[family, word]:,}" for word in words))
    if len(families) > 1:
        total = Counter(change.word for change in found)
        table.add_row(f"all {len(families)}", *(f"{total[word]:,}" for word in words))
    return table


def inspect(config: InspectConfig, console: Console) -> None:
    """Prints float weights, families of sparse features and the strongest ones, or explains a sentence instead.

    With `weights` also writes every nonzero weight into a text file; with `diff` prints the differences from another
    run in place of the weights. For a classifier in context it prints what `inspect_context` does instead.

    Raises:
        InputError: no finished run, nothing matches the requested text or family, or `weights` cannot hold a name.
    """
    run = InspectedRun(config.run, config.work)
    kind = kind_of(run.trained.model)
    if kind.predicts:
        for key in ("family", "diff"):
            if getattr(config, key) is not None:
                raise InputError(
                    "a classifier in context has no families and cannot be compared",
                    f"{key}={getattr(config, key)}",
                    "find=WORD or sentence='…'",
                )
        if config.find is None and config.sentence is None:
            print_table(float_table(run.weights.sets, of_costs=False), console)
        inspect_context(run.folder, Path(located_config(run.folder, work=config.work).work), config, console)
        return
    if config.weights is not None:
        write_feature_weights(config.weights, load_feature_weights(run.folder))
    if config.diff is not None:
        print_difference(run, InspectedRun(config.diff), config, console)
    elif config.sentence is None:
        _print_weights(run, config, kind.of_blocks, console)
    if config.sentence is not None:
        print_sentence(run, config.sentence, config, console)


def _print_weights(run: InspectedRun, config: InspectConfig, of_costs: bool, console: Console) -> None:
    features = of_families(learned_features(run.weights), config.family, families_of(run.weights))
    if config.find is not None:
        features = [feature for feature in features if config.find in feature.name]
        if not features:
            seen = f"find={config.find}" + (f" family={config.family}" if config.family else "")
            raise InputError("no feature has this text in its name", seen, "part of a feature name")
    listed = strongest(features, config.top)
    names = run.names(listed)
    print_table(float_table(run.weights.sets, of_costs), console)
    if not features:
        if run.weights.features:
            console.print("no sparse feature has a nonzero weight", highlight=False)
        return
    families = by_family(features)
    if len(families) > 1:
        print_table(family_table(families), console)
    which = next(iter(families)) if len(families) == 1 else "the largest of all families"
    above, largest = sum(feature.weight > 0 for feature in features), max(abs(f.weight) for f in features)
    shown = f"{largest:.{decimals([largest])}f}"
    title = f"{which}: {len(features):,} weights, {above:,} above 0, largest {shown}; + is for, - is against"
    print_table(strongest_table(title, listed, names), console)
    print_legend([*names, *list(families)[:MOST_FAMILIES]], console)
    if run.without_members is not None:
        why = str(run.without_members).splitlines()[0]
        console.print(f"word classes appear by number only: {why}", markup=False, highlight=False)


# The number of translations shown per phrase, and of features named per change.
TRANSLATIONS, REASONS = 5, 3


def inspect_context(run: Path, work: Path, config: InspectConfig, console: Console) -> None:
    """Prints the strongest features of the contexts of `find`, and the table of `sentence` with and without context.

    Raises:
        InputError: `weights` is set, or the phrase of `find` has no translations.
    """
    refuse_if(
        config.weights is not None,
        "weights of feature pairs have no names to write",
        f"weights={config.weights}",
        None,
        "find=WORD shows those of a word's contexts",
        file=run,
    )
    prepared = WorkDirectory(work).check()
    model = classifier(run, prepared)
    if config.find is not None:
        factors = factors_of_text(prepared, config_of_run(run).model)
        _print_influences(model, prepared, factors, config.find, config.top, console)
    if config.sentence is not None:
        words = prepared.source_tokens(config.sentence)
        console.print(" ".join(words), markup=False, highlight=False, soft_wrap=True)
        title = f"{model.what}s with and without their context, largest changes first"
        table = new_table(title, "phrase", model.what, model.without, "in context", "change", "features that made it")
        for change in changes(model, words, MEMBERS)[: config.top]:
            order = np.argsort(-np.abs(change.change_C), kind="stable")[:TRANSLATIONS].tolist()
            for place, c in enumerate(order):
                # The features that contributed most to the change, in its direction.
                towards_X = change.weight_XC[:, c] * np.sign(change.change_C[c])
                strongest_X = np.argsort(-towards_X, kind="stable")[:REASONS].tolist()
                reasons = [f"{change.names[x]} {change.weight_XC[x, c]:+.2f}" for x in strongest_X if towards_X[x] > 0]
                table.add_row(
                    escape(" ".join(words[change.start : change.end])) if place == 0 else "",
                    escape(model.named(int(change.pair_C[c]), prepared.target_vocabulary)),
                    f"{change.share_C[c]:.3f}",
                    f"{change.probability_C[c]:.3f}",
                    f"{change.change_C[c]:+.3f}",
                    escape(", ".join(reasons)),
                    end_section=place == len(order) - 1,
                )
        console.print(table)


def _print_influences(
    model: Classifier, work: WorkDirectory, factors: list[Ints32], text: str, top: int, console: Console
) -> None:
    """Prints the context features that speak for and against each of a phrase's most frequent candidates."""
    words = split_tokens(text)
    ids_n = model.vocabulary.ids(words)
    row = int(span_rows(model.targets.table.source_finder, ids_n, len(ids_n))[len(ids_n) - 1]) if words else -1
    refuse_if(
        row < 0 or not len(model.choices.of(np.array([row])).number_C),
        f"no phrase with {model.what}s in context",
        text,
        f"up to {model.longest} words of the training text, as xlate prepare made them",
    )
    found = influences(model, row, work.encoded[0], factors, MEMBERS)
    counted = f"{found.places:,} times, {len(found.pair_C)} {model.what}s, {len(found.names):,} features"
    console.print(f"{text}: {counted}", markup=False, highlight=False)
    for c in range(min(len(found.pair_C), TRANSLATIONS)):
        spelled = model.named(int(found.pair_C[c]), work.target_vocabulary)
        title = f"{spelled}   {model.without} {found.share_C[c]:.3f}"
        table = new_table(title, "for", "times", "feature", "against", "times", "feature")
        weight_X = found.weight_XC[:, c]
        order = np.argsort(-weight_X, kind="stable")
        high = [x for x in order[:top].tolist() if weight_X[x] > 0]
        low = [x for x in order[::-1][:top].tolist() if weight_X[x] < 0]
        for sides in zip_longest(high, low):
            cells: list[str] = []
            for x in sides:
                named = ["", "", ""]
                if x is not None:
                    named = [f"{weight_X[x]:+.3f}", str(found.count_X[x]), escape(found.names[x])]
                cells += named
            table.add_row(*cells)
        console.print(table)

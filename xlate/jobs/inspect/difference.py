"""What differs between the weights of two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.config.schema import InspectConfig
from xlate.errors import InputError
from xlate.jobs.inspect.learned import Learned, families_of, learned_features, of_families
from xlate.jobs.inspect.opened import InspectedRun
from xlate.jobs.inspect.tables import MOST_FAMILIES, Justify, decimals, new_table, print_legend, print_table
from xlate.scoring.weights import WeightsFile

NEW, GONE, UP, DOWN, SAME = "new", "gone", "up", "down", "same"


class Change(NamedTuple):
    """A feature whose weight may differ: its weight in this run, and in the other one; 0 where it has none."""

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
    both = [{(feature.set_name, feature.name): feature for feature in side} for side in (here, there)]
    found = []
    for key in dict.fromkeys([*both[0], *both[1]]):
        sides = [side.get(key) for side in both]
        family = next(feature.family for feature in sides if feature is not None)
        weights = [0.0 if feature is None else feature.weight for feature in sides]
        found.append(Change(key[0], family, key[1], *weights))
    return sorted(found, key=lambda change: -abs(change.size))


def print_difference(run: InspectedRun, other: InspectedRun, config: InspectConfig, console: Console) -> None:
    """Prints the float weights of two runs side by side, and what changed most among their sparse ones.

    Raises:
        InputError: neither run has the family or the text that is asked for, or they are the same run.
    """
    if run.folder.resolve() == other.folder.resolve():
        raise InputError("a run does not differ from itself", seen=f"diff={other.folder}", expected="another run")
    known = list(dict.fromkeys([*families_of(run.weights), *families_of(other.weights)]))
    here, there = (of_families(learned_features(side.weights), config.family, known) for side in (run, other))
    found = [c for c in changes_between(here, there) if config.find is None or config.find in c.name]
    if config.find is not None and not found:
        raise InputError("no feature of the two runs has this in its name", seen=config.find, expected="part of a name")
    largest = [change for change in found if change.word != SAME][: config.top]
    names = _names(largest, (other, there), (run, here))
    console.print(f"run    {run.folder}\nother  {other.folder}", markup=False, highlight=False, soft_wrap=True)
    floats = _floats(run.weights, other.weights)
    if floats.row_count:
        print_table(floats, console)
    else:
        console.print("float weights: all the same", highlight=False)
    if found:
        print_table(_counts(found), console)
        print_table(_largest(largest, names), console)
        print_legend(names, console)


def _floats(here: WeightsFile, there: WeightsFile) -> Table:
    """The float weights of both, `-` where one has none."""
    sides: list[dict[tuple[str, str], float]] = []
    for file in (here, there):
        named = [(s, n, w) for s, held in file.sets.items() for n, w in zip(held.dense_names, held.dense_D.tolist())]
        sides.append({(set_name, name): weight for set_name, name, weight in named})
    several = max(len(here.sets), len(there.sets)) > 1 or set(here.sets) != set(there.sets)
    keys = list(dict.fromkeys([*sides[0], *sides[1]]))
    differing = [key for key in keys if sides[0].get(key) != sides[1].get(key)]
    same = len(keys) - len(differing)
    columns: list[tuple[str, Justify]] = [("float", "left"), ("run", "right"), ("other", "right"), ("change", "right")]
    table = new_table(f"float weights that differ; {same} are the same", *columns)
    for key in differing:
        here_w, there_w = (side.get(key) for side in sides)
        shown = ["-" if weight is None else f"{weight:.4f}" for weight in (here_w, there_w)]
        change = "" if here_w is None or there_w is None else f"{here_w - there_w:+.4f}"
        table.add_row(escape(" ".join(key) if several else key[1]), *shown, change)
    return table


def _counts(found: Sequence[Change]) -> Table:
    """How many weights of each family are new, gone, higher, lower, the same; families that changed most first."""
    words = (NEW, GONE, UP, DOWN, SAME)
    columns: list[tuple[str, Justify]] = [("family", "left"), *((word, "right") for word in words)]
    table = new_table("sparse weights, from the other run to this one", *columns)
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


def _names(changes: Sequence[Change], *sides: tuple[InspectedRun, Sequence[Learned]]) -> list[str]:
    """The names of changed features in the words of the last of two runs that has them."""
    names: dict[tuple[str, str], str] = {}
    wanted = {(change.set_name, change.name) for change in changes}
    for run, features in sides:
        own = [feature for feature in features if (feature.set_name, feature.name) in wanted]
        names.update(zip(((f.set_name, f.name) for f in own), run.names(own), strict=True))
    return [names[change.set_name, change.name] for change in changes]


def _largest(changes: Sequence[Change], names: Sequence[str]) -> Table:
    weights_of_both: list[tuple[str, Justify]] = [("run", "right"), ("other", "right")]
    columns: list[tuple[str, Justify]] = [("change", "right"), ("", "left"), *weights_of_both, ("feature", "left")]
    table = new_table("the largest changes", *columns)
    places = decimals(change.size for change in changes)
    for change, name in zip(changes, names, strict=True):
        weights = (f"{weight:+.{places}f}" if weight else "-" for weight in (change.here, change.there))
        table.add_row(f"{change.size:+.{places}f}", change.word, *weights, escape(name))
    return table

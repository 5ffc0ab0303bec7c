"""Tables of weights: floats, families, the strongest features, and what the parts of their names mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.jobs.inspect.learned import FamilySummary, Learned
from xlate.jobs.inspect.legend import legend
from xlate.scoring.weights import Weights

# A table of families names so many; a model of phrases may have a hundred.
MOST_FAMILIES = 20
Justify = Literal["left", "right"]


def decimals(weights: Iterable[float]) -> int:
    """So many that the largest of some weights shows three digits that tell it from others, three at least.

    Example:
        >>> decimals([0.25, -1.5]), decimals([0.0004, -0.00123]), decimals([])
        (3, 5, 3)
    """
    largest = max(map(abs, weights), default=0.0)
    return 3 if largest == 0.0 else max(3, 2 - floor(log10(largest)))


def new_table(title: str, *columns: tuple[str, Justify]) -> Table:
    """An empty table with a title on the left; words that are too long go on in the next line."""
    table = Table(title=escape(title), title_justify="left")
    for column, justify in columns:
        table.add_column(column, justify=justify, overflow="fold")
    return table


def print_table(table: Table, console: Console) -> None:
    """Prints a table behind an empty line, its title on one line, however narrow the table is."""
    title, table.title = table.title, None
    console.print()
    console.print(title)
    console.print(table)


def float_table(sets: Mapping[str, Weights], of_costs: bool) -> Table:
    """The float weights of all sets side by side."""
    kind = " of costs: below 0 is the rule" if of_costs else ""
    table = new_table(f"float weights{kind}", ("float", "left"), *((name, "right") for name in sets))
    for row, name in enumerate(next(iter(sets.values())).dense_names):
        table.add_row(escape(name), *(f"{w.dense_D[row]:.4f}" for w in sets.values()))
    return table


def family_table(rows: Sequence[FamilySummary]) -> Table:
    """The families of sparse features, one a line."""
    count = sum(row.weights for row in rows)
    title = f"{count:,} weights of sparse features in {len(rows)} families; family=NAME shows one of them"
    columns: list[tuple[str, Justify]] = [
        (name, "right") for name in ("weights", "above 0", "sum of |weight|", "largest")
    ]
    table = new_table(title, ("family", "left"), *columns)
    places = decimals(row.largest for row in rows)
    for name, row in _shown(rows):
        largest = f"{row.largest:.{places}f}"
        table.add_row(escape(name), f"{row.weights:,}", f"{row.above_0:,}", f"{row.mass:.2f}", largest)
    return table


def _shown(rows: Sequence[FamilySummary]) -> list[tuple[str, FamilySummary]]:
    """The first families by name, and all others as one."""
    shown, rest = [(row.family, row) for row in rows[:MOST_FAMILIES]], rows[MOST_FAMILIES:]
    if not rest:
        return shown
    counts, above, masses, largest = zip(*(row[1:] for row in rest))
    return [*shown, (f"{len(rest)} more", FamilySummary("", sum(counts), sum(above), sum(masses), max(largest)))]


def strongest(features: Sequence[Learned], top: int) -> list[Learned]:
    """The `top` largest weights above 0, then the `top` smallest below."""
    ordered = sorted(features, key=lambda feature: feature.weight)
    high = [feature for feature in ordered[::-1][:top] if feature.weight > 0]
    return [*high, *(feature for feature in ordered[:top] if feature.weight < 0)]


def strongest_table(title: str, features: Sequence[Learned], names: Sequence[str]) -> Table:
    """What `strongest` found under the names that are given, with a line between what speaks for and against."""
    table = new_table(title, ("weight", "right"), ("feature", "left"))
    places = decimals(feature.weight for feature in features)
    for place, (feature, name) in enumerate(zip(features, names, strict=True)):
        following = features[place + 1].weight if place + 1 < len(features) else 0.0
        table.add_row(f"{feature.weight:+.{places}f}", escape(name), end_section=feature.weight > 0 > following)
    return table


def print_legend(names: Sequence[str], console: Console) -> None:
    """Prints what the parts of the names mean, a line each; nothing where nothing is known of them."""
    grid = Table.grid(padding=(0, 2))
    for part, words in legend(names):
        grid.add_row(f"  {part}", words)
    if grid.row_count:
        console.print(grid)

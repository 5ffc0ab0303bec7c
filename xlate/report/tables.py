"""Tables for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from xlate.text.lines import atomic_write

Cell = str | int | float | None
NOTHING = "–"
# Where standard output is no terminal, what is printed has this width.
WIDTH = 100


@dataclass(frozen=True)
class Column:
    """A column of a table: a value for each row, and for measures what stands behind ±.

    Attributes:
        intervals: of one run half the width of the 95 % interval, of several seeds the standard deviation.
        digits: the digits behind the point; None for settings, which are shown as they are.
        better: +1 when larger is better, -1 when smaller is, 0 when neither.
    """

    title: str
    values: Sequence[Cell]
    digits: int | None = None
    intervals: Sequence[float | None] | None = None
    better: int = 0

    @property
    def best(self) -> set[int]:
        """The rows with the best value; none when all values are equal or no value is better than another."""
        held = {row: value for row, value in enumerate(self.values) if isinstance(value, int | float)}
        if not self.better or len(set(held.values())) < 2:
            return set()
        top = max(held.values(), key=lambda value: self.better * value)
        return {row for row, value in held.items() if value == top}

    def text(self, row: int) -> str:
        """The text of a cell, for people."""
        value = self.values[row]
        if value is None:
            return NOTHING
        if self.digits is None or isinstance(value, str):
            return str(value)
        shown = f"{value:,.{self.digits}f}"
        around = None if self.intervals is None else self.intervals[row]
        return shown if around is None else f"{shown} ± {around:.{self.digits}f}"


@dataclass(frozen=True)
class Table:
    """A table: columns of equal length."""

    columns: Sequence[Column]
    title: str = ""

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def markdown(self) -> str:
        """The table in Markdown, with the best value of each measure in bold."""
        head = "| " + " | ".join(_cell(column.title) for column in self.columns) + " |"
        rule = "|" + "|".join("---" if column.digits is None else "---:" for column in self.columns) + "|"
        best = [column.best for column in self.columns]
        rows = []
        for row in range(len(self)):
            cells = [_cell(column.text(row)) for column in self.columns]
            bold = [f"**{cell}**" if row in best[place] else cell for place, cell in enumerate(cells)]
            rows.append("| " + " | ".join(bold) + " |")
        return "\n".join([*([f"# {self.title}", ""] if self.title else []), head, rule, *rows]) + "\n"

    def tsv(self) -> str:
        """The table with tabs, all digits, and columns for intervals; unknown values are empty."""
        columns: list[tuple[str, Sequence[Cell]]] = []
        for column in self.columns:
            columns.append((column.title, column.values))
            if column.intervals is not None:
                columns.append((f"{column.title} ±", column.intervals))
        lines = ["\t".join(title for title, _ in columns)]
        lines += ["\t".join(_raw(values[row]) for _, values in columns) for row in range(len(self))]
        return "\n".join(lines) + "\n"

    def print(self, console: Console | None = None) -> None:
        """Prints the table; cells that do not fit are folded, at blanks or behind commas where they can be."""
        console = console or Console()
        if not console.is_terminal:
            console = Console(file=console.file, width=WIDTH)
        table = RichTable(box=box.SIMPLE_HEAD, title=escape(self.title) or None)
        for column in self.columns:
            justify: Literal["left", "right"] = "left" if column.digits is None else "right"
            table.add_column(escape(column.title), justify=justify, overflow="fold")
        best = [column.best for column in self.columns]
        for row in range(len(self)):
            cells = zip(self.columns, best, strict=True)
            table.add_row(*(_printed(column, row, bold=row in held) for column, held in cells))
        console.print(table)

    @property
    def width(self) -> int:
        """How many columns of a terminal the printed table takes when nothing is folded."""
        widths = [max(len(c.title), *(len(c.text(row)) for row in range(len(self))), 0) for c in self.columns]
        return sum(widths) + 3 * len(widths) + 1

    def write(self, folder: str | Path, stem: str = "report") -> list[Path]:
        """Writes `STEM.md` and `STEM.tsv` into a folder and returns their names."""
        written = []
        for name, text in ((f"{stem}.md", self.markdown()), (f"{stem}.tsv", self.tsv())):
            with atomic_write(Path(folder) / name) as stream:
                stream.write(text.encode("utf-8"))
            written.append(Path(folder) / name)
        return written


class AtCommas:
    """A text without blanks for a terminal, which goes on in the next line behind a comma where it is too long."""

    def __init__(self, text: str) -> None:
        self._parts = re.findall(r"[^,]*,|[^,]+$", text)
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(max(map(cell_len, self._parts), default=0), cell_len(self._text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [""]
        for part in self._parts:
            if lines[-1] and cell_len(lines[-1] + part) > options.max_width:
                lines.append("")
            lines[-1] += part
        yield Text("\n".join(lines), overflow="fold")


def setting_text(value: object) -> Cell:
    """The text of a setting."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or NOTHING
    return value if value is None or isinstance(value, int | float | str) else str(value)


def _printed(column: Column, row: int, *, bold: bool) -> RenderableType:
    text = column.text(row)
    if column.digits is None and " " not in text:
        return AtCommas(text)
    return Text(text, "bold" if bold else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _raw(value: Cell) -> str:
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ")

"""Tables of runs: the settings that differ and the figures reached, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from xlate.report.runs import Run, collect_runs, differing_settings
from xlate.text.lines import atomic_write

__all__ = ["Column", "Run", "Table", "collect_runs", "sweep_table"]

Cell = str | int | float | None
NOTHING = "–"
# The key in a summary, the title, the digits shown, and what is better (+1 higher, -1 lower, 0 neither).
FIGURES = (
    ("test_bleu", "test BLEU", 2, 1),
    ("dev_bleu", "dev BLEU", 2, 1),
    ("bleu", "BLEU", 2, 1),
    ("tune_BLEU", "tuned BLEU", 2, 1),
    ("dev_chrf", "dev chrF", 2, 1),
    ("P", "P", 4, -1),
    ("valid_loss", "loss", 4, -1),
    ("active_features", "features", 0, 0),
    ("seconds", "seconds", 1, 0),
)
# The tag of the latest figure of a run that has no summary yet.
TAGS = {"P": "valid/P", "valid_loss": "valid/loss", "active_features": "train/active_features"}


@dataclass(frozen=True)
class Column:
    """A column of a table: a value for each run, and for measures half the width of the 95 % interval.

    Attributes:
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
    """A table: columns of equal length, with one row for each run."""

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
        """Prints the table; where standard output is not a terminal, as wide as all columns need."""
        console = console or Console()
        if not console.is_terminal:
            console = Console(file=console.file, width=max(80, sum(map(self._width, self.columns)) + 4))
        table = RichTable(box=box.SIMPLE_HEAD, title=escape(self.title) or None)
        for column in self.columns:
            table.add_column(escape(column.title), justify="left" if column.digits is None else "right")
        best = [column.best for column in self.columns]
        for row in range(len(self)):
            cells = [escape(column.text(row)) for column in self.columns]
            table.add_row(*(f"[bold]{cell}[/]" if row in best[place] else cell for place, cell in enumerate(cells)))
        console.print(table)

    def write(self, folder: str | Path, stem: str = "report") -> list[Path]:
        """Writes `STEM.md` and `STEM.tsv` into a folder and returns their names."""
        written = []
        for name, text in ((f"{stem}.md", self.markdown()), (f"{stem}.tsv", self.tsv())):
            with atomic_write(Path(folder) / name) as stream:
                stream.write(text.encode("utf-8"))
            written.append(Path(folder) / name)
        return written

    def _width(self, column: Column) -> int:
        return max(len(column.title), *(len(column.text(row)) for row in range(len(self))), 0) + 3


def sweep_table(runs: Sequence[Run], title: str = "") -> Table:
    """The table of some runs: the name, the settings that differ, and every figure that some run has.

    BLEU comes with half the width of its 95 % bootstrap interval. A run that is not finished shows its latest figures
    and is marked.
    """
    columns = [Column("run", [run.name for run in runs])]
    columns += [Column(key, [setting_text(run.settings.get(key)) for run in runs]) for key in differing_settings(runs)]
    for key, heading, digits, better in FIGURES:
        values = [_figure(run, key) for run in runs]
        if any(value is not None for value in values):
            around = [run.figure(f"{key}_interval") for run in runs]
            intervals = around if any(value is not None for value in around) else None
            columns.append(Column(heading, values, digits, intervals, better))
    if not all(run.finished for run in runs):
        columns.append(Column("state", ["finished" if run.finished else "unfinished" for run in runs]))
    return Table(columns, title)


def _figure(run: Run, key: str) -> float | None:
    value = run.figure(key)
    return run.last(TAGS[key]) if value is None and run.summary is None and key in TAGS else value


def setting_text(value: object) -> Cell:
    """The text of a setting."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or NOTHING
    return value if value is None or isinstance(value, int | float | str) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _raw(value: Cell) -> str:
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ")

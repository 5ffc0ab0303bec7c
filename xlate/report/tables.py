"""Tables for people and for programs, and the table of a sweep: its runs, seeds together, best first."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from xlate.report.runs import Run, Setting, by_setting, common_name, settings_besides_seed
from xlate.text.lines import write_file

Cell = str | int | float | None
NOTHING = "–"
# The width of printed text where standard output is not a terminal.
WIDTH = 100


@dataclass(frozen=True)
class Column:
    """A column of a table: a value per row, and for measures the number after ±.

    Attributes:
        intervals: half the width of the 95 % interval for one run, the standard deviation for several seeds.
        digits: the number of decimals; None for settings, which are shown as they are.
        better: +1 when larger is better, -1 when smaller is, 0 when neither is.
        sign: `+` for differences, which are shown with their sign even if they are positive.
    """

    title: str
    values: Sequence[Cell]
    digits: int | None = None
    intervals: Sequence[float | None] | None = None
    better: int = 0
    sign: str = ""

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
        shown = f"{value:{self.sign},.{self.digits}f}"
        around = None if self.intervals is None else self.intervals[row]
        return shown if around is None else f"{shown} ± {around:.{self.digits}f}"


@dataclass(frozen=True)
class Table:
    """A table: columns of equal length."""

    columns: Sequence[Column]

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def without(self, *titles: str) -> Table:
        """The table without some columns."""
        return Table([column for column in self.columns if column.title not in titles])

    def rows(self) -> list[list[tuple[str, bool]]]:
        """The texts of the cells row by row, each with a flag for the best value of the column."""
        columns = [(column, column.best) for column in self.columns]
        return [[(column.text(row), row in best) for column, best in columns] for row in range(len(self))]

    def markdown(self) -> str:
        """The table in Markdown, with the best value of each measure in bold."""
        rule = "|" + "|".join("---" if column.digits is None else "---:" for column in self.columns) + "|"
        lines = []
        for row in [[(column.title, False) for column in self.columns], *self.rows()]:
            cells = [f"**{text}**" if best else text for text, best in row]
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
        return "\n".join([lines[0], rule, *lines[1:]]) + "\n"

    def tsv(self) -> str:
        """The table with tabs, all digits, and columns for intervals; unknown values are empty."""
        columns = []
        for column in self.columns:
            columns.append([column.title, *column.values])
            if column.intervals is not None:
                columns.append([f"{column.title} ±", *column.intervals])
        texts = [["" if value is None else re.sub(r"[\t\n]", " ", str(value)) for value in line] for line in columns]
        return "".join("\t".join(line) + "\n" for line in zip(*texts, strict=True))

    def print(self, console: Console | None = None) -> None:
        """Prints the table; cells that do not fit are folded, at blanks or after commas where possible."""
        console = console or Console()
        if not console.is_terminal:
            console = Console(file=console.file, width=WIDTH)
        table = RichTable(box=box.SIMPLE_HEAD)
        for column in self.columns:
            justify: Literal["left", "right"] = "left" if column.digits is None else "right"
            table.add_column(escape(column.title), justify=justify, overflow="fold")
        for row in self.rows():
            cells = []
            for column, (text, best) in zip(self.columns, row, strict=True):
                words = column.digits is not None or " " in text
                cells.append(Text(text, "bold" if best else "") if words else AtCommas(text))
            table.add_row(*cells)
        console.print(table)

    @property
    def width(self) -> int:
        """The number of terminal columns that the printed table takes when nothing is folded."""
        widths = [max(len(c.title), *(len(c.text(row)) for row in range(len(self))), 0) for c in self.columns]
        return sum(widths) + 3 * len(widths) + 1

    def write(self, folder: Path) -> list[Path]:
        """Writes `report.md` and `report.tsv` into a folder and returns their names."""
        texts = {folder / "report.md": self.markdown(), folder / "report.tsv": self.tsv()}
        for path, text in texts.items():
            write_file(path, text)
        return list(texts)


class AtCommas:
    """A text without blanks for a terminal, broken after a comma where it is too long."""

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


# The key in a summary, the title, the decimals shown, and what is better (+1 higher, -1 lower, 0 neither).
FIGURES = (
    ("test_bleu", "test BLEU", 2, 1),
    ("dev_bleu", "dev BLEU", 2, 1),
    ("bleu", "BLEU", 2, 1),
    ("heldout_ranked_BLEU", "held-out BLEU", 2, 1),
    ("heldout_first_BLEU", "first ones", 2, 0),
    ("training_ranked_BLEU", "training BLEU", 2, 1),
    ("tune_BLEU", "tuned BLEU", 2, 1),
    ("tune_objective", "tuned for", 2, 1),
    ("dev_chrf", "dev chrF", 2, 1),
    ("P", "P", 4, -1),
    ("valid_loss", "loss", 4, -1),
    ("active_features", "features", 0, 0),
    ("seconds", "seconds", 1, 0),
)
# The tag of the latest figure of a run that has no summary yet.
TAGS = {"P": "valid/P", "valid_loss": "valid/loss", "active_features": "train/active_features"}
# Rows are sorted by the first of these that a run has; the test set decides only if there is nothing else.
ORDER = (
    ("dev_bleu", 1),
    ("tune_BLEU", 1),
    ("P", -1),
    ("bleu", 1),
    ("heldout_ranked_BLEU", 1),
    ("training_ranked_BLEU", 1),
    ("test_bleu", 1),
)
# Columns that do not fit a terminal are dropped in this order, and are only in the files.
LEFT_OUT = ("dev chrF", "loss", "tuned BLEU", "tuned for", "seconds", "features", "state")
LABEL, WHAT = "row.label", "what"
BASED_ON = "base"
# Checksums of the lists that a run of model=rerank has learned from.
FILES = "files"
SEEDS = "seeds"
FEW_KEYS = 4
OVER_SEEDS = "± is the standard deviation over seeds"
OF_ONE = "± is half the 95 % bootstrap interval"

Chosen = Mapping[Path, Mapping[str, Any]]


@dataclass(frozen=True)
class SweepTable:
    """The settings of a sweep, best first, and their table.

    Attributes:
        keys: the settings that differ, each with a column whose title is the key.
        chosen: for each run, by its folder, the settings that differ from their defaults.
    """

    settings: Sequence[Setting]
    table: Table
    keys: Sequence[str]
    chosen: Chosen

    @property
    def around(self) -> str:
        """The meaning of ±; empty when no figure has it."""
        several = any(column.title == SEEDS for column in self.table.columns)
        shown = any(column.intervals is not None for column in self.table.columns)
        return (OVER_SEEDS if several else OF_ONE) if shown else ""

    def parts(self) -> tuple[Table, str, Table | None]:
        """The table for a page. Where many settings differ, it has only the figures, and there are also the usual
        settings in words and a table of the others in one column, which is never wider than a page.
        """
        if len(self.keys) <= FEW_KEYS:
            return self.table, "", None
        usual, others = self._others()
        names = Column("run", [setting.name for setting in self.settings])
        return self.table.without(*self.keys), usual, Table([names, Column("settings", others)])

    def print(self, console: Console | None = None) -> None:
        """Prints the columns that fit the width of a terminal, or 100 columns.

        Settings that do not fit are listed below, for each row those in which it differs from most rows.
        """
        console = console or Console()
        width = console.width if console.is_terminal else WIDTH
        table, below = self.table, ""
        several = len(self.keys) > FEW_KEYS or table.without(*LEFT_OUT).width > width
        if table.width > width and self.keys and several:
            numbers = Column("#", list(range(1, len(table) + 1)), 0)
            table = Table([numbers, *table.without(*self.keys, WHAT).columns])
            usual, others = self._others()
            lines = [usual, "Others:"] if usual else []
            lines += [f"{row:>4}  {text}" for row, text in enumerate(others, 1)]
            wrap = textwrap.TextWrapper(
                width, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
            )
            below = "\n".join(map(wrap.fill, lines)) + "\n"
        left_out = []
        for title in LEFT_OUT:
            if table.width > width and any(column.title == title for column in table.columns):
                table = table.without(title)
                left_out.append(title)
        table.print(console)
        more = f"only in the files: {', '.join(left_out)}" if left_out else ""
        for text in (below, "; ".join(part for part in (self.around, more) if part)):
            if text:
                print(text, file=console.file)

    def _others(self) -> tuple[str, list[str]]:
        """The settings of most rows in words, and for each row those in which it differs from them."""
        # The text of each setting in each row, None where there is no such setting, and the usual text. A text that no
        # two rows share is not usual, nor is a run to start from.
        firsts = [setting.first for setting in self.settings]
        shown: dict[str, list[str | None]] = {}
        usual = dict.fromkeys(self.keys, NOTHING)
        for key in self.keys:
            if key == BASED_ON:
                shown[key] = [*_bases(self.settings, self.chosen)]
                continue
            shown[key] = [shown_setting(run, key) if key in run.settings else None for run in firsts]
            text, count = Counter(NOTHING if text is None else text for text in shown[key]).most_common(1)[0]
            if count > 1:
                usual[key] = text
        told = [f"{key}={value}" for key, value in usual.items() if value != NOTHING]
        others = []
        for row, run in enumerate(firsts):
            label = run.settings.get(LABEL)
            own = [str(label)] if label else []
            own += [f"{key}={texts[row]}" for key, texts in shown.items() if texts[row] not in (None, usual[key])]
            others.append(", ".join(own) or "the usual ones")
        return f"Common settings: {', '.join(told)}" if told else "", others


def sweep_table(runs: Sequence[Run], chosen: Chosen | None = None) -> SweepTable:
    """The table of some runs: one row for runs that differ only in their seed, with the settings that differ between
    rows and every figure that some run has, best first by BLEU on dev.

    A figure of several seeds is their mean, with the standard deviation; where no row has several seeds, BLEU comes
    with half the width of its 95 % bootstrap interval. A run that is not finished shows its latest figures and is
    marked. `chosen` is as in `SweepTable`.
    """
    settings = best_first(by_setting(runs))
    keys = [key for key in settings_besides_seed(runs) if _is_told(key, settings, chosen)]
    several = any(len(setting.runs) > 1 for setting in settings)
    columns = [Column("run", [setting.name for setting in settings])]
    labels = [setting.first.settings.get(LABEL) for setting in settings]
    if any(labels):
        columns.append(Column(WHAT, [label or NOTHING for label in labels]))
    columns += [Column(key, [setting_text(setting.first.settings.get(key)) for setting in settings]) for key in keys]
    bases = _bases(settings, chosen or {})
    if len(set(bases)) > 1:
        columns.append(Column(BASED_ON, bases))
        keys.append(BASED_ON)
    if several:
        columns.append(Column(SEEDS, [len(setting.runs) for setting in settings], 0))
    for key, heading, digits, better in FIGURES:
        columns += _figures(settings, key, heading, digits, better, several)
    if not all(setting.finished for setting in settings):
        counts = [(sum(run.finished for run in setting.runs), len(setting.runs)) for setting in settings]
        states = ["finished" if n == of else f"{n} of {of} finished" if n else "unfinished" for n, of in counts]
        columns.append(Column("state", states))
    return SweepTable(settings, Table(columns), keys, chosen or {})


def _bases(settings: Sequence[Setting], chosen: Chosen) -> list[str]:
    """The run that each setting starts from; where each seed has a different one, the common part of their names."""
    named = ([chosen.get(run.path, {}).get(BASED_ON) for run in setting.runs] for setting in settings)
    return [common_name([str(name) for name in dict.fromkeys(names) if name] or [NOTHING]) for names in named]


def _is_told(key: str, settings: Sequence[Setting], chosen: Chosen | None) -> bool:
    """Whether a differing key is informative: not a checksum, nor a default that other models have no key for."""
    if key == FILES or key.startswith("row."):
        return False
    held = [setting.first.settings[key] for setting in settings if key in setting.first.settings]
    follows = len(held) < len(settings) and all(value == held[0] for value in held)
    return not follows or chosen is None or any(key in chosen.get(setting.first.path, {}) for setting in settings)


def best_first(settings: Sequence[Setting]) -> list[Setting]:
    """Settings sorted by their results; those without such a figure last, in the given order."""
    key, better = next((pair for pair in ORDER if any(s.figure(pair[0]) is not None for s in settings)), ORDER[0])
    return sorted(settings, key=lambda setting: math.inf if (f := setting.figure(key)) is None else -better * f.mean)


def _figures(
    settings: Sequence[Setting], key: str, heading: str, digits: int, better: int, several: bool
) -> list[Column]:
    """The column of a figure; none if no setting has it."""
    values = []
    for setting in settings:
        spread, run = setting.figure(key), setting.first
        latest = run.last(TAGS[key]) if spread is None and run.summary is None and key in TAGS else None
        values.append(latest if spread is None else spread.mean)
    if values.count(None) == len(values):
        return []
    around = [setting.around(key, several) if better or not several else None for setting in settings]
    return [Column(heading, values, digits, around if any(value is not None for value in around) else None, better)]


def shown_setting(run: Run, key: str) -> str:
    """The text of a run's setting, a dash for none."""
    value = setting_text(run.settings.get(key))
    return NOTHING if value is None else str(value)

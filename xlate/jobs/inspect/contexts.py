"""xlate inspect of a classifier in context: what speaks for what is said of a word, and a sentence's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xlate.array_types import Floats, Ints32
from xlate.config.schema import InspectConfig
from xlate.config.stored import config_of_run
from xlate.errors import refuse_if
from xlate.jobs.inspect.features import MEMBERS
from xlate.kernels.search.spans import span_rows
from xlate.models.context.classifiers import classifier, factors_of_text
from xlate.models.context.inspection import Influences, SpanChange, changes, influences
from xlate.models.context.model import Classifier
from xlate.text.tokens import split_tokens
from xlate.work.directory import WorkDirectory

# Translations that are shown of a phrase, and features that are named for a change.
TRANSLATIONS, REASONS = 5, 3


def inspect_context(run: Path, work: Path, config: InspectConfig, console: Console) -> None:
    """Prints the strongest features of the contexts of `find`, and the table of `sentence` with and without context.

    Raises:
        InputError: `weights` is asked for, or the phrase of `find` has no translations.
    """
    refuse_if(
        config.weights is not None,
        "weights of pairs of features have no names to be written",
        f"weights={config.weights}",
        None,
        "find=WORD shows those of the contexts of a word",
        file=run,
    )
    prepared = WorkDirectory(work).check()
    factors = factors_of_text(prepared, config_of_run(run).model)
    shown = _Shown(classifier(run, prepared), prepared, factors, config.top, console)
    if config.find is not None:
        shown.influences(config.find)
    if config.sentence is not None:
        shown.changes(config.sentence)


@dataclass(frozen=True)
class _Shown:
    """A classifier whose weights are shown, `top` rows at a time."""

    model: Classifier
    work: WorkDirectory
    factors: list[Ints32]
    top: int
    console: Console

    def influences(self, text: str) -> None:
        """Prints what in its contexts speaks for and against each of the most frequent candidates of a phrase."""
        words = split_tokens(text)
        ids_n = self.model.vocabulary.ids(words)
        row = int(span_rows(self.model.finder, ids_n, len(ids_n))[len(ids_n) - 1]) if words else -1
        refuse_if(
            row < 0 or not len(self.model.choices.of(np.array([row])).number_C),
            f"no phrase with {self.model.what}s in context",
            text,
            f"up to {self.model.longest} words of the training text, as xlate prepare made them",
        )
        found = influences(self.model, row, self.work.encoded[0], self.factors, MEMBERS)
        counted = f"{found.places:,} times, {len(found.pair_C)} {self.model.what}s, {len(found.names):,} features"
        self.console.print(f"{text}: {counted}", markup=False, highlight=False)
        for c in range(min(len(found.pair_C), TRANSLATIONS)):
            self.console.print(self._strongest(found, c))

    def _strongest(self, found: Influences, c: int) -> Table:
        spelled = escape(self._named(int(found.pair_C[c])))
        table = Table(title=f"{spelled}   {self.model.without} {found.share_C[c]:.3f}", title_justify="left")
        for column in ("for", "times", "feature", "against", "times", "feature"):
            table.add_column(column, justify="left" if column == "feature" else "right", overflow="fold")
        weight_X = found.weight_XC[:, c]
        order = np.argsort(-weight_X, kind="stable")
        high = [x for x in order[: self.top].tolist() if weight_X[x] > 0]
        low = [x for x in order[::-1][: self.top].tolist() if weight_X[x] < 0]
        for place in range(max(len(high), len(low))):
            cells: list[str] = []
            for side in (high, low):
                x = side[place] if place < len(side) else -1
                named = [f"{weight_X[x]:+.3f}", str(found.count_X[x]), escape(found.names[x])]
                cells += named if x >= 0 else ["", "", ""]
            table.add_row(*cells)
        return table

    def changes(self, line: str) -> None:
        """Prints the phrases of a sentence that the context changes most, with and without it side by side."""
        words = self.work.source_tokens(line)
        self.console.print(" ".join(words), markup=False, highlight=False, soft_wrap=True)
        title = f"{self.model.what}s with and without their context, largest changes first"
        table = Table(title=title, title_justify="left")
        for column in ("phrase", self.model.what, self.model.without, "in context", "change", "features that made it"):
            numbers = column in (self.model.without, "in context", "change")
            table.add_column(column, justify="right" if numbers else "left", overflow="fold")
        for change in changes(self.model, words, MEMBERS)[: self.top]:
            self._add_rows(table, words, change)
        self.console.print(table)

    def _add_rows(self, table: Table, words: Sequence[str], change: SpanChange) -> None:
        order = np.argsort(-np.abs(change.change_C), kind="stable")[:TRANSLATIONS].tolist()
        for place, c in enumerate(order):
            table.add_row(
                escape(" ".join(words[change.start : change.end])) if place == 0 else "",
                escape(self._named(int(change.pair_C[c]))),
                f"{change.share_C[c]:.3f}",
                f"{change.probability_C[c]:.3f}",
                f"{change.change_C[c]:+.3f}",
                escape(_reasons(change.names, change.weight_XC[:, c], float(change.change_C[c]))),
                end_section=place == len(order) - 1,
            )

    def _named(self, number: int) -> str:
        return self.model.named(number, self.work.target_vocabulary)


def _reasons(names: Sequence[str], weight_X: Floats, change: float) -> str:
    """The features that moved a translation most into the direction in which it went."""
    order = np.argsort(-weight_X if change > 0 else weight_X, kind="stable")[:REASONS]
    return ", ".join(f"{names[x]} {weight_X[x]:+.2f}" for x in order.tolist() if weight_X[x] * change > 0)

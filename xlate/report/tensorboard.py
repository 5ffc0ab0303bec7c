"""Writes TensorBoard events and records of a run into its folder, and lays out TensorBoard's custom scalars."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams as hparams_summaries

from xlate.array_types import AnyFloats, Bytes
from xlate.report.run_directory import RECORDS, Listener, Records, Reporter
from xlate.report.tables import FIGURES as REPORTED
from xlate.text.lines import naming_file

# By category and title, the patterns of tags whose curves a chart shows; the most important come first.
CHARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "quality": {
        "BLEU, dev set": (r"^(tune|online|local)/BLEU$",),
        "tuning objective, dev set": (r"^tune/objective$",),
        "tuning objective, held-out sentences": (r"^tune/heldout_objective$",),
        "BLEU, held-out sentences": (r"^(tune|sparse|rerank)/heldout_BLEU$",),
        "block prediction error P, held out": (r"^valid/P/",),
        "accuracy, held out": (r"^valid/accuracy",),
    },
    "loss": {
        "loss, training": (r"^train/loss/", r"^sparse/train_loss$", r"^online/loss$"),
        "loss, held out": (r"^valid/loss", r"^(sparse|rerank)/heldout_loss$"),
    },
    "model": {
        "sparse features with a weight": (r"^train/active_features/", r"^(sparse|online)/active$"),
        "float weights": (r"^weights/[^/]+$",),
        "length against the references": (r"^tune/length_ratio$",),
    },
}
# The figures of a finished run that TensorBoard's table of runs shows; the others are in its summary.
FIGURES = (*(key for key, *_ in REPORTED), "dev_ter", "accuracy")


def charts_of(tags: Iterable[str]) -> dict[str, dict[str, list[Any]]]:
    """The categories and charts that some tags have curves for, as `SummaryWriter.add_custom_scalars` takes them."""
    known, chosen = list(tags), dict[str, dict[str, list[Any]]]()
    for category, charts in CHARTS.items():
        for title, patterns in charts.items():
            if any(re.search(pattern, tag) for pattern in patterns for tag in known):
                chosen.setdefault(category, {})[title] = ["Multiline", list(patterns)]
    return chosen


FINAL = "final/"
EVENTS = "events.out.tfevents."


class TensorBoardReporter(Reporter):
    """Writes figures as they are reported; scalars also go to `metrics.jsonl`.

    A run that resumes from a checkpoint reports some figures again. The first of them shows where it resumes: records
    from that figure on are dropped, also from TensorBoard, so that no curve has two values for a step.

    A number that never changes is not a curve: TensorBoard gets the points of a tag once two of them differ. A layout
    for its custom scalars names the most important charts.

    `listener` receives every scalar and the final figures too.
    """

    def __init__(self, path: Path) -> None:
        """`path` is the folder of the run; files are made only with the first figure."""
        self.path = path
        self.records = Records(path / RECORDS)
        self.listener: Listener = lambda *_: None
        self._writer: SummaryWriter | None = None
        self._last = 0
        # The points of tags with only one value so far, and the tags that have curves.
        self._waiting: dict[str, list[tuple[int, float]]] = {}
        self._curves: set[str] = set()

    def scalar(self, tag: str, value: float, step: int) -> None:
        """Reports one number, which is also a line of `metrics.jsonl`."""
        with self._named():
            self._draw(self._at(step, tag), tag, float(value), step)
        self.records.append(tag, float(value), step)
        self.listener(tag, float(value), step)

    def histogram(self, tag: str, values: AnyFloats, step: int) -> None:
        """Reports the distribution of many numbers; numbers that are not finite are left out, and nothing is drawn if
        none is left.
        """
        finite = values[np.isfinite(values)]
        if finite.size:
            with self._named():
                self._at(step).add_histogram(tag, finite, step)

    def text(self, tag: str, text: str, step: int) -> None:
        with self._named():
            self._at(step).add_text(tag, text, step)

    def image(self, tag: str, image_HW3: Bytes, step: int) -> None:
        with self._named():
            self._at(step).add_image(tag, image_HW3, step, dataformats="HWC")

    def hparams(self, params: Mapping[str, Any], metrics: Mapping[str, float]) -> None:
        """Reports the run's row for the HParams page: its settings, and the final figures for comparing runs, BLEU of
        the dev set first, under `final/`.

        It writes the summaries of torch's `add_hparams`, because `add_hparams` itself would open a second run in a
        folder inside this one. Settings that are None and figures that are not finite are left out.
        """
        shown = {
            key: value if isinstance(value, bool | int | float | str) else str(value)
            for key, value in params.items()
            if value is not None
        }
        figures = {FINAL + key: float(metrics[key]) for key in FIGURES if math.isfinite(metrics.get(key, math.nan))}
        with self._named():
            writer = self._at(self._last)
            for summary in hparams_summaries(shown, figures):  # type: ignore[no-untyped-call]
                writer._get_file_writer().add_summary(summary)  # type: ignore[no-untyped-call]
            for key, value in figures.items():
                writer.add_scalar(key, value, self._last)
        for key, value in figures.items():
            self.listener(key, value, self._last)

    def close(self) -> None:
        """Writes all figures to disk; nothing may be reported afterwards.

        Raises:
            OSError: they cannot be written.
        """
        if self._writer is not None:
            with self._named():
                try:
                    # Closing alone would not reveal that the writing thread failed.
                    self._writer.flush()
                finally:
                    self._writer.close()

    def _named(self) -> AbstractContextManager[None]:
        """Adds the file name to errors of TensorBoard's writer."""
        return naming_file(self.path / f"{EVENTS}*")

    def _at(self, step: int, tag: str | None = None) -> SummaryWriter:
        if self._writer is None:
            self._writer = self._begun(step, tag)
        self._last = max(self._last, step)
        return self._writer

    def _draw(self, writer: SummaryWriter, tag: str, value: float, step: int) -> None:
        """Adds a point to a curve, and begins the curve at its first different value."""
        if tag not in self._curves:
            held = self._waiting.setdefault(tag, [])
            held.append((step, value))
            if _as_drawn(held[0][1]) == _as_drawn(value):
                return
            before = charts_of(self._curves)
            self._curves.add(tag)
            for early, first in self._waiting.pop(tag):
                writer.add_scalar(tag, first, early)
            if (charts := charts_of(self._curves)) != before:
                # Of several layouts TensorBoard uses the last.
                writer.add_custom_scalars(charts)
            return
        writer.add_scalar(tag, value, step)

    def _begun(self, step: int, tag: str | None) -> SummaryWriter:
        """Opens the writer if it is not open; `step` and `tag` are those of the first figure."""
        _silence_writers()
        self.records.repair()
        records = self.records.read()
        if not records:
            return SummaryWriter(str(self.path))
        first: dict[str, float | None] = {}
        values = [(record["tag"], _as_drawn(record["value"])) for record in records]
        # Only a tag with two different values has a curve.
        drawn = {name for name, value in values if first.setdefault(name, value) != value}
        same = (n for n, record in enumerate(records) if (record["tag"], record["step"]) == (tag, step))
        kept = [record for record in records[: next(same, None)] if record["step"] <= step]
        if len(kept) < len(records):
            self.records.replace(kept)
        # TensorBoard reads event files in the order of their names, which begin with the second of their creation.
        stamps = [int(path.name.split(".")[3]) for path in self.path.glob(EVENTS + "*")]
        while int(time.time()) <= max(stamps, default=0):
            time.sleep(0.05)
        writer = SummaryWriter(str(self.path), purge_step=step + (tag is None))
        self._curves = drawn
        if charts := charts_of(drawn):
            writer.add_custom_scalars(charts)
        for name, value, at in ((record["tag"], record["value"], record["step"]) for record in kept):
            if value is None:
                continue
            if name not in drawn:
                self._waiting.setdefault(name, []).append((at, value))
            elif tag is not None and at == step:
                # TensorBoard can drop only complete steps, so the figures of this step that stay are reported again.
                writer.add_scalar(name, value, step)
        return writer


@cache
def _silence_writers() -> None:
    """Keeps TensorBoard's writing thread from printing its error, which is raised again with the next report."""
    before = threading.excepthook

    def hook(failed: threading.ExceptHookArgs) -> None:
        ours = type(failed.thread).__name__ == "_AsyncWriterThread" and issubclass(failed.exc_type, OSError)
        if not ours:
            before(failed)

    threading.excepthook = hook


def _as_drawn(value: float | None) -> float | None:
    """The value with the digits that TensorBoard keeps: a difference beyond them is no change there."""
    return None if value is None else float(np.float32(value))

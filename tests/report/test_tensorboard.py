"""TensorBoard events read back with TensorBoard's own reader."""

from __future__ import annotations

import math
import re
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar.metadata import CONFIG_SUMMARY_TAG
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from xlate.report.run_directory import Records
from xlate.report.tensorboard import TensorBoardReporter


def read_back(folder: Path) -> Any:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    return events


def points(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read_back(folder).Scalars(tag)]


def test_everything_reported_is_there(tmp_path: Path) -> None:
    reporter = TensorBoardReporter(tmp_path)
    assert list(tmp_path.iterdir()) == []
    reporter.scalar("train/loss", 0.75, 5)
    reporter.scalar("train/loss", 0.5, 10)
    reporter.histogram("weights", np.array([1.0, 2.0, math.nan]), 10)
    reporter.histogram("nothing", np.zeros(0), 10)
    reporter.text("samples", "| a | b |", 10)
    reporter.image("picture", np.zeros((4, 6, 3), np.uint8), 10)
    reporter.close()
    events = read_back(tmp_path)
    assert points(tmp_path, "train/loss") == [(5, 0.75), (10, 0.5)]
    assert events.Tags()["histograms"] == ["weights"]
    assert events.Histograms("weights")[0].histogram_value.num == 2
    assert (events.Images("picture")[0].height, events.Images("picture")[0].width) == (4, 6)
    assert "samples/text_summary" in events.Tags()["tensors"]
    assert Records(tmp_path / "metrics.jsonl").read() == [
        {"tag": "train/loss", "value": 0.75, "step": 5},
        {"tag": "train/loss", "value": 0.5, "step": 10},
    ]


def age(folder: Path) -> None:
    """Renames event files as if they were made a minute ago."""
    for path in folder.glob("events.out.tfevents.*"):
        head, second, rest = "events.out.tfevents", *path.name.split(".", 4)[3:]
        path.rename(folder / f"{head}.{int(second) - 60}.{rest}")


def figure(tag: str, step: int) -> float:
    """A loss that falls, and a step size that changes at the end; before, it has the digits that TensorBoard keeps."""
    if tag == "loss":
        return 8.0 - step
    return 0.25 if step == 8 else 0.5 + 1e-12 * (step == 1)


REPORTED = [(tag, figure(tag, step), step) for step in range(9) for tag in ("loss", "eta")]


@pytest.mark.parametrize("again", [0, 3, 14])
def test_going_on_from_anywhere_every_curve_has_each_point_once(tmp_path: Path, again: int) -> None:
    first = TensorBoardReporter(tmp_path)
    for one in REPORTED[:-2]:
        first.scalar(*one)
    first.close()
    # What never changes is no curve.
    assert read_back(tmp_path).Tags()["scalars"] == ["loss"]
    age(tmp_path)
    second = TensorBoardReporter(tmp_path)
    for one in REPORTED[again:]:
        second.scalar(*one)
    second.close()
    for tag in ("loss", "eta"):
        assert points(tmp_path, tag) == [(step, float(np.float32(figure(tag, step)))) for step in range(9)]
    held = Records(tmp_path / "metrics.jsonl").read()
    assert [(record["tag"], record["value"], record["step"]) for record in held] == REPORTED


def test_a_figure_that_is_new_drops_what_comes_after_its_step(tmp_path: Path) -> None:
    first = TensorBoardReporter(tmp_path)
    for step in (1, 2, 3):
        first.scalar("loss", figure("loss", step), step)
    first.close()
    age(tmp_path)
    second = TensorBoardReporter(tmp_path)
    second.scalar("eta", 0.5, 2)
    second.close()
    assert points(tmp_path, "loss") == [(1, 7.0), (2, 6.0)]
    held = Records(tmp_path / "metrics.jsonl").read()
    assert [(record["tag"], record["step"]) for record in held] == [("loss", 1), ("loss", 2), ("eta", 2)]


def layout(folder: Path) -> dict[str, dict[str, list[str]]]:
    """The charts that TensorBoard opens its custom scalars with: patterns of tags by category and title."""
    held = layout_pb2.Layout()
    events = read_back(folder).Tensors(CONFIG_SUMMARY_TAG)
    held.ParseFromString(events[-1].tensor_proto.string_val[0])
    return {c.title: {chart.title: list(chart.multiline.tag) for chart in c.chart} for c in held.category}


@pytest.mark.parametrize(
    ("tags", "first", "charts"),
    [
        (["train/loss/floats", "valid/P/floats", "train/eta/floats"], "block prediction error P, held out", 2),
        (["sparse/heldout_BLEU", "sparse/heldout_loss", "tune/BLEU", "sparse/active"], "BLEU, dev set", 4),
    ],
)
def test_charts_that_matter_come_first_and_have_curves(
    tmp_path: Path, tags: list[str], first: str, charts: int
) -> None:
    reporter = TensorBoardReporter(tmp_path)
    for step in range(3):
        for tag in [*tags, "tune/length_ratio"]:
            reporter.scalar(tag, 1.0 if tag == "tune/length_ratio" else float(step), step)
    reporter.close()
    found = layout(tmp_path)
    titles = [title for category in found.values() for title in category]
    assert (titles[0], len(titles)) == (first, charts)
    shown = read_back(tmp_path).Tags()["scalars"]
    for patterns in (patterns for category in found.values() for patterns in category.values()):
        assert any(re.search(pattern, tag) for pattern in patterns for tag in shown)


def test_one_row_of_hparams_in_the_runs_own_folder(tmp_path: Path) -> None:
    reporter = TensorBoardReporter(tmp_path)
    reporter.scalar("loss", 1.0, 7)
    reporter.hparams(
        {"loss.eta": 0.1, "seed": 1, "model.floats": ["a", "b"], "decoder.mode": "swap", "none": None},
        {"seconds": 9.0, "pool": 3.0, "dev_bleu_mean": 5.0, "dev_bleu": 31.5, "P": math.nan},
    )
    reporter.close()
    assert not any(entry.is_dir() for entry in tmp_path.iterdir())
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 1
    events = read_back(tmp_path)
    assert points(tmp_path, "final/dev_bleu") == [(7, 31.5)]
    held = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    params = HParamsPluginData.FromString(held).session_start_info.hparams
    assert set(params) == {"loss.eta", "seed", "model.floats", "decoder.mode"}
    assert params["loss.eta"].number_value == 0.1
    assert params["model.floats"].string_value == "['a', 'b']"
    experiment = HParamsPluginData.FromString(events.summary_metadata["_hparams_/experiment"].plugin_data.content)
    assert [info.name.tag for info in experiment.experiment.metric_infos] == ["final/dev_bleu", "final/seconds"]
    assert "_hparams_/session_end_info" in events.summary_metadata


def test_what_cannot_be_written_is_said_once_and_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TensorBoard writes in a thread of its own, whose error would be printed with a traceback, or lost at the end."""
    reporter = TensorBoardReporter(tmp_path)
    reporter.text("first", "x", 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        reporter.text("large", "x" * 100_000, 1)
        with pytest.raises(OSError, match="File too large") as caught:
            reporter.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == f"{tmp_path}/events.out.tfevents.*"
    assert "Traceback" not in capsys.readouterr().err

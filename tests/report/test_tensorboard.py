"""TensorBoard events read back with TensorBoard's own reader."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from xlate.report.records import Records
from xlate.report.tensorboard import TensorBoardReporter


def read_back(folder: Path) -> Any:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    return events


def points(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read_back(folder).Scalars(tag)]


def test_everything_reported_is_there(tmp_path: Path) -> None:
    reporter = TensorBoardReporter(tmp_path)
    reporter.scalar("train/loss", 0.5, 10)
    reporter.histogram("weights", np.array([1.0, 2.0, math.nan]), 10)
    reporter.histogram("nothing", np.zeros(0), 10)
    reporter.text("samples", "| a | b |", 10)
    reporter.image("picture", np.zeros((4, 6, 3), dtype=np.uint8), 10)
    reporter.event({"message": "stopped"})
    reporter.close()
    events = read_back(tmp_path)
    assert points(tmp_path, "train/loss") == [(10, 0.5)]
    assert events.Tags()["histograms"] == ["weights"]
    assert events.Histograms("weights")[0].histogram_value.num == 2
    assert (events.Images("picture")[0].height, events.Images("picture")[0].width) == (4, 6)
    assert "samples/text_summary" in events.Tags()["tensors"]
    assert Records(tmp_path / "metrics.jsonl").read() == [
        {"tag": "train/loss", "value": 0.5, "step": 10},
        {"message": "stopped"},
    ]


def test_nothing_reported_writes_nothing(tmp_path: Path) -> None:
    TensorBoardReporter(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_an_event_must_not_look_like_a_scalar(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tag"):
        TensorBoardReporter(tmp_path).event({"tag": "x"})


def age(folder: Path) -> None:
    """Renames event files as if they were made a minute ago."""
    for path in folder.glob("events.out.tfevents.*"):
        head, second, rest = "events.out.tfevents", *path.name.split(".", 4)[3:]
        path.rename(folder / f"{head}.{int(second) - 60}.{rest}")


def test_event_files_are_named_in_the_order_they_were_made(tmp_path: Path) -> None:
    for step in (1, 2):
        reporter = TensorBoardReporter(tmp_path)
        reporter.scalar("loss", 1.0, step)
        reporter.close()
    seconds = [int(path.name.split(".")[3]) for path in tmp_path.glob("events.out.tfevents.*")]
    assert len(set(seconds)) == 2


REPORTED = [("loss", 1), ("eta", 1), ("loss", 2), ("eta", 2), ("P", 2), ("loss", 3), ("eta", 3), ("loss", 4)]


@pytest.mark.parametrize("again", range(len(REPORTED)))
def test_going_on_from_anywhere_does_not_double_curves(tmp_path: Path, again: int) -> None:
    first = TensorBoardReporter(tmp_path)
    for number, (tag, step) in enumerate(REPORTED[:-1]):
        first.scalar(tag, number, step)
    first.close()
    age(tmp_path)
    second = TensorBoardReporter(tmp_path)
    for number, (tag, step) in enumerate(REPORTED[again:], start=again):
        second.scalar(tag, number, step)
    second.close()
    expected: dict[str, list[tuple[int, float]]] = {}
    for number, (tag, step) in enumerate(REPORTED):
        expected.setdefault(tag, []).append((step, float(number)))
    assert {tag: points(tmp_path, tag) for tag in expected} == expected
    held = [(r["tag"], r["step"], r["value"]) for r in Records(tmp_path / "metrics.jsonl").read()]
    assert held == [(tag, step, float(number)) for number, (tag, step) in enumerate(REPORTED)]


def test_going_on_with_words_keeps_the_curves(tmp_path: Path) -> None:
    first = TensorBoardReporter(tmp_path)
    first.scalar("loss", 1.0, 5)
    first.close()
    age(tmp_path)
    second = TensorBoardReporter(tmp_path)
    second.text("samples", "words", 5)
    second.scalar("BLEU", 30.0, 5)
    second.close()
    assert points(tmp_path, "loss") == [(5, 1.0)]
    assert points(tmp_path, "BLEU") == [(5, 30.0)]


def test_one_row_of_hparams_in_the_runs_own_folder(tmp_path: Path) -> None:
    reporter = TensorBoardReporter(tmp_path)
    reporter.scalar("loss", 1.0, 7)
    reporter.hparams(
        {"loss.eta": 0.1, "seed": 1, "model.floats": ["a", "b"], "decoder.mode": "swap", "none": None},
        {"dev_bleu": 31.5, "P": math.nan},
    )
    reporter.close()
    assert sorted(entry.suffix for entry in tmp_path.iterdir() if entry.is_dir()) == []
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 1
    events = read_back(tmp_path)
    assert points(tmp_path, "final/dev_bleu") == [(7, 31.5)]
    held = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    params = HParamsPluginData.FromString(held).session_start_info.hparams
    assert set(params) == {"loss.eta", "seed", "model.floats", "decoder.mode"}
    assert params["loss.eta"].number_value == 0.1
    assert params["model.floats"].string_value == "['a', 'b']"
    experiment = HParamsPluginData.FromString(events.summary_metadata["_hparams_/experiment"].plugin_data.content)
    assert [info.name.tag for info in experiment.experiment.metric_infos] == ["final/dev_bleu"]
    assert "_hparams_/session_end_info" in events.summary_metadata


def test_what_cannot_be_written_is_said_once_and_names_the_file(tmp_path: Path) -> None:
    """TensorBoard writes in a thread of its own, whose error would be printed with a traceback, or lost at the end."""
    program = """
import resource, sys
from xlate.report.tensorboard import TensorBoardReporter
reporter = TensorBoardReporter(sys.argv[1])
reporter.text("first", "x", 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
reporter.text("large", "x" * 100_000, 1)
try:
    reporter.close()
except OSError as error:
    print(error.strerror, error.filename)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"File too large {tmp_path}/events.out.tfevents.*\n"
    assert "Traceback" not in done.stderr

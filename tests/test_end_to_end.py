"""The whole path on a small built-in corpus: prepare, train, translate, score, report, and what can go wrong on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Capture, Said, succeed, summary_of, times_of
from tests.made_once import made_once
from tests.report.pages import Page
from xlate.jobs.train import recipe

CORPUS = [
    "data=demo",
    "data.generated.train=400",
    "data.generated.dev=30",
    "data.generated.test=30",
    "align=fast_align",
]
# Pictures take as long as a small training.
QUICK = ["loss.binary.epochs=2", "model.threshold=1", "samples=0"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared work directory, which other modules may have trained on."""
    return made_once(tmp_path_factory, "small", prepare_small)


@pytest.fixture(scope="module")
def run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained run."""
    return made_once(tmp_path_factory, "one", lambda folder: train_quickly(work, folder))


def prepare_small(folder: Path) -> None:
    succeed("prepare", f"work={folder}", *CORPUS)


def train_quickly(work: Path, folder: Path) -> None:
    succeed("train", f"work={work}", f"run={folder}", *QUICK)


def translate(run: Path, tmp_path: Path, text: str, *overrides: str) -> str:
    (tmp_path / "in.txt").write_bytes(text.encode())
    arguments = [f"run={run}", f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.txt'}", *overrides]
    succeed("translate", *arguments)
    return (tmp_path / "out.txt").read_bytes().decode()


def test_a_run_directory_holds_everything(run: Path) -> None:
    for name in ("config.yaml", "versions.json", "weights.safetensors", "metrics.jsonl", "summary.json", "dev.out"):
        assert (run / name).is_file(), name
    assert list(run.glob("events.out.tfevents.*"))
    summary = summary_of(run)
    assert summary["finished"] is True
    assert {"P", "dev_bleu", "dev_bleu_interval", "dev_bleu_signature", "active_features", "seconds"} <= summary.keys()
    assert summary["active_features"] > 0


def test_every_line_gives_a_line(run: Path, tmp_path: Path) -> None:
    odd = ["", "   ", "zzz qqq xxx", "a\u00a0b\u200bc", "bare\rreturn", "||| | |||", "word " * 300, "Nirka va."]
    lines = translate(run, tmp_path, "\n".join(odd) + "\n").split("\n")
    assert len(lines) == len(odd) + 1
    assert [line.lower() for line in lines[:3]] == ["", "", "zzz qqq xxx"]


def test_a_page_shows_what_decided(work: Path, run: Path, tmp_path: Path, capsys: Capture, printed: Said) -> None:
    before = times_of(run.rglob("*"))
    succeed("report", str(run), f"out={tmp_path}", "split=dev", "sentences=3", "explained=2", "plots=false")
    page = Page((tmp_path / "report.html").read_text())
    page.check_whole()
    assert page.texts["h2"][-2:] == [f"What {run.name} learned", f"What decided in {run.name}"]
    assert "float weights" in page.texts["h3"]
    assert any("BB: the largest of" in heading for heading in page.texts["h3"])
    assert len(page.texts["pre"]) == 2
    assert sum(source.startswith("data:image/png;base64,") for source in page.sources) == 2
    # Outputs of runs bring their references, source and training text along.
    text = printed("compare", str(run), str(run / "dev.out"), "split=dev", "top=1")
    assert "30 sentences, 30 of them identical" in text
    assert "F1 of words" in text
    succeed("score", f"hyp={run}", "split=dev", "measures=[bleu]", "bootstrap=0")
    summary = summary_of(run)
    assert json.loads(capsys.readouterr().out)["bleu"] == pytest.approx(summary["dev_bleu"])
    assert times_of(run.rglob("*")) == before


def test_a_sweep_runs_every_job_and_shows_each(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recipe, "PICTURES", 1)
    succeed("train", "-m", f"work={work}", "loss.eta=1e-3,1e-2", "seed=1", "model=floats", "samples=2")
    runs = sorted(path.parent for path in tmp_path.rglob("summary.json"))
    assert len(runs) == 2
    for folder in runs:
        seen = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
        tags, shown = seen.Tags(), seen.summary_metadata
        # The columns are what was swept over, with what tells all runs apart.
        held = HParamsPluginData.FromString(shown["_hparams_/session_start_info"].plugin_data.content)
        assert set(held.session_start_info.hparams) == {"loss.eta", "seed", "model.name", "loss.name"}
        # A curve has two values at the least; final figures are for the table of runs.
        curves = [tag for tag in tags["scalars"] if not tag.startswith("final/")]
        assert [tag for tag in curves if len({event.value for event in seen.Scalars(tag)}) < 2] == []
        assert {"train/loss/floats", "valid/loss/floats"} <= set(curves)
        assert "custom_scalars__config__" in tags["tensors"]
        assert [tag for tag in tags["images"] if tag.startswith("samples/")] == ["samples/reordering/1"]
        assert "samples/derivation/1/text_summary" in tags["tensors"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [("a b\nc d\n", "x y\n", "sides of unequal length"), ("", "", "an empty corpus")],
    ids=["unequal", "empty"],
)
def test_corpora_that_cannot_be_used(source: str, target: str, message: str, tmp_path: Path, refused: Said) -> None:
    assert message in refused(*preparing(tmp_path, source, target))
    assert not (tmp_path / "work" / "corpus").exists()


def preparing(folder: Path, source: str, target: str, *more: str) -> list[str]:
    """The command that prepares two texts."""
    (folder / "s").write_text(source)
    (folder / "t").write_text(target)
    files = [f"data.train_source=[{folder / 's'}]", f"data.train_target=[{folder / 't'}]", "data.dev_pairs=0"]
    return ["prepare", f"work={folder / 'work'}", "data=files", "data.name=x", "data.pair=de-en", *files, *more]


def test_odd_lines_are_accepted_and_empty_sides_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pairs = [
        ("das haus ist klein .", "the house is small ."),
        ("ein haus", "a house"),
        ("klein ||| a|b", "small ||| a|b"),
    ]
    odd = [("", "nothing"), ("haus\u00a0klein\u200b", "house\u00a0small"), ("das " * 90, "the " * 90)]
    source, target = ("".join(f"{pair[side]}\n" for pair in pairs * 6 + odd) for side in (0, 1))
    with caplog.at_level("WARNING"):
        succeed(*preparing(tmp_path, source, target, "align=fast_align", "data.tokenize=false"))
    assert "1 of 21 training pairs left out: an empty side" in caplog.text

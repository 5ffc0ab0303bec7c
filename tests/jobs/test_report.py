"""The report of runs: its table, its folder and its page."""

from __future__ import annotations

import html
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.commands import Capture, Said, succeed
from tests.models.test_every_system import SYSTEMS
from tests.report.examples import make_run
from tests.report.pages import Page
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.jobs import report
from xlate.jobs.report import chosen_settings
from xlate.jobs.sparse_features import full_explanation
from xlate.jobs.translate import TokenizedText, Translator
from xlate.text.lines import write_lines


def test_chosen_settings_are_those_that_are_no_defaults(tmp_path: Path) -> None:
    config = load(TrainConfig, "train", ["work=w", "model=phrase", "sparse=local", "loss=xbleu", "base=runs/b"])
    make_run(tmp_path / "a")
    (tmp_path / "a" / "config.yaml").write_text(to_yaml(config), encoding="utf-8")
    chosen = chosen_settings(tmp_path / "a")
    assert chosen["base"] == "runs/b"
    assert chosen["model.sparse.words"] == ["top80", "class20", "class50", "class80"]
    assert not {"model.sparse.class_seed", "loss.lists.l1"} & set(chosen)
    make_run(tmp_path / "without")
    assert chosen_settings(tmp_path / "without") == {}


REFERENCES = [f"the old house number {n} stands here" for n in range(20)]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two settings of two seeds with outputs, and a folder that looks like their work directory."""
    monkeypatch.setattr("xlate.work.directory.WorkDirectory.lowercased", False)
    work = tmp_path / "work"
    (work / "corpus").mkdir(parents=True)
    write_lines(work / "corpus" / "test.source.gz", [f"Haus <{n}>" for n in range(20)])
    write_lines(work / "corpus" / "test.reference.0.gz", REFERENCES)
    (work / "corpus" / "stage.json").write_text("{}")
    for eta, seed in product((1, 2), (1, 2)):
        path = tmp_path / "runs" / f"eta={eta},seed={seed}"
        figures = {"finished": True, "dev_bleu": 30.0 + eta, "test_bleu": 30.0 + eta + seed}
        settings = {"loss": {"eta": eta}, "seed": seed, "work": str(work)}
        make_run(path, settings, figures, [0.5, 0.4 - seed / 100])
        worse = [r.replace("old", "new") if n % (eta + seed) == 0 else r for n, r in enumerate(REFERENCES)]
        write_lines(path / "test.out", worse)
    return tmp_path / "runs"


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_page_holds_everything_and_nothing_from_elsewhere(
    runs: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    before = files(runs)
    succeed("report", str(runs), "sentences=7", "plots=false")
    printed = capsys.readouterr()
    assert "± is the standard deviation over seeds" in printed.out
    assert "do not compare" not in printed.err
    assert files(runs) == before
    assert files(runs.parent / "report") == {"report.md", "report.tsv", "report.html"}
    page = Page((runs.parent / "report" / "report.html").read_text())
    page.check_whole()
    assert page.texts["h2"][:4] == ["Runs", "Significance on test", "Curves", "Sentences side by side"]
    assert page.texts["th"][-4:] == ["BLEU", "difference", "p", "p adjusted"]
    assert "33.50 ± 0.71" in page.texts["td"]
    assert "eta=2" in page.texts["td"]
    assert sum(source.startswith("data:image/svg+xml;base64,") for source in page.sources) == 4
    assert page.texts["b"].count("reference") == 7
    assert "Haus <6>" in page.texts["span"]
    assert "new" in page.texts["mark"]
    # What these runs lack the page says in the place of it.
    assert page.texts["h2"][4:] == ["What eta=2,seed=1 learned"]


def test_without_an_output_of_test_that_of_dev_is_shown(runs: Path) -> None:
    for path in runs.parent.rglob("test.*"):
        path.rename(path.with_name(path.name.replace("test", "dev")))
    out = runs.parent / "out"
    succeed("report", str(runs), "sentences=3", "plots=false", f"out={out}")
    page = Page((out / "report.html").read_text())
    assert page.texts["h2"][1] == "Significance on dev"
    assert page.texts["b"].count("reference") == 3


def test_a_report_is_never_written_into_a_run(runs: Path, refused: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    run, before = runs / "eta=1,seed=1", files(runs / "eta=1,seed=1")
    assert "a report cannot be written into a run" in refused("report", str(runs), f"out='{run / 'report'}'")
    monkeypatch.chdir(run)
    refused("report", ".")
    assert files(run) == before
    succeed("report", ".", "out=../of-one", "plots=false", "html=false")
    assert files(runs / "of-one") == {"report.md", "report.tsv"}


def test_rows_measured_on_another_dev_set_are_named(runs: Path, capsys: Capture) -> None:
    """A run on the first 10 sentences, and one of another work directory, whose files are gone."""
    few = {"loss": {"eta": 3}, "work": f"{runs.parent}/work", "dev_sentences": 10}
    for name, settings in (("few", few), ("elsewhere", {"loss": {"eta": 4}, "work": "gone"})):
        make_run(runs / name, settings, {"finished": True, "dev_bleu": 20.0})
    make_run(runs / "unmeasured", {"loss": {"eta": 5}, "work": "gone too"}, {"finished": True})
    out = runs.parent / "out"
    succeed("report", str(runs), f"out={out}", "plots=false", "explained=0", "sentences=0")
    said = "do not compare BLEU on dev: the dev set of eta=2 is not that of elsewhere, few"
    assert said in capsys.readouterr().err
    assert f"Warning: {said}." in (out / "report.html").read_text()


def test_imported_systems_are_named_and_left_out(runs: Path, tmp_path: Path, remarked: Said, refused: Said) -> None:
    make_run(runs / "moses", {"imported": "moses.ini"}, {"finished": True, "pairs": 3})
    assert "no training figures and are left out: moses (moses.ini)\n" in remarked(
        "report", str(runs), f"out={tmp_path / 'out'}", "plots=false", "html=false"
    )
    table = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| eta=1 |" in table
    assert "moses" not in table
    assert "only imported systems" in refused("report", str(runs / "moses"), f"out={tmp_path / 'out'}")


def test_sentences_come_with_the_features_that_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(TokenizedText(), SYSTEMS["phrase sparse"]().with_search(nbest=1))
    work = SimpleNamespace(has_split=lambda _: True, source_lines=lambda _: ["b d a"])
    monkeypatch.setattr(report, "config_of_run", lambda _: None)
    monkeypatch.setattr(report, "work_of_run", lambda _: work)
    monkeypatch.setattr(Translator, "of_run", lambda *_: translator)
    heading, _, explanation = report.explained_sentences(Path("run"), "dev", 2)
    assert heading.startswith("<h3>b d a → ")
    assert "sparse features that fired: " in explanation
    assert explanation == f"<pre>{html.escape(full_explanation(translator.translate_line('b d a')))}</pre>"

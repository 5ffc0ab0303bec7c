"""Predictions in context on a small built-in corpus: figures of a classifier, and tables of sentences for Moses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.made_once import made_once
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import PHRASE, trained, translated
from xlate.cli.main import main
from xlate.models.context.opening import context_model
from xlate.text.lines import read_lines
from xlate.work.directory import WorkDirectory

CONTEXT = ["model=context", "model.bits=14", "model.words=[all]", "loss.epochs=2"]


@pytest.fixture(scope="module")
def classifier(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "classifier", lambda folder: trained(work, folder, *CONTEXT))


@pytest.fixture(scope="module")
def run(work: Path, classifier: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    given = [*PHRASE, "loss=mira", "context=feature", f"model.context.run={classifier}", "model.context.best=5"]
    return made_once(tmp_path_factory, "predicting", lambda folder: trained(work, folder, *given))


def figures_of(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_a_classifier_says_how_good_it_is(
    work: Path,  # noqa: F811
    classifier: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    capsys.readouterr()
    one_vs_rest = trained(work, tmp_path / "run", *CONTEXT, "loss=one_vs_rest", "loss.epochs=1")
    told = f"the right translation first in {100 * one_vs_rest['accuracy']:.1f} %"
    assert told in capsys.readouterr().err
    for folder, figures in ((classifier, figures_of(classifier)), (tmp_path / "run", one_vs_rest)):
        bands = figures["accuracy_by_frequency"].values()
        assert sum(band["instances"] for band in bands) == figures["heldout_instances"]
        # A tie is an error of P, and need not be one here.
        assert figures["accuracy"] >= 1 - figures["P"] - 1e-3
        assert figures["accuracy"] > 0.5
        assert 0 < figures["baseline_accuracy"] < 1
        assert 0 <= figures["calibration_error"] < 0.5
        events = b"".join(path.read_bytes() for path in folder.glob("events.out.tfevents.*"))
        for tag in (b"valid/reliability", b"valid/accuracy_by_frequency", b"weights/context/sparse", b"valid/accuracy"):
            assert tag in events


@pytest.mark.parametrize("reordering", ["files", "scores"])
def test_tables_of_sentences_translate_as_the_run_does(run: Path, tmp_path: Path, reordering: str) -> None:
    free = translated(run, tmp_path, "nbest=10", f"nbest_out={tmp_path / 'free.nbest'}")
    out = tmp_path / "tables"
    for _ in range(2):
        given = [f"out={out}", f"input={tmp_path / 'in.txt'}", f"reordering={reordering}"]
        assert main(["export", f"run={run}", *given]) == 0
    own = translated(run, tmp_path, f"tables={out}", "nbest=10", f"nbest_out={tmp_path / 'own.nbest'}")
    assert own == free
    assert (tmp_path / "own.nbest").read_text() == (tmp_path / "free.nbest").read_text()
    files = {"0.gz", "1.gz", "2.gz", "README.txt", "translate.sh", "input.txt", "moses.ini", "lm.arpa.gz"}
    beside = {f"reordering.{n}.gz" for n in range(3)} if reordering == "files" else set()
    cased = {"truecase-model.source", "truecase-model.target"}
    assert {path.name for path in out.iterdir()} == files | beside | cased | {"xlate-export.json"}
    size = 5 if reordering == "files" else 11
    assert f"num-features={size} path=0.gz " in (out / "moses.ini").read_text()
    assert read_lines(out / "1.gz") == []
    for n in (0, 2):
        rows = [line.split(" ||| ") for line in read_lines(out / f"{n}.gz")]
        assert rows == sorted(rows, key=lambda row: f"{row[0]} |||".encode())
        assert {(len(row), len(row[2].split(" "))) for row in rows} == {(6, size)}
        if reordering == "files":
            told = [line.split(" ||| ")[:2] for line in read_lines(out / f"reordering.{n}.gz")]
            assert told == [row[:2] for row in rows]


def test_what_has_no_place_in_tables_is_refused(
    run: Path, classifier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translated(run, tmp_path)
    assert main(["export", f"run={run}", f"out={tmp_path / 'out'}"]) == 2
    assert "input=FILE" in capsys.readouterr().err
    assert main(["export", f"run={classifier}", f"out={tmp_path / 'out'}", f"input={tmp_path / 'in.txt'}"]) == 2
    assert main(["export", f"run={run}", f"out={tmp_path / 'out'}", f"input={tmp_path / 'in.txt'}"]) == 0
    (tmp_path / "in.txt").write_text("Nirka va.\n\nGonban va fuspan ri pikum nu.\n")
    tables = f"tables={tmp_path / 'out'}"
    assert main(["translate", f"run={run}", f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'o'}", tables]) == 2
    assert "another sentence" in capsys.readouterr().err
    (tmp_path / "in.txt").write_text("nirka " * 401 + "\n")
    assert main(["export", f"run={run}", f"out={tmp_path / 'out2'}", f"input={tmp_path / 'in.txt'}"]) == 2
    assert "401 words" in capsys.readouterr().err


def test_weights_and_a_sentence_are_shown_in_words(
    work: Path,  # noqa: F811
    classifier: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = context_model(classifier, WorkDirectory(work).check())
    translated_most = model.targets.table.source_phrases[int(np.diff(model.listed.offsets_P1).argmax())]
    phrase = " ".join(model.vocabulary.word(word) for word in translated_most.tolist())
    capsys.readouterr()
    assert main(["inspect", f"run={classifier}", f"find='{phrase}'", "top=3"]) == 0
    shown = capsys.readouterr().out
    assert f"{phrase}: " in shown
    assert "all[-1]=" in shown
    assert main(["inspect", f"run={classifier}", "sentence='Nirka no holdo va bolko ast.'", "top=4"]) == 0
    shown = capsys.readouterr().out
    assert "in context" in shown
    assert "nirka no holdo va bolko ast ." in shown.lower()
    assert main(["inspect", f"run={classifier}", "find=xyzzy"]) == 2
    assert "no phrase with translations in context" in capsys.readouterr().err
    assert main(["inspect", f"run={classifier}", f"weights={tmp_path / 'w'}"]) == 2
    assert "have no names" in capsys.readouterr().err

"""Factors of a user's own files as contexts: trained, tuned and translated with them, and bad lines."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.commands import Capture, succeed, summary_of, translations
from tests.made_once import made_once
from tests.test_phrase_system_end_to_end import PHRASE, trained
from xlate.cli.main import main
from xlate.text.factors import FactoredWord, told_apart, with_factors
from xlate.work.directory import WorkDirectory

SMALL = ["data.generated.train=300", "data.generated.dev=12", "data.generated.test=12"]
CONTEXT = ["model=context", "model.factors=[pos]", "model.words=[all]", "model.bits=12", "model.folds=2"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def prepare(folder: Path) -> None:
        succeed("prepare", "data=demo_factored", f"work={folder}", *SMALL, "align=fast_align")

    return made_once(tmp_path_factory, "factored", prepare)


@pytest.fixture(scope="module")
def run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def train(folder: Path) -> None:
        trained(work, folder / "classifier", *CONTEXT, "loss.epochs=2")
        use = ["context=feature", f"model.context.run={folder / 'classifier'}"]
        trained(work, folder / "run", *PHRASE, *use, "loss=mira", "loss.tune.rounds=1")

    return made_once(tmp_path_factory, "factored-runs", train)


def test_words_bring_their_factors_along() -> None:
    word = FactoredWord.of("house", {"pos": "NOUN"})
    assert word == "house"
    again = pickle.loads(pickle.dumps([word]))[0]
    assert again.factors == {"pos": "NOUN"}
    assert told_apart([word]) != told_apart(["house"])
    assert told_apart([word]) == told_apart([again])
    assert with_factors(["a"], {}) == ["a"]


def test_lines_with_factors_are_translated_in_their_contexts(work: Path, run: Path, tmp_path: Path) -> None:
    lines = WorkDirectory(work).source_lines("test")
    assert all("|" in line for line in lines if line)
    found = translations(run / "run", tmp_path, lines)
    assert len(found) == len(lines)
    assert translations(run / "run", tmp_path, lines, "processes=2") == found
    assert summary_of(run / "run")["tune_BLEU"] > 5


def test_bad_lines_are_refused_each_with_its_message(
    work: Path, run: Path, tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(line: str) -> str:
        (tmp_path / "in").write_text(f"{line}\n")
        given = [f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}"]
        assert main(["translate", f"run={run / 'run'}", *given]) == 2
        assert not (tmp_path / "out").exists()
        return capsys.readouterr().err

    good = WorkDirectory(work).source_lines("test")[0]
    word = good.split()[0].split("|")[0]
    assert "without the factor pos" in refused(word)
    assert "wrong number of factors" in refused(f"{good} {word}")
    assert "wrong number of factors" in refused(f"{good} {word}|1|2|3|4")
    assert len(translations(run / "run", tmp_path, [good.replace(good.split()[0], f"{word}|nothing", 1)])) == 1
    assert "pos=nothing" in caplog.text + capsys.readouterr().err

"""Several systems as one on a small built-in corpus: trained, stopped and resumed, and translated with."""

from __future__ import annotations

import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.commands import Said, sets_of, succeed, times_of
from tests.made_once import made_once
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import FEW, SEARCH, listed, trained, translated
from xlate.cli.main import main
from xlate.config.choices import CHOICES
from xlate.config.load import load
from xlate.config.schema import PrepareConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.jobs.train.combination import CombinationTraining, parts_of
from xlate.jobs.train.recipe import DRAWN
from xlate.jobs.train.rerank import RankTraining
from xlate.learning.run import Run
from xlate.models.rerank.combination import CombinedSystem, system_folders
from xlate.report.run_directory import RunDirectory
from xlate.text.lines import read_lines, write_lines
from xlate.tuners.settings import MiraConfig
from xlate.work.directory import WorkDirectory

KEYS = " ".join(["model=phrase", *FEW, *SEARCH])
ONCE = f"{KEYS} loss.tune.rounds=1"
SYSTEMS = [f"plain={ONCE} loss=mira", f"unordered={ONCE} loss=mert loss.tune.restarts=2 model.reordering=none"]


def combination(*systems: str) -> list[str]:
    given = ",".join(f"'{system}'" for system in systems)
    return ["model=combination", f"model.systems=[{given}]", "model.size=20", "loss.tune.rounds=2"]


@pytest.fixture(scope="module")
def combined(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "combined", lambda folder: trained(work, folder, *combination(*SYSTEMS)))


def test_the_lists_of_all_systems_are_merged_and_the_ranker_chooses(combined: Path, tmp_path: Path) -> None:
    """A translation equals the first one that the commands for lists make of the systems' lists."""
    for name in ("plain", "unordered"):
        run = combined / "systems" / name
        translated(run, tmp_path, "nbest=20", f"nbest_out={tmp_path / name}", "detokenize=false")
    (tmp_path / "source").write_text("nirka no holdo va bolko ast .\n\ngonban va fuspan ri pikum nu .\n")
    out = tmp_path / "best"
    arguments = [f"merge=[unordered={tmp_path / 'unordered'}]", f"run={combined}", f"source={tmp_path / 'source'}"]
    succeed("nbest", "rescore", str(tmp_path / "plain"), *arguments, f"out={tmp_path / 'o'}", f"best_out={out}")
    together, lists = listed(combined, tmp_path, "detokenize=false", "nbest=3")
    assert [line.lower() for line in together] == out.read_text().lower().splitlines()
    rows = [line.split(" ||| ") for line in lists.splitlines()]
    assert [row[0] for row in rows].count("0") == 3
    of_name = sets_of(combined)["rerank"].floats | {"words": 1.0}
    for _, _, features, score, *_ in rows:
        values = dict(part.split("= ") for part in re.findall(r"\S+= \S+", features))
        assert values.keys() == of_name.keys()
        assert float(score) == pytest.approx(
            sum(of_name[name] * float(value) for name, value in values.items()), abs=1e-4
        )


def test_what_is_chosen_from_the_lists_is_what_is_translated(work: Path, combined: Path, tmp_path: Path) -> None:  # noqa: F811
    lines = WorkDirectory(work).source_lines("dev")
    write_lines(tmp_path / "dev", lines)
    translated(combined, tmp_path, f"input={tmp_path / 'dev'}")
    assert (tmp_path / "out.txt").read_text() == (combined / "dev.out").read_text()
    assert len(lines) > DRAWN


def test_a_bar_in_a_list_is_one_in_the_translation(combined: Path, tmp_path: Path) -> None:
    """Lists are written with `&#124;`; the words that the systems themselves return have bars."""
    for name in ("plain", "unordered"):
        lines = [line for line in read_lines(combined / f"{name}.nbest") if line.startswith("0 ||| ")]
        write_lines(tmp_path / name, [line.replace(" ||| ", " ||| &#124; ", 1) for line in lines])
    training = CombinationTraining(config_of_run(combined))
    merge = [f"unordered={tmp_path / 'unordered'}"]
    training.config = replace(training.config, nbest=str(tmp_path / "plain"), merge=merge)
    training.text = replace(training.text, sources=[["nirka"]])
    run = cast(Run, SimpleNamespace(path=combined))
    ((source, text),) = training._chosen(run).items()
    assert source == ("nirka",)
    assert text.startswith("|")


def test_an_explanation_says_which_system_translated_and_why_it_was_chosen(
    combined: Path, tmp_path: Path, remarked: Said
) -> None:
    (tmp_path / "in.txt").write_text("Nirka no holdo va bolko ast.\n")
    explained = remarked("translate", f"run={combined}", f"input={tmp_path / 'in.txt'}", "trace=true")
    assert re.search(r"by (plain|unordered):\n\[", explained)
    assert re.search(r"chosen by:\n(  .*\n)*  words ", explained)


def test_runs_are_combined_as_trainings_are_and_a_stopped_one_ends_alike(
    work: Path,  # noqa: F811
    combined: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Said,
) -> None:
    """Stopped by a signal, which leaves no list unfinished, and killed when all lists are there."""
    run = tmp_path / "run"
    systems = [f"{name}={combined / 'systems' / name}" for name in ("plain", "unordered")]
    given = ["train", f"work={work}", f"run={run}", *combination(*systems)]
    lines = CombinationTraining._lines

    def interrupted(self: Any, folder: Path, name: str) -> Any:
        for number, line in enumerate(lines(self, folder, name)):
            if name == "unordered" and number == 5:
                signal.raise_signal(signal.SIGTERM)
            assert name == "plain" or number < 7
            yield line

    def killed(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(CombinationTraining, "_lines", interrupted)
        assert main(given) != 0
    assert [path.name for path in run.glob("*nbest*")] == ["plain.nbest"]
    first = times_of(run.glob("*.nbest"))
    with monkeypatch.context() as patch:
        patch.setattr(RankTraining, "learn", killed)
        assert main(given) != 0
    before = times_of(run.glob("*.nbest"))
    assert first.items() < before.items()
    translate, translated_again = CombinedSystem.translate, []

    def noted(self: CombinedSystem, words: Any) -> Any:
        translated_again.append(words)
        return translate(self, words)

    monkeypatch.setattr(CombinedSystem, "translate", noted)
    succeed(*given)
    assert len(translated_again) == DRAWN
    assert times_of(run.glob("*.nbest")) == before
    made, whole = (sets_of(folder)["rerank"] for folder in (run, combined))
    assert made.dense_D.tolist() == whole.dense_D.tolist()
    assert made.sparse_F.tolist() == whole.sparse_F.tolist()
    assert "a run from elsewhere cannot be packed" in refused("pack", f"run={run}", f"out={tmp_path / 'pack'}")


def test_the_table_has_what_each_run_gains_and_costs(combined: Path, tmp_path: Path) -> None:
    """The scores are those of the runs' own summaries; a run without translations has only its minutes."""
    runs = [tmp_path, combined / "systems" / "plain", combined / "systems" / "unordered", combined]
    training = CombinationTraining(config_of_run(combined))
    table = training.gains(["serving", "plain", "unordered", "together"], runs, [60.0, None, 30.0, 90.0])
    columns = {column.title: column.values for column in table.columns}
    scores = [RunDirectory.open(run).summary["dev_bleu"] for run in runs[1:]]  # type: ignore[index]
    assert columns["BLEU"] == [None, *map(pytest.approx, scores)]
    assert columns["difference"] == [None, *(pytest.approx(score - scores[0]) for score in scores)]
    assert columns["p"][:2] == [None, 1.0]
    assert columns["minutes"] == [1.0, None, 0.5, 1.5]


def test_recipes_choose_for_both_commands_and_given_keys_come_first(tmp_path: Path) -> None:
    """Every part of a recipe composes, which only `xlate train` would otherwise show, hours later."""
    for name in CHOICES["recipe"]:
        assert load(PrepareConfig, "prepare", [f"recipe={name}"]).lm.order == 5
        config = load(TrainConfig, "train", [f"recipe={name}", "work=w", "seed=3", "loss=pro"])
        assert (config.loss.name, config.model.kind) == ("pro", "phrase" if name == "fast" else "combination")
        if name != "fast":
            assert {(part.work, part.seed) for part, _ in parts_of(config, tmp_path)} == {("w", 3)}


def test_systems_decode_in_as_many_processes_as_the_combination(tmp_path: Path) -> None:
    """Unless its own keys ask for several; a model without a decoder has none."""
    systems = ["a=model=phrase", "b=model=phrase loss=xbleu sparse=all", "c=model=phrase loss.tune.processes=2"]
    keys = [*combination(*systems, "d=model=joint"), "loss.tune.processes=3"]
    config = load(TrainConfig, "train", ["work=w", *keys])
    assert isinstance(tune := config.loss.tune, MiraConfig)
    # Only the ranker takes shorter steps than usual.
    assert tune.C == 0.1 * MiraConfig().C
    parts = [part.loss for part, _ in parts_of(config, tmp_path)]
    assert isinstance(tune := parts[0].tune, MiraConfig)
    assert tune.C == MiraConfig().C
    assert [loss.tune and loss.tune.processes for loss in parts] == [3, 3, 2, None]
    assert [loss.lists and loss.lists.processes for loss in parts] == [None, 3, None, None]


def test_a_run_of_a_sweep_is_a_path(tmp_path: Path) -> None:
    """Its folder has `=` in its name, as keys have."""
    found = system_folders(["a=sweep/seed=1", "b=model=phrase seed=1"], tmp_path)
    assert found == {"a": Path("sweep/seed=1"), "b": tmp_path / "systems" / "b"}


def test_a_system_that_changed_is_refused(combined: Path, tmp_path: Path, refused: Said) -> None:
    run = tmp_path / "run"
    shutil.copytree(combined, run)
    shutil.copy(run / "systems" / "plain" / "weights.safetensors", run / "systems" / "unordered")
    assert "systems that changed since they were combined" in refused("translate", f"run={run}", f"input={os.devnull}")


@pytest.mark.parametrize(
    ("systems", "told"),
    [
        ([], "no systems to combine"),
        (["a", "b"], "model.systems needs a name of its own"),
        (["a=model=phrase los=mira", "b=runs/b"], "loss"),
        (["a=model=phrase", "b=runs/b"], "the run has no weights yet"),
    ],
)
def test_what_cannot_be_combined_is_refused(
    work: Path,  # noqa: F811
    refused_training: Said,
    systems: list[str],
    told: str,
) -> None:
    assert told in refused_training(work, *combination(*systems))

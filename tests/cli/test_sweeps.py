"""What the command line makes of a sweep before Hydra sees it."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import pytest

from tests.clusters import BOX, SLOW, reached
from tests.commands import Capture, Said, succeed
from tests.report.examples import make_run
from tests.test_end_to_end import work  # noqa: F401
from xlate.cli.arguments import read_words
from xlate.cli.main import main
from xlate.cli.train import expand, in_sweep
from xlate.cli.train import run as train_without_hydra
from xlate.config.choices import folder_name
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import identity_of_training

Trainings = list[tuple[TrainConfig, list[str]]]


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    """Trainings, as their settings and overrides, that are finished at once; later ones have a higher BLEU."""
    begun: Trainings = []

    def train(config: TrainConfig, folder: Path, given: list[str], *_: object) -> None:
        begun.append((config, given))
        make_run(folder, identity_of_training(config), {"finished": True, "dev_bleu": 30.0 + len(begun)})

    monkeypatch.setattr("xlate.jobs.train.train.check_training", lambda config: None)
    monkeypatch.setattr("xlate.jobs.train.train.train", train)
    return begun


def expanded(*arguments: str) -> list[str]:
    """The overrides that are made of a command line."""
    return list(expand(read_words(arguments)).overrides)


def test_keys_of_a_swept_group_are_forced_and_only_what_is_swept_names_folders() -> None:
    made = expanded("-m", "model=phrase", "loss=mira,mert", "loss.tune.references=[a,b]", "seed=range(1,4)", "data=x")
    assert made == [
        "model=phrase", "loss=mira,mert", "++loss.tune.references=[a,b]", "seed=range(1,4)", "data=x",
        "hydra.job.config.override_dirname.exclude_keys=[run,work,model,loss.tune.references,data]",
    ]  # fmt: skip


def test_an_experiment_opens_every_key() -> None:
    made = expanded("--multirun", "experiment=auli2014/table4", "loss.tune.rounds=2,3", "work=w", "hydra.verbose=true")
    assert made[0].startswith("experiment=auli2014/table4-row1,auli2014/table4-row2,")
    assert made[1:] == ["++loss.tune.rounds=2,3", "work=w", "hydra.verbose=true"]


def test_without_choices_every_setting_names_the_folder() -> None:
    assert expanded("loss=mira", "seed=3") == ["loss=mira", "seed=3"]
    assert expanded("-m", "loss=mira", "seed=3") == ["loss=mira", "seed=3"]
    assert expanded("-m", "nbest=a'b,cä", "seed=3")[:2] == [r"nbest='a\'b','cä'", "seed=3"]
    assert expanded("-m", "nbest=a'b,cä", "seed=3")[2].endswith("=[run,work,seed]")
    one = expanded("-m", "experiment=auli2014/joint-row1", "seed=1,2", "data.pair=a-b")
    assert one[-1] == "hydra.job.config.override_dirname.exclude_keys=[run,work,data.pair]"


@pytest.mark.parametrize(
    ("base", "settings", "found"),
    [
        ("{sweep}/experiment=p/t-row5", "experiment=p/t-row7,seed=2", "s/experiment=p/t-row5,seed=2"),
        ("{sweep}/experiment=p/t-row5", "++experiment=p/t-row7,a=b/c", None),
        ("{sweep}/experiment=p/t-row5", "a=1,experiment=p/t-row7", "s/a=1,experiment=p/t-row5"),
        ("{sweep}/experiment=p/t-row5", "", "s/experiment=p/t-row5"),
        ("{sweep}/experiment=p/t-row5", "seed=2", "s/experiment=p/t-row5"),
        ("runs/x", "experiment=p/t-row7,seed=2", "runs/x"),
    ],
)
def test_another_row_of_a_sweep_is_the_one_with_the_same_values(base: str, settings: str, found: str | None) -> None:
    own = settings.replace("row7", "row5")
    assert in_sweep(base, "s", settings) == (found or f"s/{folder_name(own)}")


def write_rows(folder: Path, rows: dict[int, str]) -> list[str]:
    """Writes rows of a table by their numbers; what is given for a sweep over them in a folder `sweep`."""
    files = folder / "mine" / "experiment" / "p"
    files.mkdir(parents=True)
    for number, text in rows.items():
        (files / f"t-row{number}.yaml").write_text(f"# @package _global_\n{text}\n")
    names = ",".join(f"p/t-row{number}" for number in rows)
    return ["-m", f"experiment={names}", "--config-dir", str(folder / "mine"), f"run={folder / 'sweep'}"]


def test_rows_over_seeds_start_from_the_row_of_their_seed(tmp_path: Path, trainings: Trainings) -> None:
    """Row 2 has row 1 of its own seed as its base, in the folder that row 1 has in the sweep."""
    sweep = write_rows(tmp_path, {1: "base: null", 2: "base: '{sweep}/experiment=p/t-row1'"})
    succeed("train", *sweep, "seed=1,2", "work=w")
    bases = [config.base for config, _ in trainings]
    assert bases == [None, None, *(f"{tmp_path}/sweep/experiment=p/t-row1,seed={seed}" for seed in (1, 2))]


@pytest.mark.usefixtures("trainings")
def test_names_of_runs_differ_when_their_settings_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    choice = tmp_path / "mine" / "decoder" / "own.yaml"
    choice.parent.mkdir(parents=True)
    few = ["model=floats", "loss=uniform", "dev_sentences=2", "work=work/w", "checkpoint_seconds=5"]
    folders = []
    for more, beam in (([], 10), (["seed=2"], 10), (["decoder=own"], 10), (["decoder=own"], 11)):
        choice.write_text(f"defaults: [mon, _self_]\nbeam: {beam}\n")
        folders.append(printed("train", *more, *few, "--config-dir", "mine").strip())
    name = "dev_sentences=2,loss=uniform,model=floats"
    assert folders[:3] == [f"runs/w,{name}", f"runs/w,{name},seed=2", f"runs/w,decoder=own,{name}"]
    # The same words with another meaning: the file of the choice was changed.
    assert folders[3].startswith(f"{folders[2]}~")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "experiment=TYPO"], ["no such experiment", "experiment=TYPO", "did you mean experiment="]),
        (["-m", "experiment=auli2014/tabel1"], ["did you mean experiment=auli2014/table1?"]),
        (["-m", "experiment=auli2014/table1-row1,auli2014/table1-row99"], ["auli2014/table1-row99", "did you mean"]),
        (["experiment=auli2014/table1-row0"], ["did you mean experiment=auli2014/table1-row"]),
        (["experiment=auli2014/table1"], ["is a table", "-m experiment=auli2014/table1"]),
        (["experiment=../model/block"], ["no such experiment"]),
        (["++experiment=TYPO"], ["no such experiment"]),
    ],
)
def test_experiments_that_are_not_there_are_refused(
    arguments: list[str],
    words: list[str],
    tmp_path: Path,
    refused: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = refused("train", "work=nowhere", *arguments)
    assert all(word in seen for word in words), seen
    assert list(tmp_path.iterdir()) == []


def test_experiments_that_lie_elsewhere_are_left_to_hydra(
    tmp_path: Path, printed: Said, refused: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "ours.yaml").write_text("# @package _global_\nwork: ours/of/nothing\n")
    assert "ours/of/nothing" in refused("train", "--config-dir", "mine", "experiment=ours")
    assert "experiment=TYPO" in refused("train", "--config-dir", "mine", "experiment=TYPO")
    assert "this experiment is a table" in refused("train", "--config-dir", "mine", "experiment=auli2014/table1")
    (tmp_path / "mine" / "experiment" / "more.yaml").write_text(
        "# @package _global_\ndefaults: [tillmann2007/table7-row1, _self_]\nseed: 7\n"
    )
    seen = printed("train", "--config-dir", "mine", "experiment=more", "--cfg", "job")
    assert "seed: 7" in seen
    assert "table: Table VII" in seen


def test_a_job_that_meets_another_run_says_how_to_name_the_folder_of_a_sweep(
    work: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    """A key with one value is no part of the names of folders where something else is swept over."""
    given = ["model=floats", "loss=uniform", f"work={work}"]
    for beam in (5, 6):
        config = load(TrainConfig, "train", [*given, f"decoder.beam={beam}", "seed=1"])
        make_run(tmp_path / f"decoder.beam={beam}", identity_of_training(config), {"finished": True})
    said = refused("train", "-m", *given, "decoder.beam=5,6", "seed=2", f"run={tmp_path}")
    assert "seed: 1 there, 2 requested" in said
    assert "sweep over both values, seed=1,2, or name another folder for the sweep, hydra.sweep.dir=FOLDER" in said


def test_a_sweep_of_no_job_is_refused(tmp_path: Path, refused: Said) -> None:
    given = ["experiment=glob(tillmann2007/none*)", f"work={tmp_path}", f"hydra.sweep.dir={tmp_path}/sweep"]
    assert "a sweep without jobs" in refused("train", "-m", *given)


@pytest.mark.parametrize(
    ("arguments", "spare"),
    [
        (["loss=mira,mert", "loss.tune.restarts=3"], {"loss.tune.restarts"}),
        (["loss=mira,pro", "loss.tune.restarts=3", "base=null"], {"loss.tune.restarts"}),
        (["loss=mira,mert", "++loss.tune.rounds=3", "hydra.verbose=true"], {"loss.tune.rounds"}),
        (["loss=choice(mira,mert)", "loss.tune.restarts=3"], set()),
        (["loss=mira,mert", "loss.tune.restarts=3", "--config-dir=mine"], set()),
        (["seed=1,2", "loss.eta=0.1"], set()),
    ],
)
def test_single_keys_may_be_left_out_where_choices_are_swept_over(arguments: list[str], spare: set[str]) -> None:
    words = read_words(["-m", "model=phrase", *arguments])
    assert expand(words).spare == spare


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["loss=mira,pro", "loss.tune.restarts=3"], "loss.tune.restarts"),
        (["loss=mira,pro", "loss.tune.restarts=3", "hydra.sweeper.max_batch_size=1"], "loss.tune.restarts"),
    ],
)
def test_a_key_that_no_job_uses_is_refused(arguments: list[str], key: str, tmp_path: Path, refused: Said) -> None:
    sweep = ["-m", "model=phrase", "decoder=phrase", *arguments, "work=nowhere"]
    assert f"seen:     {key}" in refused("train", *sweep, f"hydra.sweep.dir={tmp_path / 'sweep'}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["experiment=watanabe2007/systems-row3,watanabe2007/systems-row6", "source.C=1e-3"],
        ["model=phrase", "decoder=phrase", "loss=pro,mert", "loss.tune.restarts=3", "hydra.sweeper.max_batch_size=1"],
        # The default of another choice counts as not set.
        ["model=phrase", "decoder=phrase", "loss=mira,pro", "loss.tune.restarts=20"],
    ],
)
def test_a_key_that_some_job_uses_is_accepted(arguments: list[str], tmp_path: Path, refused: Said) -> None:
    folder = f"hydra.sweep.dir={tmp_path / 'sweep'}"
    seen = refused("train", "-m", *arguments, f"work={tmp_path / 'nowhere'}", folder)
    assert "not a prepared work directory" in seen
    assert "does not use this key" not in seen


def test_a_job_leaves_out_what_only_another_uses(tmp_path: Path, trainings: Trainings) -> None:
    sweep = ["-m", "model=phrase", "loss=mert,mira", "loss.tune.rounds=1", "loss.tune.restarts=1", "work=w"]
    succeed("train", *sweep, f"hydra.sweep.dir={tmp_path}")
    (mert, told), (mira, told_less) = trainings
    assert getattr(mert.loss.tune, "restarts", None) == 1
    assert not hasattr(mira.loss.tune, "restarts")
    assert set(told) - set(told_less) == {"loss=mert", "++loss.tune.restarts=1"}
    rows = [line.split("\t")[0] for line in (tmp_path / "sweep.tsv").read_text().splitlines()]
    assert rows == ["run", "loss=mira", "loss=mert"]


@pytest.mark.usefixtures("trainings")
def test_a_table_has_only_the_jobs_of_its_sweep_and_tells_of_other_dev_sets(tmp_path: Path, remarked: Said) -> None:
    given = ["train", "-m", "model=floats", "work=w", f"run={tmp_path}"]
    assert "do not compare" not in remarked(*given, "decoder.beam=4,5", "dev_sentences=2")
    said = remarked(*given, "dev_sentences=2,3")
    table = [line.split("\t")[0] for line in (tmp_path / "sweep.tsv").read_text().splitlines()]
    assert table == ["run", "dev_sentences=3", "dev_sentences=2"]
    assert "not in the table: 2 runs of other sweeps in this folder" in said
    assert "do not compare BLEU on dev: the dev set of dev_sentences=3 is not that of dev_sentences=2" in said


def trained_rows(work: Path, folder: Path, *more: str) -> dict[str, str]:  # noqa: F811
    """The SHA-256 of the weights and translations of rows of a table.

    The second row starts from the first one, and the third from a run that is missing.
    """
    few, rows = "loss: {tune: {start: base, rounds: 1, nbest: 5}}", {}
    for number, base in ((1, "null"), (2, "'{sweep}/experiment=p/t-row1'"), (3, "nowhere")):
        loss = "uniform" if number == 1 else "mira"
        model = f"defaults: [override /model: floats, override /loss: {loss}]\nbase: {base}"
        row = f"row: {{page: {folder.parent / 'page.md'}, table: T, number: {number}, label: row, paper: ''}}"
        rows[number] = "\n".join([model, row, few if number > 1 else ""])
    sweep = write_rows(folder, rows)
    assert main(["train", *sweep, f"work={work}", "dev_sentences=2", "samples=0", *more]) == 2
    files = [path for name in ("weights.safetensors", "dev.out") for path in (folder / "sweep").rglob(name)]
    assert len(files) == 4
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("cluster", [BOX, *SLOW])
def test_tasks_train_the_runs_of_a_sweep(
    work: Path,  # noqa: F811
    tmp_path: Path,
    cluster: list[str],
    capsys: Capture,
) -> None:
    expected = trained_rows(work, tmp_path / "here")
    capsys.readouterr()
    with reached(cluster) as given:
        assert trained_rows(work, tmp_path / "there", *given) == expected
    seen = capsys.readouterr()
    assert seen.out.split() == [f"{tmp_path}/there/sweep/experiment=p/t-row{number}" for number in (1, 2)]
    assert "nowhere" in seen.err
    assert "2 runs, best first" in seen.err
    # Rows that are finished are on the page when another one fails.
    page = (tmp_path / "page.md").read_text()
    assert [f"| {number} | row |" in page for number in (1, 2, 3)] == [True, True, False]


@pytest.mark.usefixtures("trainings")
def test_a_refused_sweep_shows_no_runs_of_an_earlier_one(tmp_path: Path, remarked: Said, refused: Said) -> None:
    words = ["train", "-m", "model=floats", "work=w", f"hydra.sweep.dir={tmp_path}"]
    assert "1 run" in remarked(*words, "base=null")
    for more, said in (("decoder.beam=5,abc", "decoder.beam"), ("seed=1,-2", "seed is out of range")):
        seen = refused(*words, more)
        assert said in seen
        assert not any(shown in seen for shown in ("best first", "1 run", "xlate report"))


@pytest.mark.parametrize(("given", "made"), [([], True), (["base=runs/x"], False), (["work=work/mine"], False)])
def test_the_demo_corpus_is_not_made_unsaid(
    given: list[str],
    made: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    trainings: Trainings,
) -> None:
    prepared = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xlate.jobs.prepare.prepare", lambda config: prepared.append(config.work))
    with caplog.at_level(logging.INFO, "xlate"):
        train_without_hydra(load(TrainConfig, "train", given))
    said = "no work=FOLDER is set: xlate first creates work/demo from its built-in corpus"
    assert (prepared, said in caplog.messages) == (["work/demo"] if made else [], made)
    assert len(trainings) == 1

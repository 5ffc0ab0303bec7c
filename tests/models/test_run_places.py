"""Runs that were moved, or are used from another directory, find what they stand on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from xlate.config.load import load
from xlate.config.model_schema import ClassifierConfig, SparseConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.models.run_places import PLACES, located, named_runs

IDENTITY = "a" * 64


def configured(work: str, **keys: object) -> TrainConfig:
    config = load(TrainConfig, "train", ["model=phrase", "decoder=phrase", "work=w"])
    return replace(config, work=work, **keys)  # type: ignore[arg-type]


def prepared(folder: Path, identity: str = IDENTITY) -> Path:
    """A folder that looks like a work directory of some identity."""
    (folder / "blocks").mkdir(parents=True)
    (folder / "blocks" / "stage.json").write_text(json.dumps({"identity": identity, "figures": {}, "seconds": 1}))
    return folder


def run_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("seed: 1\n")
    return folder


@pytest.mark.parametrize("run", ["runs/x", "runs/sweep/x=1", "x"])
def test_a_work_directory_is_found_from_the_run_upwards(
    tmp_path: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, folder = prepared(tmp_path / "here/work/demo"), run_folder(tmp_path / "here" / run)
    monkeypatch.chdir(tmp_path)
    assert located(folder, configured("work/demo"), IDENTITY).work == str(work)
    # Where the stored path leads there too, it stays as it was.
    monkeypatch.chdir(tmp_path / "here")
    assert located(Path(run), configured("work/demo"), IDENTITY).work == "work/demo"


def test_absolute_paths_are_found_by_their_last_parts(tmp_path: Path) -> None:
    work, run = prepared(tmp_path / "new/work/demo"), run_folder(tmp_path / "new/runs/x")
    assert located(run, configured("/old/place/work/demo"), IDENTITY).work == str(work)
    still = prepared(tmp_path / "old/work/demo")
    assert located(run, configured(str(still)), IDENTITY).work == str(still)


def test_one_of_another_identity_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(tmp_path / "a/work", "b" * 64)
    run, right = run_folder(tmp_path / "a/runs/x"), prepared(tmp_path / "work")
    monkeypatch.chdir(tmp_path / "a")
    assert located(run, configured("work"), IDENTITY).work == str(right)
    (right / "blocks" / "stage.json").unlink()
    # The wrong one is then what the check of identities will name.
    assert located(run, configured("work"), IDENTITY).work == "work"


def test_none_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_folder(tmp_path / "runs/x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"is not found(?s:.*)work/demo(?s:.*)aaaaaaaaaaaa(?s:.*)work=FOLDER"):
        located(run, configured("work/demo"), IDENTITY)


def test_the_user_names_it(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "runs/x")
    assert located(run, configured("work/demo"), IDENTITY, work="w").work == "w"
    with pytest.raises(InputError, match="imported"):
        located(run, configured(""), None, work="w")
    assert located(run, configured(""), None).work == ""


def test_runs_and_classes_are_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(tmp_path / "work")
    run, base, classifier, distances = (
        run_folder(tmp_path / "runs" / name) for name in ("x", "base", "classifier", "distances")
    )
    for name in ("a.classes", "b.classes"):
        (tmp_path / name).write_text("Haus\t1\n")
    config = configured("work", base="runs/base")
    config.model = replace(
        config.model,
        context=ClassifierConfig("runs/classifier", "runs/distances"),  # type: ignore[call-arg]
        sparse=SparseConfig(words=["all", "a.classes,b.classes"]),
    )
    monkeypatch.chdir("/")
    found = located(run, config, IDENTITY)
    assert found.base == str(base)
    assert found.model.context is not None
    assert (found.model.context.run, found.model.context.distortion) == (str(classifier), str(distances))
    assert named_runs(found) == {"base": str(base), "context": str(classifier), "distortion": str(distances)}
    assert found.model.sparse is not None
    assert found.model.sparse.words == ["all", f"{tmp_path}/a.classes,{tmp_path}/b.classes"]
    # The configuration that was given is not altered.
    assert config.model.context is not None
    assert (config.model.context.run, config.model.context.distortion) == ("runs/classifier", "runs/distances")
    assert located(run, replace(config, base="runs/gone"), IDENTITY).base == "runs/gone"


def test_a_packed_run_knows_its_places_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(tmp_path / "work")
    run = run_folder(tmp_path / "packed")
    own = prepared(run / "inside")
    (run / PLACES).write_text(json.dumps({"work": "inside", "base": "base", "distortion": "d", "words": {}}))
    monkeypatch.chdir(tmp_path)
    config = configured("work", base="runs/base")
    config.model = replace(config.model, context=ClassifierConfig("runs/c", "runs/d"))  # type: ignore[call-arg]
    found = located(run, config, IDENTITY)
    assert (found.work, found.base) == (str(own), str(run / "base"))
    assert found.model.context == ClassifierConfig(str(run / "not packed" / "c"), str(run / "d"))
    with pytest.raises(InputError, match="packed"):
        located(run, configured("work"), IDENTITY, work="work")


@pytest.mark.parametrize("place", ["../../x/work/s", "/tmp", "link", "link/work", 7, None])
@pytest.mark.parametrize("key", ["work", "base", "all,b.classes"])
def test_no_path_leads_out_of_a_packed_run(
    tmp_path: Path, key: str, place: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one of `places.json`, nor one of the configuration, which is looked for wherever a run is no pack."""
    monkeypatch.chdir(tmp_path)
    prepared(tmp_path / "work")
    run_folder(tmp_path / "base")
    (tmp_path / "b.classes").write_text("Haus\t1\n")
    run, config = run_folder(tmp_path / "packed"), configured("work", base="base")
    config.model = replace(config.model, sparse=SparseConfig(words=["b.classes,b.classes"]))
    if str(place).startswith("link"):
        (run / "link").symlink_to(tmp_path)
    inside = {"work": "w", "base": "b"}
    named = {**inside, key: place} if key in inside else inside
    words = {} if key in inside else {"b.classes": place}
    held = {k: v for k, v in {**named, "words": words}.items() if v is not None}
    (run / PLACES).write_text(json.dumps({**held, "words": {k: v for k, v in words.items() if v is not None}}))
    if place is not None:
        with pytest.raises(InputError, match="a path that leads out of the packed run"):
            located(run, config, IDENTITY)
    elif key == "work":
        with pytest.raises(InputError, match="is not packed"):
            located(run, config, IDENTITY)
    else:
        found = located(run, config, IDENTITY)
        assert found.model.sparse is not None
        assert all(str(run) in path for path in (str(found.base), found.model.sparse.words[0]))

"""The weights of runs, and what they stand on, found where it lies."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from xlate.config.load import load
from xlate.config.model_schema import ClassifierConfig, HierarchicalModelConfig, SparseConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import to_yaml
from xlate.errors import InputError
from xlate.models.kind import event_kind
from xlate.models.pack_format import write_pack
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.run_files import PLACES, located, made_with, named_runs, weights_of
from xlate.scoring.weights import Weights, WeightsFile, save_weights
from xlate.work.stages import identity_of


@pytest.fixture
def config() -> TrainConfig:
    return configured("w")


@cache
def composed() -> TrainConfig:
    return load(TrainConfig, "train", ["model=phrase", "model.reordering=hier", "work=w"])


def write(run: Path, config: TrainConfig, metadata: dict | None = None) -> None:
    metadata = made_with(config.model) if metadata is None else metadata
    save_weights(run / "weights.safetensors", {"phrase": Weights.zeros(["LM0"], 0)}, metadata=metadata)
    (run / "config.yaml").write_text(to_yaml(config))


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"reordering": "none"}, r"model\.reordering=none(?s:.*)model\.reordering=hier"),
        ({"kind": "zz"}, r"model\.kind=zz"),
        ({"sparse": SparseConfig()}, r"model\.sparse"),
    ],
)
def test_an_edited_configuration_is_refused(
    config: TrainConfig, tmp_path: Path, change: dict[str, object], seen: str
) -> None:
    write(tmp_path, config)
    # What does not decide the model may change.
    for trained in (None, replace(config, work="elsewhere", seed=7)):
        assert weights_of(tmp_path, trained).sets.keys() == {"phrase"}
    edited = replace(config, model=replace(config.model, **change))  # type: ignore[arg-type]
    (tmp_path / "config.yaml").write_text(to_yaml(edited))
    for given in (None, edited):
        with pytest.raises(InputError, match=seen) as caught:
            weights_of(tmp_path, given)
        assert caught.value.file == str(tmp_path / "config.yaml")


def test_weights_that_do_not_say_how_they_were_made_are_refused(config: TrainConfig, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no weights yet"):
        weights_of(tmp_path)
    write(tmp_path, config, {})
    with pytest.raises(InputError, match="do not record how they were made"):
        weights_of(tmp_path)
    held = made_with(config.model)
    del held["made_with"]["sparse"]
    write(tmp_path, config, held)
    with pytest.raises(InputError, match=r"expected: model\.sparse=nothing"):
        weights_of(tmp_path)


def test_only_keys_are_recorded() -> None:
    rules = made_with(HierarchicalModelConfig())["made_with"]["rules"]
    assert rules["symbols"] == 5
    assert not rules.keys() & {"memory_mb", "least_gap", "least_links", "adjacent"}


def test_weights_of_other_floats_are_refused() -> None:
    model = load(TrainConfig, "train", ["work=w"]).model
    file = WeightsFile({"linked": Weights(np.zeros(1), np.zeros(0), ("unigram",))}, {}, {}, {})
    with pytest.raises(InputError, match="not the weights of the orientation model"):
        event_kind(model).checked_set(file, "linked", model)


def test_an_edited_base_is_refused(config: TrainConfig, tmp_path: Path) -> None:
    write(tmp_path, replace(config, model=replace(config.model, reordering="none")))
    with pytest.raises(InputError, match=r"(?s)config\.yaml: the base run.*reordering=none.*reordering=hier"):
        open_phrase_model(tmp_path / "run", replace(config, base=str(tmp_path)))


BLOCKS = {"on": ["a"], "settings": {}}
IDENTITY = identity_of(BLOCKS)


def configured(work: str, **keys: object) -> TrainConfig:
    return replace(deepcopy(composed()), work=work, **keys)  # type: ignore[arg-type]


def naming(classifier: str, distances: str, words: list[str]) -> TrainConfig:
    """A configuration that names runs and files of word classes."""
    config = configured("work", base="runs/base")
    context, sparse = ClassifierConfig(classifier, distances), SparseConfig(words=words)  # type: ignore[call-arg]
    return replace(config, model=replace(config.model, context=context, sparse=sparse))


def prepared(folder: Path, on: str = "a") -> Path:
    """A folder that looks like a work directory, whose identity depends on `on`."""
    for name in ("corpus", "align"):
        (folder / name).mkdir(parents=True)
        (folder / name / "stage.json").write_text(
            json.dumps({"layout": 2, "identity": on, "figures": {}, "seconds": 1})
        )
    phrases = {"on": [], "max_length": 7, "min_count": 1}
    plan = {"lm": {"on": [], "settings": {}}, "phrases": phrases, "blocks": {**BLOCKS, "on": [on]}, "memory_mb": 1}
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


def run_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("seed: 1\n")
    return folder


@pytest.mark.parametrize("run", ["runs/sweep/x=1", "x"])
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
    prepared(tmp_path / "a/work", "b")
    run, right = run_folder(tmp_path / "a/runs/x"), prepared(tmp_path / "work")
    monkeypatch.chdir(tmp_path / "a")
    assert located(run, configured("work"), IDENTITY).work == str(right)
    (right / "plan.json").unlink()
    # The wrong one is then what the check of identities will name.
    assert located(run, configured("work"), IDENTITY).work == "work"


def test_none_is_found_and_the_user_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_folder(tmp_path / "runs/x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"was not found(?s:.*)work/demo(?s:.*){IDENTITY[:12]}(?s:.*)work=FOLDER"):
        located(run, configured("work/demo"), IDENTITY)
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
    config = naming("runs/classifier", "runs/distances", ["all", "a.classes,b.classes"])
    monkeypatch.chdir("/")
    found = located(run, config, IDENTITY)
    assert found.base == str(base)
    assert (found.model.context.run, found.model.context.distortion) == (str(classifier), str(distances))
    assert named_runs(found) == {"base": str(base), "context": str(classifier), "distortion": str(distances)}
    assert found.model.sparse.words == ["all", f"{tmp_path}/a.classes,{tmp_path}/b.classes"]
    # The configuration that was given is not altered.
    assert (config.model.context.run, config.model.context.distortion) == ("runs/classifier", "runs/distances")
    assert located(run, replace(config, base="runs/gone"), IDENTITY).base == "runs/gone"


def packed(folder: Path, places: dict[str, object]) -> Path:
    """A run that has been packed, with the places that it names."""
    run = run_folder(folder)
    (run / PLACES).write_text(json.dumps(places))
    return run


def test_a_packed_run_knows_its_places_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does not name is not searched for, as it is for other runs."""
    monkeypatch.chdir(tmp_path)
    prepared(tmp_path / "work")
    run_folder(tmp_path / "runs/c")
    (tmp_path / "b.classes").write_text("Haus\t1\n")
    run = packed(tmp_path / "packed", {"work": "inside", "base": "base", "distortion": "d", "words": {}})
    own, config = prepared(run / "inside"), naming("runs/c", "runs/d", ["b.classes,b.classes"])
    found, absent = located(run, config, IDENTITY), run / "not packed"
    assert (found.work, found.base) == (str(own), str(run / "base"))
    assert found.model.context == ClassifierConfig(str(absent / "c"), str(run / "d"))
    assert found.model.sparse.words == [f"{absent / 'b.classes'},{absent / 'b.classes'}"]
    with pytest.raises(InputError, match="packed"):
        located(run, configured("work"), IDENTITY, work="work")
    (run / PLACES).write_text(json.dumps({"words": {}}))
    with pytest.raises(InputError, match="is not packed"):
        located(run, config, IDENTITY)


@pytest.mark.parametrize("held", [None, "{}"])
def test_a_packed_run_without_its_places_is_refused(tmp_path: Path, held: str | None) -> None:
    run = run_folder(tmp_path / "packed")
    write_pack(run, "1", [])
    if held is not None:
        (run / PLACES).write_text(held)
    with pytest.raises(InputError, match=PLACES):
        located(run, configured("work"), IDENTITY)


@pytest.mark.parametrize(
    "named",
    [{"work": "../../x/work/s"}, {"work": "link/work"}, {"words": {"b.classes": "/tmp"}}, {"words": {"b.classes": 7}}],
)
def test_no_path_leads_out_of_a_packed_run(tmp_path: Path, named: dict[str, object]) -> None:
    run = packed(tmp_path / "packed", {"work": "w", "words": {}} | named)
    if named == {"work": "link/work"}:
        (run / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="a path that leads out of the packed run"):
        located(run, configured("work"), IDENTITY)

"""What is said of command lines that Hydra refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hydra.core.config_store import ConfigStore

from xlate.cli.sweeps import ONE_AFTER_THE_OTHER
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.errors import InputError


def remedy_of(*overrides: str) -> str:
    """What is to be done about a command line of a training."""
    with pytest.raises(InputError) as caught:
        load(TrainConfig, "train", overrides)
    return str(caught.value.remedy)


def test_several_values_without_a_sweep_name_the_option_of_sweeps() -> None:
    said = remedy_of("work=w", "loss.eta=1,2")
    assert said.startswith("-m sweeps over several values; nested quotes make them one value, ")
    assert remedy_of("base=runs/w,seed").startswith(
        "if it is a path, check it: nothing with that name exists; -m sweeps"
    )


@pytest.fixture
def launcher() -> Iterator[None]:
    """What the extra `sweep` would tell Hydra of."""
    node = {"_target_": ONE_AFTER_THE_OTHER, "n_jobs": 1, "pre_dispatch": "all"}
    repo = ConfigStore.instance().repo
    before = dict(repo["hydra"]["launcher"])
    ConfigStore.instance().store(group="hydra/launcher", name="joblib", node=node)
    yield
    repo["hydra"]["launcher"] = before


def test_a_misspelt_key_of_the_launcher_names_one_of_its_keys(launcher: None) -> None:
    assert remedy_of("hydra/launcher=box", "hydra.launcher.n_jbs=4") == "did you mean hydra.launcher.n_jobs?"
    assert remedy_of("hydra.swep.dir=x") == "did you mean hydra.run.dir or hydra.sweep.dir?"


def test_a_key_of_a_launcher_that_is_not_chosen_says_so() -> None:
    assert remedy_of("hydra.launcher.n_jobs=4").startswith("add hydra/launcher=box ")


@pytest.mark.parametrize(
    ("overrides", "choice"),
    [
        (["model=phrase", "model.context.run=runs/cx"], "context=…: without it the model does not have this key"),
        (["model=phrase", "model.sparse.words=[all]"], "sparse=local"),
        (["experiment=auli2014/figure3-row1", "model.sparse.words=[all]", "model.context.run=x"], "context=mixed"),
        (["model=hierarchical", "model.structure.words=[all]"], "structure=classes"),
    ],
)
def test_a_key_of_a_choice_that_was_not_made_names_the_choices(overrides: list[str], choice: str) -> None:
    with pytest.raises(InputError, match=f"(?s)choose .*{choice.replace('.', '[.]')}"):
        load(TrainConfig, "train", ["work=w", *overrides])

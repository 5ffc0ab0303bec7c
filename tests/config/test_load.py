"""What is said of command lines that Hydra refuses."""

from __future__ import annotations

import pytest

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


def test_a_misspelt_key_of_hydra_names_one_of_its_keys() -> None:
    assert remedy_of("hydra.swep.dir=x") == "did you mean hydra.run.dir or hydra.sweep.dir?"


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

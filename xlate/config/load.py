"""Composing a command's configuration from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from xlate.config.location import conf_folder
from xlate.config.typed import typed

T = TypeVar("T")


def load(schema: type[T], command: str, overrides: Sequence[str] = ()) -> T:
    """Composes conf/COMMAND.yaml with overrides such as `loss.eta=1e-2` and checks it against its schema.

    Raises:
        InputError: an unknown key, a value of the wrong type or a value not given.

    Example:
        >>> from xlate.config.schema import TrainConfig
        >>> load(TrainConfig, "train", ["loss.eta=0.01"]).loss.eta
        0.01
    """
    state = GlobalHydra.instance()
    # Inside a command Hydra is running already; it gets its place back afterwards.
    running, state.hydra = state.hydra, None
    try:
        with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
            return typed(compose(config_name=command, overrides=list(overrides)), schema)
    finally:
        state.hydra = running

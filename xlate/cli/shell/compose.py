"""Runs a command under Hydra, which composes its configuration and runs sweeps; says Hydra's errors in our words."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xlate.config.choices import register
from xlate.config.folder_names import folder_name
from xlate.config.load import words_of_hydra
from xlate.config.location import conf_folder
from xlate.config.typed import typed
from xlate.errors import InputError

OmegaConf.register_new_resolver("folder_name", folder_name, replace=True)


# Options of Hydra that are followed by a value.
VALUED = (
    "--cfg",
    "-c",
    "--package",
    "-p",
    "--config-path",
    "-cp",
    "--config-name",
    "-cn",
    "--config-dir",
    "-cd",
    "--info",
    "-i",
)


def run_with_hydra(command: str, schema: type[Any], body: Callable[[Any], None], arguments: list[str]) -> int:
    """Composes conf/COMMAND.yaml with the arguments, checks it, and calls `body` with it, once for each job of a sweep.

    Raises:
        InputError: an override is wrong, or the configuration does not fit its schema.
    """

    register(command)
    failures: list[BaseException] = []

    def job(config: DictConfig) -> None:
        if HydraConfig.get().mode is RunMode.MULTIRUN:
            # A sweep goes on with its other jobs; then Hydra raises what the first failing one raised.
            body(typed(config, schema))
            return
        try:
            body(typed(config, schema))
        except BaseException as error:  # Hydra would print a message of its own before ours
            failures.append(error)

    before = sys.argv
    full_error = os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = [f"xlate {command}", *_options_first(arguments), f"hydra.job.name={command}"]
    # Hydra would otherwise print its own traceback and exit with status 1.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(job)()
    except HydraException as error:
        raise words_of_hydra(error, command, arguments) from error
    except OmegaConfBaseException as error:
        raise InputError("the configuration does not fit", seen=str(error).splitlines()[0]) from error
    finally:
        sys.argv = before
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full_error
    if failures:
        raise failures[0]
    return 0


def _options_first(arguments: list[str]) -> list[str]:
    """Hydra takes no overrides behind an option, as in `model=phrase --help`."""
    options: list[str] = []
    overrides: list[str] = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        is_option = argument.startswith("-") or (before in VALUED and "=" not in argument)
        (options if is_option else overrides).append(argument)
    return [*options, *overrides]

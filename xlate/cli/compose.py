"""Runs a command under Hydra, which composes its configuration and runs sweeps; says Hydra's errors in our words."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xlate.config.folder_names import folder_name
from xlate.config.location import conf_folder
from xlate.config.typed import known_keys, typed, unknown_key
from xlate.errors import InputError

OmegaConf.register_new_resolver("folder_name", folder_name, replace=True)


def run_with_hydra(command: str, schema: type[Any], body: Callable[[Any], None], arguments: list[str]) -> int:
    """Composes conf/COMMAND.yaml with the arguments, checks it, and calls `body` with it, once for each job of a sweep.

    Raises:
        InputError: an override is wrong, or the configuration does not fit its schema.
    """

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
    sys.argv = [f"xlate {command}", *arguments, f"hydra.job.name={command}"]
    # Hydra would otherwise print its own traceback and exit with status 1.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(job)()
    except HydraException as error:
        raise _in_our_words(error, command) from error
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


def _in_our_words(error: HydraException, command: str) -> InputError:
    text = str(error)
    key = re.search(r"[Cc]ould not override '([^']+)'", text) or re.search(
        r"Could not (?:append|delete)[^']*'([^']+)'", text
    )
    if key:
        return unknown_key(key.group(1), _keys_of(command))
    choice = re.search(r"Could not find '([^']+)'", text)
    if choice:
        available = re.search(r"Available options in '[^']+':\n((?:\t.*\n?)+)", text)
        expected = ", ".join(available.group(1).split()) if available else "a file in conf/"
        return InputError("no such configuration", seen=choice.group(1), expected=expected)
    quotes = "values that hold = , or blanks need quotes inside quotes, KEY=\"'VALUE'\""
    remedy = f"{quotes}; xlate {command} --help lists the keys"
    return InputError("the command line does not fit", seen=text.splitlines()[0], expected="key=value", remedy=remedy)


def _keys_of(command: str) -> list[str]:
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        return known_keys(compose(config_name=command))

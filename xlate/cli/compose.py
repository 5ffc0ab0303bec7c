"""Runs a command under Hydra, which composes its configuration and runs sweeps; rewords Hydra's errors."""

from __future__ import annotations

import copy
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import chain, combinations
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from xlate.cli.arguments import Words
from xlate.cli.sweeps import add_job, forget_sweeps, say_sweeps, train_rows
from xlate.config.choices import conf_folder, folder_name, registered
from xlate.config.load import composed, hydra_reworded
from xlate.config.schema import COMMANDS
from xlate.config.typed import typed
from xlate.errors import InputError
from xlate.report.run_directory import flat
from xlate.settings import plain

OmegaConf.register_new_resolver("folder_name", folder_name, replace=True)
log = logging.getLogger(__name__)


def run_with_hydra(command: str, body: Callable[[Any], None], words: Words) -> int:
    """Composes conf/COMMAND.yaml with the overrides, checks it, and calls `body` with it, once for each job of a sweep.

    Raises:
        InputError: an override is wrong, or the configuration does not fit its schema.
    """
    folder = next((o.partition("=")[2] for o in words.options if o.startswith("--config-dir=")), None)
    if folder is not None and not os.path.isdir(folder):
        raise InputError(
            "no such configuration folder",
            f"--config-dir={folder}",
            "a folder",
            "check the path: it is relative to the current folder",
        )
    # If Hydra has more to do than compose a configuration, it composes it twice before it runs a job.
    if not words.options and not any(word.lstrip("+~").startswith("hydra") for word in words.overrides):
        with hydra_reworded(command, words.overrides):
            whole = composed(command, words.overrides, of_hydra=True)
            config: Any = typed(_without_hydra(whole), COMMANDS[command])
        check_files_apart(config)
        # As in a job that Hydra runs, the command may ask for its original words.
        known = HydraConfig.instance()
        before = known.cfg
        known.set_config(whole)
        try:
            body(config)
        finally:
            known.cfg = before
        return 0
    with hydra_reworded(command, words.overrides):
        failures = _run_jobs(command, body, words)
    if failures:
        raise failures[0]
    return 0


def _without_hydra(whole: DictConfig) -> DictConfig:
    config = copy.copy(whole)
    with open_dict(config):
        del config["hydra"]
    return config


def _run_jobs(command: str, body: Callable[[Any], None], words: Words) -> list[BaseException]:
    """Lets Hydra run a job, or all jobs of a sweep; returns what a single job raised."""
    failures: list[BaseException] = []

    def run(config: DictConfig) -> None:
        try:
            made = typed(config, COMMANDS[command], spare=words.spare)
            if left_out := words.spare - flat(plain(made)).keys():
                log.info("this job does not use: %s", ", ".join(sorted(left_out)))
            body(made)
        except BaseException as error:
            # A sweep continues with its other jobs; then Hydra raises the error of the first failed one.
            if HydraConfig.get().mode is RunMode.MULTIRUN:
                raise
            # Hydra would print its own message before ours.
            failures.append(error)

    program = [f"xlate {command}", *words.options, *words.overrides, f"hydra.job.name={command}"]
    with _called_as(program), registered(command), _jobs_checked(COMMANDS[command], words.spare):
        try:
            hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(run)()
            train_rows()
        except (HydraException, OmegaConfBaseException):
            # The command line was refused before a job began.
            forget_sweeps()
            raise
        finally:
            say_sweeps()
    return failures


@contextmanager
def _jobs_checked(schema: type[Any], spare: frozenset[str]) -> Iterator[None]:
    """Checks the settings of every job of a sweep when Hydra composes them all, before the first one starts.

    A spare key that no job uses is refused by the first one.
    """
    composed_only = Sweeper.validate_batch_is_legal

    def validate(sweeper: Sweeper, batch: Sequence[Sequence[str]]) -> None:
        assert sweeper.hydra_context is not None
        assert sweeper.config is not None
        # Hydra's own sweeper knows all batches, which are checked with the first one.
        batches = getattr(sweeper, "overrides", None) or [batch]
        if batch is not batches[0]:
            return
        unused, first = set(spare), None
        try:
            for overrides in chain.from_iterable(batches):
                whole = sweeper.hydra_context.config_loader.load_sweep_config(sweeper.config, list(overrides))
                add_job(folder_name(whole.hydra.job.override_dirname))
                settings = _without_hydra(whole)
                unused -= flat(plain(typed(settings, schema, spare=spare))).keys()
                first = first or settings
            if first and unused:
                typed(first, schema, spare=spare - unused)
        except InputError:
            forget_sweeps()
            raise

    Sweeper.validate_batch_is_legal = validate  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Sweeper.validate_batch_is_legal = composed_only  # type: ignore[method-assign]


@contextmanager
def _called_as(program: list[str]) -> Iterator[None]:
    """Shows Hydra these words as the command line; it would otherwise print its own traceback and exit with 1."""
    before, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = program
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = before
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full_error


# The keys that name output files.
OUTPUTS = ("out", "best_out", "output", "nbest_out", "lattice_out")


def check_files_apart(config: Any) -> None:
    """Checks that a command does not write two outputs into one file, or overwrite a file that it reads.

    Raises:
        InputError: it would.
    """
    given = ((key, getattr(config, key, None)) for key in OUTPUTS)
    written = [(key, value) for key, value in given if isinstance(value, str) and value != "-"]
    for (key, path), (other, there) in combinations(written, 2):
        if _same(path, there):
            seen = f"{key}={path} {other}={there}"
            raise InputError("two outputs in one file", seen, "one file for each", f"name another file with {other}=")
    for key, path in written:
        for name, file in _read(config):
            if os.path.isfile(file) and _same(path, file):
                raise InputError(
                    "an output would overwrite an input",
                    f"{key}={path} {name}={file}",
                    "another file",
                    f"name another file with {key}=",
                )


def _read(config: Any) -> Iterator[tuple[str, str]]:
    """The values of all other keys, which may be files, with the keys; for NAME=FILE, the file."""
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in OUTPUTS:
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield field.name, text if os.path.exists(text) else text.partition("=")[2]


def _same(path: str, other: str) -> bool:
    """Whether two names are the same file; devices and pipes do not count, as they can be written in turn."""
    special = os.path.exists(path) and not os.path.isfile(path)
    return not special and os.path.realpath(path) == os.path.realpath(other)

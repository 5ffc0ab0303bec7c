"""xlate train: work directory → run."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xlate.cli.arguments import Words, key_of
from xlate.cluster import uses_cluster
from xlate.config.choices import all_rows, check_experiments, folder_name
from xlate.config.load import PART
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.report.run_directory import VOLATILE, Listener, flat
from xlate.settings import plain

if TYPE_CHECKING:
    from hydra.conf import HydraConf

log = logging.getLogger(__name__)
# The places that each group sets; a model brings a decoder and a loss, an experiment may set any.
GROUPS = {
    "model": ("model.", "decoder.", "loss."),
    "loss": ("loss.",),
    "loss/tune": ("loss.tune.",),
    "decoder": ("decoder.",),
    "sparse": ("model.sparse.",),
    "source": ("source.", "loss."),
    "recipe": ("",),
    "experiment": ("",),
}

_OTHER_ROW = re.compile(r"\{sweep\}/experiment=(.+)")
_EXPERIMENT = re.compile(r"((?:^|,)\+{0,2}experiment=)[^,]+")


def run(config: TrainConfig) -> None:
    """Trains a run or resumes an interrupted one; a finished run stays as it is."""
    from hydra.core.hydra_config import HydraConfig

    running = HydraConfig.get() if HydraConfig.initialized() else None
    given = [] if running is None else list(running.overrides.task)
    if running is not None and _is_swept(running) and uses_cluster(config.cluster):
        from xlate.cli.sweeps import add_row

        trained(config, given, running, train=add_row)
        return
    print(trained(config, given, running))


def trained(
    config: TrainConfig,
    given: list[str],
    running: HydraConf | None = None,
    listener: Listener | None = None,
    train: Callable[..., object] | None = None,
) -> Path:
    """The folder of the trained run.

    Args:
        given: the overrides that it was composed with.
        running: Hydra's settings.
        listener: see `jobs.train.train.train`.
        train: called instead of that function; the settings are then checked later.

    Raises:
        InputError: see `jobs.train.train.train`.
        Interrupted: a signal stopped the training.
    """
    from xlate.config.load import load
    from xlate.config.schema import PrepareConfig
    from xlate.jobs.prepare import prepare
    from xlate.jobs.train import train as recipes
    from xlate.models.run_files import change_runs

    # The folder of other runs of a sweep, and the settings of this job in the name of its folder.
    swept, settings = "runs" if running is None else str(running.sweep.dir), ""
    sweep = folder = None
    if running is not None and _is_swept(running):
        sweep = Path(config.run or swept)
        swept, settings = str(sweep), str(running.job.override_dirname)
        folder = sweep / running.sweep.subdir
    change_runs(config, lambda _, run: in_sweep(run, swept, settings))
    if train is None:
        # Checked before anything is prepared, too.
        recipes.check_training(config)
    folder = folder or _folder(config, given)
    if config.work == "work/demo" and not Path(config.work).exists() and config.base is config.nbest is None:
        log.info("no work=FOLDER is set: xlate first creates work/demo from its built-in corpus")
        prepare(load(PrepareConfig, "prepare", ["work=work/demo"]))
    # Without keys of the sweep that this job does not use.
    held = flat(plain(config))
    given = [a for a in given if not a.startswith("++") or "." not in key_of(a) or key_of(a) in held]
    (train or recipes.train)(config, folder, given, sweep, listener)
    return folder


def _is_swept(running: HydraConf) -> bool:
    return getattr(running.mode, "name", None) == "MULTIRUN"


def in_sweep(run: str, folder: str, settings: str) -> str:
    """The folder of another run of a sweep, `{sweep}/experiment=NAME`, with the same values of the other swept keys.

    Args:
        run: its name; without `{sweep}` it is unchanged.
        folder: of the sweep.
        settings: those of this job in the name of its folder; empty outside a sweep.

    Example:
        >>> in_sweep("{sweep}/experiment=paper/table-row1", "runs/x", "experiment=paper/table-row2,seed=3")
        'runs/x/experiment=paper/table-row1,seed=3'
    """
    found = _OTHER_ROW.fullmatch(run)
    if found is None or not _EXPERIMENT.search(settings):
        return run.replace("{sweep}", folder)
    return f"{folder}/{folder_name(_EXPERIMENT.sub(lambda own: own[1] + found[1], settings))}"


def _folder(config: TrainConfig, given: list[str]) -> Path:
    """The folder of the run: the given one, or one named after what it is trained on and its settings."""
    from xlate.config.stored import identity_of_training
    from xlate.report.run_directory import MARK, RunDirectory, differing_keys, identity_hash, plain

    if config.run:
        return Path(config.run)
    in_name = {"work", "base", "nbest", *VOLATILE}
    # The name of a folder, even if it is given as `.` or `..`.
    stem = Path(os.path.abspath(config.base or config.work)).name or "run"
    if config.nbest is not None:
        stem = f"{Path(config.nbest).name.split('.')[0]}-rerank"
    elif config.base is not None:
        stem += f"-{config.loss.name}"
        in_name.add("loss")
    kept = (a for a in given if key_of(a) not in in_name and not key_of(a).startswith("cluster."))
    said = sorted(argument.lstrip("+") for argument in kept)
    folder = Path("runs") / folder_name(",".join([stem, *said]))
    if not (folder / MARK).exists():
        return folder
    # According to its settings, it may hold this run.
    identity = identity_of_training(config)
    held, asked = RunDirectory.open(folder).identity, plain(identity)
    if differing_keys({key: held[key] for key in asked if key in held}, asked):
        return folder.with_name(f"{folder.name}~{identity_hash(identity)[:8]}")
    return folder


def expand(words: Words) -> Words:
    """Expands `experiment=PAPER/TABLE` in a sweep to all of the table's rows, `PAPER/TABLE-row1` and so on.

    Keys of a group that is swept over need not exist in its default choice: each job is checked separately. The folders
    of jobs are named after the swept values and the experiment.

    Raises:
        InputError: there is no such experiment, a table is given without `-m`, or a launcher of Hydra is chosen.
    """
    for override in words.overrides:
        value = override.partition("=")[2]
        # Names that may be in a user's folder are left to Hydra.
        if key_of(override) == "experiment" and not override.startswith("~") and "(" not in value:
            names = [name.strip("'\" ") for name in value.strip("[]").split(",")]
            check_experiments(names, words.multirun, words.elsewhere)
        elif key_of(override) == "hydra/launcher":
            expected = "cluster=box, dask or slurm, with or without -m"
            raise InputError("sweeps use no launchers of Hydra", override, expected, "xlate train -m cluster=box …")
    if not words.multirun:
        return words
    given = [
        f"experiment={all_rows(a.partition('=')[2])}" if a.startswith("experiment=") else a for a in words.overrides
    ]
    swept = {key_of(a) for a in given if _is_sweep(a)}
    fixed = [key_of(a) for a in given if key_of(a) not in swept]
    open_keys = tuple(prefix for group, prefixes in GROUPS.items() if group in swept for prefix in prefixes)
    overrides = [f"++{a}" if a[0] not in "+~" and _under(a, open_keys) else a for a in given]
    unsaid = [key for key in fixed if key not in ("run", "work", "experiment") and not key.startswith("hydra")]
    if not swept:
        unsaid = [key for key in unsaid if key.partition(".")[0] == "cluster"]
    if unsaid:
        overrides.append(f"hydra.job.config.override_dirname.exclude_keys=[run,work,{','.join(unsaid)}]")
    # A job leaves out what only others use, if all choices are written out and known.
    choices = [a for a in given if key_of(a) in swept & GROUPS.keys()]
    known = choices and not words.elsewhere and not any("(" in a for a in choices)
    spare = frozenset(key for key in fixed if known and "." in key and not key.startswith("hydra"))
    return replace(words, overrides=tuple(overrides), spare=spare)


def _is_sweep(argument: str) -> bool:
    """Whether a value is several choices, `a,b` or `range(…)`, rather than one list, `[a,b]`."""
    value = argument.partition("=")[2]
    return bool(re.match(r"(range|choice|glob|interval)\(", value)) or len(PART.findall(value)) > 1


def _under(argument: str, prefixes: tuple[str, ...]) -> bool:
    """Whether an argument sets one key inside one of the groups."""
    key = key_of(argument)
    return key not in GROUPS and "." in key and not key.startswith("hydra.") and key.startswith(prefixes)

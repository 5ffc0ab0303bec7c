"""xlate train: work directory → run."""

from __future__ import annotations

import logging
import os
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xlate.cli.shell.arguments import Words, key_of
from xlate.config.experiments import all_rows, check_experiments
from xlate.config.folder_names import folder_name
from xlate.config.keys.brackets import PART
from xlate.config.schema import TrainConfig
from xlate.errors import InputError, Interrupted
from xlate.report.identity import VOLATILE, flat
from xlate.report.run_directory import AnotherRun

if TYPE_CHECKING:
    from hydra.conf import HydraConf

CONFIG = TrainConfig
log = logging.getLogger(__name__)
# Where the values of a configuration group are; a model brings a decoder and a loss, an experiment may set any.
GROUPS = {
    "model": ("model.", "decoder.", "loss."),
    "loss": ("loss.",),
    "loss/tune": ("loss.tune.",),
    "decoder": ("decoder.",),
    "sparse": ("model.sparse.",),
    "source": ("source.", "loss."),
    "experiment": ("",),
}

_OTHER_ROW = re.compile(r"\{sweep\}/experiment=(.+)")
_EXPERIMENT = re.compile(r"((?:^|,)\+{0,2}experiment=)[^,]+")


def run(config: TrainConfig) -> None:
    """Trains a run, or goes on with an interrupted one; a finished run is left as it is."""
    from hydra.core.hydra_config import HydraConfig

    from xlate.config.load import load
    from xlate.config.schema import PrepareConfig
    from xlate.jobs.prepare import prepare
    from xlate.jobs.train.train import check_training, train

    running = HydraConfig.get() if HydraConfig.initialized() else None
    _in_sweep(config, running)
    # Before anything is prepared, too.
    check_training(config)
    folder = _folder(config, running)
    if config.work == "work/demo" and not Path(config.work).exists() and config.base is config.nbest is None:
        log.info("no work=FOLDER is given: work/demo is made first, from the small corpus that xlate makes up")
        prepare(load(PrepareConfig, "prepare", ["work=work/demo"]))
    given = [] if running is None else _used_here(list(running.overrides.task), config)
    try:
        outcome = train(config, folder, given, _sweep(config, running))
    except AnotherRun as error:
        if not _is_job(running):
            raise
        raise AnotherRun(error.path, error.differences, _elsewhere(error, given)) from error
    if outcome.interrupted is not None:
        raise Interrupted(f"stopped by a signal; the same command goes on from {folder}", 128 + outcome.interrupted)
    print(folder)


def _used_here(given: list[str], config: TrainConfig) -> list[str]:
    """What was given without keys of the whole sweep that this job has no use for."""
    held = flat(asdict(config))
    return [a for a in given if not a.startswith("++") or "." not in key_of(a) or key_of(a) in held]


def _elsewhere(error: AnotherRun, given: list[str]) -> str:
    """What to do where a job of a sweep meets another run: a key with a single value names no folder."""
    keys = {key_of(argument) for argument in given}
    both = [f"{key}={there},{here}" for key, there, here in error.differences if key in keys]
    together = f"give the values together, {' '.join(both)}, or " if both else ""
    return f"{together}name another folder for the sweep, hydra.sweep.dir=FOLDER; a key with one value names no folder"


def _is_job(running: HydraConf | None) -> bool:
    """Whether this is a job of a sweep."""
    return running is not None and getattr(running.mode, "name", None) == "MULTIRUN"


def _sweep(config: TrainConfig, running: HydraConf | None) -> Path | None:
    """The folder of the sweep that this is a job of, if it is one."""
    return Path(config.run or running.sweep.dir) if running is not None and _is_job(running) else None


def _in_sweep(config: TrainConfig, running: HydraConf | None) -> None:
    """Puts the folders of other runs of the sweep in the place of `{sweep}`."""
    folder = "runs" if running is None else str(running.sweep.dir)
    settings = ""
    if running is not None and _is_job(running):
        folder, settings = str(config.run or folder), str(running.job.override_dirname)
    if config.base is not None:
        config.base = in_sweep(config.base, folder, settings)
    used = config.model.context
    if used is not None:
        used.run = in_sweep(used.run, folder, settings)
        if used.distortion is not None:
            used.distortion = in_sweep(used.distortion, folder, settings)


def in_sweep(run: str, folder: str, settings: str) -> str:
    """The folder of another run of a sweep, `{sweep}/experiment=NAME`: all else that is swept over is the same there.

    Args:
        run: its name; without `{sweep}` it stays as it is.
        folder: of the sweep.
        settings: of this job, as its folder is named after them; empty where there is no sweep.

    Example:
        >>> in_sweep("{sweep}/experiment=paper/table-row1", "runs/x", "experiment=paper/table-row2,seed=3")
        'runs/x/experiment=paper/table-row1,seed=3'
    """
    found = _OTHER_ROW.fullmatch(run)
    if found is None or not _EXPERIMENT.search(settings):
        return run.replace("{sweep}", folder)
    return f"{folder}/{folder_name(_EXPERIMENT.sub(lambda own: own[1] + found[1], settings))}"


def _folder(config: TrainConfig, running: HydraConf | None) -> Path:
    """The folder of the run: the one that was named, that of a job, or one named after all that was set."""
    sweep = _sweep(config, running)
    if running is not None and sweep is not None:
        return sweep / running.sweep.subdir
    if config.run:
        return Path(config.run)
    folder = Path("runs") / _name(config, [] if running is None else list(running.overrides.task))
    return folder if _is_free(folder, config) else folder.with_name(f"{folder.name}~{_mark(config)}")


def _name(config: TrainConfig, overrides: list[str]) -> str:
    """The name of the folder of a run for which none was given: what it is trained on, and what was set."""
    in_name = {"work", "base", "nbest"}
    if config.nbest is not None:
        stem = f"{Path(config.nbest).name.split('.')[0]}-rerank"
    elif config.base is None:
        stem = _last(config.work)
    else:
        stem = f"{_last(config.base)}-{config.loss.name}"
        in_name.add("loss")
    said = sorted(o.lstrip("+") for o in overrides if key_of(o) not in {*in_name, *VOLATILE})
    return folder_name(",".join([stem, *said]))


def _is_free(folder: Path, config: TrainConfig) -> bool:
    """Whether a folder holds no run but this one, as far as settings tell."""
    from xlate.config.identity import identity_of_training
    from xlate.report.identity import differing_keys, plain
    from xlate.report.run_directory import MARK, RunDirectory

    if not (folder / MARK).exists():
        return True
    held, asked = RunDirectory.open(folder).identity, plain(identity_of_training(config))
    known = {key: held[key] for key in asked if key in held}
    return not differing_keys(known, asked)


def _mark(config: TrainConfig) -> str:
    from xlate.config.identity import identity_of_training
    from xlate.report.identity import identity_hash

    return identity_hash(identity_of_training(config))[:8]


def _last(path: str) -> str:
    """The name of a folder, also when it is given as `.` or `..`."""
    return Path(os.path.abspath(path)).name or "run"


def expand(words: Words) -> Words:
    """In a sweep, `experiment=PAPER/TABLE` stands for all of the table's rows, `PAPER/TABLE-row1` and so on.

    Keys of a group that is swept over need not exist in its default choice: each job is checked by itself. The folders
    of jobs are named after the values that are swept over and the experiment.

    Raises:
        InputError: there is no such experiment, or a table or a launcher is given without `-m`.
    """
    _check_experiments(words)
    if not words.multirun:
        launcher = next((a for a in words.overrides if key_of(a) == "hydra/launcher"), None)
        if launcher is not None and not words.showing:
            remedy = f"xlate train -m {launcher} …, or leave it out to train here"
            raise InputError("a launcher without a sweep", seen=launcher, expected="-m", remedy=remedy)
        return words
    given = [_with_rows(a) if a.startswith("experiment=") else a for a in words.overrides]
    swept = {key_of(a) for a in given if _is_sweep(a)}
    fixed = [key_of(a) for a in given if key_of(a) not in swept]
    open_keys = tuple(prefix for group, prefixes in GROUPS.items() if group in swept for prefix in prefixes)
    overrides = [f"++{a}" if a[0] not in "+~" and _under(a, open_keys) else a for a in given]
    unsaid = [key for key in fixed if key not in ("run", "work", "experiment") and not key.startswith("hydra")]
    if swept and unsaid:
        overrides.append(f"hydra.job.config.override_dirname.exclude_keys=[run,work,{','.join(unsaid)}]")
    return replace(words, overrides=tuple(overrides), spare=_spare(words, given, swept))


def _spare(words: Words, given: list[str], swept: set[str]) -> frozenset[str]:
    """The keys that some jobs use and others leave out."""
    groups = swept & GROUPS.keys()
    if words.elsewhere or not groups:
        return frozenset()
    from xlate.cli.shell.some_jobs import keys_of_some_jobs

    return keys_of_some_jobs(CONFIG, "train", given, groups, swept)


def _is_sweep(argument: str) -> bool:
    """Whether a value is several choices, `a,b` or `range(…)`, and not one list, `[a,b]`."""
    value = argument.partition("=")[2]
    return bool(re.match(r"(range|choice|glob|interval)\(", value)) or len(PART.findall(value)) > 1


def _under(argument: str, prefixes: tuple[str, ...]) -> bool:
    """Whether an argument sets one key inside one of the groups."""
    key = key_of(argument)
    return key not in GROUPS and "." in key and not key.startswith("hydra.") and key.startswith(prefixes)


def _check_experiments(words: Words) -> None:
    """Looks at names of experiments; those that may lie in a folder of the user's are left to Hydra."""
    for override in words.overrides:
        value = override.partition("=")[2]
        if key_of(override) == "experiment" and not override.startswith("~") and "(" not in value:
            names = [name.strip("'\" ") for name in value.strip("[]").split(",")]
            check_experiments(names, words.multirun, words.elsewhere)


def _with_rows(override: str) -> str:
    key, _, names = override.partition("=")
    return f"{key}={all_rows(names)}"

"""xlate train: work directory → run."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from xlate.config.folder_names import folder_name
from xlate.config.location import conf_folder
from xlate.config.schema import TrainConfig
from xlate.errors import InputError, Interrupted

CONFIG = TrainConfig
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


def run(config: TrainConfig) -> None:
    """Trains a run, or goes on with an interrupted one; a finished run is left as it is."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from xlate.config.load import load
    from xlate.config.schema import PrepareConfig
    from xlate.jobs.prepare.prepare import prepare
    from xlate.jobs.train.settings import check_training
    from xlate.jobs.train.train import train

    running = HydraConfig.get() if HydraConfig.initialized() else None
    _in_sweep(config, "runs" if running is None else str(running.sweep.dir))
    # Before anything is prepared, too.
    check_training(config)
    folder = Path(config.run) if config.run else Path("runs") / _name(config)
    if running is not None and running.mode is RunMode.MULTIRUN:
        folder = Path(config.run or running.sweep.dir) / running.sweep.subdir
    if config.work == "work/demo" and not Path(config.work).exists() and config.base is config.nbest is None:
        prepare(load(PrepareConfig, "prepare", ["work=work/demo"]))
    outcome = train(config, folder, [] if running is None else list(running.overrides.task))
    if outcome.interrupted is not None:
        raise Interrupted(f"stopped by a signal; the same command goes on from {folder}", 128 + outcome.interrupted)
    print(folder)


def _in_sweep(config: TrainConfig, folder: str) -> None:
    """Puts the folder of the sweep into the names of other runs of it."""
    if config.base is not None:
        config.base = config.base.replace("{sweep}", folder)
    if config.model.context is not None:
        config.model.context.run = config.model.context.run.replace("{sweep}", folder)


def _name(config: TrainConfig) -> str:
    """The name of the folder of a run for which none was given."""
    if config.nbest is not None:
        return f"{Path(config.nbest).name.split('.')[0]}-rerank"
    if config.base is None:
        return _last(config.work)
    return folder_name(f"{_last(config.base)}-{config.loss.name}")


def _last(path: str) -> str:
    """The name of a folder, also when it is given as `.` or `..`."""
    return Path(os.path.abspath(path)).name or "run"


def expand(arguments: list[str]) -> list[str]:
    """In a sweep, `experiment=PAPER/TABLE` stands for all of the table's rows, `PAPER/TABLE-row1` and so on.

    Keys of a group that is swept over need not exist in its default choice: each job is checked by itself. The folders
    of jobs are named after the values that are swept over and the experiment.

    Raises:
        InputError: there is no such experiment, or a table is given without `-m`.
    """
    swept_over = bool({"-m", "--multirun"} & set(arguments))
    _check_experiments(arguments, swept_over)
    if not swept_over:
        return arguments
    arguments = [_rows(a) if a.startswith("experiment=") else a for a in arguments]
    given = [a for a in arguments if "=" in a and not a.startswith("-")]
    swept = {_key(a) for a in given if _is_sweep(a)}
    fixed = [_key(a) for a in given if _key(a) not in swept]
    open_keys = tuple(prefix for group, prefixes in GROUPS.items() if group in swept for prefix in prefixes)
    arguments = [f"++{a}" if a in given and a[0] not in "+~" and _under(a, open_keys) else a for a in arguments]
    unsaid = [key for key in fixed if key not in ("run", "work", "experiment") and not key.startswith("hydra")]
    if not (swept and unsaid):
        return arguments
    return [*arguments, f"hydra.job.config.override_dirname.exclude_keys=[run,work,{','.join(unsaid)}]"]


def _key(argument: str) -> str:
    return argument.partition("=")[0].lstrip("+~")


def _is_sweep(argument: str) -> bool:
    """Whether a value is several choices, `a,b` or `range(…)`, and not one list, `[a,b]`."""
    value = argument.partition("=")[2]
    return bool(re.match(r"(range|choice|glob|interval)\(", value)) or "," in re.sub(
        r"""\[[^\]]*\]|'[^']*'|"[^"]*"|\{[^}]*\}""", "", value
    )


def _under(argument: str, prefixes: tuple[str, ...]) -> bool:
    """Whether an argument sets one key inside one of the groups."""
    key = _key(argument)
    return key not in GROUPS and "." in key and not key.startswith("hydra.") and key.startswith(prefixes)


def _check_experiments(arguments: list[str], swept_over: bool) -> None:
    """Checks the names of experiments, since Hydra would not suggest similar ones; with folders of configurations
    elsewhere it is left to Hydra.
    """
    elsewhere = ("--config-dir", "-cd", "--config-path", "-cp", "hydra.searchpath", "+hydra.searchpath")
    if any(a.startswith(elsewhere) for a in arguments):
        return
    for argument in arguments:
        value = argument.partition("=")[2]
        if _key(argument) != "experiment" or argument.startswith("~") or "(" in value:
            continue
        for name in value.strip("[]").split(","):
            _check_experiment(name.strip("'\" "), swept_over)


def _check_experiment(name: str, swept_over: bool) -> None:
    rows = [e.relative_to(_experiments()).with_suffix("").as_posix() for e in _experiments().rglob("*.yaml")]
    tables = {row.rpartition("-row")[0] for row in rows} - {""}
    if name in ("", "null", *rows) or (name in tables and swept_over):
        return
    if name in tables:
        count = sum(row.startswith(f"{name}-row") for row in rows)
        raise InputError(
            "this experiment is a table",
            seen=f"experiment={name}",
            expected=f"-m, which trains its {count} rows, or one of them, {name}-rowN",
            remedy=f"xlate train -m experiment={name}",
        )
    near = difflib.get_close_matches(name, sorted({*rows, *tables}), n=1, cutoff=0.0)[0]
    shown = ", ".join(sorted(tables))
    remedy = f"did you mean experiment={near}?"
    raise InputError("no such experiment", seen=f"experiment={name}", expected=f"one of {shown}", remedy=remedy)


def _experiments() -> Path:
    return conf_folder() / "experiment"


def _rows(argument: str) -> str:
    folder = _experiments()
    names: list[str] = []
    for name in argument.removeprefix("experiment=").split(","):
        rows = [p.relative_to(folder).with_suffix("").as_posix() for p in folder.glob(f"{name}-row*.yaml")]
        names += sorted(rows, key=lambda row: int(row.rpartition("row")[2])) or [name]
    return "experiment=" + ",".join(names)

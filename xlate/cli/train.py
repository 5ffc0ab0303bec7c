"""xlate train: work directory → run."""

from __future__ import annotations

import re
from pathlib import Path

from xlate.config.schema import TrainConfig
from xlate.errors import Interrupted

CONFIG = TrainConfig
# Where the values of a configuration group are; an experiment may set any.
GROUPS = {"model": "model.", "loss": "loss.", "decoder": "decoder.", "sparse": "model.sparse.", "experiment": ""}


def run(config: TrainConfig) -> None:
    """Trains a run, or goes on with one that was interrupted; a finished one is left as it is."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from xlate.config.load import load
    from xlate.config.schema import PrepareConfig
    from xlate.recipes.prepare import prepare
    from xlate.recipes.train import train

    sweep = HydraConfig.get().sweep.dir if HydraConfig.initialized() else "runs"
    if config.base is not None:
        config.base = config.base.replace("{sweep}", str(sweep))
    folder = Path(config.run) if config.run else Path("runs") / _name(config)
    if HydraConfig.initialized() and HydraConfig.get().mode is RunMode.MULTIRUN:
        folder = Path(config.run or HydraConfig.get().sweep.dir) / HydraConfig.get().sweep.subdir
    if config.work == "work/demo" and not Path(config.work).exists() and config.base is config.nbest is None:
        prepare(load(PrepareConfig, "prepare", ["work=work/demo"]))
    outcome = train(config, folder)
    if outcome.interrupted is not None:
        raise Interrupted(f"stopped by a signal; the same command goes on from {folder}", 128 + outcome.interrupted)
    print(folder)


def _name(config: TrainConfig) -> str:
    """Of the folder of a run that was given none."""
    if config.nbest is not None:
        return f"{Path(config.nbest).name.split('.')[0]}-rerank"
    return Path(config.work).name if config.base is None else f"{Path(config.base).name}-{config.loss.name}"


def expand(arguments: list[str]) -> list[str]:
    """In a sweep, `experiment=PAPER/TABLE` stands for all of the table's rows, `PAPER/TABLE-row1` and so on.

    Keys of a group that is swept over need not be in its default choice: each job is checked by itself. Folders of jobs
    are named after what is swept over, and the experiment.
    """
    if not {"-m", "--multirun"} & set(arguments):
        return arguments
    arguments = [_rows(a) if a.startswith("experiment=") else a for a in arguments]
    given = [a for a in arguments if "=" in a and not a.startswith("-")]
    swept = {_key(a) for a in given if _is_sweep(a)}
    fixed = [_key(a) for a in given if _key(a) not in swept]
    open_keys = tuple(prefix for group, prefix in GROUPS.items() if group in swept)
    arguments = [f"++{a}" if a in given and a[0] not in "+~" and _under(a, open_keys) else a for a in arguments]
    unsaid = [key for key in fixed if key not in ("run", "work", "experiment") and not key.startswith("hydra")]
    if not (swept and unsaid):
        return arguments
    return [*arguments, f"hydra.job.config.override_dirname.exclude_keys=[run,work,{','.join(unsaid)}]"]


def _key(argument: str) -> str:
    return argument.partition("=")[0].lstrip("+~")


def _is_sweep(argument: str) -> bool:
    """Whether a value is a list of choices, `a,b` or `range(…)`, and not one list `[a,b]`."""
    value = argument.partition("=")[2]
    return bool(re.match(r"(range|choice|glob|interval)\(", value)) or "," in re.sub(
        r"""\[[^\]]*\]|'[^']*'|"[^"]*"|\{[^}]*\}""", "", value
    )


def _under(argument: str, prefixes: tuple[str, ...]) -> bool:
    """Whether an argument sets a single value inside one of the groups."""
    key = _key(argument)
    return key not in GROUPS and "." in key and not key.startswith("hydra.") and key.startswith(prefixes)


def _rows(argument: str) -> str:
    from xlate.config.location import conf_folder

    folder = conf_folder() / "experiment"
    names: list[str] = []
    for name in argument.removeprefix("experiment=").split(","):
        rows = [p.relative_to(folder).with_suffix("").as_posix() for p in folder.glob(f"{name}-row*.yaml")]
        names += sorted(rows, key=lambda row: int(row.rpartition("row")[2])) or [name]
    return "experiment=" + ",".join(names)

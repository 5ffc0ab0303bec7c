"""The folder conf/, its experiments, and how the folders of their runs are called.

Experiments are tables of papers, one file each, and their rows, which Hydra knows as PAPER/TABLE-rowN.
In a table's file, `common` has what all rows share, and `rows` has by number what each row has besides. `choices` name
the choices of groups. A table stands for its rows in a sweep.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from xlate.errors import InputError, nearest

# What a row is merged from, later parts over earlier ones.
Parts = tuple[dict[str, Any], ...]
# Rows of papers' tables keep their folder: PAPER/TABLE-rowN, no part of which begins with a dot.
_EXPERIMENT = re.compile(r"((?:^|,)\+{0,2}experiment=\w[\w.-]*(?:/\w[\w.-]*)+(?=,|$))")
SEPARATOR = "+"
LONGEST = 200


def conf_folder() -> Path:
    """The folder of Hydra's configuration groups: inside the installed package, else beside it in a checkout.

    Raises:
        InputError: neither is there.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if folder.is_dir():
            return folder
    raise InputError(
        "the configuration folder is missing",
        file=package / "conf",
        expected="conf/ inside the installed package or beside it",
        remedy="install xlate again",
    )


@cache
def read_yaml(path: Path) -> Any:
    """What a file of conf/ holds; do not change it."""
    # The loader in C, which some builds of the library lack, takes a tenth of the time.
    return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def rows_of_tables() -> dict[str, dict[str, Parts]]:
    """The rows of each table, PAPER/TABLE, by their names and in their order."""
    folder = conf_folder() / "experiment"
    tables: dict[str, dict[str, Parts]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        held = read_yaml(path)
        name = path.relative_to(folder).with_suffix("").as_posix()
        tables[name] = {
            f"{name}-row{number}": (held["common"], {"row": {"number": number}}, row)
            for number, row in held["rows"].items()
        }
    return tables


def rows_in_store() -> dict[str, dict[str, Any]]:
    """All rows as Hydra's store holds a group of configurations: by paper, then by name of file."""
    papers: dict[str, dict[str, Any]] = {}
    for rows in rows_of_tables().values():
        for name, parts in rows.items():
            paper, _, row = name.partition("/")
            papers.setdefault(paper, _Rows())[f"{row}.yaml"] = parts
    return papers


class _Rows(dict[str, Any]):
    """Makes a row's configuration when Hydra takes it: making all of them would take half a second."""

    def __getitem__(self, name: str) -> Any:
        from hydra.core.config_store import ConfigNode
        from omegaconf import DictConfig, OmegaConf

        made = OmegaConf.merge(*super().__getitem__(name))
        assert isinstance(made, DictConfig)
        made.defaults = [{f"override /{group}": choice} for group, choice in made.pop("choices").items()]
        return ConfigNode(name, made, None, "_global_", None)


def all_rows(names: str) -> str:
    """Names between commas, with the rows of each table in its place."""
    tables = rows_of_tables()
    return ",".join(row for name in names.split(",") for row in tables.get(name, [name]))


def check_experiments(names: Iterable[str], swept_over: bool, elsewhere: bool) -> None:
    """Checks names of experiments, since Hydra would not suggest similar ones.

    Args:
        names: of rows and tables.
        swept_over: whether tables may be among them.
        elsewhere: whether there may be others, in a folder of the user's.

    Raises:
        InputError: there is no such experiment, or it is a table outside a sweep.
    """
    tables = rows_of_tables()
    known = [*tables, *(row for rows in tables.values() for row in rows)]
    for name in names:
        if name in tables and not swept_over:
            raise InputError(
                "this experiment is a table",
                seen=f"experiment={name}",
                expected=f"-m, which trains its {len(tables[name])} rows, or one of them, {name}-rowN",
                remedy=f"xlate train -m experiment={name}",
            )
        if elsewhere or name in ("", "null", *known):
            continue
        expected = f"one of {', '.join(tables)}"
        remedy = nearest(name, sorted(known), "", "experiment=", cutoff=0.0)
        raise InputError("no such experiment", seen=f"experiment={name}", expected=expected, remedy=remedy)


def folder_name(settings: str) -> str:
    """The name of the folder of a job from its settings, `key=value,key=value`.

    It is that text, but for values with separators: `+` stands for each, and a mark behind the name tells it from
    others that would be spelled alike. So is a name shortened that no file system takes. The name of an experiment is
    a folder in a folder, as it is in conf/.

    Example:
        >>> folder_name("loss=pro,seed=1")
        'loss=pro,seed=1'
        >>> folder_name("base=../x")
        'base=..+x~e09b6dc0'
    """
    parts = _EXPERIMENT.split(settings)
    kept = [part if place % 2 else _without_separators(part) for place, part in enumerate(parts)]
    name = "".join(kept)
    longest = max(len(folder.encode()) for folder in name.split(os.sep))
    if longest > LONGEST:
        name = _without_separators(name).encode()[:LONGEST].decode(errors="ignore")
    mark = hashlib.sha256(settings.encode()).hexdigest()[:8]
    return name if name == settings else f"{name}~{mark}"


def _without_separators(text: str) -> str:
    for separator in filter(None, (os.sep, os.altsep)):
        text = text.replace(separator, SEPARATOR)
    return text

"""The experiments in conf/: rows of papers' tables, and tables, which stand for their rows in a sweep."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from xlate.config.location import conf_folder
from xlate.errors import InputError


def rows_of_tables() -> dict[str, list[str]]:
    """The rows of each table, PAPER/TABLE, in their order."""
    folder = conf_folder() / "experiment"
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")]
    tables: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: (name.rpartition("-row")[0], _number(name))):
        tables.setdefault(name.rpartition("-row")[0], []).append(name)
    return tables


def _number(name: str) -> int:
    last = name.rpartition("row")[2]
    return int(last) if last.isdecimal() else 0


def all_rows(names: str) -> str:
    """Names between commas, with the rows of each table in its place."""
    tables = rows_of_tables()
    return ",".join(row for name in names.split(",") for row in tables.get(name, [name]))


def check_experiments(names: Iterable[str], swept_over: bool) -> None:
    """Checks names of experiments, since Hydra would not suggest similar ones.

    Raises:
        InputError: there is no such experiment, or it is a table outside a sweep.
    """
    tables = rows_of_tables()
    rows = {row for held in tables.values() for row in held}
    known = tables.keys() - {""}
    for name in names:
        if name in ("", "null") or name in rows or (name in known and swept_over):
            continue
        if name in known:
            raise InputError(
                "this experiment is a table",
                seen=f"experiment={name}",
                expected=f"-m, which trains its {len(tables[name])} rows, or one of them, {name}-rowN",
                remedy=f"xlate train -m experiment={name}",
            )
        near = difflib.get_close_matches(name, sorted({*rows, *known}), n=1, cutoff=0.0)[0]
        expected = f"one of {', '.join(sorted(known))}"
        remedy = f"did you mean experiment={near}?"
        raise InputError("no such experiment", seen=f"experiment={name}", expected=expected, remedy=remedy)

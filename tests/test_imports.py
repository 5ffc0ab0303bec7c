"""The rooms stand in one order, and a room imports only from rooms before it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import xlate

PACKAGE = Path(xlate.__file__).parent
ROOMS = [
    "kernels", "text", "arrays", "demo", "metrics", "align", "lm", "phrases", "features", "candidates", "formats",
    "scoring", "losses", "updates", "tuners", "search", "report", "learning", "work", "config", "models", "jobs", "cli",
]  # fmt: skip
FOUNDATION = {"array_types", "cluster", "compiled", "errors", "machine", "progress", "settings"}
ROOF = {"xlate.reranker", "xlate.training", "xlate.translator"}
WITHOUT_TORCH = {"kernels", "text", "arrays", "demo", "metrics", "align", "lm", "phrases", "features"}
FILES = sorted(PACKAGE.rglob("*.py"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imported_modules(path: Path) -> set[str]:
    """Every absolute module name a file imports, anywhere in it."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of a function's parameters; `self` and `cls` are none."""
    names = (node.arg for node in ast.iter_child_nodes(function.args) if isinstance(node, ast.arg))
    return [name for name in names if name not in ("self", "cls")]


def room_of(path: Path) -> str | None:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else None


def test_every_folder_is_a_known_room() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert folders <= set(ROOMS), folders - set(ROOMS)


def test_a_room_imports_only_from_rooms_before_it() -> None:
    for path in FILES:
        room = room_of(path)
        for name in imported_modules(path) if room is not None else ():
            parts = name.split(".")
            if parts[0] != "xlate" or len(parts) < 2 or parts[1] == room or parts[1] not in ROOMS:
                continue
            assert ROOMS.index(parts[1]) < ROOMS.index(room), f"{path} in {room} imports {name}"
            assert {room, parts[1]} != {"learning", "models"}, f"{path}: learning and models must not know each other"


def test_no_room_stands_on_the_roof() -> None:
    for path in FILES:
        assert room_of(path) is None or not ROOF & imported_modules(path), path


def test_libraries_stay_in_their_rooms() -> None:
    for path in FILES:
        room = room_of(path)
        heads = {name.split(".")[0] for name in imported_modules(path)}
        if path != PACKAGE / "compiled.py":
            assert not heads & {"llvmlite", "numba", "triton"}, f"{path} imports a compiler; compiled.py does"
        if room not in ("config", "cli"):
            assert not heads & {"hydra", "omegaconf"}, f"{path} knows Hydra outside config/ and cli/"
        if room in WITHOUT_TORCH:
            assert "torch" not in heads, f"{path} imports torch in a room that runs without it"


def test_no_catch_all_names() -> None:
    banned = {"utils", "helpers", "common", "misc", "util"}
    assert not [p for p in PACKAGE.rglob("*") if p.stem in banned]


def test_no_function_has_more_than_eight_parameters() -> None:
    functions = [(path, node) for path in FILES for node in nodes(path) if isinstance(node, FUNCTIONS)]
    assert [f"{path}:{node.lineno}: {node.name}" for path, node in functions if len(parameters(node)) > 8] == []


def test_rooms_are_small() -> None:
    """A folder holds at most 20 files; subfolders count as rooms of their own."""
    sizes = {folder: len(list(folder.glob("*.py"))) - 1 for folder in {p.parent for p in FILES}}
    assert {str(f.relative_to(PACKAGE)): n for f, n in sizes.items() if n > 20} == {}

"""Files damaged at random: every reader refuses them in words, or reads them; nothing else comes out."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

import xlate
from tests.arrays.folders import OPENERS
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import EXCLUDED, READERS, Reader
from xlate.errors import InputError

FEW, MANY = 50, 4000
READS = re.compile(r"(read|load|open|iterate|count|check_nbest)(_.*|$)")


@pytest.mark.parametrize("mutations", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_only_input_errors_come_out(reader: Reader, mutations: int, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    reader.make(folder)
    held = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    reader.read(folder)
    refused = endless = 0
    for number in range(round(mutations * reader.share)):
        random = Random(f"{reader.name} {number}")
        path = random.choice(list(held))
        replace(path, mutated(held[path], random))
        try:
            reader.read(folder)
        except InputError as error:
            refused += 1
            endless = max(endless, len(str(error)))
        except Exception as error:
            raise AssertionError(f"mutation {number} of {path}, which is still damaged: {error!r}") from error
        replace(path, held[path])
    assert refused
    assert endless < 3000, "a message without end"


def replace(path: Path, data: bytes) -> None:
    """Writes a new file: arrays mapped from the old one stay as they were."""
    path.unlink()
    path.write_bytes(data)


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(xlate.__path__, "xlate."):
        yield importlib.import_module(found.name)


def reads_a_path(function: object) -> bool:
    if not inspect.isfunction(function) or not READS.fullmatch(function.__name__):
        return False
    parameters = inspect.signature(function).parameters.values()
    return any("Path" in str(p.annotation) and p.name not in ("self", "number") for p in parameters)


def readers_of(module: ModuleType) -> Iterator[str]:
    """The public functions and class methods of a module that are called as readers are and take a path."""
    for name, held in vars(module).items():
        if name.startswith("_") or getattr(held, "__module__", None) != module.__name__:
            continue
        if reads_a_path(held):
            yield name
        elif inspect.isclass(held):
            methods = {key: value for key, value in vars(held).items() if isinstance(value, classmethod)}
            yield from (f"{name}.{key}" for key, value in methods.items() if reads_a_path(value.__func__))


def test_every_reader_is_damaged_or_excluded_with_a_reason() -> None:
    found = {name for module in modules() for name in readers_of(module)}
    assert {"read_arpa", "NgramModel.load", "iterate_hypotheses"} <= found
    # tests/arrays/test_every_folder.py damages folders of arrays.
    damaged = {reader.name.partition(" ")[0] for reader in READERS} | {read.__qualname__ for read in OPENERS.values()}
    assert found - damaged - EXCLUDED.keys() == set()
    assert not damaged & EXCLUDED.keys()

"""Fixtures shared by all tests."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from tests.commands import printed, refused, refused_training, remarked  # noqa: F401
from tests.made_once import shared_folder

# Machines are noisy and kernels compile in a first example: no deadline. Every run draws the same examples.
settings.register_profile("xlate", deadline=None, derandomize=True)
settings.load_profile("xlate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages run after the end-to-end tests, so that their commands need not wait for loops being compiled."""
    items.sort(key=lambda item: item.path.relative_to(Path(__file__).parent).parts[0].replace("docs", "test~"))


@pytest.fixture(scope="session", autouse=True)
def nothing_changed_outside() -> Iterator[None]:
    """The suite leaves devices, the home folder and the repository's own folders as they were."""
    before = state_outside()
    yield
    after = state_outside()
    changed = {place: sorted(before[place] ^ after[place]) for place in before if before[place] != after[place]}
    assert not changed, f"changed while the tests ran, not there before or no longer there: {changed}"


def state_outside() -> dict[str, set[str]]:
    """What is compared, by place.

    Of folders that other programs write into, the names that stand directly in them; hidden ones are their business.
    """
    root = Path(__file__).resolve().parents[1]
    found = {
        str(device): {described(device)} for device in map(Path, ("/dev/null", "/dev/zero", "/dev/full", "/dev/stdout"))
    }
    for folder in (Path.home(), root, root / "runs", root / "work"):
        names = [entry for entry in folder.iterdir() if entry.name[0] != "."] if folder.is_dir() else []
        found[str(folder)] = {f"{entry.name} {stat.S_IFMT(entry.lstat().st_mode):o}" for entry in names}
    found[str(root / "conf")] = {described(path) for path in (root / "conf").rglob("*")}
    return found


def described(path: Path) -> str:
    """A file's name, kind and device, and for plain files size and time of change."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return f"{path} absent"
    plain = f"{status.st_size} {status.st_mtime_ns}" if stat.S_ISREG(status.st_mode) else ""
    return f"{path} {stat.S_IFMT(status.st_mode):o} {status.st_rdev} {plain}"


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the session's own: what was found whole is remembered there, also by commands it starts.

    These commands are those of this checkout.
    """
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        # Matplotlib keeps its list of fonts where it was.
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        patch.setenv("MPLCONFIGDIR", os.environ.get("MPLCONFIGDIR") or str(Path(home) / "matplotlib"))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]), prepend=os.pathsep)
        yield folder


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One worker compiles a loop. The others wait for it, and then find it on disk.

    Compiling takes minutes in a fresh clone. A loop only waits for loops that it calls, so no two workers wait for
    each other.
    """
    compile_loop, held = Dispatcher.compile, set[str]()
    folder = shared_folder(tmp_path_factory) / "loops"
    folder.mkdir(exist_ok=True)

    def compile_or_wait(self: Dispatcher, signature: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if not name.startswith("xlate") or name in held:
            return compile_loop(self, signature)
        with global_compiler_lock, (folder / name).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            held.add(name)
            try:
                return compile_loop(self, signature)
            finally:
                held.discard(name)

    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr(Dispatcher, "compile", compile_or_wait)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora: XLATE_DATA, or ../shared/data beside the repository; skips when absent."""
    named = os.environ.get("XLATE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (folder / "README.md").exists():
        pytest.skip("real corpora are absent: set XLATE_DATA")
    return folder


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """PyTorch with one thread, so that products of small matrices do not wait for other processes."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def rng() -> np.random.Generator:
    """A random generator with a fixed seed."""
    return np.random.default_rng(20261120)

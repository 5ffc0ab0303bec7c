"""What the machine gives this process: memory, writable folders, and the signals SIGTERM and SIGINT.

In training a signal asks to stop soon; elsewhere it ends the program, leaving nothing half-made.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from xlate.errors import InputError, Interrupted

# Seconds between checks whether other processes are alive.
LOOK = 1.0
MEMINFO, GROUPS_OF_PROCESS, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Of a control group, version 2 and version 1: its limit, its usage, and how much of that can be reclaimed at once.
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def peak_megabytes() -> float:
    """The largest resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def launched_rank() -> int:
    """The rank of this process among those that torchrun started; 0 for any other process."""
    return int(os.environ["RANK"]) if "TORCHELASTIC_RUN_ID" in os.environ else 0


def megabytes(size: str) -> int:
    """The megabytes that a size such as 2GB or 500MB stands for.

    Raises:
        InputError: it is written in another way, or below 1 MB.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([GM])B?", size.strip().upper())
    number = 0 if found is None else int(float(found[1]) * (1024 if found[2] == "G" else 1))
    if number < 1:
        raise InputError("not a size of memory", size, "a number with its unit, such as 2GB or 500MB")
    return number


def check_memory(what: str, size: float, setting: str) -> None:
    """Checks before work begins that there is enough memory for its arrays.

    Args:
        what: the arrays, in words.
        size: the minimum number of bytes that they take.
        setting: what makes them so large, such as `model.bits=30`.

    Raises:
        InputError: less memory is free.
    """
    free = free_memory()
    if free is not None and size > free:
        raise InputError(
            f"not enough memory for {what}",
            f"{setting}, which needs {_shown(size)}",
            f"at most {_shown(free)}, the free memory",
            f"lower {setting.partition('=')[0]}, or use a machine with more memory",
        )


def free_memory() -> int | None:
    """The bytes that this process can still allocate: those free on the machine, or fewer if a control group has a
    limit; None if the system does not say.
    """
    found = [*_free_on_machine(), *_free_in_groups()]
    return max(0, min(found)) if found else None


def _free_on_machine() -> Iterator[int]:
    if MEMINFO.exists():
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield 1024 * int(line.split()[1])


def _free_in_groups() -> Iterator[int]:
    """The free memory of each control group that contains this process, directly or indirectly."""
    lines = GROUPS_OF_PROCESS.read_text(encoding="utf-8").splitlines() if GROUPS_OF_PROCESS.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = GROUPS / controllers
        folder = top / path.lstrip("/")
        for group in (folder, *(around for around in folder.parents if around.is_relative_to(top))):
            yield from _free_in_group(group, *_FILES[controllers == "memory"])


def _free_in_group(group: Path, limit: str, used: str, given_back: str) -> Iterator[int]:
    try:
        most = (group / limit).read_text(encoding="ascii").strip()
        taken = int((group / used).read_text(encoding="ascii"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
    except OSError:
        return
    if most != "max":
        yield int(most) - taken + int(stat.get(given_back, 0))


def _shown(size: float) -> str:
    return f"{size / 2**30:,.1f} GiB"


def keep_in_scratch(variable: str, name: str, *usual: Path) -> None:
    """Sets an environment variable to a private folder, unless it is set or all usual places are writable."""
    if variable not in os.environ and not all(can_be_written(folder) for folder in usual):
        os.environ[variable] = str(private_folder(name))


def can_be_written(folder: Path) -> bool:
    """Whether a folder is writable or can be created."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    except (OSError, StopIteration):
        return False


def home(variable: str, name: str) -> Path:
    """The folder in an XDG variable, or otherwise the folder `name` in the home folder."""
    return Path(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), name))


def private_folder(name: str) -> Path:
    """A temporary folder that only this user can write to, since it may contain code.

    The next process finds the same folder. If somebody else has taken its name, the folder is for this process only.
    """
    top = Path(tempfile.gettempdir()) / f"xlate-{os.getuid()}"
    try:
        top.mkdir(mode=0o700, exist_ok=True)
        seen = top.lstat()
        if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077:
            (top / name).mkdir(exist_ok=True)
            return top / name
    except OSError:
        pass
    made = tempfile.mkdtemp(prefix="xlate-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


STOPPING = "stopping as soon as the work is saved; press Ctrl-C again to stop at once\n"


class Stopped(Exception):
    """A training or waiting ended early because a signal asked for it; what was done is saved."""


# Says whether to stop.
Stop = Callable[[], bool]
Item = TypeVar("Item")


def never() -> bool:
    """For work that does not stop early."""
    return False


def until_stopped(items: Iterable[Item], stop: Stop) -> Iterator[Item]:
    """Yields the items.

    Raises:
        Stopped: before the next item, `stop` said so.
    """
    for item in items:
        if stop():
            raise Stopped
        yield item


class StopFlag:
    """Within its `with` block the two signals set a flag and report it; a second SIGINT interrupts at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Callable[..., Any] | int | None] = {}

    def __bool__(self) -> bool:
        return self.signal is not None

    def __enter__(self) -> StopFlag:
        # Python lets only the main thread set handlers; elsewhere the flag is simply never set.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._set)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _set(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal is None and sys.__stderr__ is not None:
            # Not through the stream: the program may be in the middle of writing to it.
            with contextlib.suppress(OSError, ValueError):
                os.write(sys.__stderr__.fileno(), f"\n{STOPPING}".encode())
        self.signal = number


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised wherever the program was."""


@contextlib.contextmanager
def termination_raised() -> Iterator[None]:
    """Makes SIGTERM and SIGINT end the code in this block by an exception, so that everything is cleaned up.

    That exception can get lost. Python drops it in functions that the compiler calls and in `__del__`; unless the block
    ends soon, the signal is then sent again. A library that is interrupted half-way may raise an error of its own
    instead, so any error after a signal counts as the interruption.

    Raises:
        Interrupted: a signal came.
    """
    came: list[KeyboardInterrupt] = []
    before = sys.unraisablehook

    def raise_it(number: int, _frame: FrameType | None) -> None:
        came.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise came[-1]

    def number() -> int:
        return signal.SIGTERM if isinstance(came[-1], Terminated) else signal.SIGINT

    def send_again() -> None:
        if sys.unraisablehook is keep:
            os.kill(os.getpid(), number())

    def keep(found: sys.UnraisableHookArgs) -> None:
        if isinstance(found.exc_value, KeyboardInterrupt):
            came.append(found.exc_value)
            timer = threading.Timer(LOOK, send_again)
            timer.daemon = True
            timer.start()
        elif not came:
            before(found)

    # Python lets only the main thread set handlers; handlers other than the usual ones are left in place.
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    main = threading.current_thread() is threading.main_thread()
    ours = {one: handler for one, handler in usual.items() if main and signal.getsignal(one) is handler}
    for one in ours:
        signal.signal(one, raise_it)
    sys.unraisablehook = keep
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            came.append(error)
        if not came:
            raise
        # Half-made objects are removed now, while what their removal raises is not reported.
        traceback.clear_frames(came[-1].__traceback__)
        raise Interrupted("stopped by a signal", 128 + number()) from error
    finally:
        sys.unraisablehook = before
        for one, handler in ours.items():
            signal.signal(one, handler)


@cache
def end_with(parent: int) -> None:
    """Ends this process when its parent is gone: a killed parent cannot say so, and this process would carry on."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

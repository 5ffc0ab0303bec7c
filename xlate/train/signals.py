"""SIGTERM and SIGINT: in training a wish to stop soon, elsewhere an end that leaves nothing half-made."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from xlate.errors import Interrupted

STOPPING = "stopping as soon as the work can be saved; Ctrl-C again stops at once\n"


class StopFlag:
    """Within its `with` block the two signals set a flag, and say so; a second SIGINT interrupts at once."""

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
            # Not by the stream: the program may be in the middle of writing to it.
            with contextlib.suppress(OSError, ValueError):
                os.write(sys.__stderr__.fileno(), f"\n{STOPPING}".encode())
        self.signal = number


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised wherever the program was."""


@contextlib.contextmanager
def dropped_interruptions_raised() -> Iterator[None]:
    """Raises an interruption in place of the error that follows from it where Python had to drop it.

    While loops are compiled, a signal is first seen in a function that the compiler calls; what such a function raises
    is written to standard error and forgotten, and then the compiler fails for want of its result.
    """
    dropped: list[BaseException] = []
    before = sys.unraisablehook

    def keep(found: sys.UnraisableHookArgs) -> None:
        if isinstance(found.exc_value, KeyboardInterrupt):
            dropped.append(found.exc_value)
        else:
            before(found)

    sys.unraisablehook = keep
    try:
        yield
    except Exception as error:
        if not dropped:
            raise
        raise dropped[0] from error
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def termination_raised() -> Iterator[None]:
    """Lets SIGTERM end what runs in here by an error that everything cleans up after.

    Raises:
        Interrupted: it came.
    """

    def raise_it(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    # Python lets only the main thread set handlers; whoever has set one before wants it.
    free = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if free:
        signal.signal(signal.SIGTERM, raise_it)
    try:
        with dropped_interruptions_raised():
            yield
    except Terminated as error:
        raise Interrupted("stopped by a signal", 128 + signal.SIGTERM) from error
    finally:
        if free:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

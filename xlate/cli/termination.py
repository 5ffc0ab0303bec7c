"""SIGTERM outside of training, which has a way of its own: what is half-made is removed, as after Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from xlate.errors import Interrupted


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised wherever the program was."""


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
        yield
    except Terminated as error:
        raise Interrupted("stopped by a signal", 128 + signal.SIGTERM) from error
    finally:
        if free:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

"""SIGTERM and SIGINT as a wish to stop soon, with the state saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class StopFlag:
    """Within its `with` block the two signals set a flag; a second SIGINT interrupts at once."""

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
        self.signal = number

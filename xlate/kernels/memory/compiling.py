"""Tells the user to wait while loops are compiled, which happens once for each installation."""

from __future__ import annotations

import logging
import time

from numba.core.event import Event, Listener, register

log = logging.getLogger(__name__)
# Compiling that takes less is not mentioned.
PATIENCE_SECONDS = 2.0


class Announcer(Listener):
    """Writes one line to the log once compiling has taken longer than two seconds, however many loops follow."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._told = False

    def on_start(self, event: Event) -> None:  # noqa: ARG002
        """Called when compiling a loop begins, perhaps inside the compiling of another."""
        now = time.monotonic()
        self._first = now if self._first is None else self._first
        if not self._told and now - self._first > PATIENCE_SECONDS:
            self._told = True
            log.info("compiling loops: once for each installation, up to a minute or two")

    def on_end(self, event: Event) -> None:
        """Called when compiling a loop ends."""


def announce() -> None:
    """Begins to listen to numba."""
    register("numba:compile", Announcer())  # type: ignore[no-untyped-call]

"""A word on compiling: one, and only when it takes long."""

from __future__ import annotations

import logging

import pytest
from numba.core.event import Event, EventStatus

from xlate import compiled
from xlate.compiled import Announcer


def test_one_line_once_it_takes_long(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = [10.0]
    monkeypatch.setattr(compiled.time, "monotonic", lambda: now[0])
    announcer = Announcer()

    def compile_until(seconds: float) -> int:
        announcer.notify(Event("numba:compile", EventStatus.START))
        now[0] = seconds
        announcer.notify(Event("numba:compile", EventStatus.END))
        return len(caplog.messages)

    assert [compile_until(t) for t in (11.0, 12.5, 13.0, 90.0, 95.0)] == [0, 0, 1, 1, 1]
    assert "once for each installation" in caplog.messages[0]


def test_numba_tells_what_it_compiles(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import njit
    from numba.core.event import install_listener

    caplog.set_level(logging.INFO)
    monkeypatch.setattr(compiled, "PATIENCE_SECONDS", -1.0)
    with install_listener("numba:compile", Announcer()):
        njit(lambda x: x + 1)(1)
    assert any("compiling loops" in line for line in caplog.messages)

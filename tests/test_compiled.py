"""A word on compiling: one, and only when it takes long."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import int64
from numba.core.caching import IndexDataCacheFile
from numba.core.event import Event, EventStatus

from tests.parts import from_python
from xlate import compiled
from xlate.compiled import Announcer, inner, loop


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
    assert "once per installation" in caplog.messages[0]


def test_numba_tells_what_it_compiles(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import njit
    from numba.core.event import install_listener

    caplog.set_level(logging.INFO)
    monkeypatch.setattr(compiled, "PATIENCE_SECONDS", -1.0)
    with install_listener("numba:compile", Announcer()):
        njit(lambda x: x + 1)(1)
    assert any("compiling loops" in line for line in caplog.messages)


def test_code_kept_for_a_module_that_is_gone_is_compiled_anew(tmp_path: Path) -> None:
    file = IndexDataCacheFile(str(tmp_path), "function", "stamp")
    file.save("key", 1)
    (index,) = tmp_path.glob("*.nbi")
    index.write_bytes(pickle.dumps(numba.__version__) + b"cxlate.no_such_module\nRoom\n.")
    assert file.load("key") is None
    file.save("key", 2)
    assert file.load("key") == 2


FIVE = 5


@inner
def doubled(number: int) -> int:
    return 2 * number


@loop
def in_many_ways(given_N: np.ndarray) -> int:  # type: ignore[type-arg]
    total, so_far = doubled(FIVE) + doubled(number=0), 0
    while so_far < 8:
        so_far = doubled(so_far) + 1
    return total + so_far + doubled(given_N[0])


def test_a_function_is_compiled_once_whatever_it_is_called_with() -> None:
    given_N = np.array([4])
    assert in_many_ways(given_N) == 10 + 15 + 8
    given_N.flags.writeable = False
    assert in_many_ways(given_N) == 10 + 15 + 8
    assert len(in_many_ways.signatures) == 1
    assert in_many_ways(given_N.astype(np.int32)) == 10 + 15 + 8
    assert doubled.signatures == [(int64,)]


def test_python_cannot_call_an_inner_function() -> None:
    assert from_python(doubled)(2) == 4
    with pytest.raises(TypeError, match="only compiled code calls doubled"):
        doubled(2)

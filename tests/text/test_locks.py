"""Folders that one process writes at a time, with real processes."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.machine import Stopped
from xlate.text.folders import awaited, refused_while_written

HOLD = """
import sys, time
from pathlib import Path
from xlate.text.folders import refused_while_written
with refused_while_written(Path(sys.argv[1]), "run"):
    print("held", flush=True)
    sys.stdin.readline()
print("left", flush=True)
"""
FORKED = """
import os, sys, time
from pathlib import Path
from xlate.text.folders import refused_while_written
with refused_while_written(Path(sys.argv[1]), "run"):
    if os.fork() == 0:
        print(os.getpid(), flush=True)
    time.sleep(600)
"""


def holding(folder: Path, script: str = HOLD) -> subprocess.Popen[str]:
    """A process that holds the folder's lock until it is told something; its first line was read."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", script, str(folder)], text=True, **pipes)  # type: ignore[call-overload]
    process.first = process.stdout.readline().strip()  # type: ignore[attr-defined]
    return process  # type: ignore[no-any-return]


def test_the_second_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with holding(tmp_path / "a" / "run") as process:
        again = refused_while_written(tmp_path / "a" / "run", "run")
        with pytest.raises(InputError, match="another process is writing this run") as caught, again:
            pytest.fail("it was held")
        assert f"process {process.pid} on {os.uname().nodename}" in str(caught.value)
        with refused_while_written(tmp_path / "b", "run"):
            pass
        process.communicate("\n")
    # What the lock made and nobody filled is gone, and with it the lock.
    assert not list(tmp_path.iterdir())


def test_a_file_that_its_holder_removed_in_between_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder leaves after the file was opened here and before it is locked."""
    flock, leaving = fcntl.flock, [tmp_path / ".run.xlate.lock"]

    def late(file: int, how: int) -> None:
        if leaving:
            leaving.pop().unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    second = refused_while_written(tmp_path / "run", "run")
    with refused_while_written(tmp_path / "run", "run"), pytest.raises(InputError, match="another process"), second:
        pytest.fail("two hold it")


def test_neither_a_killed_process_nor_its_child_holds_on_to_it(tmp_path: Path) -> None:
    with holding(tmp_path / "run", FORKED) as process:
        process.kill()
        process.wait()
        child = int(process.first)  # type: ignore[attr-defined]
        try:
            os.kill(child, 0)
            assert os.listdir(tmp_path) == [".run.xlate.lock"]
            with refused_while_written(tmp_path / "run", "run"):
                pass
        finally:
            os.kill(child, signal.SIGKILL)
    assert not list(tmp_path.iterdir())


def test_the_second_waits_says_for_whom_and_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    looks = 0
    with ExitStack() as first:
        first.enter_context(awaited(tmp_path / "work"))

        def stop() -> bool:
            nonlocal looks
            looks += 1
            if looks == 2:
                first.close()
            return False

        with awaited(tmp_path / "work", stop):
            assert len(list(tmp_path.iterdir())) == 1
    assert looks == 2
    assert caplog.text.count("waiting for") == 1
    assert f"waiting for process {os.getpid()} on" in caplog.text


def test_folders_are_held_apart_and_a_stop_ends_waiting(tmp_path: Path) -> None:
    with awaited(tmp_path / "one"), awaited(tmp_path / "two"), awaited(tmp_path):
        assert len(list(tmp_path.iterdir())) == 2
        with pytest.raises(Stopped), awaited(tmp_path / "one", lambda: True):
            pytest.fail("it was held")
    assert not list(tmp_path.iterdir())


def test_what_stands_under_the_name_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    (tmp_path / ".run.xlate.lock").symlink_to(tmp_path / "mine")
    with refused_while_written(tmp_path / "run", "run"):
        pass
    assert (tmp_path / "mine").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_where_nothing_can_be_written_nothing_is_locked(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with refused_while_written(tmp_path / "run", "run"), refused_while_written(tmp_path / "deeper" / "run", "run"):
        pass
    tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())

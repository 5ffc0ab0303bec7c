"""Runs of somebody else, opened by a user whose home cannot be written."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_end_to_end import run, work  # noqa: F401
from xlate.scratch import can_be_written, keep_in_scratch, private_folder

REPOSITORY = Path(__file__).resolve().parents[1]


def without_power() -> None:
    """Rights of files hold for root, too, in what is executed next: prctl(PR_CAPBSET_DROP, CAP_DAC_…)."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0


def frozen(folder: Path) -> Path:
    """The folder, in which nothing can be written any more."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o555)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="takes root's power away in Linux's way")
def test_without_a_home_runs_are_translated_with_and_reported(work: Path, run: Path, tmp_path: Path) -> None:  # noqa: F811
    """The package, run, work directory and home cannot be written, a temporary folder can."""
    package = tmp_path / "package"
    for name in ("xlate", "conf"):
        shutil.copytree(REPOSITORY / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    environment = {**kept, "PYTHONPATH": str(package), "TMPDIR": str(tmp_path / "tmp")}
    held = [frozen(folder) for folder in (package, tmp_path / "home", run, work)]
    try:
        for home in (tmp_path / "home", Path("/nowhere/at/all")):
            for command in (["translate", f"run={run}"], ["report", str(run), f"out={tmp_path / 'out'}"]):
                done = subprocess.run(
                    [sys.executable, "-m", "xlate.cli.main", *command],
                    env={**environment, "HOME": str(home)},
                    cwd=tmp_path,
                    input=b"Nirka no holdo va bolko ast.\n",
                    capture_output=True,
                    preexec_fn=without_power,
                    check=False,
                )
                seen = done.stderr.decode()
                assert done.returncode == 0, seen
                assert done.stdout.strip()
                assert "Traceback" not in seen
                assert "MPLCONFIGDIR" not in seen
        assert not list((tmp_path / "home").iterdir())
        assert list((tmp_path / "tmp").glob("xlate-*/numba/*/*.nbi")), "compiled loops are kept"
    finally:
        for folder in held:
            for path in (folder, *folder.rglob("*")):
                if path.is_dir():
                    path.chmod(0o755)


def test_a_private_folder_is_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first = private_folder("numba")
    assert private_folder("numba") == first
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    # Others could have put code there.
    first.parent.chmod(0o777)
    other = private_folder("numba")
    assert other.parent == tmp_path
    assert other != first.parent
    assert stat.S_IMODE(other.stat().st_mode) == 0o700
    first.parent.rename(tmp_path / "elsewhere")
    (tmp_path / f"xlate-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    assert private_folder("numba") not in (first, tmp_path / "elsewhere" / "numba")


def test_what_is_set_or_can_be_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("SOME_CACHE", raising=False)
    (tmp_path / "file").touch()
    assert can_be_written(tmp_path / "not" / "there")
    assert not can_be_written(tmp_path / "file" / "below")
    keep_in_scratch("SOME_CACHE", "some", tmp_path)
    assert "SOME_CACHE" not in os.environ
    keep_in_scratch("SOME_CACHE", "some", tmp_path, tmp_path / "file")
    assert os.environ["SOME_CACHE"] == str(private_folder("some"))
    monkeypatch.setenv("SOME_CACHE", "mine")
    keep_in_scratch("SOME_CACHE", "some", tmp_path / "file")
    assert os.environ["SOME_CACHE"] == "mine"

"""What the machine gives this process: memory, and folders that can be written."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.made_once import as_prepared
from tests.phrases.small_corpora import encoded
from tests.test_end_to_end import run, work  # noqa: F401
from xlate import machine
from xlate.align.links import Links
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.train.contexts import ContextTraining
from xlate.machine import can_be_written, check_memory, free_memory, keep_in_scratch, megabytes, private_folder
from xlate.phrases.distortion import Distortion
from xlate.text.clustering import exchange_classes

GIB = 2**30
MEMINFO = "MemTotal: 99 kB\nMemFree: 1 kB\nMemAvailable: 5000 kB\n"


def system(folder: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str]) -> None:
    """A system that says this."""
    for name, text in {"meminfo": MEMINFO, "groups": groups, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(machine, "MEMINFO", folder / "meminfo")
    monkeypatch.setattr(machine, "GROUPS_OF_PROCESS", folder / "groups")
    monkeypatch.setattr(machine, "GROUPS", folder / "fs")


def group(most: str, used: int, cached: int, version: int = 2) -> dict[str, str]:
    if version == 1:
        stat = f"inactive_file 1\ntotal_inactive_file {cached}\n"
        return {"memory.limit_in_bytes": most, "memory.usage_in_bytes": str(used), "memory.stat": stat}
    return {
        "memory.max": f"{most}\n",
        "memory.current": f"{used}\n",
        "memory.stat": f"anon 1\ninactive_file {cached}\n",
    }


@pytest.mark.parametrize(
    ("groups", "where", "files", "free"),
    [
        ("", "fs", {}, 5000 * 1024),
        ("0::/a/b\n", "fs/a/b", group("max", 10, 0), 5000 * 1024),
        ("0::/a/b\n", "fs/a/b", group("1000", 900, 200), 300),
        ("0::/a/b\n", "fs/a", group("1000", 900, 200), 300),
        ("0::/../elsewhere\n", "fs", group("1000", 1900, 200), 0),
        ("3:cpu,cpuacct:/a\n4:memory:/a\n0::/\n", "fs/memory/a", group("700", 300, 50, version=1), 450),
    ],
)
def test_free_is_what_machine_and_control_group_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, where: str, files: dict[str, str], free: int
) -> None:
    system(tmp_path, monkeypatch, groups, {f"{where}/{name}": text for name, text in files.items()})
    assert free_memory() == free


def test_a_system_that_says_nothing_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMINFO", "GROUPS_OF_PROCESS", "GROUPS"):
        monkeypatch.setattr(machine, name, tmp_path / "absent")
    check_memory("anything", 1e30, "model.bits=99")


def test_what_needs_more_than_is_free_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 2 * GIB)
    check_memory("weights", 2 * GIB, "model.bits=9")
    with pytest.raises(InputError) as caught:
        check_memory("weights", 2.5 * GIB, "model.bits=10")
    assert str(caught.value).splitlines() == [
        "not enough memory for weights",
        "  seen:     model.bits=10, which needs 2.5 GiB",
        "  expected: at most 2.0 GiB, the free memory",
        "  remedy:   lower model.bits, or use a machine with more memory",
    ]


def _classifier(*more: str) -> None:
    ContextTraining.check(load(TrainConfig, "train", ["work=w", "model=context", "model.bits=27", *more]))


@pytest.mark.parametrize(
    ("begin", "free", "setting"),
    [
        (_classifier, 3 * GIB - 1, "model.bits=27, which needs 3.0 GiB"),
        (lambda: _classifier("loss.average=true"), 5 * GIB - 1, "model.bits=27, which needs 5.0 GiB"),
        (lambda: exchange_classes(encoded([[3, 4]]), 5, 2**31 - 1, 1), 10**15, "class2147483647"),
        (
            lambda: Distortion.count(encoded([[3, 4]]), Links.from_pairs([[(0, 0)]]), 10**9, 1000),
            10**9,
            "model.jump_reach=1000",
        ),
    ],
    ids=["weights", "averages", "classes", "jumps"],
)
def test_what_a_setting_makes_large_is_refused_before_work(
    monkeypatch: pytest.MonkeyPatch, begin: Callable[[], object], free: int, setting: str
) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: free)
    with pytest.raises(InputError, match="not enough memory for") as caught:
        begin()
    assert setting in str(caught.value.seen)


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
    own = as_prepared(work, tmp_path / "work"), shutil.copytree(run, tmp_path / "run")
    config = own[1] / "config.yaml"
    config.write_text(config.read_text().replace(str(work), str(own[0])))
    held = [frozen(folder) for folder in (package, tmp_path / "home", *own)]
    try:
        for home in (tmp_path / "home", Path("/nowhere/at/all")):
            for command in (["translate", f"run={own[1]}"], ["report", str(own[1]), f"out={tmp_path / 'out'}"]):
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


@pytest.mark.parametrize(("size", "expected"), [("2GB", 2048), ("500 MB", 500), ("1.5g", 1536)])
def test_sizes_of_memory(size: str, expected: int) -> None:
    assert megabytes(size) == expected


@pytest.mark.parametrize("size", ["2", "two GB", "0MB", "-1GB", ""])
def test_what_is_not_a_size_of_memory(size: str) -> None:
    with pytest.raises(InputError, match=r"(?s)not a size of memory.*2GB or 500MB"):
        megabytes(size)

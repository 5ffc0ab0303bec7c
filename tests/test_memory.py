"""What memory is free, as the system says it, and work that would need more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.phrases.small_corpora import encoded
from xlate import memory
from xlate.align.links import Links
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.train.contexts import ContextTraining
from xlate.memory import check_memory, free_memory
from xlate.phrases.distortion import Distortion
from xlate.text.clustering import exchange_classes

GIB = 2**30
MEMINFO = "MemTotal: 99 kB\nMemFree: 1 kB\nMemAvailable: 5000 kB\n"


def system(folder: Path, monkeypatch: pytest.MonkeyPatch, groups: str, files: dict[str, str]) -> None:
    """A system that says this."""
    for name, text in {"meminfo": MEMINFO, "groups": groups, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(memory, "MEMINFO", folder / "meminfo")
    monkeypatch.setattr(memory, "GROUPS_OF_PROCESS", folder / "groups")
    monkeypatch.setattr(memory, "GROUPS", folder / "fs")


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
        monkeypatch.setattr(memory, name, tmp_path / "absent")
    check_memory("anything", 1e30, "model.bits=99")


def test_what_needs_more_than_is_free_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 2 * GIB)
    check_memory("weights", 2 * GIB, "model.bits=9")
    with pytest.raises(InputError) as caught:
        check_memory("weights", 2.5 * GIB, "model.bits=10")
    assert str(caught.value).splitlines() == [
        "not enough memory for weights",
        "  seen:     model.bits=10, which needs 2.5 GiB",
        "  expected: no more than the 2.0 GiB that are free",
        "  remedy:   lower model.bits, or use a machine with more memory",
    ]


def _classifier(*more: str) -> None:
    ContextTraining.check(load(TrainConfig, "train", ["work=w", "model=context", "model.bits=27", *more]))


@pytest.mark.parametrize(
    ("work", "free", "setting"),
    [
        (_classifier, 3 * GIB - 1, "model.bits=27, which needs 3.0 GiB"),
        (lambda: _classifier("loss.average=true"), 5 * GIB - 1, "model.bits=27, which needs 5.0 GiB"),
        (lambda: exchange_classes(encoded([[3, 4]]), 5, 2**31 - 1), 10**15, "class2147483647"),
        (
            lambda: Distortion.count(encoded([[3, 4]]), Links.from_pairs([[(0, 0)]]), 10**9, 1000),
            10**9,
            "model.jump_reach=1000",
        ),
    ],
    ids=["weights", "averages", "classes", "jumps"],
)
def test_what_a_setting_makes_large_is_refused_before_work(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], free: int, setting: str
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    with pytest.raises(InputError, match="not enough memory for") as caught:
        work()
    assert setting in str(caught.value.seen)

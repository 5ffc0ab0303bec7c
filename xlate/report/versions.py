"""Which versions of programs a run used."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import xlate

PACKAGES = ("torch", "numpy", "numba", "sacrebleu", "sil-thot")


def versions() -> dict[str, Any]:
    """The versions of Python, xlate and the libraries that its numbers depend on, the platform, and the git commit if
    there is one.
    """
    held: dict[str, Any] = {"xlate": xlate.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            held[package] = version(package)
        except PackageNotFoundError:
            held[package] = None
    held |= {"platform": platform.platform(), "machine": platform.machine(), "processors": os.cpu_count()}
    return held | git_commit(Path(xlate.__file__).resolve().parents[1])


def git_commit(folder: Path) -> dict[str, Any]:
    """The commit checked out in a folder, and whether tracked files differ from it; empty outside a repository."""
    if not (folder / ".git").exists():
        return {}
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"git_commit": commit, "git_changed": bool(changed)}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

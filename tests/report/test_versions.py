"""Versions and the commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

from xlate.report.run_directory import git_commit


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path) == {}
    (tmp_path / ".git").mkdir()
    assert git_commit(tmp_path) == {}


def test_the_commit_and_whether_files_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    commit = git("rev-parse", "HEAD")
    assert git_commit(tmp_path) == {"git_commit": commit, "git_changed": False}
    (tmp_path / "other").write_text("untracked")
    assert git_commit(tmp_path)["git_changed"] is False
    (tmp_path / "file").write_text("two")
    assert git_commit(tmp_path)["git_changed"] is True

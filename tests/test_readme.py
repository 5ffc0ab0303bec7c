"""What the README shows works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import Capture
from xlate.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = '"data.generated.train=300", "data.generated.dev=20", "data.generated.test=20", "align=fast_align"'


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    whole = '"data=demo"'
    assert whole in example
    monkeypatch.chdir(tmp_path)
    exec(compile(example.replace(whole, f"{whole}, {SMALL}"), "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_every_command_is_described() -> None:
    assert set(re.findall(r"^\| `xlate (\w+)` \|", README, flags=re.MULTILINE)) == set(COMMANDS)

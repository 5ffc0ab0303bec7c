"""The code blocks of docs/ run, in the order of their page, and print what the page says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, named
from tests.made_once import made_once
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401

WORD = re.compile(r"[^\W\d_]{3,}")
WITH_BLOCKS = [path for path in PAGES if path.parent.name != "decisions" and blocks(path)]


@pytest.fixture(scope="module")
def desk(phrase_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The folder of a reader who goes through all pages: what one page made is finished on the next.

    A finished run stands there as `runs/mine`.
    """

    def make(folder: Path) -> None:
        (folder / "runs").mkdir(parents=True)
        (folder / "runs" / "mine").symlink_to(phrase_run)
        (folder / "bin").mkdir()
        command = folder / "bin" / "xlate"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m xlate.cli.main "$@"\n')
        command.chmod(0o755)

    return made_once(tmp_path_factory, "desk", make)


def in_bash(text: str) -> str:
    command = ["bash", "-e", "-o", "pipefail"]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    return done.stdout


def in_python(text: str, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, "page", "exec"), names)
    return printed.getvalue()


def missing(shown: str, printed: str) -> list[str]:
    """Words that a page shows and that were not printed; numbers and single letters may be others."""
    known = set(WORD.findall(printed))
    return [word for word in WORD.findall(shown) if word not in known]


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=named)
def test_code_blocks_run_and_print_what_is_shown(path: Path, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions are left out: they record what was thought of, too. Words that are learned may differ a little."""
    monkeypatch.setenv("PATH", f"{desk / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(desk)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(path):
        printed = in_python(block.text, names) if block.language == "python" else in_bash(block.text)
        for shown in block.shown:
            lost = missing(shown, printed)
            assert len(lost) <= 0.2 * len(WORD.findall(shown)), f"{block.text}\nprints no {lost}:\n{printed}"


def test_what_is_shown_must_have_been_printed() -> None:
    assert missing("bleu 51.2 and a lot", "bleu     49.99 ± 6.68 and") == ["lot"]


def test_blocks_are_found_with_what_they_print(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```bash\none\n```\n\nprints\n\n```text\ntwo\n```\n\n```\nread\n```\n\n```python\n3\n```\n")
    assert blocks(page) == [Block("bash", "one\n", ["two\n"]), Block("python", "3\n", [])]

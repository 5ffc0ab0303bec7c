"""The code blocks of docs/ run, in the order of their page, and print what the page says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, Block, blocks, named
from tests.made_once import made_once

WORD = re.compile(r"[^\W\d_]{3,}")
COLUMNS = re.compile(r"\s*[│┃]\s*|\s{2,}")
# The other pages go on from what this one makes.
FIRST = DOCS / "tutorials" / "own_data.md"
WITH_BLOCKS = [path for path in PAGES if path.parent.name != "decisions" and path != FIRST and blocks(path)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader who has gone through the first tutorial; `runs/mine` is its tuned run, too."""

    def make(folder: Path) -> None:
        (folder / "bin").mkdir(parents=True)
        command = folder / "bin" / "xlate"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m xlate.cli.main "$@"\n')
        command.chmod(0o755)
        go_through(FIRST, folder)
        (folder / "runs" / "mine").symlink_to("tuned")

    return made_once(tmp_path_factory, "desk", make)


def go_through(path: Path, folder: Path) -> None:
    """Runs the blocks of a page, one after the other, in a folder; fails where what is shown is not what is printed."""
    names: dict[str, object] = {"__name__": "page"}
    with pytest.MonkeyPatch.context() as patch:
        # Readers have their environment active: `python` is the one that has xlate.
        places = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        patch.setenv("PATH", os.pathsep.join(places))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.setenv("COLUMNS", "100")
        patch.chdir(folder)
        for block in blocks(path):
            printed = in_python(block.text, names) if block.language == "python" else in_bash(block.text)
            for shown in block.shown:
                lost = missing(shown, printed)
                assert len(lost) <= 0.2 * len(WORD.findall(shown)), f"{block.text}\nprints no {lost}:\n{printed}"
                other = [head for head in heads(shown) if head not in heads(printed)]
                assert not other, f"{block.text}\nprints no table with the columns {other}:\n{printed}"


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


def heads(text: str) -> list[list[str]]:
    """The columns of the tables in a text; a head is a line of three columns or more without a number."""
    rows = [COLUMNS.split(line.strip(" │┃")) for line in text.splitlines() if not re.search(r"\d", line)]
    return [row for row in rows if len(row) >= 3]


def test_the_first_tutorial_runs(desk: Path) -> None:
    assert (desk / "runs" / "sparse" / "weights.safetensors").is_file()


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=named)
def test_code_blocks_run_and_print_what_is_shown(path: Path, desk: Path, tmp_path: Path) -> None:
    """Decisions are left out: they record what was thought of, too. Words that are learned may differ a little.

    Each page begins where the first tutorial ends, whatever other pages made.
    """
    go_through(path, shutil.copytree(desk, tmp_path / "desk", symlinks=True))


def test_what_is_shown_must_have_been_printed() -> None:
    assert missing("bleu 51.2 and a lot", "bleu     49.99 ± 6.68 and") == ["lot"]


def test_a_table_is_known_by_its_columns() -> None:
    assert heads("a table:\n         BLEU   chrF  against first\nfirst   54.33  73.37\n") == [
        ["BLEU", "chrF", "against first"]
    ]
    assert heads("│ phrase        ┃ weight ┃ feature │\n") == [["phrase", "weight", "feature"]]
    assert heads('reference  The girl never works.\n  "bleu": {\n') == []


def test_blocks_are_found_with_what_they_print(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```bash\none\n```\n\nprints\n\n```text\ntwo\n```\n\n```\nread\n```\n\n```python\n3\n```\n")
    assert blocks(page) == [Block("bash", "one\n", ["two\n"]), Block("python", "3\n", [])]

"""Where translations, lists, lattices and stages go, and what a killed command leaves; from the command line."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli.test_streams import shell
from tests.commands import Said, succeed
from tests.test_end_to_end import CORPUS, run, translate, work  # noqa: F401

TEXT = "Nirka va.\nthe zzz é\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_text(TEXT)
    return path


def test_outputs_are_written_in_place(run: Path, source: Path, tmp_path: Path) -> None:  # noqa: F811
    """A FIFO and a link, as output and as list; tests/text/test_lines.py has devices."""
    expected = translate(run, tmp_path, TEXT)
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to("real")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    succeed("translate", f"run={run}", f"input={source}", f"output={fifo}", "nbest=2", f"nbest_out={link}")
    reader.join()
    assert read == [expected.encode()]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert link.is_symlink()
    assert (tmp_path / "real").read_text().startswith("0 ||| ")


def test_minus_and_process_substitution(run: Path, source: Path, tmp_path: Path) -> None:  # noqa: F811
    expected = translate(run, tmp_path, TEXT).encode()
    given = f"xlate translate run={run}"
    done = shell(tmp_path, f"{given} input=<(cat source) output=- nbest=2 nbest_out=-")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(expected + b"0 ||| ")
    assert not (tmp_path / "-").exists()
    whole = f"{given} nbest=2 nbest_out=>(cat >list) <source >text; sleep 0.2; cat text"
    done = shell(tmp_path, f"set -o pipefail; {whole}")
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert (tmp_path / "list").read_text().startswith("0 ||| ")
    done = shell(tmp_path, f"{given} <&-")
    assert (done.returncode, b"standard input: closed" in done.stderr) == (2, True)


def test_lattices_go_into_a_folder_of_their_own(
    run: Path,  # noqa: F811
    source: Path,
    tmp_path: Path,
    refused: Said,
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "words.txt").write_text("mine")
    given = ["translate", f"run={run}", f"input={source}", f"output={tmp_path / 'out'}"]
    refused(*given, f"lattice_out={tmp_path / 'mine'}")
    assert "not a usable folder name" in refused(*given, "lattice_out=-")
    assert (tmp_path / "mine" / "words.txt").read_text() == "mine"
    for _ in range(2):
        succeed(*given, f"lattice_out={tmp_path / 'ours'}")


def test_what_a_killed_prepare_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    command = [sys.executable, "-m", "xlate.cli.main", "prepare", f"work={folder}", *CORPUS]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(folder.glob(".align.*.partial")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    # With the processes beside it, which would else put their stages in place.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list(folder.glob(".align.*.partial")), "killed while it aligned"
    succeed("prepare", f"work={folder}", *CORPUS)
    assert sorted(os.listdir(folder)) == ["align", "corpus", "generated", "lm", "phrases", "plan.json"]
    assert list(folder.rglob("*.partial")) == []

"""Standard streams that are closed, full, pipes or of another encoding; `-` and devices as outputs."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Said

LINE = "0 ||| a é ж 日本 ||| lm= -1 ||| -1\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "h").write_text("a b é\nc d\n")
    (tmp_path / "h.gz").write_bytes(gzip.compress((tmp_path / "h").read_bytes()))
    (tmp_path / "list").write_text(LINE)
    (tmp_path / "weights").write_text("lm= 2\n")
    return tmp_path


def shell(files: Path, line: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a line of bash in the folder, `xlate` being the command."""
    known = {**os.environ, "PYTHONUNBUFFERED": "", **environment}
    function = f'xlate() {{ "{sys.executable}" -m xlate.cli.main "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", function + line], cwd=files, env=known, capture_output=True, check=False, timeout=300
    )


SCORE = "xlate score ref=[h] bootstrap=2"
RESCORE = "xlate nbest rescore list weights=weights"


def test_a_pipe_is_a_file(files: Path) -> None:
    done = shell(files, f"{SCORE} hyp=<(cat h.gz)")
    assert json.loads(done.stdout)["chrf"] == 100, done.stderr


def test_a_pipe_that_is_needed_twice_is_refused(files: Path, refused: Said) -> None:
    """A pipe under the name that bash gives to `<(…)`."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        stream.write(LINE)
    pipe, weights, target = f"/dev/fd/{reading}", f"weights={files / 'weights'}", f"data.train_target=[{files / 'h'}]"
    assert "can be read only once" in refused("nbest", "rescore", pipe, weights, f"out={files / 'o'}")
    given = ["data=files", "data.name=x", "data.pair=a-b", "data.dev_pairs=1", f"data.train_source=[{pipe}]", target]
    assert "can be read only once" in refused("prepare", f"work={files / 'w'}", *given)
    os.close(reading)


def test_output_is_utf8_whatever_the_locale(files: Path) -> None:
    (files / "bad").write_text("0 ||| a ||| lm= 1 ||| ж日本\n")
    done = shell(files, f"{RESCORE} out=- >&2; xlate nbest check bad", PYTHONIOENCODING="latin-1")
    assert LINE.replace("||| -1\n", "||| -2\n") in done.stderr.decode()
    assert not (files / "-").exists()
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False)


@pytest.mark.parametrize(("where", "said"), [(">&-", "closed"), (">/dev/full", "the disk is full")])
def test_standard_output_that_takes_nothing_is_said(files: Path, where: str, said: str) -> None:
    done = shell(files, f"{SCORE} hyp=h {where}")
    assert done.returncode == 2
    assert f"xlate score: standard output: {said}" in done.stderr.decode()
    assert b"Exception ignored" not in done.stderr


def test_what_needs_no_standard_output_is_done_without(files: Path) -> None:
    assert shell(files, "xlate --help >&-").returncode == 2
    done = shell(files, "xlate lm text=[h] order=2 out=lm.arpa >&-")
    assert (done.returncode, (files / "lm.arpa").exists()) == (0, True), done.stderr


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_standard_error_that_takes_nothing_leaves_the_output(files: Path, where: str) -> None:
    done = shell(files, f"{SCORE} hyp=h out=figures {where}")
    assert json.loads(done.stdout)["chrf"] == 100
    assert json.loads((files / "figures").read_text())["chrf"] == 100


def test_a_reader_that_leaves_is_quiet(files: Path) -> None:
    done = shell(files, f"{RESCORE} out=- | true; echo ${{PIPESTATUS[0]}}; {SCORE} hyp=h | head -c1 >&-")
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert done.stdout.startswith(b"0\n")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no /proc")
def test_what_cannot_be_read_is_said(files: Path, refused: Said) -> None:
    said = refused("score", "hyp=/proc/self/mem", f"ref={files / 'h'}", "bootstrap=2")
    assert "cannot be read" in said
    assert "Traceback" not in said


def test_a_reader_that_leaves_is_no_failure(files: Path) -> None:
    """What a command says while it works may go to `head`, too; it works on and ends as it would."""
    line = "xlate lm text=h order=2 out=lm.arpa -v 2>&1 > said; echo $? > status"
    done = shell(files, f"({line}) | true")
    assert done.returncode == 0, done.stderr
    assert (files / "lm.arpa").stat().st_size > 0
    assert (files / "status").read_text() == "0\n"

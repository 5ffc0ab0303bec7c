"""Both directions of an alignment side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.align.test_aligner import corpus
from tests.phrases.small_corpora import assert_same
from xlate.align import aligner
from xlate.align.aligner import align
from xlate.align.direction import AlignmentProcess, Direction
from xlate.errors import InputError
from xlate.text.vocabulary import TokenText

AGAIN = """
from xlate.align import aligner
words = [[f"w{n % 7}", f"w{n % 5}", f"w{n % 3}"] for n in range(300)]
for aligner.WORTHWHILE in (10**9, 1, 1, 10**9):
    print(len(aligner.align(words, words, "eflomal", seed=1, side_by_side=True)))
"""

LONG = """
from xlate.align.direction import AlignmentProcess, Direction
from xlate.machine import termination_raised
from xlate.text.vocabulary import TokenText
words = TokenText.of([[str(n % 7), str(n % 5), str(n % 3)] for n in range(30000)]).text
given = Direction("eflomal", 0, "backward"), words, words
with termination_raised(), AlignmentProcess(*given), AlignmentProcess(*given) as process:
    print("begun", flush=True)
    process.links()
"""


TEXT = TokenText.of([["a", "b"], ["b"]] * 20).text


@pytest.mark.parametrize(
    ("method", "symmetrization"),
    [("eflomal", "grow-diag-final-and"), ("fast_align", "forward"), ("fast_align", "backward")],
)
def test_links_are_the_same_side_by_side(
    method: str, symmetrization: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # fast_align's last digits differ with the order in which threads add up, so its links must not be close calls.
    source, target = corpus(60, rng)
    if method == "eflomal":
        # Words at random, so that another seed would give other links.
        target = [rng.choice(list("abcdefgh"), size=6).tolist() for _ in range(60)]
    source[7] = target[9] = []
    alone = align(source, target, method, symmetrization, seed=4)
    monkeypatch.setattr(aligner, "WORTHWHILE", 1)
    beside = align(source, target, method, symmetrization, seed=4, side_by_side=True)
    assert_same(beside, alone)


def test_again_and_again_in_one_process(tmp_path: Path) -> None:
    """Threads of OpenMP that the first time started are of no concern to processes of the second."""
    known, program = {**os.environ, "OMP_NUM_THREADS": "2"}, [sys.executable, "-c", AGAIN]
    done = subprocess.run(program, env=known, cwd=tmp_path, capture_output=True, timeout=600, check=True)
    assert done.stdout.split() == [b"300"] * 4


@pytest.mark.parametrize("side_by_side", [True, False])
def test_neither_direction_of_a_large_text_holds_up_a_signal_here(
    side_by_side: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls of thot, which a signal waits for, are made in other processes."""
    monkeypatch.setattr(aligner, "WORTHWHILE", 1)
    monkeypatch.setattr(Direction, "links", None)
    assert len(align(*corpus(20, rng), "ibm1", side_by_side=side_by_side)) == 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_neither_processes_nor_files(number: signal.Signals, tmp_path: Path) -> None:
    known, program = {**os.environ, "TMPDIR": str(tmp_path)}, [sys.executable, "-c", LONG]
    with subprocess.Popen(program, env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(number)
        # Standard error ends with the last process that could write to it.
        process.communicate(timeout=60)
    assert not list(tmp_path.iterdir())


def test_a_process_that_dies_is_told_of() -> None:
    with AlignmentProcess(Direction("ibm1", 0, "backward"), TEXT, TEXT) as process:
        process._process.kill()
        with pytest.raises(InputError, match=r"(?s)aligned backward ended too early.*signal 9"):
            process.links()


def test_what_fails_in_the_other_process_is_told_of(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(InputError, match="status 1"),
        AlignmentProcess(Direction("none", 0, "backward"), TEXT, TEXT) as process,
    ):
        process.links()
    assert "KeyError: 'none'" in capfd.readouterr().err


def test_an_error_here_ends_the_other_process() -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        AlignmentProcess(Direction("ibm1", 0, "backward"), TEXT, TEXT) as process,
    ):
        raise KeyboardInterrupt
    assert process._process.poll() is not None


def test_the_other_process_ends_with_this_one() -> None:
    text = TokenText.of([["a", "b", "c"]] * 3000).text
    with AlignmentProcess(Direction("eflomal", 0, "backward"), text, text) as process:
        process._process.stdin.close()
        assert process._process.wait(timeout=300) == 1

"""A training that was interrupted anywhere, in any way, ends with the same bits as one that was not."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.train.small_training import IDENTITY, OnChunk, digest, initial, training
from xlate.errors import InputError
from xlate.train.signals import STOPPING, StopFlag

REPOSITORY = Path(__file__).resolve().parents[2]
# Long enough that a child has not finished before its signal, however busy the machine.
SECONDS_A_CHUNK = 0.03


@pytest.mark.parametrize("seed", range(3))
def test_interrupted_at_random_chunks_it_ends_with_the_same_bits(folder: Path, seed: int) -> None:
    whole = digest(training(folder, checkpoint="whole").run(initial(), StopFlag()))
    choose, runs = random.Random(seed), 0
    while True:
        stop, last = StopFlag(), choose.randint(1, 25)

        def maybe_stop(chunk: int, stop: StopFlag = stop, last: int = last) -> None:
            if chunk == last:
                stop.signal = signal.SIGTERM

        interrupted = training(folder, reporter=OnChunk(maybe_stop), checkpoint_seconds=choose.choice([0.0, 20.0]))
        held = interrupted.run(initial(), stop)
        runs += 1
        if interrupted.finished(held):
            break
        assert stop, "only a stop ends a training early"
    assert runs > 1
    assert digest(held) == whole


@pytest.mark.parametrize("tag", ["train/loss", "valid/P"])
def test_stopped_at_every_chunk_or_every_validation_it_ends_with_the_same_bits(folder: Path, tag: str) -> None:
    """So an end of an epoch, of a phase and of a phase by patience is each once the moment of the stop."""
    whole = digest(training(folder, checkpoint="whole").run(initial(), StopFlag()))
    for _ in range(200):
        stop = StopFlag()
        step = training(folder, reporter=OnChunk(lambda _, stop=stop: setattr(stop, "signal", 15), tag))
        held = step.run(initial(), stop)
        if step.finished(held):
            break
    assert digest(held) == whole


class _Crash(RuntimeError):
    pass


def _crash_at(last: int, chunk: int) -> None:
    if chunk == last:
        raise _Crash


@pytest.mark.parametrize("last", [1, 9, 10, 11, 20])
def test_after_a_crash_the_last_checkpoint_leads_to_the_same_bits(folder: Path, last: int) -> None:
    whole = digest(training(folder, checkpoint="whole").run(initial(), StopFlag()))
    doomed = training(folder, reporter=OnChunk(lambda chunk: _crash_at(last, chunk)), checkpoint_seconds=0.0)
    with pytest.raises(_Crash):
        doomed.run(initial(), StopFlag())
    assert digest(training(folder).run(initial(), StopFlag())) == whole


def test_a_finished_training_is_not_trained_again(folder: Path) -> None:
    first = training(folder).run(initial(), StopFlag())
    again = training(folder, reporter=OnChunk(lambda _: pytest.fail("trained again"))).run(initial(), StopFlag())
    assert digest(again) == digest(first)


def _run_and_signal(folder: Path, number: int, chunks: int, delay: float) -> tuple[int, list[str]]:
    """Starts a child and signals it so many chunks and so many seconds later; its exit status and output."""
    with _child(folder, SECONDS_A_CHUNK) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(chunks)]
        time.sleep(delay)
        child.send_signal(number)
        lines += child.stdout.readlines()
    return child.returncode, lines


def _child(folder: Path, seconds_a_chunk: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.train.small_training", str(folder), str(seconds_a_chunk)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def test_killed_at_random_moments_it_ends_with_the_same_bits(folder: Path) -> None:
    """Two processes are signalled, one after the other, and a third finishes; SIGKILL leaves no time to save."""
    counter = OnChunk(lambda _: None)
    whole = digest(training(folder, reporter=counter, checkpoint="whole").run(initial(), StopFlag()))
    seed = random.randrange(1_000_000)
    choose = random.Random(seed)
    numbers = choose.sample([signal.SIGKILL, signal.SIGTERM], 2)
    for number in numbers:
        chunks, delay = choose.randint(2, 8), choose.uniform(0, 1.2 * SECONDS_A_CHUNK)
        status, lines = _run_and_signal(folder, number, chunks, delay)
        assert status == (0 if number == signal.SIGTERM else -signal.SIGKILL), f"seed {seed}"
        assert number == signal.SIGKILL or lines[-1].startswith("stopped"), f"seed {seed}"
    with _child(folder, 0.0) as child:
        lines = child.communicate()[0].splitlines()
    assert lines[-1] == f"finished {whole}", f"seed {seed}"
    assert len(lines) - 1 < counter.chunks, "the last process began where the others had come to"


def test_a_checkpoint_of_another_training_is_refused(folder: Path) -> None:
    training(folder).run(initial(), StopFlag())
    other = training(folder)
    other.checkpoint.identity = "another"
    with pytest.raises(InputError, match="a checkpoint of another training") as caught:
        other.run(initial(), StopFlag())
    assert (caught.value.seen, caught.value.expected) == (IDENTITY, "another")


def test_a_damaged_checkpoint_is_refused(folder: Path) -> None:
    training(folder).run(initial(), StopFlag())
    path = folder / "latest.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="not a usable weights file"):
        training(folder).run(initial(), StopFlag())


def test_the_first_signal_is_answered_and_the_second_ends(capfd: pytest.CaptureFixture[str]) -> None:
    with StopFlag() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.signal == signal.SIGINT
        assert capfd.readouterr().err == f"\n{STOPPING}"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capfd.readouterr().err == ""

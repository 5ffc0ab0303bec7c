"""A conversation on a terminal: what is typed, what is answered, how it is interrupted and ended."""

from __future__ import annotations

import builtins
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Capture
from tests.models.test_every_system import phrase
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401
from xlate.cli.translate import HELP, converse, is_conversation
from xlate.config.load import load
from xlate.config.schema import TranslateConfig
from xlate.errors import InputError
from xlate.jobs.translate import TokenizedText, Translator
from xlate.machine import Terminated, termination_raised

Talk = Callable[..., Any]


class Picky(TokenizedText):
    """Refuses a word, and is interrupted by another."""

    def source_tokens(self, line: str) -> list[str]:
        if "bad" in line:
            raise InputError("this cannot be taken apart", seen=line)
        if "slow" in line:
            signal.raise_signal(signal.SIGINT)
        return super().source_tokens(line)


@pytest.fixture
def translator() -> Translator:
    return Translator(Picky(), phrase("hier", sparse=True).with_search(nbest=1))


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch, capsys: Capture, translator: Translator) -> Talk:
    """A conversation in which these lines are typed, or these errors raised; what it shows."""

    def run(*events: str | BaseException | type[BaseException], explained: bool = False) -> Any:
        waiting = iter([*events, EOFError()])

        def answer(prompt: str = "") -> str:
            event = next(waiting)
            if isinstance(event, str):
                return event
            raise event

        monkeypatch.setattr(builtins, "input", answer)
        converse(translator, explained)
        return capsys.readouterr()

    return run


def test_lines_are_translated_and_empty_ones_are_not(talk: Talk, translator: Translator) -> None:
    shown = talk("", "  ", "a b", " b ").out.removeprefix(HELP).splitlines()
    expected = [translator.translate_line(line).text for line in ("a b", "b")]
    assert [line for line in shown if line and "unknown" not in line] == expected


def test_a_question_mark_asks_for_the_trace(talk: Talk, translator: Translator) -> None:
    shown = talk("? a b", "?", "a b").out
    trace = Translator(translator.text, translator.system, trace=True).translate_line("a b").explanation
    assert trace
    assert shown.count(trace) == 1
    assert shown.count(HELP) == 2
    assert trace in talk("a b", explained=True).out


def test_unknown_words_are_named(talk: Talk) -> None:
    assert "unknown words, copied: qqq" in talk("a qqq").out


def test_errors_and_interrupts_end_a_line_only(talk: Talk, translator: Translator) -> None:
    undecodable = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    shown = talk("bad", "slow", KeyboardInterrupt(), undecodable, "a")
    assert "this cannot be taken apart" in shown.err
    assert "UTF-8" in shown.err
    assert translator.translate_line("a").text in shown.out.splitlines()


def test_an_error_after_ctrl_c_is_no_interruption(talk: Talk) -> None:
    with pytest.raises(RuntimeError), termination_raised():
        talk("slow", RuntimeError())


def test_sigterm_ends_the_conversation(talk: Talk) -> None:
    with pytest.raises(Terminated):
        talk(Terminated(), "a")


@pytest.mark.parametrize(
    ("given", "terminals", "expected"),
    [
        ([], (True, True), True),
        ([], (True, False), False),
        ([], (False, True), False),
        (["input=-", "output=-"], (True, True), True),
        (["input=f"], (True, True), False),
        (["target=f"], (True, True), False),
    ],
)
def test_who_is_asked(
    monkeypatch: pytest.MonkeyPatch, given: list[str], terminals: tuple[bool, bool], expected: bool
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminals[0], raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminals[1], raising=False)
    assert is_conversation(load(TranslateConfig, "translate", ["run=r", *given])) is expected


@pytest.mark.slow
def test_on_a_real_terminal(phrase_run: Path) -> None:  # noqa: F811
    """A line, the same line again by arrow up, one that is left by Ctrl-C, and the end by Ctrl-D."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "xlate.cli.main", "translate", f"run={phrase_run}"]
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    os.close(follower)
    try:
        said = read_until(leader, lambda text: text.endswith("> "))
        assert HELP.splitlines()[0] in said
        os.write(leader, b"qqq nirka\n")
        assert "words, copied: qqq" in read_until(leader, lambda text: text.endswith("\n> "))
        os.write(leader, b"\x1b[A\n")
        assert "words, copied: qqq" in read_until(leader, lambda text: text.endswith("\n> "))
        os.write(leader, b"half")
        time.sleep(0.2)
        # The terminal is not that of the process, so that Ctrl-C is sent as what it means.
        process.send_signal(signal.SIGINT)
        read_until(leader, lambda text: text.endswith("\n> "))
        os.write(leader, b"\x04")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def read_until(descriptor: int, done: Callable[[str], bool], patience: float = 120.0) -> str:
    said, end = "", time.monotonic() + patience
    while not done(said.replace("\r", "").replace("\x1b[?2004h", "")):
        assert time.monotonic() < end, said
        if select.select([descriptor], [], [], 0.5)[0]:
            said += os.read(descriptor, 4096).decode()
    return said

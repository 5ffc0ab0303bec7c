"""Lines in batches, from files and from pipes."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.text.batches import FIRST, LATER, ArrivingLines, Batches, is_at_hand, standard_input


def test_a_pipe_gives_what_is_there_and_says_whether_more_is() -> None:
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream:
        lines = ArrivingLines(stream)
        batches = iter(lines)
        assert not lines.ready()
        os.write(into, b"one\ntwo\nthr")
        assert lines.ready()
        assert next(batches) == ["one", "two"]
        assert not lines.ready()
        os.write(into, b"ee")
        assert next(batches) == []
        os.write(into, b"\r\n\n\xc3\xa4\xe2\x80\xa8x")
        os.close(into)
        assert [line for batch in batches for line in batch] == ["three\r", "", "ä\u2028x"]
        assert lines.ready()


def test_much_at_once_is_cut_and_is_there_to_the_end() -> None:
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream:
        lines = ArrivingLines(stream)
        batches = iter(lines)
        os.write(into, b"a\n")
        assert next(batches) == ["a"]
        os.write(into, b"b\n" * 1000)
        os.close(into)
        sizes = []
        for batch in batches:
            assert lines.ready()
            sizes.append(len(batch))
    assert sizes == [LATER, LATER, LATER, 1000 - 3 * LATER]


def test_lines_that_are_not_utf_8_or_too_long_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.BytesIO(b"one\ntwo\ncaf\xe9\n")
    with pytest.raises(InputError, match="standard input:3: not UTF-8"):
        list(ArrivingLines(text))
    text.seek(0)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(text))
    with pytest.raises(InputError, match="standard input:3: not UTF-8"):
        list(standard_input())
    with Path("/dev/zero").open("rb") as stream, pytest.raises(InputError, match="standard input:1: a line that is"):
        list(ArrivingLines(stream))
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="closed"):
        standard_input()


def test_what_is_known_comes_in_batches_and_never_waits() -> None:
    batches = Batches.of(str(number) for number in range(FIRST + LATER + 1))
    assert batches.ready()
    assert [len(batch) for batch in batches] == [FIRST, LATER, 1]
    assert is_at_hand(io.BytesIO())

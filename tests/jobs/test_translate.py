"""What translating says of long lines and unknown words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401
from xlate.jobs import translation_parts

SENTENCE = "nirka no holdo va bolko ast ."
TWICE = f"{SENTENCE} {SENTENCE}"


def translated(run: Path, folder: Path, lines: list[str], *more: str) -> list[str]:  # noqa: F811
    (folder / "in").write_text("".join(f"{line}\n" for line in lines))
    arguments = [f"run={run}", f"input={folder / 'in'}", f"output={folder / 'out'}", "detokenize=false", *more]
    succeed("translate", *arguments)
    return (folder / "out").read_text().splitlines()


def test_a_long_line_is_translated_in_pieces_that_are_named(
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    copied = [f"w{n}" for n in range(41)]
    lines = [SENTENCE, TWICE, " ".join(copied)]
    whole = translated(phrase_run, tmp_path, [SENTENCE, *lines[2:]])
    assert "translated in" not in caplog.text
    out = translated(phrase_run, tmp_path, lines, "decoder.max_words=8", "nbest=3", f"nbest_out={tmp_path / 'n'}")
    assert "line 2: 14 words, more than decoder.max_words=8: translated in 2 pieces; its n-best list" in caplog.text
    assert "line 3: 41 words, more than decoder.max_words=8: translated in 6 pieces" in caplog.text
    assert "line 1" not in caplog.text
    assert out[0] == whole[0]
    assert out[1].lower() == f"{whole[0]} {whole[0]}".lower()
    # In whatever order, but every word once.
    assert sorted(out[2].lower().split()) == sorted(copied)
    listed = [line.split(" ||| ") for line in (tmp_path / "n").read_text().splitlines()]
    assert {row[0] for row in listed} == {"0", "1", "2"}
    assert next(row[1].lower() for row in listed if row[0] == "1") == out[1].lower()


def test_a_long_line_has_no_lattice(phrase_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # noqa: F811
    out = translated(phrase_run, tmp_path, [TWICE, SENTENCE], "decoder.max_words=8", f"lattice_out={tmp_path / 'l'}")
    assert len(out) == 2
    assert out[0]
    assert sorted(path.name for path in (tmp_path / "l").iterdir()) == ["1.fst", "words.txt", "xlate-lattices.json"]
    assert "line 1: 14 words, more than decoder.max_words=8: no lattice" in caplog.text


def test_tasks_translate_the_parts_of_a_file(
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    refused: Said,
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(translation_parts, "PART", 3)
    lists, lines = tmp_path / "n", [SENTENCE, "", "zzz . .", ". . .", SENTENCE]
    given = "nbest=3", f"nbest_out={lists}"
    whole = translated(phrase_run, tmp_path, lines, *given), lists.read_bytes()
    box = *given, "cluster=box", "cluster.workers=2"
    with monkeypatch.context() as stopped:
        stopped.setattr(translation_parts.shutil, "rmtree", lambda *_, **__: None)
        assert (translated(phrase_run, tmp_path, lines, *box), lists.read_bytes()) == whole
    assert caplog.text.count("3 of 20 words unknown") == 2
    # What a stopped command has finished is used.
    (kept,) = tmp_path.glob("out.parts-*")
    (kept / "0.txt").write_text("kept\n" * 3)
    (kept / "3.txt").unlink()
    assert translated(phrase_run, tmp_path, lines, *box) == ["kept"] * 3 + whole[0][3:]
    assert not list(tmp_path.glob("*.parts*"))
    # Each line needs a target, and the input is read several times.
    (tmp_path / "target").write_text("a\n" * 6)
    asked = ["translate", f"run={phrase_run}", f"input={tmp_path / 'in'}", f"output={tmp_path / 'out'}", *box]
    assert "5 lines in" in refused(*asked, f"target={tmp_path / 'target'}")
    os.mkfifo(tmp_path / "pipe")
    assert "can be read only once" in refused(*asked, f"input={tmp_path / 'pipe'}")
    assert "cluster= translates files" in refused("translate", f"run={phrase_run}", "cluster=box")


def test_a_long_line_is_not_forced(phrase_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # noqa: F811
    first = translated(phrase_run, tmp_path, [SENTENCE])[0]
    (tmp_path / "target").write_text(f"{first} {first}\n{first}\n")
    given = "decoder.max_words=8", f"target={tmp_path / 'target'}", "processes=2"
    out = translated(phrase_run, tmp_path, [TWICE, SENTENCE], *given)
    assert out == ["", first]
    assert "line 1: 14 words, more than decoder.max_words=8: not forced" in caplog.text
    assert "1 of 2 targets cannot be reached" in caplog.text


def test_a_trace_of_pieces(run: Path, phrase_run: Path, tmp_path: Path, remarked: Said) -> None:  # noqa: F811
    (tmp_path / "in").write_text(f"{TWICE}\n")
    for one in (run, phrase_run):
        given = [f"run={one}", f"input={tmp_path / 'in'}", "decoder.max_words=8", "trace=true"]
        assert "14)" in remarked("translate", *given)


def test_unknown_words_are_counted(phrase_run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # noqa: F811
    caplog.set_level("INFO")
    translated(phrase_run, tmp_path, [". . .", "", "zzz . .", ". . ."], "processes=2")
    assert "1 of 9 words unknown (11.1 %), not translated" in caplog.text
    assert "warning" not in caplog.text
    caplog.clear()
    translated(phrase_run, tmp_path, ["zzz yyy xxx", ". . . .", "www vvv"])
    assert "warning: 5 of 9 words unknown (55.6 %)" in caplog.text
    caplog.clear()
    translated(phrase_run, tmp_path, ["", ""])
    assert "unknown" not in caplog.text

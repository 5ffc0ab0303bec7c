"""The search settings of a moses.ini: taken as they are, or refused with the file; never cut off or passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.phrase.moses_system import write_system
from xlate.cli.main import main
from xlate.config.decoder_schema import DecoderConfig, PhraseDecoderConfig
from xlate.errors import InputError
from xlate.formats.moses_ini import read_moses_ini
from xlate.jobs.imports import search_of

TABLE = "[feature]\nPhraseDictionaryMemory name=T path=t{}\n"


def search(tmp_path: Path, text: str) -> DecoderConfig:
    (tmp_path / "moses.ini").write_text(text)
    return search_of(read_moses_ini(tmp_path / "moses.ini"), PhraseDecoderConfig())


def test_settings_are_taken(tmp_path: Path) -> None:
    text = TABLE.format(" table-limit=7") + "[search-algorithm]\n0\n[stack]\n50\n[beam-threshold]\n0.25\n"
    found = search(tmp_path, text + "[distortion-limit]\n-1\n[max-phrase-length]\n4\n[cube-pruning-pop-limit]\n9\n")
    assert (found.options, found.algorithm, found.stack, found.threshold) == (7, "stack", 50, 0.25)
    assert (found.distortion_limit, found.max_phrase, found.pop_limit) == (-1, 4, 9)
    assert search(tmp_path, TABLE.format("")).algorithm == "cube"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.format(" table-limit=2.7"), "table-limit=2.7"),
        (TABLE.format(" table-limit=x20"), "table-limit=x20"),
        (TABLE.format(" table-limit=0"), "decoder.options is out of range"),
        ("[search-algorithm]\n7\n", "0 \\(stack\\), 1 \\(cube\\)"),
        ("[search-algorithm]\n-1\n", "a search algorithm this decoder has not"),
        ("[search-algorithm]\ncube\n", "search-algorithm"),
        ("[stack]\n0\n", "decoder.stack is out of range"),
        ("[stack]\n2.7\n", "stack"),
        ("[cube-pruning-pop-limit]\n0\n", "decoder.pop_limit is out of range"),
        ("[beam-threshold]\n-1\n", "decoder.threshold is out of range"),
        ("[distortion-limit]\n2.5\n", "distortion-limit"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        search(tmp_path, text)
    assert caught.value.file == str(tmp_path / "moses.ini")


def test_import_writes_nothing_of_such_a_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ini = write_system(tmp_path)
    ini.write_text(ini.read_text() + "[search-algorithm]\n7\n")
    assert main(["import", f"moses={ini}", f"out={tmp_path / 'run'}"]) == 2
    assert "[search-algorithm] 7" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()

"""The configuration of cdec and its weights, as far as they are known here, and messages for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.formats.scfg.cdec_config import read_cdec_config, read_cdec_weights


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_and_files(tmp_path: Path) -> None:
    text = "formalism=scfg\n# a comment\n\ngrammar = a.gz\ngrammar=elsewhere/b.gz\nscfg_max_span_limit=15\n"
    config = read_cdec_config(write(tmp_path / "cdec.ini", text))
    write(tmp_path / "b.gz", "")
    assert config.value("formalism") == "scfg"
    assert config.value("weights") is None
    assert config.settings["grammar"] == [(4, "a.gz"), (5, "elsewhere/b.gz")]
    assert (config.number("scfg_max_span_limit", 10), config.number("other", 10)) == (15, 10)
    assert config.file(5, "elsewhere/b.gz") == tmp_path / "b.gz"
    with pytest.raises(InputError, match=r"cdec.ini:4: a file that is not there"):
        config.file(4, "a.gz")
    for name in ("", "a" * 5000, "a\0b"):
        with pytest.raises(InputError, match="not there"):
            config.file(4, name)


def test_a_line_that_is_no_setting_and_a_number_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)cdec.ini:1: no setting.*import moses=FILE"):
        read_cdec_config(write(tmp_path / "cdec.ini", "[feature]\n"))
    config = read_cdec_config(write(tmp_path / "cdec.ini", "scfg_max_span_limit=ten\n"))
    with pytest.raises(InputError, match=r"cdec.ini:1: "):
        config.number("scfg_max_span_limit", 10)


def test_weights(tmp_path: Path) -> None:
    found = read_cdec_weights(write(tmp_path / "w", "# of dpmert\nLanguageModel 0.5\n\nGlue -1e-1\n"))
    assert found == {"LanguageModel": 0.5, "Glue": -0.1}


@pytest.mark.parametrize(
    ("line", "message"),
    [("Glue", "not a weight"), ("Glue nan", "not a weight"), ("Glue 1e200", "not a weight"), ("a 1", "stands twice")],
)
def test_lines_that_are_no_weights(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=f"w:2: .*{message}"):
        read_cdec_weights(write(tmp_path / "w", f"a 1\n{line}\n"))

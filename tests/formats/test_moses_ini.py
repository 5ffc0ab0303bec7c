"""Moses configurations: by hand, refusals with the line, and the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from xlate.errors import InputError
from xlate.formats.moses_ini import read_moses_ini, write_moses_ini

GOOD = """# comment
[input-factors]
0

[distortion-limit]
6
[feature]
WordPenalty
KENLM name=LM0 order=5 path=lm.gz
Distortion
Distortion
[weight]
# comment
WordPenalty0= -0.5
LM0= 1e-1
Distortion0= 1 2
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "moses.ini"
    path.write_text(text)
    return path


def test_read_by_hand(tmp_path):
    ini = read_moses_ini(write(tmp_path, GOOD))
    assert [(f.kind, f.name, f.line) for f in ini.features] == [
        ("WordPenalty", "WordPenalty0", 8),
        ("KENLM", "LM0", 9),
        ("Distortion", "Distortion0", 10),
        ("Distortion", "Distortion1", 11),
    ]
    assert ini.weights == {"WordPenalty0": (-0.5,), "LM0": (0.1,), "Distortion0": (1.0, 2.0)}
    assert ini.settings == {"input-factors": ("0",), "distortion-limit": ("6",)}
    for ask in (ini.number, ini.whole):
        assert (ask("distortion-limit", 3), ask("stack", 100)) == (6, 100)
    unlimited = read_moses_ini(write(tmp_path, "[distortion-limit]\n-1\n"))
    assert unlimited.whole("distortion-limit", 6) == -1
    assert ini.find("SRILM", "KENLM") == ini.features[1]
    assert ini.find("SRILM") is None
    assert ini.weight("Distortion0", 2) == (1.0, 2.0)


def test_files_stand_beside_the_configuration_and_gz_may_be_left_out(tmp_path):
    ini = read_moses_ini(write(tmp_path, "[feature]\nA path=m/t\nB path=/abs/t.gz\n"))
    (tmp_path / "m").mkdir()
    for there in ("m/t.gz", "m/t"):
        (tmp_path / there).touch()
        assert ini.file(ini.features[0]) == tmp_path / there
    assert ini.file(ini.features[1]) == Path("/abs/t.gz")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0\n", 1, "before the first section"),
        ("[feature]\nKENLM order\n", 2, "malformed feature"),
        ("[feature]\nA name=x\nB name=x\n", 3, "two features with the same name"),
        ("[weight]\nLM0 0.1\n", 2, "malformed weights"),
        ("[weight]\nLM0= \n", 2, "malformed weights"),
        ("[weight]\nLM0= nan\n", 2, "malformed weights"),
        ("[weight]\nLM0= 1\nLM0= 1\n", 3, "given twice"),
    ],
)
def test_refusals_say_the_line(tmp_path, text, line, message):
    with pytest.raises(InputError, match=f":{line}: .*{message}"):
        read_moses_ini(write(tmp_path, text))


@pytest.mark.parametrize("text", ["2.7", "-2", "1" + "0" * 30])
def test_whole_numbers_are_whole(tmp_path, text):
    ini = read_moses_ini(write(tmp_path, f"[feature]\nTable name=T table-limit={text}\n[stack]\n{text}\n"))
    with pytest.raises(InputError, match=r"section \[stack\]"):
        ini.whole("stack", 1)
    with pytest.raises(InputError, match=f":2: .*table-limit of T\n  seen: +table-limit={text}\n"):
        ini.argument(ini.features[0], "table-limit", 1)
    assert ini.argument(ini.features[0], "other", 8) == 8


def test_questions_without_an_answer(tmp_path):
    ini = read_moses_ini(write(tmp_path, GOOD + f"Word= 1\n[stack]\nmany\n[feature]\nTable path={'x' * 5000}\n"))
    for ask, message in (
        (lambda: ini.find("Distortion"), "two features of the same kind"),
        (lambda: ini.weight("LM1", 1), "weights for LM1"),
        (lambda: ini.weight("LM0", 2), "weights for LM0"),
        (lambda: ini.number("stack", 1), "section"),
        (lambda: ini.file(ini.features[0]), "without path"),
        (lambda: ini.file(ini.features[-1]), "not a possible file name"),
    ):
        with pytest.raises(InputError, match=message):
            ask()


def as_lines(ini):
    """The feature lines as they stand, and the settings that have one line."""
    features = [" ".join([f.kind, *(f"{k}={v}" for k, v in f.arguments.items())]) for f in ini.features]
    settings = {name: lines[0] for name, lines in ini.settings.items() if name not in ("input-factors", "mapping")}
    return features, settings


@pytest.mark.parametrize(
    "name",
    [None, *(pytest.param(f"moses{name}.ini", marks=pytest.mark.corpus) for name in ("", ".mira.hier", ".pro.wbe"))],
)
def test_what_is_written_is_read_back(request, tmp_path, name):
    path = write(tmp_path, GOOD) if name is None else request.getfixturevalue("shared_data") / "moses" / name
    ini = read_moses_ini(path)
    features, settings = as_lines(ini)
    weights = {**ini.weights, "LM0": (0.1 + 0.2,)}
    write_moses_ini(tmp_path / "again.ini", features, weights, settings)
    again = read_moses_ini(tmp_path / "again.ini")
    assert again.weights == weights
    assert as_lines(again) == (features, settings)
    assert name is None or ini.file(ini.find("PhraseDictionaryMemory")).exists()

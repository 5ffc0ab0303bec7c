"""Every configuration file composes into its schema, and wrong keys and types die with a word of help."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xlate.config import schema
from xlate.config.load import load
from xlate.config.location import conf_folder
from xlate.errors import InputError

COMMANDS = {
    "prepare": (schema.PrepareConfig, []),
    "train": (schema.TrainConfig, []),
    "translate": (schema.TranslateConfig, ["run=r"]),
    "score": (schema.ScoreConfig, ["hyp=h", "ref=r"]),
    "report": (schema.ReportConfig, []),
    "demo": (schema.DemoConfig, []),
    "align": (schema.AlignCommandConfig, ["source=a", "target=b", "out=c"]),
    "lm": (schema.LmCommandConfig, ["text=a", "out=b"]),
    "phrases": (schema.PhrasesCommandConfig, ["source=a", "target=b", "links=c", "out=d"]),
    "aer": (schema.AerCommandConfig, ["links=a", "gold=b"]),
}
NEEDED = {
    "data/files": ["data.name=n", "data.pair=a-b", "data.train_source=[a]", "data.train_target=[b]"],
    "align/given": ["align.links=l"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_composes(command: str) -> None:
    kind, overrides = COMMANDS[command]
    config = load(kind, command, overrides)
    assert {f.name for f in fields(kind)} == set(vars(config))


def group_members() -> list[tuple[str, str]]:
    found = []
    for path in sorted(conf_folder().rglob("*.yaml")):
        group = path.parent.relative_to(conf_folder()).as_posix()
        if group not in (".", "hydra"):
            found.append((group, path.stem))
    return found


@pytest.mark.parametrize(("group", "member"), group_members())
def test_every_group_member_composes(group: str, member: str) -> None:
    command = "prepare" if group in ("data", "align", "lm", "phrases") else "train"
    top = group.split("/")[0]
    choice = f"{top}={'/'.join([*group.split('/')[1:], member])}"
    kind = COMMANDS[command][0]
    load(kind, command, [choice, *NEEDED.get(f"{group}/{member}", [])])


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(Exception, match="etta"):
        load(schema.TrainConfig, "train", ["loss.etta=1"])
    with pytest.raises(InputError, match=r"(?s)loss\.etta.*did you mean loss\.eta\?"):
        load(schema.TrainConfig, "train", ["+loss.etta=1"])


def test_a_wrong_type_is_refused() -> None:
    with pytest.raises(InputError, match=r"(?s)loss\.eta.*abc"):
        load(schema.TrainConfig, "train", ["loss.eta=abc"])


def test_a_value_not_given_is_named() -> None:
    with pytest.raises(InputError, match=r"(?s)must be given.*run is not set"):
        load(schema.TranslateConfig, "translate")


def test_a_single_file_may_stand_for_a_list() -> None:
    assert load(schema.ScoreConfig, "score", ["hyp=h", "ref=one.txt"]).ref == ["one.txt"]


@settings(max_examples=10)
@given(st.floats(1e-9, 1e3))
def test_numbers_survive(eta: float) -> None:
    assert load(schema.TrainConfig, "train", [f"loss.eta={eta!r}"]).loss.eta == eta


def test_conf_is_beside_the_package_or_inside() -> None:
    assert (conf_folder() / "train.yaml").is_file()
    assert isinstance(conf_folder(), Path)


def test_the_wheel_carries_the_configurations(tmp_path: Path) -> None:
    import subprocess
    import sys
    import zipfile

    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"xlate/conf/{p.relative_to(conf_folder())}" for p in conf_folder().rglob("*.yaml")}
    assert expected <= names
    assert "xlate/py.typed" in names

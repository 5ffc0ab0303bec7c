"""Every configuration file composes into its schema, and wrong keys and types die with a word of help."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import xlate
from tests.commands import Capture
from xlate.cli import main as cli
from xlate.config import schema
from xlate.config.choices import CHOICES, DEFAULTS, SCHEMAS, conf_folder, own_keys, rows_of_tables
from xlate.config.load import load
from xlate.config.page import page
from xlate.config.schema import COMMANDS, NbestConfig
from xlate.errors import InputError
from xlate.settings import keys_in

# What a command must be given.
GIVEN = {
    "translate": ["run=r"],
    "import": ["moses=m", "out=o"],
    "export": ["run=r", "out=o"],
    "pack": ["run=r", "out=o"],
    "inspect": ["run=r"],
    "serve": ["run=r"],
    "nbest": ["action=check", "nbest=f"],
    "events": ["action=export", "events=f", "out=o"],
    "score": ["hyp=h", "ref=r"],
    "compare": ["a=one", "b=other"],
    "align": ["source=a", "target=b", "out=c"],
    "lm": ["text=a", "out=b"],
    "phrases": ["source=a", "target=b", "links=c", "out=d"],
    "aer": ["links=a", "gold=b"],
    "dictionary": ["work=w"],
    "tag": ["language=de"],
}
# What a choice, or any of a group, needs beside itself.
NEEDED = {
    "data=files": ["data.name=n", "data.pair=a-b", "data.train_source=[a]", "data.train_target=[b]"],
    "align=given": ["align.links=l"],
    "loss/tune": ["loss=xbleu"],
    "sparse": ["model=phrase"],
    "structure": ["model=hierarchical"],
    "context": ["model=phrase", "model.context.run=r"],
    "context=none": [],
    "model=lcs": ["model.context.run=r"],
    "loss=one_of_many": ["model=context"],
    "loss=one_vs_rest": ["model=context"],
    "decoder=distortion": ["model=distortion"],
    "decoder=phrase": ["model=phrase"],
    "decoder=none": ["model=rerank"],
    "decoder=hierarchical": ["model=hierarchical"],
    "decoder=cky": ["model=hierarchical"],
    "decoder=transformer": ["model=transformer"],
    "decoder=lcs": ["model=lcs", "model.context.run=r"],
}
PREPARED = ("data", "align", "lm", "phrases")
PACKAGE = Path(xlate.__file__).parent


def test_every_command_composes_and_its_keys_are_said_in_words() -> None:
    assert list(COMMANDS) == list(cli.COMMANDS)
    for command, kind in COMMANDS.items():
        load(kind, command, GIVEN.get(command, []))
        groups = {*DEFAULTS.get(command, {}), "decoder"}
        assert {one.name for one in own_keys(kind)} == {one.name for one in fields(kind)} - groups


def choices() -> list[tuple[str, str]]:
    found = [(group, name) for group, held in CHOICES.items() for name in held if not group.endswith("/keys")]
    for path in sorted(conf_folder().rglob("*.yaml")):
        group, *below = path.relative_to(conf_folder()).with_suffix("").parts
        if below and group not in ("hydra", "experiment"):
            found.append((group, "/".join(below)))
    # Of each table the first row, and the last, which has most of the others in it.
    return found + [
        ("experiment", row)
        for rows in map(list, rows_of_tables().values())
        for row in dict.fromkeys((rows[0], rows[-1]))
    ]


@pytest.mark.parametrize(("group", "name"), choices(), ids=lambda part: part)
def test_every_choice_composes_under_its_schema(group: str, name: str) -> None:
    command = "prepare" if group in PREPARED else "train"
    given_keys = NEEDED.get(f"{group}={name}", NEEDED.get(group, []))
    made = load(COMMANDS[command], command, [*given_keys, f"{group}={name}"])
    if group in ("model", "loss", "decoder", *PREPARED):
        assert type(getattr(made, group)) in SCHEMAS.get(group, (type(getattr(made, group)),))


def test_every_key_is_read_somewhere() -> None:
    code = "\n".join(p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py") if p.parent.name != "config")
    for kind in {kind for kinds in SCHEMAS.values() for kind in kinds}:
        for name in (f.name for f in fields(kind)):
            assert re.search(rf"\.{name}\b|\"{name}\"", code), f"no code reads {kind.__name__}.{name}"


def test_the_page_of_all_keys_is_up_to_date() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
    assert docs.read_text(encoding="utf-8") == page(), "python -m xlate.config.page > docs/configuration.md"
    for kinds in SCHEMAS.values():
        assert all(f.metadata.get("words") or f.name in ("name", "kind") for kind in kinds for f in keys_in(kind))


@pytest.mark.parametrize(
    ("given_keys", "decoder", "loss"),
    [
        (["model=phrase"], "PhraseSearch", "mira"),
        (["loss=pro", "model=phrase"], "PhraseSearch", "pro"),
        (["model=distortion"], "DistortionSearch", "local_softmax"),
        (["model=rerank"], "DecoderSettings", "xbleu"),
        (["model=floats", "decoder=mon"], "BlockSearch", "local_softmax"),
        (["experiment=auli2014/table1-row1"], "PhraseSearch", "mira"),
    ],
)
def test_a_model_brings_its_decoder_and_loss(given_keys: list[str], decoder: str, loss: str) -> None:
    made = load(schema.TrainConfig, "train", given_keys)
    assert (type(made.decoder).__name__, made.loss.name) == (decoder, loss)


@pytest.mark.parametrize(
    ("given_keys", "key", "near"),
    [
        (["decoder.pop_limit=3"], "decoder.pop_limit", "decoder."),
        (["model=phrase", "source.k=5"], "source.k", ""),
        (["model=phrase", "loss=mert", "loss.tune.C=1"], "loss.tune.C", "loss.tune"),
        (["model=phrase", "model.threshold=1"], "model.threshold", "decoder.threshold?"),
        (["model=rerank", "loss.lists.folds=3"], "loss.lists.folds", "loss.lists."),
        (["model=rerank", "loss=xbleu", "loss.tune.metric=chrf"], "loss.tune.metric", "model.rerank.metric?"),
        (["model=rerank", "metric=chrf"], "metric", "loss.tune.metric or model.rerank.metric?"),
        (["model=rerank", "loss=xbleu", "loss.lists.metric=chrf"], "loss.lists.metric", "loss.tune.metric or model.re"),
    ],
)
def test_a_key_that_a_choice_does_not_use_is_refused(given_keys: list[str], key: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        load(schema.TrainConfig, "train", given_keys)
    assert caught.value.seen == key
    assert f"did you mean {near}" in str(caught.value.remedy)


def test_a_file_of_the_user_is_held_to_the_same_keys(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "loss").mkdir()
    mine, command = tmp_path / "loss" / "mine.yaml", ["train", "--config-dir", str(tmp_path), "loss=mine"]
    for text in ("defaults: [mert, _self_]\ntune:\n  C: 1\n", "name: mert\ntune:\n  name: mert\n  rounds: 1\n  C: 1\n"):
        mine.write_text(text)
        assert cli.main([*command, "work=nowhere"]) == 2
        seen = capsys.readouterr().err
        assert "loss.tune.C" in seen
        assert "did you mean" in seen
    mine.write_text("defaults: [mert, _self_]\ntune:\n  restarts: 77\n")
    assert cli.main([*command, "--cfg", "job"]) == 0
    assert "restarts: 77" in capsys.readouterr().out


def test_help_shows_the_keys_of_what_is_chosen(capsys: Capture) -> None:
    assert cli.main(["train", "model=phrase", "loss=mert", "--help"]) == 0
    seen = capsys.readouterr().out
    assert all(key in seen for key in ("decoder.pop_limit=", "loss.tune.restarts=", "coordinate_rounds="))
    assert not any(key in seen for key in ("min_left_count", "decay", "data=", "align"))


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_says_what_every_key_is_on_narrow_lines(command: str, capsys: Capture) -> None:
    assert cli.main([command, "--help"]) == 0
    seen = capsys.readouterr().out
    assert max(map(len, seen.splitlines())) <= 100
    assert all(f"  {key.name}=" in seen for key in own_keys(COMMANDS[command]))
    commands = {"model": "train", "loss/tune": "train", "align": "prepare", "lm": "prepare"}
    commands["cluster"] = "prepare train translate"
    assert all((f"\n  {group} " in seen) == (command in own.split()) for group, own in commands.items())


def test_help_lists_actions_and_tables(capsys: Capture) -> None:
    assert cli.main(["nbest", "-h"]) == 0
    seen = capsys.readouterr().out
    assert all(f"\n  {action} " in seen for action in ("check", "import", "oracle", "rescore", "pairs"))
    assert cli.main(["help", "train"]) == 0
    assert "table4 (9 rows)" in capsys.readouterr().out


def test_a_row_is_what_its_table_shares_and_what_it_says_itself() -> None:
    made = load(schema.TrainConfig, "train", ["experiment=watanabe2007/systems-row6"])
    assert (made.measures, made.model.kind, made.base) == (
        ["bleu", "nist"],
        "hierarchical",
        "{sweep}/experiment=watanabe2007/systems-row3",
    )
    assert (made.source.name, made.source.folds, made.source.iterations) == ("online", 5, 1)
    assert made.row is not None
    assert (made.row.table, made.row.number, made.row.against) == ("Rules and phrases", 6, 3)
    rows = list(rows_of_tables()["tillmann2007/table7"])
    assert rows == [f"tillmann2007/table7-row{number}" for number in range(1, 11)]


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


def test_a_group_of_one_command_is_no_group_of_another() -> None:
    asked = ["action=score", "nbest=list", "lm=model.arpa", "out=column"]
    for _ in range(2):
        assert load(schema.PrepareConfig, "prepare", ["work=work/x", "lm=fivegram"]).lm.order == 5
        assert load(NbestConfig, "nbest", asked).lm == "model.arpa"

"""Taking a command line apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.cli.shell.arguments import quoted, read_words
from xlate.config.keys.brackets import list_keys, with_brackets
from xlate.config.schema import PrepareConfig, ScoreConfig, TrainConfig
from xlate.errors import InputError


def test_bare_words_become_the_positional_key() -> None:
    assert read_words(["runs/a", "plots=false", "b c"], "runs").overrides == ("plots=false", "runs=['runs/a','b c']")
    assert read_words(["check", "F"], ("action", "nbest")).overrides == ("action='check'", "nbest='F'")
    with pytest.raises(InputError, match="a word too many"):
        read_words(["x"])


def test_paths_of_sweeps_need_no_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("runs/it's") / "loss=pro,seed=1"
    folder.mkdir(parents=True)
    assert quoted(f"run={folder}") == r"run='runs/it\'s/loss=pro,seed=1'"
    assert quoted("loss=pro,mira") == "loss=pro,mira"
    assert quoted("run='loss=pro'") == "run='loss=pro'"
    assert quoted(str(folder)) == str(folder)
    assert quoted(f"'{folder}'") == str(folder)
    one = r"runs/it\'s/loss=pro,seed=1"
    assert read_words([str(folder), "out=x"], "runs").overrides == ("out=x", f"runs=['{one}']")
    assert read_words([str(folder)], ("action", "nbest")).overrides == (f"action='{one}'",)


@given(st.permutations(["a=1", "-m", "b=2", "--config-dir", "-q"]))
def test_the_order_of_options_does_not_matter(order: list[str]) -> None:
    at = order.index("--config-dir")
    words = read_words([*order[: at + 1], "FOLDER", *order[at + 1 :]])
    assert (words.flags, set(words.options)) == ({"--quiet"}, {"--multirun", "--config-dir=FOLDER"})
    assert words.overrides == tuple(word for word in order if "=" in word)


def test_lists_of_every_command_are_known() -> None:
    assert "ref" in list_keys(ScoreConfig)
    assert {"data.train_source", "data.dev_references"} <= list_keys(PrepareConfig)
    assert {"model.binary", "loss.tune.references", "references"} <= list_keys(TrainConfig)
    assert not {"seed", "model.unit", "data.factor_files"} & (list_keys(TrainConfig) | list_keys(PrepareConfig))


@pytest.mark.parametrize(
    ("given_override", "single", "sweep"),
    [
        ("ref=a", "ref=[a]", "ref=[a]"),
        ("ref=a,b", "ref=[a,b]", "ref=[a],[b]"),
        ("ref=[a,b]", "ref=[a,b]", "ref=[a,b]"),
        ("ref=[a],[b]", "ref=[a],[b]", "ref=[a],[b]"),
        ("ref='a,b'", "ref=['a,b']", "ref=['a,b']"),
        ("+ref=a", "+ref=[a]", "+ref=[a]"),
        ("ref=null", "ref=null", "ref=null"),
        ("ref=choice(a,b)", "ref=choice(a,b)", "ref=choice(a,b)"),
        ("out=a,b", "out=a,b", "out=a,b"),
    ],
)
def test_lists_get_their_brackets(given_override: str, single: str, sweep: str) -> None:
    assert with_brackets([given_override], ScoreConfig) == [single]
    assert with_brackets([given_override], ScoreConfig, sweep=True) == [sweep]

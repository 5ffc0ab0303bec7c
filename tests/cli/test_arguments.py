"""Taking a command line apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlate.cli.arguments import quoted, read_words
from xlate.config.load import load, with_brackets
from xlate.config.schema import Command, InspectConfig, PrepareConfig, ScoreConfig, TrainConfig
from xlate.errors import InputError


def test_bare_words_become_the_positional_key() -> None:
    assert read_words(["runs/a", "plots=false", "b c"], "runs").overrides == ("plots=false", "runs=['runs/a','b c']")
    assert read_words(["check", "F"], ("action", "nbest")).overrides == ("action='check'", "nbest='F'")
    with pytest.raises(InputError, match="one word too many"):
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


NAMES = [
    "runs/Läufe", "x#y", "{x}", "a'b", 'a"b', "a;b&c", "a(b)", "~x", "{ä: b}", "<x>!^`", "a\\'b\\", "it's é's", "'",
    "😀 x",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_come_through_as_they_are_typed(name: str) -> None:
    words = read_words(["hyp=x", f"out={name}", f"ref=[y,{name},z z]", f"columns=ä={name}"])
    made = load(ScoreConfig, "score", words.bracketed(ScoreConfig).overrides)
    assert (made.out, made.ref, made.columns) == (name, ["y", name, "z z"], [f"ä={name}"])


@pytest.mark.parametrize("name", ["a[b]", "[a", "a=b", "1.50", "2024_11", "1e3", "True", "-0", "INF"])
def test_names_that_look_like_something_else(name: str) -> None:
    words = read_words(["hyp=x", "ref=y", f"out={name}"]).bracketed(ScoreConfig)
    assert load(ScoreConfig, "score", words.overrides).out == name


def test_names_that_stand_for_another_key_are_refused() -> None:
    with pytest.raises(InputError, match="refers to a missing one"):
        load(ScoreConfig, "score", read_words(["hyp=x", "ref=[y]", "out=ä${b}"]).overrides)


def test_only_what_hydra_cannot_read_gets_quotes() -> None:
    as_they_are = ("a=b c", "a=[b,c]", "a=b,c", "a={b: [c, d]}", "a=choice(b,c)", "a='ä'", "a=${b}", "~a", "a=b=1,c=2")
    assert read_words(as_they_are).overrides == as_they_are
    made = ["a=ä,b", "a=[ä,b c]", "a={b: [ä]}", "a=choice(ä,b)", "merge=[n=ä,m=b]", "a=[ä],[b]"]
    assert read_words(made).overrides == (
        "a='ä',b", "a=['ä',b c]", "a={b: ['ä']}", "a=choice('ä',b)", "merge=['n=ä','m=b']", "a=['ä'],[b]",
    )  # fmt: skip


@given(st.permutations(["a=1", "-m", "b=2", "--config-dir", "-q"]))
def test_the_order_of_options_does_not_matter(order: list[str]) -> None:
    at = order.index("--config-dir")
    words = read_words([*order[: at + 1], "FOLDER", *order[at + 1 :]])
    assert (words.flags, set(words.options)) == ({"--quiet"}, {"--multirun", "--config-dir=FOLDER"})
    assert words.overrides == tuple(word for word in order if "=" in word)


def test_lists_of_every_command_are_known() -> None:
    listed: list[tuple[type[Command], tuple[str, ...]]] = [
        (ScoreConfig, ("ref",)),
        (PrepareConfig, ("data.train_source", "data.dev_references")),
        (TrainConfig, ("model.binary", "loss.tune.references", "references")),
    ]
    for command, keys in listed:
        assert with_brackets([f"{key}=a" for key in keys], command) == [f"{key}=[a]" for key in keys]
        for override in ("seed=1", "model.unit=a", "data.factor_files=a"):
            assert with_brackets([override], command) == [override]


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


SENTENCES = ["Der, die", "a=b, c", "[1] und [2]", "{a: b}", "It's 3", "true", "choice(a,b)", " ein "]


@pytest.mark.parametrize(
    ("given", "value"), [*((one, one) for one in SENTENCES), ("'Ein, Mann'", "Ein, Mann"), ("null", None)]
)
def test_a_sentence_needs_no_quotes(given: str, value: str | None) -> None:
    assert load(InspectConfig, "inspect", ["run=r", *read_words([f"sentence={given}"]).overrides]).sentence == value

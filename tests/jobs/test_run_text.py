"""Raw text for systems made by Moses: what the table says of it, what is kept, and what such a run takes and gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Said, succeed
from tests.models.phrase.moses_system import write_system
from xlate.cli.main import main
from xlate.config.load import load
from xlate.config.schema import ImportConfig
from xlate.errors import InputError
from xlate.jobs.imports import imported_text
from xlate.jobs.translate import PreparedText, TokenizedText, text_of

LOWER = "das ||| the ||| 1\n&apos;s ||| is ||| 1\ngut @-@ e ||| good ||| 1\n"
CASED = "das ||| the ||| 1\nHaus ||| House ||| 1\n"


def imported(table: str, *given: str) -> PreparedText | TokenizedText:
    sources = (line.partition("|||")[0] for line in table.splitlines())
    text = imported_text(load(ImportConfig, "import", ["moses=m", "out=o", *given]), sources)
    assert isinstance(text, PreparedText | TokenizedText)
    return text


def test_the_table_says_how_words_are_written() -> None:
    lower, cased = imported(LOWER, "pair=de-en"), imported(CASED, "pair=de-en")
    assert lower.source_tokens("Das ist's, gut-e!") == ["das", "ist", "&apos;", "s", ",", "gut", "@-@", "e", "!"]
    assert lower.target_text(["it", "&apos;s", "good", "@-@", "ish", "."]) == "it's good-ish."
    assert lower.target_text(["it", "&apos;s"], detokenize=False) == "it &apos;s"
    assert cased.source_tokens("Das ist's, gut-e!") == ["Das", "ist", "'", "s", ",", "gut-e", "!"]
    kept = imported(LOWER, "pair=de-en", "case=keep", "tokenize=false")
    assert kept.source_tokens("Das ist's, gut") == ["Das", "ist's,", "gut"]


def test_without_a_pair_lines_are_tokens() -> None:
    assert isinstance(imported(LOWER), TokenizedText)
    lower = imported(CASED, "case=lower")
    assert lower.source_tokens("Das Haus, ja") == ["das", "haus,", "ja"]
    assert lower.target_text(["a", "."]) == "a ."


def test_truecased_text_and_what_is_kept(tmp_path: Path) -> None:
    for name, words in (("de", "Haus (3/3)\ndas (2/2)\n"), ("en", "the (9/9)\nNew (3/4) new (1)\n")):
        (tmp_path / name).write_text(words)
    text = imported(CASED, "pair=de-en", f"truecase=[{tmp_path / 'de'},{tmp_path / 'en'}]")
    assert isinstance(text, PreparedText)
    text.save(tmp_path)
    back = PreparedText.load(tmp_path)
    assert back.identity == text.identity
    for one in (text, back):
        assert one.source_tokens("Das Haus. Haus!") == ["das", "Haus", ".", "Haus", "!"]
        assert one.target_tokens("The House") == ["the", "House"]
        assert one.target_text(["the", "house", "."]) == "The house."


@pytest.mark.parametrize("given", ["pair=german", "case=odd", "case=true", "truecase=[a]", "pair=-en"])
def test_settings_that_do_not_fit(given: str) -> None:
    with pytest.raises(InputError):
        imported(LOWER, given)


def test_a_run_that_takes_raw_text(tmp_path: Path, remarked: Said) -> None:
    ini, run = write_system(tmp_path), tmp_path / "run"
    (tmp_path / "raw").write_text("A B, c!\nC\n")
    (tmp_path / "ref").write_text("X, z!\nZ\n")
    filtered = ["import", f"moses={ini}", f"filter={tmp_path / 'raw'}", f"out={run}", "pair=de-en"]
    assert (
        "the run reads raw de text, tokenised by Moses's rules, lower-cased "
        "(the system's words have no capitals; otherwise set case=keep), and writes plain en text\n"
    ) in remarked(*filtered)
    assert translated(run, tmp_path) == ["x, z!", "z"]
    # Of the same system with text taken in another way there is another run.
    assert main([*filtered, "case=keep"]) == 2
    # What is based on it takes text as it does, and is tuned on such text.
    tune = [f"loss.tune.source={tmp_path / 'raw'}", f"loss.tune.references=[{tmp_path / 'ref'}]", "loss.tune.rounds=1"]
    tuned = tmp_path / "tuned"
    succeed("train", "model=phrase", "loss=mira", f"base={run}", f"run={tuned}", *tune)
    assert isinstance(text_of(tuned), PreparedText)
    assert translated(tuned, tmp_path)[1] == "z"
    succeed("pack", f"run={tuned}", f"input={tmp_path / 'raw'}", f"out={tmp_path / 'pack'}")
    assert isinstance(text_of(tmp_path / "pack"), PreparedText)
    assert "for raw text, set pair=SOURCE-TARGET\n" in remarked("import", f"moses={ini}", f"out={tmp_path / 'tokens'}")
    assert translated(tmp_path / "tokens", tmp_path) == ["A B, c!", "C"]


def translated(run: Path, folder: Path) -> list[str]:
    succeed("translate", f"run={run}", f"input={folder / 'raw'}", f"output={folder / 'out'}")
    return (folder / "out").read_text().splitlines()

"""Ranking n-best lists anew by their words, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_end_to_end import run, work  # noqa: F401
from xlate.cli.main import main
from xlate.features.hypothesis_text import TextTemplates

STEPS = ["loss.lists.tolerance=0", "loss.lists.gamma=10", "loss.lists.rate=0.05", "loss.lists.epochs=60"]
RERANK = ["model=rerank", "loss=xbleu", "loss.lists.heldout_every=4", "model.rerank.min_lists=2", *STEPS]


def write_lists(folder: Path, name: str, sentences: range) -> list[str]:
    """A system that likes long translations: half of each list ends in a word that references never have."""
    lines, references, sources = [], [], []
    for s in sentences:
        words = ["the", ("cat", "dog", "bird")[s % 3], ("sleeps", "runs")[s % 2], ("here", "now")[s // 2 % 2]]
        references.append(" ".join(words))
        sources.append(f"{('katze', 'hund', 'vogel')[s % 3]} {('schläft', 'läuft')[s % 2]}")
        wrong = ["the", ("dog", "bird", "cat")[s % 3], *words[2:]]
        for rank, text in enumerate([[*words, "indeed"], wrong, words, [*wrong, "indeed"]]):
            lines.append(f"{s} ||| {' '.join(text)} ||| LM= {-len(text)} ||| {-rank - 1}")
    for kind, rows in (("nbest", lines), ("ref", references), ("src", sources)):
        (folder / f"{name}.{kind}").write_text("\n".join(rows) + "\n")
    return [
        f"nbest={folder / f'{name}.nbest'}",
        f"references=[{folder / f'{name}.ref'}]",
        f"nbest_source={folder / f'{name}.src'}",
    ]


def test_a_run_ranks_the_lists_of_a_disjoint_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write_lists(tmp_path, "train", range(60))
    assert main(["train", f"run={tmp_path / 'run'}", *RERANK, *given]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["heldout_ranked_BLEU"] > summary["heldout_first_BLEU"] + 5
    assert summary["heldout_headroom_closed"] == pytest.approx(100)
    assert main(["train", f"run={tmp_path / 'run'}", *RERANK, *given]) == 0
    write_lists(tmp_path, "other", range(60))
    capsys.readouterr()
    arguments = [f"run={tmp_path / 'run'}", f"source={tmp_path / 'other.src'}", f"ref=[{tmp_path / 'other.ref'}]"]
    assert main(["nbest", "rescore", str(tmp_path / "other.nbest"), *arguments, f"out={tmp_path / 'out'}"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["bleu"]["first"] == figures["bleu"]["oracle"] == 100.0
    # Words alone, without a source: the cat and the dog cannot be told apart any more, the superfluous word can.
    plain = [argument for argument in given if not argument.startswith("nbest_source")]
    assert main(["train", f"run={tmp_path / 'words'}", *RERANK, *plain]) == 0
    assert json.loads((tmp_path / "words" / "summary.json").read_text())["heldout_ranked_BLEU"] < 100


def test_what_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write_lists(tmp_path, "train", range(12))
    assert main(["train", f"run={tmp_path / 'a'}", *RERANK]) == 2
    assert "nothing to rank" in capsys.readouterr().err
    assert main(["train", f"run={tmp_path / 'b'}", "model=rerank", "loss=mira", *given]) == 2
    assert "loss over lists" in capsys.readouterr().err
    assert main(["train", f"run={tmp_path / 'c'}", *RERANK, *given]) == 0
    (tmp_path / "bare.nbest").write_text("0 ||| the cat ||| TM= 1 ||| -1\n")
    capsys.readouterr()
    arguments = [f"run={tmp_path / 'c'}", f"out={tmp_path / 'out'}"]
    assert main(["nbest", "rescore", str(tmp_path / "bare.nbest"), *arguments]) == 2
    assert "lacks features" in capsys.readouterr().err
    (tmp_path / "bare.nbest").write_text("0 ||| the cat ||| LM= 1\n")
    assert main(["nbest", "rescore", str(tmp_path / "bare.nbest"), *arguments]) == 2
    assert "total score" in capsys.readouterr().err
    assert main(["train", f"run={tmp_path / 'd'}", *RERANK, *given, "loss.lists.heldout_every=1"]) == 2
    assert "heldout_every=1" in capsys.readouterr().err


def test_features_of_a_hypothesis() -> None:
    templates = TextTemplates(2, True, 1, {"b": "7"}, {"b": {"x": 0.9, "y": 0.1}})
    found = list(templates.features(["a", "b"], ["y", "x"], 3))
    assert found[:5] == ["ngram=a", "ngram=b", "ngram=<s> a", "ngram=a b", "ngram=b </s>"]
    assert found[5:] == ["class=?", "class=7", "length=-1", "pair=x|b"]
    assert list(TextTemplates(0, True).features(["a"] * 30, None, 1)) == ["length=+8"]

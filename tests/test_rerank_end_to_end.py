"""Ranking n-best lists anew by their words, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_end_to_end import run, work  # noqa: F401
from xlate.cli.main import main
from xlate.features.hypothesis_text import TextTemplates
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.ranking.scores import rerank_scores
from xlate.lm.arpa import read_arpa
from xlate.lm.model import NgramModel

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
    assert figures["rows"]["reranked"]["bleu"] == figures["rows"]["oracle"]["bleu"] == 100.0
    assert figures["rows"]["first"]["bleu"] < figures["rows"]["random"]["bleu"] + 20 < 100
    assert figures["rows"]["reranked"]["bleu_against_first"]["p"] < 0.01
    # Words alone, without a source: the cat and the dog cannot be told apart any more, the superfluous word can.
    plain = [argument for argument in given if not argument.startswith("nbest_source")]
    assert main(["train", f"run={tmp_path / 'words'}", *RERANK, *plain]) == 0
    assert json.loads((tmp_path / "words" / "summary.json").read_text())["heldout_ranked_BLEU"] < 100
    # A run that was trained without sources ranks without them.
    other, source = NbestFile(str(tmp_path / "other.nbest")), str(tmp_path / "other.src")
    scores = [rerank_scores(tmp_path / "words", other, given_source, None).tolist() for given_source in (None, source)]
    assert scores[0] == scores[1]


def shown_text(folder: Path, tag: str) -> list[str]:
    """The lines of a text that a run shows in TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (event,) = EventAccumulator(str(folder)).Reload().Tensors(f"{tag}/text_summary")
    return str(event.tensor_proto.string_val[0].decode()).splitlines()


def test_lists_are_shown_between_source_and_reference(tmp_path: Path) -> None:
    given = write_lists(tmp_path, "train", range(60))
    assert main(["train", f"run={tmp_path / 'run'}", *RERANK, "samples=2", *given]) == 0
    # Sentences 3 and 7 are the first ones that are held out.
    assert shown_text(tmp_path / "run", "samples/heldout") == [
        "| source | first | reranked | oracle | reference |",
        "|---|---|---|---|---|",
        "| katze läuft | the cat runs now indeed | the cat runs now | the cat runs now | the cat runs now |",
        "| hund läuft | the dog runs now indeed | the dog runs now | the dog runs now | the dog runs now |",
    ]
    plain = [argument for argument in given if not argument.startswith("nbest_source")]
    tuned = ["model=rerank", "loss=mira", "samples=1", "model.rerank.ngrams=0", "model.rerank.pairs=false"]
    assert main(["train", f"run={tmp_path / 'tuned'}", *tuned, *plain]) == 0
    head, _, row = shown_text(tmp_path / "tuned", "samples/training")
    assert head == "| first | reranked | oracle | reference |"
    assert row.endswith("| the cat sleeps here | the cat sleeps here |")


def test_what_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write_lists(tmp_path, "train", range(12))
    assert main(["train", f"run={tmp_path / 'a'}", *RERANK]) == 2
    message = capsys.readouterr().err
    assert "learned from" in message
    assert "references=[FILE,…]" in message
    assert main(["train", f"run={tmp_path / 'b'}", "model=rerank", "loss=perceptron", *given]) == 2
    assert "loss over lists" in capsys.readouterr().err
    assert main(["train", f"run={tmp_path / 'b'}", *RERANK, "model.rerank.metric=column", *given]) == 2
    assert "model.rerank.gain_column=NAME" in capsys.readouterr().err
    assert main(["train", f"run={tmp_path / 'b'}", *RERANK, "model.rerank.gain_column=TM", *given]) == 2
    assert "no such feature" in capsys.readouterr().err
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
    # A run that ranks lists is no translator, and no work directory is looked for.
    for command in (["translate"], ["serve", "port=0"], ["pack", f"out={tmp_path / 'packed'}"]):
        assert main([*command, f"run={tmp_path / 'c'}"]) == 2
        message = " ".join(capsys.readouterr().err.split())
        assert "a run of model=rerank translates nothing" in message
        assert "xlate nbest rescore FILE run=RUN" in message
    assert main(["export", f"out={tmp_path / 'exported'}", f"run={tmp_path / 'c'}"]) == 2
    assert "only phrase models have Moses's form" in capsys.readouterr().err


def as_json(folder: Path, name: str) -> Path:
    """The same list as JSON lines with the sources, without totals."""
    rows = []
    sources = (folder / f"{name}.src").read_text().splitlines()
    for line in (folder / f"{name}.nbest").read_text().splitlines():
        number, text, features, _ = line.split(" ||| ")
        scores = {"LM": float(features.split()[1])}
        rows.append(json.dumps({"id": int(number), "src": sources[int(number)], "hyp": text, "scores": scores}))
    (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    return folder / f"{name}.jsonl"


@pytest.mark.parametrize("tuner", ["mira", "mert", "pro", "expected_bleu"])
def test_a_tuner_learns_from_json_lines_with_a_column_made_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, tuner: str
) -> None:
    caplog.set_level("INFO")
    _, references, _ = write_lists(tmp_path, "train", range(40))
    nbest = as_json(tmp_path, "train")
    # A judge that likes the third hypothesis.
    (tmp_path / "judge").write_text("\n".join(["0.1", "0.2", "0.9", "0.3"] * 40) + "\n")
    given = [f"nbest={nbest}", references, f"add_scores=[judge={tmp_path / 'judge'}]", "model.rerank.ngrams=0"]
    keys = ["model=rerank", f"loss={tuner}", "loss.tune.heldout_every=4", "model.rerank.position=true"]
    assert main(["train", f"run={tmp_path / 'run'}", *keys, "model.rerank.mbr=bleu", *given]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert list(summary["weights"]["dense"]) == ["LM", "judge", "list position", "mbr bleu"]
    assert summary["heldout_ranked_BLEU"] == summary["heldout_oracle_BLEU"] == 100
    assert "learned for bleu, which is measured here too" in caplog.text
    arguments = [str(nbest), f"run={tmp_path / 'run'}", f"out={tmp_path / 'out'}", f"best_out={tmp_path / 'best'}"]
    assert main(["nbest", "rescore", *arguments, given[2]]) == 0
    assert (tmp_path / "best").read_text() == (tmp_path / "train.ref").read_text()
    capsys.readouterr()
    assert main(["nbest", "rescore", *arguments]) == 2
    message = capsys.readouterr().err
    assert "lacks features" in message
    assert "judge" in message


def test_a_column_is_what_is_gained(tmp_path: Path) -> None:
    given = write_lists(tmp_path, "train", range(40))
    # A judge that likes what references do not: the first hypothesis.
    (tmp_path / "judge").write_text("\n".join(["0.9", "0.2", "0.1", "0.3"] * 40) + "\n")
    column = [f"add_scores=judge={tmp_path / 'judge'}", "model.rerank.gain_column=judge", "model.rerank.metric=column"]
    assert main(["train", f"run={tmp_path / 'run'}", *RERANK, *given, *column]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert "judge" not in summary["weights"]["dense"]
    assert summary["heldout_ranked_BLEU"] == summary["heldout_first_BLEU"] < 100


def test_pairs_for_trainers_by_preference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lists(tmp_path, "train", range(6))
    nbest = as_json(tmp_path, "train")
    reference = f"ref={tmp_path / 'train.ref'}"
    assert main(["nbest", "pairs", str(nbest), reference, f"out={tmp_path / 'p'}", "pairs=2", "metric=chrf"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 12
    rows = [json.loads(line) for line in (tmp_path / "p").read_text().splitlines()]
    references = (tmp_path / "train.ref").read_text().splitlines()
    sources = (tmp_path / "train.src").read_text().splitlines()
    assert [rows[0][key] for key in ("id", "prompt", "chosen")] == [0, sources[0], references[0]]
    assert [row["chosen"] for row in rows[::2]] == references
    assert all(row["margin"] >= 0.05 and row["chosen"] != row["rejected"] for row in rows)
    assert rows[0]["margin"] > rows[1]["margin"]
    assert main(["nbest", "pairs", str(tmp_path / "train.nbest"), reference, f"out={tmp_path / 'p'}"]) == 2
    assert "whose source is known" in capsys.readouterr().err
    # What a column gains needs no references.
    column = ["nbest", "pairs", str(nbest), f"out={tmp_path / 'p'}", "metric=column"]
    assert main([*column, "gain_column=LM"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "p").read_text().splitlines()]
    assert [row["margin"] for row in rows] == [1] * 6
    assert main(column) == 2
    assert "gain_column=NAME" in capsys.readouterr().err
    assert main([*column[:-1], "metric=meteor"]) == 2
    assert "bleu, chrf, ter, column, or a mixture" in capsys.readouterr().err


def test_a_language_model_scores_every_line_of_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("the cat sleeps\nthe dog runs\nthe cat runs\n")
    assert main(["lm", f"text={tmp_path / 'text'}", "order=2", f"out={tmp_path / 'lm.arpa'}"]) == 0
    # Duplicates and sentences that come in any order of numbers; a word that the model does not know.
    lists = [(7, "the cat sleeps"), (7, "the cat sleeps"), (2, "the zebra runs"), (2, "")]
    lists += [(3, f"the {word} runs") for word in ("<unk>", "<s>", "</s>")]
    (tmp_path / "list").write_text("".join(f"{i} ||| {text} ||| TM= 1 ||| -1\n" for i, text in lists))
    arguments = [str(tmp_path / "list"), f"lm={tmp_path / 'lm.arpa'}", "nbest_duplicates=drop"]
    assert main(["nbest", "score", *arguments, f"out={tmp_path / 'column'}"]) == 0
    assert json.loads(capsys.readouterr().out)["hypotheses"] == 7
    lm = NgramModel.from_arpa(read_arpa(tmp_path / "lm.arpa"))
    told = [float(line) for line in (tmp_path / "column").read_text().splitlines()]
    for value, (_, text) in zip(told, lists, strict=True):
        assert value == pytest.approx(lm.sentence_logprob(lm.map_vocabulary(text.split())), rel=1e-6)
    assert told[4:] == [told[2]] * 3
    assert main(["nbest", "check", str(tmp_path / "list"), f"add_scores=lm={tmp_path / 'column'}"]) == 0
    assert main(["nbest", "score", str(tmp_path / "list"), f"out={tmp_path / 'column'}"]) == 2
    assert "lm=MODEL.arpa" in capsys.readouterr().err


def test_ranking_by_the_utility_within_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list").write_text("a b c\na b d\na b c d\nx\n")
    (tmp_path / "ref").write_text("a b c d\n")
    arguments = [f"out={tmp_path / 'out'}", "mbr=chrf", "nbest_size=4", f"ref={tmp_path / 'ref'}"]
    assert main(["nbest", "rescore", str(tmp_path / "list"), *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows["reranked"]["bleu"] == rows["oracle"]["bleu"] == 100
    assert [rows[name]["ter"] for name in ("first", "reranked", "oracle")] == [25, 0, 0]
    assert rows["reranked"]["ter_against_first"]["difference"] == -25
    assert [line.split(" ||| ")[1] for line in (tmp_path / "out").read_text().splitlines()][-1] == "x"
    assert main(["nbest", "rescore", str(tmp_path / "list"), *arguments]) == 0
    assert "reranking was by agreement in chrf, which is measured here too" in capsys.readouterr().err
    several = [*arguments, "run=r", f"weights={tmp_path / 'w'}"]
    assert main(["nbest", "rescore", str(tmp_path / "list"), *several]) == 2
    message = capsys.readouterr().err
    assert f"run=r weights={tmp_path / 'w'} mbr=chrf" in message
    assert "several things to rank by" in message


def test_features_of_a_hypothesis() -> None:
    templates = TextTemplates(2, True, 1, {"b": "7"}, {"b": {"x": 0.9, "y": 0.1}})
    found = list(templates.features(["a", "b"], templates.pairs_of(["y", "x"]), 3))
    assert found[:5] == ["ngram=a", "ngram=b", "ngram=<s> a", "ngram=a b", "ngram=b </s>"]
    assert found[5:] == ["class=?", "class=7", "length=-1", "pair=x|b"]
    assert list(TextTemplates(0, True).features(["a"] * 30, None, 1)) == ["length=+8"]
    # Of equals the first word of the source; none where the lexicon has none of it.
    pairs = TextTemplates(lexicon={"b": {"x": 0.5, "y": 0.5}}).pairs_of(["z", "y", "x"])
    assert pairs is not None
    assert [pairs[word] for word in ("b", "a", "b")] == ["pair=y|b", "", "pair=y|b"]


def with_features(folder: Path, name: str) -> list[str]:
    """The lists of `write_lists` whose totals say nothing, with a feature on the lines of what is wrong or too long,
    and one that a line lacks.
    """
    given = write_lists(folder, name, range(60))
    lines = []
    for number, line in enumerate((folder / f"{name}.nbest").read_text().splitlines()):
        sentence, text, features, _ = line.split(" ||| ")
        bad = " Bad_word= 2" if number % 4 != 2 else ""
        more = "" if number == 9 else f" TM= {number * 7 % 5}"
        lines.append(f"{sentence} ||| {text} ||| {features}{more}{bad} ||| -1")
    (folder / f"{name}.nbest").write_text("\n".join(lines) + "\n")
    return given[:2]


BARE = ["model.rerank.ngrams=0", "model.rerank.length=false", "loss.tune.heldout_every=4"]


@pytest.mark.parametrize("loss", ["loss=mira", "loss=xbleu"])
def test_features_on_some_lines_are_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, loss: str
) -> None:
    caplog.set_level("INFO")
    given = with_features(tmp_path, "train")
    keys = [*BARE, loss] if loss == "loss=mira" else [*RERANK, *BARE[:2]]
    assert main(["train", f"run={tmp_path / 'run'}", "model=rerank", *keys, *given]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["heldout_ranked_BLEU"], summary["active_features"]) == (100, 1)
    assert "1 features are on some of the 240 lines only: Bad_word (180); those that tell" in caplog.text
    # A score that a line lacks is learned from all the same.
    assert f"{tmp_path / 'train.nbest'}:10: TM is missing here and on 0 other lines of 240" in caplog.text
    assert list(summary["weights"]["dense"]) == ["LM", "TM", "total score"]
    arguments = [str(tmp_path / "train.nbest"), f"run={tmp_path / 'run'}", f"out={tmp_path / 'out'}"]
    capsys.readouterr()
    assert main(["nbest", "rescore", *arguments, given[1].replace("references", "ref")]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["reranked"]["bleu"] == 100
    assert caplog.text.count("10: TM is missing here") == 2


def test_features_on_some_lines_may_be_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = with_features(tmp_path, "train")
    keys = [*BARE, "loss=mira", "model.rerank.given_sparse=false"]
    assert main(["train", f"run={tmp_path / 'run'}", "model=rerank", *keys, *given]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["active_features"], summary["heldout_ranked_BLEU"] < 100) == (0, True)
    assert "Bad_word (180); nothing is learned from them: model.rerank.given_sparse=true" in caplog.text
    assert "stay 0" not in caplog.text
    caplog.clear()
    assert main(["train", f"run={tmp_path / 'mert'}", "model=rerank", *BARE, "loss=mert", *given]) == 0
    assert "the weights of 1 sparse features (Bad) stay 0; loss=mira, pro or xbleu learns them" in caplog.text


@pytest.mark.parametrize(("place", "name", "what"), [(1, "ref", "references"), (2, "src", "sources")])
def test_text_that_is_longer_than_the_lists_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int, name: str, what: str
) -> None:
    given = write_lists(tmp_path, "train", range(6))
    (tmp_path / "twice").write_text(2 * (tmp_path / f"train.{name}").read_text())
    given[place] = given[place].replace(f"train.{name}", "twice")
    assert main(["train", f"run={tmp_path / 'run'}", *RERANK, *given]) == 2
    assert f"{tmp_path / 'twice'}:7: more {what} than" in capsys.readouterr().err


def test_sources_are_as_they_were_in_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, ref = write_lists(tmp_path, "train", range(60)), f"ref={tmp_path / 'train.ref'}"
    assert main(["train", f"run={tmp_path / 'with'}", *RERANK, *given]) == 0
    assert main(["train", f"run={tmp_path / 'without'}", *RERANK, *given[:2]]) == 0
    nbest, out, source = str(tmp_path / "train.nbest"), f"out={tmp_path / 'out'}", f"source={tmp_path / 'train.src'}"
    capsys.readouterr()
    assert main(["nbest", "rescore", nbest, f"run={tmp_path / 'with'}", out, ref]) == 2
    message = capsys.readouterr().err
    assert "was trained with sources" in message
    assert "source=FILE" in message
    written = []
    for more in ([], [source]):
        assert main(["nbest", "rescore", nbest, f"run={tmp_path / 'without'}", out, *more]) == 0
        written.append((tmp_path / "out").read_text())
    assert written[0] == written[1]

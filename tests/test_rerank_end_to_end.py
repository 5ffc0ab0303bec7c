"""Ranking n-best lists anew by their words, from the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Capture, Said, succeed, summary_of
from xlate.cli.main import main
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


def learned(run: Path, *keys: str) -> dict[str, Any]:
    """The figures of a training."""
    succeed("train", f"run={run}", *keys)
    return summary_of(run)


@dataclass(frozen=True)
class Ranked:
    """A folder with lists, sources and references, and runs that learned from them with the sources and without."""

    folder: Path
    given: list[str]

    def rescored(self, run: str, *more: str) -> str:
        """The lists as a run ranks them."""
        out = self.folder / "out"
        succeed("nbest", "rescore", str(self.folder / "train.nbest"), f"run={self.folder / run}", f"out={out}", *more)
        return out.read_text()


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Ranked:
    folder = tmp_path_factory.mktemp("ranked")
    given = write_lists(folder, "train", range(60))
    succeed("train", f"run={folder / 'with'}", *RERANK, "samples=2", *given)
    succeed("train", f"run={folder / 'without'}", *RERANK, *given[:2])
    return Ranked(folder, given)


def test_a_run_ranks_lists(ranked: Ranked, capsys: Capture) -> None:
    summary = summary_of(ranked.folder / "with")
    assert summary["heldout_ranked_BLEU"] > summary["heldout_first_BLEU"] + 5
    assert summary["heldout_headroom_closed"] == pytest.approx(100)
    capsys.readouterr()
    ranked.rescored("with", f"source={ranked.folder / 'train.src'}", f"ref=[{ranked.folder / 'train.ref'}]")
    figures = json.loads(capsys.readouterr().out)
    assert figures["rows"]["reranked"]["bleu"] == figures["rows"]["oracle"]["bleu"] == 100.0
    assert figures["rows"]["first"]["bleu"] < figures["rows"]["random"]["bleu"] + 20 < 100
    assert figures["rows"]["reranked"]["bleu_against_first"]["p"] < 0.01
    # Words alone, without a source: the cat and the dog cannot be told apart any more, the superfluous word can.
    assert summary_of(ranked.folder / "without")["heldout_ranked_BLEU"] < 100


def test_sources_are_as_they_were_in_training(ranked: Ranked, refused: Said) -> None:
    nbest = str(ranked.folder / "train.nbest")
    message = refused("nbest", "rescore", nbest, f"run={ranked.folder / 'with'}", f"out={ranked.folder / 'out'}")
    assert "was trained with sources" in message
    assert "source=FILE" in message
    assert ranked.rescored("without") == ranked.rescored("without", f"source={ranked.folder / 'train.src'}")


def shown_text(folder: Path, tag: str) -> list[str]:
    """The lines of a text that a run shows in TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (event,) = EventAccumulator(str(folder)).Reload().Tensors(f"{tag}/text_summary")
    return str(event.tensor_proto.string_val[0].decode()).splitlines()


def test_lists_are_shown_between_source_and_reference(ranked: Ranked, tmp_path: Path) -> None:
    # Sentences 3 and 7 are the first ones that are held out.
    assert shown_text(ranked.folder / "with", "samples/heldout") == [
        "| source | first | reranked | oracle | reference |",
        "|---|---|---|---|---|",
        "| katze läuft | the cat runs now indeed | the cat runs now | the cat runs now | the cat runs now |",
        "| hund läuft | the dog runs now indeed | the dog runs now | the dog runs now | the dog runs now |",
    ]
    tuned = ["model=rerank", "loss=mira", "samples=1", "model.rerank.ngrams=0", "model.rerank.pairs=false"]
    succeed("train", f"run={tmp_path / 'tuned'}", *tuned, *ranked.given[:2])
    head, _, row = shown_text(tmp_path / "tuned", "samples/training")
    assert head == "| first | reranked | oracle | reference |"
    assert row.endswith("| the cat sleeps here | the cat sleeps here |")


def test_wrong_settings_are_named(ranked: Ranked, tmp_path: Path, refused: Said) -> None:
    for keys, reason in (
        (["model=rerank", "loss=perceptron"], "loss over lists"),
        ([*RERANK, "model.rerank.metric=column"], "model.rerank.gain_column=NAME"),
        ([*RERANK, "model.rerank.gain_column=TM"], "no such feature"),
        ([*RERANK, "loss.lists.heldout_every=1"], "heldout_every=1"),
    ):
        assert reason in refused("train", f"run={tmp_path / 'run'}", *ranked.given, *keys)


def test_what_a_run_cannot_do_is_refused(ranked: Ranked, tmp_path: Path, refused: Said) -> None:
    nbest = tmp_path / "bare.nbest"
    for line, reason in (("||| TM= 1 ||| -1", "lacks features"), ("||| LM= 1", "total score")):
        nbest.write_text(f"0 ||| the cat {line}\n")
        asked = [str(nbest), f"run={ranked.folder / 'without'}", f"out={tmp_path / 'out'}"]
        assert reason in refused("nbest", "rescore", *asked)
    run = f"run={ranked.folder / 'with'}"
    # No work directory is looked for.
    for command in (["translate"], ["serve", "port=0"], ["pack", f"out={tmp_path / 'packed'}"]):
        message = " ".join(refused(*command, run).split())
        assert "a run of model=rerank cannot translate" in message
        assert "xlate nbest rescore FILE run=RUN" in message
    assert "only phrase models can be exported to Moses" in refused("export", f"out={tmp_path / 'exported'}", run)


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


@pytest.mark.parametrize("tuner", ["mert", "pro"])
def test_a_tuner_learns_from_json_lines_with_a_column_made_elsewhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tuner: str
) -> None:
    caplog.set_level("INFO")
    _, references, _ = write_lists(tmp_path, "train", range(40))
    nbest = as_json(tmp_path, "train")
    # A judge that likes the third hypothesis.
    (tmp_path / "judge").write_text("\n".join(["0.1", "0.2", "0.9", "0.3"] * 40) + "\n")
    given = [f"nbest={nbest}", references, f"add_scores=[judge={tmp_path / 'judge'}]", "model.rerank.ngrams=0"]
    keys = ["model=rerank", f"loss={tuner}", "loss.tune.heldout_every=4", "model.rerank.position=true"]
    summary = learned(tmp_path / "run", *keys, "model.rerank.mbr=bleu", *given)
    assert list(summary["weights"]["dense"]) == ["LM", "judge", "list position", "mbr bleu"]
    assert summary["heldout_ranked_BLEU"] == summary["heldout_oracle_BLEU"] == 100
    assert "learned for bleu, which this table also measures" in caplog.text
    arguments = [str(nbest), f"run={tmp_path / 'run'}", f"out={tmp_path / 'out'}", f"best_out={tmp_path / 'best'}"]
    succeed("nbest", "rescore", *arguments, given[2])
    assert (tmp_path / "best").read_text() == (tmp_path / "train.ref").read_text()


def test_a_column_is_what_is_gained(tmp_path: Path) -> None:
    given = write_lists(tmp_path, "train", range(40))
    # A judge that likes what references do not: the first hypothesis.
    (tmp_path / "judge").write_text("\n".join(["0.9", "0.2", "0.1", "0.3"] * 40) + "\n")
    column = [f"add_scores=judge={tmp_path / 'judge'}", "model.rerank.gain_column=judge", "model.rerank.metric=column"]
    summary = learned(tmp_path / "run", *RERANK, *given, *column)
    assert "judge" not in summary["weights"]["dense"]
    assert summary["heldout_ranked_BLEU"] == summary["heldout_first_BLEU"] < 100


def test_pairs_for_trainers_by_preference(tmp_path: Path, printed: Said, refused: Said) -> None:
    write_lists(tmp_path, "train", range(6))
    nbest, plain = as_json(tmp_path, "train"), tmp_path / "train.nbest"
    reference, out = f"ref={tmp_path / 'train.ref'}", f"out={tmp_path / 'p'}"
    asked = ["nbest", "pairs", str(nbest), out]
    assert json.loads(printed(*asked, reference, "pairs=2", "metric=chrf"))["pairs"] == 12
    rows = [json.loads(line) for line in (tmp_path / "p").read_text().splitlines()]
    assert [rows[0][key] for key in ("id", "prompt", "chosen")] == [0, "katze schläft", "the cat sleeps here"]
    assert [row["chosen"] for row in rows[::2]] == (tmp_path / "train.ref").read_text().splitlines()
    assert "needs the source of every sentence" in refused("nbest", "pairs", str(plain), reference, out)
    # What a column gains needs no references.
    succeed(*asked, "metric=column", "gain_column=LM")
    rows = [json.loads(line) for line in (tmp_path / "p").read_text().splitlines()]
    assert [row["margin"] for row in rows] == [1] * 6
    assert "gain_column=NAME" in refused(*asked, "metric=column")


def test_a_language_model_scores_every_line_of_a_list(tmp_path: Path, printed: Said, refused: Said) -> None:
    (tmp_path / "text").write_text("the cat sleeps\nthe dog runs\nthe cat runs\n")
    succeed("lm", f"text={tmp_path / 'text'}", "order=2", f"out={tmp_path / 'lm.arpa'}")
    # Duplicates and sentences that come in any order of numbers; words that the model does not know.
    lists = [(7, "the cat sleeps"), (7, "the cat sleeps"), (2, "the zebra runs"), (2, ""), (3, "the </s> runs")]
    (tmp_path / "list").write_text("".join(f"{i} ||| {text} ||| TM= 1 ||| -1\n" for i, text in lists))
    arguments = [str(tmp_path / "list"), f"lm={tmp_path / 'lm.arpa'}", "nbest_duplicates=drop"]
    assert json.loads(printed("nbest", "score", *arguments, f"out={tmp_path / 'column'}"))["hypotheses"] == 5
    lm = NgramModel.from_arpa(read_arpa(tmp_path / "lm.arpa"))
    told = [float(line) for line in (tmp_path / "column").read_text().splitlines()]
    for value, (_, text) in zip(told, lists, strict=True):
        assert value == pytest.approx(lm.sentence_logprob(lm.vocabulary.ids(text.split())), rel=1e-6)
    assert told[4] == told[2]
    assert "lm=MODEL.arpa" in refused("nbest", "score", str(tmp_path / "list"), f"out={tmp_path / 'column'}")


def test_ranking_by_the_utility_within_lists(tmp_path: Path, remarked: Said, printed: Said, refused: Said) -> None:
    (tmp_path / "list").write_text("a b c\na b d\na b c d\nx\n")
    (tmp_path / "ref").write_text("a b c d\n")
    arguments = [f"out={tmp_path / 'out'}", "mbr=chrf", "nbest_size=4", f"ref={tmp_path / 'ref'}"]
    rows = json.loads(printed("nbest", "rescore", str(tmp_path / "list"), *arguments))["rows"]
    assert rows["reranked"]["bleu"] == rows["oracle"]["bleu"] == 100
    assert [rows[name]["ter"] for name in ("first", "reranked", "oracle")] == [25, 0, 0]
    assert rows["reranked"]["ter_against_first"]["difference"] == -25
    assert [line.split(" ||| ")[1] for line in (tmp_path / "out").read_text().splitlines()][-1] == "x"
    assert "reranking was by agreement in chrf, which this table also measures" in remarked(
        "nbest", "rescore", str(tmp_path / "list"), *arguments
    )
    several = [*arguments, "run=r", f"weights={tmp_path / 'w'}"]
    message = refused("nbest", "rescore", str(tmp_path / "list"), *several)
    assert f"run=r weights={tmp_path / 'w'} mbr=chrf" in message
    assert "several things to rank by" in message


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


@pytest.mark.parametrize("keys", [[*BARE, "loss=mira"], [*RERANK, *BARE[:2]]], ids=["mira", "xbleu"])
def test_features_on_some_lines_are_learned(
    tmp_path: Path, printed: Said, caplog: pytest.LogCaptureFixture, keys: list[str]
) -> None:
    caplog.set_level("INFO")
    given = with_features(tmp_path, "train")
    summary = learned(tmp_path / "run", "model=rerank", *keys, *given)
    assert (summary["heldout_ranked_BLEU"], summary["active_features"]) == (100, 1)
    assert "only some of the 240 lines have 1 features: Bad_word (180); those that vary" in caplog.text
    # A score that a line lacks is learned from all the same.
    assert f"{tmp_path / 'train.nbest'}:10: TM is missing here and on 0 other lines of 240" in caplog.text
    assert list(summary["weights"]["dense"]) == ["LM", "TM", "total score"]
    arguments = [str(tmp_path / "train.nbest"), f"run={tmp_path / 'run'}", f"out={tmp_path / 'out'}"]
    figures = json.loads(printed("nbest", "rescore", *arguments, given[1].replace("references", "ref")))
    assert figures["rows"]["reranked"]["bleu"] == 100
    assert caplog.text.count("10: TM is missing here") == 2


def test_features_on_some_lines_may_be_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = with_features(tmp_path, "train")
    keys = ["model=rerank", *BARE, *given]
    summary = learned(tmp_path / "run", *keys, "loss=mira", "model.rerank.given_sparse=false")
    assert (summary["active_features"], summary["heldout_ranked_BLEU"] < 100) == (0, True)
    assert "Bad_word (180); they are not learned: model.rerank.given_sparse=true" in caplog.text
    assert "stay 0" not in caplog.text
    caplog.clear()
    learned(tmp_path / "mert", *keys, "loss=mert")
    assert "the weights of 1 sparse features (Bad) stay 0; loss=mira, pro or xbleu learns them" in caplog.text


def test_records_hold_references_and_text_ids(tmp_path: Path, printed: Said) -> None:
    words = "the cat sleeps here now"
    held = {"src": "x", "ref": [words], "outputs": ["the dog sleeps here now", words], "scores": [-1, -2]}
    nbest = tmp_path / "list.jsonl"
    nbest.write_text("".join(json.dumps({"id": f"s{n}", **held}) + "\n" for n in range(3)))
    succeed("nbest", "pairs", str(nbest), f"out={tmp_path / 'pairs'}")
    assert [json.loads(line)["id"] for line in (tmp_path / "pairs").read_text().splitlines()] == ["s0", "s1", "s2"]
    figures = json.loads(printed("nbest", "rescore", str(nbest), "mbr=bleu", f"out={tmp_path / 'out'}"))
    assert figures["rows"]["oracle"]["bleu"] == 100
    nbest.write_text(json.dumps({"id": "a", **held, "ref": None}) + "\n")
    assert main(["nbest", "oracle", str(nbest)]) == 2

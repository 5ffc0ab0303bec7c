"""The transformer on a small built-in corpus: trained, resumed, translated with, and scoring what others translate."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.commands import Said, sets_of, succeed, summary_of
from tests.made_once import made_once
from tests.test_combination_end_to_end import KEYS, combination
from tests.test_end_to_end import work  # noqa: F401
from tests.test_joint_end_to_end import check_a_stopped_run_ends_alike
from tests.test_phrase_system_end_to_end import listed, trained, translated
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.train import transformer
from xlate.models.transformer.kind import TransformerModel

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = [
    "model.pieces=60",
    "model.dimension=16",
    "model.layers=1",
    "loss.batch=200",
    "loss.warmup=20",
    "loss.rate=0.01",
    "loss.epochs=3",
]
NEURAL = ["model=transformer", *SMALL]


@pytest.fixture(scope="module")
def neural(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "neural", lambda folder: trained(work, folder, *NEURAL))


@pytest.fixture(scope="module")
def scored(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A phrase system and two transformers, of which one only scores."""
    keys = " ".join([*NEURAL, "loss.epochs=1"])
    systems = [f"plain={KEYS} loss=mira", f"net={keys}", f"back={keys} model.direction=backward"]
    return made_once(tmp_path_factory, "scored", lambda folder: trained(work, folder, *combination(*systems)))


def test_held_out_pieces_are_predicted_better_after_each_epoch(neural: Path) -> None:
    summary = summary_of(neural)
    history = [epoch["perplexity"] for epoch in summary["history"]]
    assert history == sorted(history, reverse=True)
    assert summary["perplexity"] == history[-1] < 30
    assert 0 < summary["dev_bleu"] < 100
    assert len((neural / "dev.out").read_text().splitlines()) == summary["dev_sentences"]
    tags = {json.loads(line).get("tag") for line in (neural / "metrics.jsonl").read_text().splitlines()}
    assert {"transformer/loss", "transformer/perplexity"} <= tags


def test_stopped_or_killed_anywhere_it_ends_with_the_same_bits(
    work: Path,  # noqa: F811
    neural: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [f"work={work}", *NEURAL]
    check_a_stopped_run_ends_alike(keys, transformer.EntropyLearning, neural, tmp_path / "run", monkeypatch)


def test_it_translates_lists_and_explains(neural: Path, tmp_path: Path, remarked: Said) -> None:
    found = listed(neural, tmp_path, "nbest=3")
    lists = [*NbestFile(tmp_path / "nbest").lists()]
    assert all(0 < len(group) <= 3 for group in lists)
    for group in lists:
        texts, totals = [one.text for one in group], [one.total or 0.0 for one in group]
        assert len({*texts}) == len(texts)
        assert totals == sorted(totals, reverse=True)
    assert found == listed(neural, tmp_path, "nbest=3", "processes=2")
    (tmp_path / "in").write_text("nirka no holdo va bolko ast .\n")
    explained = remarked("translate", f"run={neural}", f"input={tmp_path / 'in'}", "trace=true")
    assert re.search(r"\[0,7\)  nirka .* -> .*\n *mean_log_prob ", explained)


def test_every_translation_of_a_combination_has_its_scores(scored: Path, tmp_path: Path) -> None:
    """Both in the lists that weights are learned from and where sentences are translated."""
    names = sets_of(scored)["rerank"].dense_names
    assert {"net.log_prob", "back.log_prob", "net.mean_log_prob"} <= {*names}
    sources = (scored / "dev.0").read_text().splitlines()
    models = {name: TransformerModel.open(scored / "systems" / name) for name in ("net", "back")}
    lists = [*NbestFile(scored / "scored.nbest").lists()]
    assert len(lists) == len(sources)
    for source, group in [*zip(sources, lists, strict=True)][:3]:
        for name, model in models.items():
            expected = model.log_probs(source.split(), [one.text.split() for one in group])
            found = [one.columns()[f"{name}.log_prob", 1][0] for one in group]
            assert found == pytest.approx(expected, abs=1e-4)
    lines, _ = listed(scored, tmp_path, "detokenize=false")
    # The first line that `listed` translates.
    source = ["nirka", "no", "holdo", "va", "bolko", "ast", "."]
    group = next(NbestFile(tmp_path / "nbest").lists())
    for name, model in models.items():
        found = [one.columns()[f"{name}.log_prob", 1][0] for one in group]
        assert found == pytest.approx(model.log_probs(source, [one.text.split() for one in group]), abs=1e-3)
    succeed("pack", f"run={scored}", f"out={tmp_path / 'packed'}")
    assert lines == translated(tmp_path / "packed", tmp_path, "detokenize=false")


def test_what_cannot_be_is_refused(
    work: Path,  # noqa: F811
    neural: Path,
    scored: Path,
    tmp_path: Path,
    refused: Said,
    refused_training: Said,
) -> None:
    training = partial(refused_training, work)
    assert "loss=cross_entropy" in training("model=transformer", "loss=mira")
    assert "a multiple of 8" in training("model=transformer", "model.dimension=12")
    assert "base" in training("model=transformer", f"base={neural}")
    late = refused("train", f"work={work}", f"run={tmp_path / 'late'}", *NEURAL, "model.pieces=5")
    assert "model.pieces=5" in late
    assert not (tmp_path / "late" / "weights.safetensors").exists()
    (tmp_path / "in").write_text("nirka no .\n")
    back = scored / "systems" / "back"
    assert "only scores translations" in refused("translate", f"run={back}", f"input={tmp_path / 'in'}")
    assert "no graph" in refused(
        "translate", f"run={neural}", f"input={tmp_path / 'in'}", f"lattice_out={tmp_path / 'g'}"
    )


def test_a_transformer_scores_the_lists_of_any_system(scored: Path, tmp_path: Path, refused: Said) -> None:
    nbest, out = scored / "scored.nbest", tmp_path / "column"
    score = ["nbest", "score", str(nbest), f"out={out}"]
    run, source = f"run={scored / 'systems' / 'back'}", f"source={scored / 'dev.0'}"
    succeed(*score, run, source)
    column = [float(line) for line in out.read_text().splitlines()]
    known = [one.columns()["back.log_prob", 1][0] for one in NbestFile(nbest).hypotheses()]
    assert column == pytest.approx(known, rel=1e-5)
    assert len({*column}) > 1
    assert "needs the source of every sentence" in refused(*score, run)
    assert "model=transformer" in refused(*score, f"run={scored / 'systems' / 'plain'}", source)
    assert "two models" in refused(*score, run, source, "lm=model.arpa")

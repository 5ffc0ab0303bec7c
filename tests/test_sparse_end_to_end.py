"""Sparse features trained from jackknife lists of the built-in corpus, from the command line."""

from __future__ import annotations

import logging
import re
import shutil
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.align.parted_copies import parted_copies
from tests.commands import Capture, Said, succeed, summary_of, times_of
from tests.made_once import as_prepared, made_once
from tests.models.phrase.definition import sparse_ids
from tests.models.phrase.test_history import JUMPS
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import FEW, SEARCH, trained, translated
from xlate.align.lexical import lexical_table
from xlate.candidates import lists
from xlate.candidates.lists import under_templates
from xlate.candidates.store import CandidateStore
from xlate.cli.main import main
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run, read_config
from xlate.features.phrase_sparse import STEP
from xlate.jobs.train import tuning
from xlate.jobs.train.jackknife import Jackknife
from xlate.jobs.train.lists import PHI
from xlate.jobs.translate import Translator
from xlate.learning.list_learner import ListLearner
from xlate.learning.settings import ListsConfig
from xlate.lm.model import NgramModel
from xlate.metrics.bleu import sentence_bleu
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.kind import open_phrase_model
from xlate.models.phrase.model import load_phrase_model
from xlate.models.phrase.training import PhraseLists
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import TableRows
from xlate.phrases.table import PhraseTable, score_phrases
from xlate.scoring.weights import WEIGHTS_FILE, load_weights
from xlate.work.directory import WorkDirectory

LISTS = ["loss.lists.folds=3", "loss.lists.nbest=15", "loss.lists.shard=120", "loss.lists.epochs=4"]
PROCESSES = ["loss.lists.processes=2", "loss.tune.processes=2"]
SPARSE = ["model=phrase", "decoder=phrase", "loss=xbleu", *PROCESSES, *FEW, *SEARCH, *LISTS]


@pytest.fixture(scope="module")
def sparse_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A run, beside the work directory that its lists are in."""
    return made_once(tmp_path_factory, "sparse", lambda folder: train_sparse(work, folder)) / "run"


def train_sparse(work: Path, folder: Path) -> None:  # noqa: F811
    figures = trained(as_prepared(work, folder / "work"), folder / "run", *SPARSE, "sparse=all")
    assert figures["list_oracle_BLEU"] > figures["list_first_BLEU"] + 1
    assert figures["list_heldout_loss"] < figures["list_heldout_loss_before"]
    assert figures["active_features"] > 100


@pytest.fixture(scope="module")
def own_work(sparse_run: Path) -> Path:
    return sparse_run.parent / "work"


def shards(work: Path) -> list[Path]:  # noqa: F811
    return sorted(work.glob("lists/*/fold-*/shard-*"))


def contents(shard: Path) -> dict[str, bytes]:
    """The arrays of a shard; its header says how long it took."""
    return {path.name: path.read_bytes() for path in sorted(shard.glob("*.npy"))}


def charged(system: PhraseDecoder, line: list[str]) -> None:
    """Looks whether derivations are charged what their features weigh."""
    graph, found = system.graph(line), system.translate(line)
    assert found[0].score == pytest.approx(graph.score_N[graph.goal], abs=1e-9)
    for derivation in found:
        assert derivation.features_D @ system.weights_D == pytest.approx(derivation.score)
        _, ids = sparse_ids(system.model, line, derivation.steps)
        sums = derivation.features_D[system.model.sums].sum()
        assert system.sparse_F[ids].sum() == pytest.approx(sums, abs=1e-6)


def opened(folder: Path, nbest: int = 1) -> Translator:
    translator = Translator.of_run(read_config(folder / "config.yaml", TrainConfig), folder)
    translator.system = translator.system.with_search(nbest=nbest)
    return translator


def inspected(capsys: Capture, *arguments: str, status: int = 0) -> str:
    """What `xlate inspect` prints, none of it wider than 100 columns."""
    capsys.readouterr()
    assert main(["inspect", *arguments]) == status
    shown = capsys.readouterr()
    tables = [line for line in shown.out.splitlines() if line[:1] in "│┃├┡┏└"]
    assert max(map(len, tables), default=0) <= 100
    return shown.err if status else shown.out


def test_features_are_shown_by_name(sparse_run: Path, capsys: Capture) -> None:
    shown = inspected(capsys, f"run={sparse_run}", "top=3", "find=source_first")
    assert "reordering:source_first:top80" in shown
    assert "plain:source_first" in shown
    assert "target_first" not in shown
    shown = inspected(capsys, f"run={sparse_run}", "family=source_first:class20")
    assert re.search(r"source_first:class20=\d+{[^}]+}", shown)


def test_the_features_that_fired_in_a_sentence(sparse_run: Path, capsys: Capture) -> None:
    translator = opened(sparse_run)
    derivation = translator.translate_line("Nirka no holdo va bolko ast.").derivations[0]
    weighed = (derivation.features_D * translator.system.weights_D)[translator.system.model.sums].sum()
    given = f"run={sparse_run}", "sentence='Nirka no holdo va bolko ast.'", "top=3"
    told = re.search(r"with a weight, ([+-][0-9.]+) in total", inspected(capsys, *given))
    assert told is not None
    assert float(told[1]) == pytest.approx(weighed, abs=5e-4)
    fired = inspected(capsys, *given, "family=lengths").partition("sparse features that fired")[2]
    assert "plain:lengths=" in fired
    assert "reordering" not in fired


def test_what_changed_between_two_runs(own_work: Path, sparse_run: Path, capsys: Capture) -> None:
    theta = next(own_work.glob("theta/*"))
    shown = inspected(capsys, f"run={sparse_run}", f"diff={theta}", "top=3")
    learned = list(load_weights(sparse_run / "weights.safetensors").learned("phrase"))
    assert re.search(rf"all \d+ +│ +{len(learned):,} │ +0 │ +0 │ +0 │ +0 ", shown)
    assert " new " in shown
    assert " gone " in inspected(capsys, f"run={theta}", f"diff={sparse_run}", "top=3").partition("largest")[2]
    assert "does not differ from itself" in inspected(capsys, f"run={theta}", f"diff={theta}", status=2)


def test_without_its_work_directory_classes_are_shown_by_number(
    sparse_run: Path, tmp_path: Path, capsys: Capture
) -> None:
    shutil.copytree(sparse_run, tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    config.write_text(re.sub(r"(?m)^work: .*$", f"work: {tmp_path / 'gone'}", config.read_text()))
    shown = inspected(capsys, f"run={tmp_path / 'run'}", "family=source_first:class20")
    assert "word classes appear by number only" in shown
    assert "the work directory of the run was not found" in " ".join(shown.split())
    assert re.search(r"source_first:class20=\d+,[MSD] ", shown)


def test_lists_are_best_first(own_work: Path) -> None:
    """Scores from shards and weights fall within lists, as the decoder gave them."""
    lists = CandidateStore.of_shards(shards(own_work)).arrays
    assert lists.sentence_I is not None
    assert lists.sentence_I.tolist() == list(range(len(lists.sentence_I)))
    scores = lists.dense_CD @ opened(next(own_work.glob("theta/*"))).system.weights_D
    for a, b in pairwise(lists.candidate_offsets_I1):
        assert (np.diff(scores[a:b]) <= 1e-3).all()


def test_a_damaged_and_a_missing_shard_are_made_again(
    own_work: Path, sparse_run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config, prepared = config_of_run(sparse_run), WorkDirectory(own_work)
    models = PhraseLists(config, prepared, next(own_work.glob("theta/*")), 3)
    kept = {path: contents(path) for path in shards(own_work)}
    damaged, missing, *others = kept
    data = bytearray(kept[damaged]["candidate_parts_K.npy"])
    data[-1] ^= 1
    (damaged / "candidate_parts_K.npy").write_bytes(bytes(data))
    shutil.rmtree(missing)
    times = times_of(others)
    with caplog.at_level(logging.WARNING):
        Jackknife(prepared, models, models.theta, config.decoder, config.loss.lists, config.seed).decode()
    assert str(damaged) in caplog.text
    assert times_of(others) == times
    assert {path: contents(path) for path in kept} == kept


def test_sparse_weights_of_a_base_stay_while_floats_are_tuned(
    own_work: Path, sparse_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another feature, whose weight is tuned together with those of the sums.

    These begin at 1, and weigh in their unit about as much as one of the floats, whose sizes sum to 1.
    """
    seen = list[Any]()
    made = tuning.Tuning.run
    monkeypatch.setattr(tuning.Tuning, "run", lambda loop, start, stop: seen.append(start) or made(loop, start, stop))
    units = list[Any]()
    chosen = tuning.optimiser
    monkeypatch.setattr(tuning, "optimiser", lambda *given: units.extend(given[3:]) or chosen(*given))
    again = ["model=phrase", "loss=mira", *FEW, *SEARCH, f"base={sparse_run}", f"model.histories=[{JUMPS.name}]"]
    trained(own_work, tmp_path / "run", *again)
    held, base = (load_weights(folder / WEIGHTS_FILE) for folder in (tmp_path / "run", sparse_run))
    np.testing.assert_array_equal(held.sets["phrase"].sparse_F, base.sets["phrase"].sparse_F)
    floats = held.sets["phrase"].floats
    assert floats[JUMPS.name] != 0
    assert floats["SparseReordering0_0"] != 1
    assert len(translated(tmp_path / "run", tmp_path)) == 3
    sums = [name.startswith("Sparse") for name in seen[0].dense_names]
    np.testing.assert_array_equal(seen[0].dense_D[sums], 1.0)
    np.testing.assert_array_equal(units[0], np.where(sums, 1.0 / sums.index(True), 1.0))


def test_local_features_are_learned_from_the_same_lists_and_exported_inside_the_tables(
    own_work: Path, sparse_run: Path, tmp_path: Path, refused: Said
) -> None:
    assert "beyond the phrase" in refused("export", f"run={sparse_run}", f"out={tmp_path / 'no'}")
    # On the floats of another run, by the learner for devices.
    overrides = ["sparse=local", "model.sparse.plain=[pair,lengths]", f"base={next(own_work.glob('theta/*'))}"]
    overrides += ["device=auto", "loss.lists.batch=16", "loss.lists.objective=hinge"]
    times = times_of(shards(own_work))
    assert trained(own_work, tmp_path / "run", *SPARSE, *overrides)["active_features"] > 0
    assert times_of(shards(own_work)) == times
    succeed("export", f"run={tmp_path / 'run'}", f"out={tmp_path / 'moses'}")
    succeed("import", f"moses={tmp_path / 'moses' / 'moses.ini'}", f"out={tmp_path / 'back'}")
    found = []
    for folder in (tmp_path / "run", tmp_path / "back"):
        # Words that stand for themselves have sparse features here and no entry in Moses's tables: these all have one.
        words = WorkDirectory(own_work).training_tokens("source")[0]
        found.append([(d.words, pytest.approx(d.score, abs=1e-3)) for d in opened(folder, 5).system.translate(words)])
    assert [words for words, _ in found[0]] == [words for words, _ in found[1]]
    assert [score.expected for _, score in found[0]] == [score for _, score in found[1]]


def test_settings_that_cannot_be(work: Path, refused_training: Said) -> None:  # noqa: F811
    training = partial(refused_training, work, *SPARSE, "sparse=all")
    drawn = partial(training, "loss.lists.candidates=drawn")
    assert "objective=cll" in drawn("loss.lists.objective=cll")
    assert "joint=True" in drawn("loss.lists.joint=true")
    assert "rounds=2" in drawn("loss.lists.rounds=2")
    assert "cannot have features with history" in training(f"model.histories=[{JUMPS.name}]")


def test_a_fold_is_decoded_by_a_model_that_has_not_seen_it(own_work: Path, sparse_run: Path) -> None:
    models = PhraseLists(config_of_run(sparse_run), WorkDirectory(own_work), sparse_run, 3)
    texts, links = models.work.encoded, models.work.links
    assert parted_copies(models.work.copies, models.fold_I) == 0
    for fold in range(3):
        unseen = load_phrase_model(models.stage(fold).folder / "model")
        rows = np.flatnonzero(models.fold_I == fold)
        source, target = (text.select(rows) for text in texts)
        inside = links.select(rows)
        counts = score_phrases(extract_phrases(source, target, inside, 7), lexical_table(source, target, inside))
        # Counts add up: what the whole text has is what the fold's model has and what stands in the fold itself.
        whole = PhraseTable.load(own_work / "phrases" / "table")
        left_B = np.array(whole.count_B, np.float64)
        for part in (unseen.table, counts):
            left_B[TableRows(whole).of(part).pair_B] -= np.asarray(part.count_B)
        assert np.count_nonzero(left_B) == 0
        assert len(unseen.table) < len(whole)
        # Its language model likes the fold less than one that has seen it does.
        seen = NgramModel.load(own_work / "lm" / "model")
        assert unseen.lm.sentence_logprobs(target).sum() < seen.sentence_logprobs(target).sum()


def test_lists_of_a_second_decoding_are_pooled(own_work: Path, sparse_run: Path, tmp_path: Path) -> None:
    again = trained(own_work, tmp_path / "run", *SPARSE, "sparse=all", "loss.lists.rounds=2")
    once = summary_of(sparse_run)
    assert again["list_sentences"] == once["list_sentences"]
    assert once["list_hypotheses"] * 1.05 < again["list_hypotheses"] < once["list_hypotheses"] * 2
    assert again["list_oracle_BLEU"] > once["list_oracle_BLEU"]
    one, two = (load_weights(tmp_path / "run" / "checkpoint" / f"sparse-{n}.safetensors") for n in (1, 2))
    first = load_weights(sparse_run / "checkpoint" / "sparse-1.safetensors")
    learned = [file.sets[PHI].sparse_F for file in (one, first, two)]
    assert learned[0].dtype == np.float32
    assert np.array_equal(learned[0], learned[1])
    assert not np.array_equal(learned[0], learned[2])


def test_a_second_decoding_charges_what_the_whole_model_would(own_work: Path, sparse_run: Path) -> None:
    """Sparse weights of the whole text's features, seen from a fold's table, score its derivations the same.

    Its lists name pairs by their numbers in the whole text's table.
    """
    whole = opened(sparse_run).system
    models = PhraseLists(config_of_run(sparse_run), WorkDirectory(own_work), sparse_run, 3)
    weights = whole.weights
    system = models.opened(1, weights, whole.model.sparse, whole.search)
    decoder, words = system.decoder.with_search(nbest=20), ["nirka", "no", "holdo", "va", "bolko", "ast", "."]
    pair_B = models.rows.of(decoder.model.table).pair_B
    assert pair_B.tolist() != list(range(len(pair_B)))
    table, vocabulary = whole.model.table, whole.model.source_vocabulary
    for unit in system.hypotheses(decoder, words).units[0].tolist():
        step = dict(zip(STEP, unit, strict=True))
        if step["pair"] >= 0:
            said = table.source_phrases[int(table.source_B[step["pair"]])]
            assert vocabulary.ids(words[step["start"] :][: step["source_length"]]).tolist() == said.tolist()
    found = decoder.translate(words)
    assert len(found) > 5
    for derivation in found:
        steps = [replace(step, unit=int(pair_B[step.unit]) if step.unit >= 0 else -1) for step in derivation.steps]
        _, ids = sparse_ids(whole.model, derivation.source, steps)
        sums = derivation.features_D[whole.model.sums].sum()
        assert weights.sparse_F[ids].any()
        assert weights.sparse_F[ids].sum() == pytest.approx(sums)
        assert derivation.features_D @ weights.dense_D == pytest.approx(derivation.score)


def test_expected_bleu_over_the_search_graph_by_drawn_derivations(own_work: Path, tmp_path: Path) -> None:
    drawn = [*SPARSE, "sparse=all", "loss.lists.candidates=drawn"]
    figures = trained(own_work, tmp_path / "run", *drawn)
    assert figures["list_heldout_loss"] < figures["list_heldout_loss_before"]
    some = [store.arrays for store in map(CandidateStore.open, shards(own_work)) if store.arrays.draws_C.any()]
    assert some
    for shard in some:
        assert set(np.add.reduceat(shard.draws_C, shard.candidate_offsets_I1[:-1]).tolist()) == {15}
    # Before a step, the loss is the mean gain of what was drawn.
    model = open_phrase_model(Path("."), read_config(tmp_path / "run" / "config.yaml", TrainConfig))
    assert model.sparse is not None
    batch = under_templates(some[0], model.sparse, np.zeros(some[0].dense_CD.shape[1]), 20.0)
    gain_C = sentence_bleu(batch.gain_CG, "gao") / 100
    settings, every = ListsConfig(), np.arange(len(batch))
    lists = batch.arrays(gain_C, parts=True, dense=False)
    total, _ = ListLearner(lists, batch.gain_CG, every == 0, len(model.sparse), settings).best(every)
    assert -total == pytest.approx(np.sum(gain_C * some[0].draws_C) / 15, rel=1e-5)


def test_sparse_weights_are_tuned_on_the_dev_set(own_work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    figures = trained(own_work, folder, "model=phrase", "decoder=phrase", "loss=mira", "sparse=full", *FEW, *SEARCH)
    assert figures["active_features"] > 100
    translator = opened(folder, 10)
    decoder = translator.system
    assert np.count_nonzero(decoder.sparse_F) == figures["active_features"]
    assert decoder.weights_D[decoder.model.sums].tolist() == [1.0, 1.0, 1.0, 1.0]
    for line in ("Nirka no holdo va bolko ast.", "Gonban va fuspan ri pikum nu."):
        charged(decoder, translator.text.source_tokens(line))


def test_features_of_many_phrases_are_made_piece_by_piece(
    own_work: Path, sparse_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_phrase_model(Path("."), read_config(sparse_run / "config.yaml", TrainConfig))
    assert model.sparse is not None
    shard = CandidateStore.open(shards(own_work)[0]).arrays
    floats = np.zeros(shard.dense_CD.shape[1])
    whole = under_templates(shard, model.sparse, floats, 20.0)
    monkeypatch.setattr(lists, "UNITS_AT_A_TIME", 7)
    pieces = under_templates(shard, model.sparse, floats, 20.0)
    assert len(whole.part_ids_N) > 1000
    assert np.array_equal(whole.part_ids_N, pieces.part_ids_N)
    assert np.array_equal(whole.part_id_offsets_P1, pieces.part_id_offsets_P1)

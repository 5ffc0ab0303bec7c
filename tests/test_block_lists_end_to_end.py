"""Binary features of the models over blocks trained from lists of the training text, from the command line."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, bits_of, sets_of, succeed, summary_of, times_of
from tests.made_once import as_prepared
from tests.test_end_to_end import run, translate, work  # noqa: F401
from tests.test_online_end_to_end import jumps_run  # noqa: F401
from tests.test_phrase_system_end_to_end import trained
from tests.test_sparse_end_to_end import shards
from xlate.candidates.store import CandidateStore
from xlate.cli.main import main
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.features.block import split_key
from xlate.jobs.train.lists import PHI
from xlate.learning.list_learner import ListLearner
from xlate.models.block import lists as block_lists
from xlate.models.block.kind import frequent_features
from xlate.models.block.lists import BlockLists
from xlate.models.kind import event_kind, open_system
from xlate.models.run_files import weights_of
from xlate.scoring.weights import WEIGHTS_FILE, load_weights, save_weights
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Folds, WithoutFold

FOLDS = 3
LEARN = [
    "loss=xbleu",
    f"loss.lists.folds={FOLDS}",
    "loss.lists.nbest=15",
    "loss.lists.shard=70",
    "loss.lists.epochs=4",
    "loss.lists.heldout_every=3",
    "loss.lists.gamma=1",
    "loss.lists.rate=0.01",
]
TUNE = ["loss.tune.rounds=1", "loss.tune.nbest=15"]
FEATURES = ["model.threshold=1", "model.binary=[BB,WB]"]
LINE = "Nirka no holdo va bolko ast.\n"


@pytest.fixture(scope="module")
def own_work(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return as_prepared(work, tmp_path_factory.mktemp("lists") / "work")


@pytest.fixture(scope="module")
def base(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A run of the orientation model in which lexical costs have no weight."""
    folder = shutil.copytree(run, tmp_path_factory.mktemp("base") / "base")
    file = load_weights(run / WEIGHTS_FILE)
    for weights in file.sets.values():
        weights.dense_D[weights.dense_names.index("lexical")] = 0.0
    save_weights(folder / WEIGHTS_FILE, file.sets, extra=file.extra, metadata=file.metadata)
    return folder


def command(base: Path) -> list[str]:
    """Binary features of the orientation model, learned together with its floats."""
    return [*FEATURES, *LEARN, *TUNE, f"base={base}", "loss.lists.joint=true"]


@pytest.fixture(scope="module")
def listed_run(own_work: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    trained(own_work, folder, *command(base))
    return folder


def test_binary_weights_are_learned_and_the_run_is_like_any_other(
    own_work: Path, base: Path, listed_run: Path, tmp_path: Path, printed: Said
) -> None:
    figures = summary_of(listed_run)
    assert figures["list_heldout_loss"] < figures["list_heldout_loss_before"]
    assert figures["list_oracle_BLEU"] > figures["list_first_BLEU"] + 1
    assert figures["active_features"] > 50
    assert figures["dev_bleu"] > 15
    lists = CandidateStore.of_shards(shards(own_work)).arrays
    assert (np.diff(lists.candidate_offsets_I1) > 0).all()
    file = load_weights(listed_run / WEIGHTS_FILE)
    assert file.sets["linked"].active == figures["active_features"]
    assert {split_key(key)[0] for key in file.extra["linked.keys"].tolist()} == {"BB", "WB"}
    assert set(file.sets) == set(sets_of(base))
    system = open_system(listed_run, config_of_run(listed_run))[0].with_search(nbest=5)
    for derivation in system.translate(LINE.lower().replace(".", " .").split()):
        assert derivation.features_D @ system.weights_D == pytest.approx(derivation.score)
    assert translate(listed_run, tmp_path, LINE).strip()
    assert {"BB", "WB"} <= set(printed("inspect", f"run={listed_run}", "top=3").split())
    again = [*FEATURES, "loss=mira", f"base={listed_run}", "loss.tune.start=base", *TUNE]
    assert trained(own_work, tmp_path / "tuned", *again)["weights"]["dense"]["binary"] != 0


def test_joint_training_leaves_floats_that_the_model_does_not_have(base: Path, listed_run: Path) -> None:
    before = np.concatenate([weights.dense_D for weights in sets_of(base).values()])
    after = np.concatenate([weights.dense_D for weights in sets_of(listed_run).values()])
    np.testing.assert_array_equal(before != 0, after != 0)
    learned_D = load_weights(listed_run / "checkpoint" / "sparse-1.safetensors").sets[PHI].dense_D
    np.testing.assert_array_equal(before != 0, learned_D != 0)
    assert not np.allclose(before, learned_D)


@pytest.mark.parametrize("name", ["distortion", "block"])
def test_a_system_of_a_fold_has_not_seen_it(
    name: str,
    own_work: Path,
    jumps_run: Path,  # noqa: F811
    base: Path,
    listed_run: Path,
) -> None:
    """It has the estimates without the fold, which are those of events; lists do not depend on families."""
    del listed_run
    folder = jumps_run if name == "distortion" else base
    config, whole = config_of_run(folder), WorkDirectory(own_work)
    kind = event_kind(config.model)
    lists, folds = BlockLists(kind, config, whole, folder, FOLDS), Folds.of_events(whole, FOLDS)
    np.testing.assert_array_equal(lists.fold_I, folds.fold_S)
    assert {path.name for path in (own_work / "without").iterdir()} == {folds.identity[:12]}
    other = replace(config, model=replace(config.model, binary=["TP"], threshold=2))
    assert BlockLists(kind, other, whole, folder, FOLDS).identity == lists.identity
    theta = kind.open(folder, config, weights_of(folder), whole).weights
    index = frequent_features(whole, replace(config.model, binary=["WB"], threshold=1))
    weighted = replace(theta, sparse_F=np.arange(len(index)) + 1.0)
    for fold in range(FOLDS):
        decoder = lists.opened(fold, weighted, index, config.decoder).decoder
        assert decoder.weights.sparse_F.tolist() == weighted.sparse_F.tolist()
        np.testing.assert_array_equal(decoder.features.keys_F, index.keys_F)
        without, unseen = WithoutFold(whole, folds, fold, lists.rows), folds.rows(fold)
        np.testing.assert_array_equal(decoder.model.blocks.count_B, without.blocks.count_B)
        target = whole.encoded[1].select(unseen)
        np.testing.assert_array_equal(decoder.model.lm.sentence_logprobs(target), without.lm.sentence_logprobs(target))
        found = 0
        for s in unseen[:20].tolist():
            options = decoder.space(whole.training_sentence(s)).options
            assert without.blocks.known_B[options.block_O[options.block_O >= 0]].all()
            found += len(options)
        assert found > 100


def test_stopped_while_it_learns_a_run_goes_on_to_the_same_weights(
    own_work: Path, base: Path, listed_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = ListLearner.epoch

    def signalled(self: ListLearner, number: int) -> float:
        os.kill(os.getpid(), signal.SIGTERM)
        return epoch(self, number)

    arguments = ["train", f"work={own_work}", f"run={tmp_path / 'run'}", "samples=0", *command(base)]
    times = times_of(shards(own_work))
    monkeypatch.setattr(ListLearner, "epoch", signalled)
    assert main(arguments) == 128 + signal.SIGTERM
    monkeypatch.undo()
    succeed(*arguments)
    assert times_of(shards(own_work)) == times
    assert bits_of(tmp_path / "run") == bits_of(listed_run)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.binary=[]"], "no binary features"),
        (["base=null"], "train one first"),
        (["base=nowhere"], "nowhere"),
        (["model.orientation_smoothing=2"], "model.orientation_smoothing=0.5"),
        (["decoder.partition=local"], "partition"),
    ],
)
def test_settings_that_cannot_be(
    own_work: Path, base: Path, overrides: list[str], message: str, refused_training: Said
) -> None:
    assert message in refused_training(own_work, *command(base), *overrides)


def test_a_base_of_another_work_directory_is_refused(
    own_work: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, file = config_of_run(base), weights_of(base)
    other = replace(file, metadata={**file.metadata, "work_identity": "other"})
    monkeypatch.setattr(block_lists, "weights_of", lambda _: other)
    with pytest.raises(InputError, match="a different work directory"):
        event_kind(config.model).listed(config, WorkDirectory(own_work), base, FOLDS)

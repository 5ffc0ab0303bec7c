"""Binary features of the models over blocks trained from lists of the training text, from the command line."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, bits_of, sets_of, succeed, summary_of, times_of
from tests.made_once import as_prepared, made_once
from tests.test_end_to_end import prepare_small, translate
from tests.test_phrase_system_end_to_end import trained
from tests.test_sparse_end_to_end import shards
from xlate.candidates.store import CandidateStore
from xlate.cli.main import main
from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.errors import InputError
from xlate.features.block import split_key
from xlate.learning.list_learner import ListLearner
from xlate.models.block import lists as block_lists
from xlate.models.block.kind import frequent_features
from xlate.models.block.lists import BlockLists
from xlate.models.kind import event_kind, open_system
from xlate.models.run_files import weights_of
from xlate.scoring.weights import load_weights
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Folds, WithoutFold

FOLDS = 3
LISTS = [
    f"loss.lists.folds={FOLDS}",
    "loss.lists.nbest=15",
    "loss.lists.shard=70",
    "loss.lists.epochs=4",
    "loss.lists.heldout_every=3",
]
STEPS = ["loss.lists.gamma=1", "loss.lists.rate=0.01", "loss.tune.rounds=1", "loss.tune.nbest=15"]
LEARN = ["loss=xbleu", *LISTS, *STEPS]
MODELS = {"distortion": ["model=distortion", "decoder=distortion"], "block": ["model=block"]}
FEATURES = ["model.threshold=1", "model.binary=[BB,WB]"]
LINE = "Nirka no holdo va bolko ast.\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = made_once(tmp_path_factory, "small", prepare_small)
    return as_prepared(small, tmp_path_factory.mktemp("lists") / "work")


@pytest.fixture(scope="module")
def bases(work: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of the floats of each model."""
    found = {name: tmp_path_factory.mktemp("bases") / name for name in MODELS}
    for name, folder in found.items():
        trained(work, folder, *MODELS[name], "model.binary=[]", f"model.folds={FOLDS}")
    return found


def command(name: str, bases: dict[str, Path]) -> list[str]:
    return [*MODELS[name], *FEATURES, *LEARN, f"base={bases[name]}"]


@pytest.fixture(scope="module")
def runs(work: Path, bases: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of binary features of each model."""
    folder = tmp_path_factory.mktemp("runs")
    for name in MODELS:
        trained(work, folder / name, *command(name, bases))
    return {name: folder / name for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_binary_weights_are_learned_and_the_run_is_like_any_other(
    name: str, work: Path, bases: dict[str, Path], runs: dict[str, Path], tmp_path: Path,
    printed: Said,
) -> None:  # fmt: skip
    figures = summary_of(runs[name])
    assert figures["list_heldout_loss"] < figures["list_heldout_loss_before"]
    assert figures["list_oracle_BLEU"] > figures["list_first_BLEU"] + 1
    assert figures["active_features"] > 50
    assert figures["dev_bleu"] > 15
    file = load_weights(runs[name] / "weights.safetensors")
    assert file.sets["linked"].active == figures["active_features"]
    assert {split_key(key)[0] for key in file.extra["linked.keys"].tolist()} == {
        "BB",
        "WB",
    }
    assert set(file.sets) == set(sets_of(bases[name]))
    config = read_config(runs[name] / "config.yaml", TrainConfig)
    system = open_system(runs[name], config)[0].with_search(nbest=5)
    for derivation in system.translate(LINE.lower().replace(".", " .").split()):
        assert derivation.features_D @ system.weights_D == pytest.approx(derivation.score)
    assert translate(runs[name], tmp_path, LINE).strip()
    assert {"BB", "WB"} <= set(printed("inspect", f"run={runs[name]}", "top=3").split())
    if name == "block":
        again = [*MODELS[name], *FEATURES, "loss=mira", f"base={runs[name]}", "loss.tune.start=base", *STEPS[2:]]
        assert trained(work, tmp_path / "tuned", *again)["weights"]["dense"]["binary"] != 0


@pytest.mark.parametrize("name", MODELS)
def test_a_system_of_a_fold_has_not_seen_it(name: str, work: Path, bases: dict[str, Path]) -> None:
    """It has the estimates without the fold, which are those of events."""
    config = read_config(bases[name] / "config.yaml", TrainConfig)
    whole, kind = WorkDirectory(work), event_kind(config.model)
    lists, folds = BlockLists(kind, config, whole, bases[name], FOLDS), Folds.of_events(whole, FOLDS)
    np.testing.assert_array_equal(lists.fold_I, folds.fold_S)
    theta = kind.open(bases[name], config, weights_of(bases[name]), whole).weights
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
            options = decoder.space([whole.source_vocabulary.word(w) for w in whole.encoded[0][s].tolist()]).options
            assert without.blocks.known_B[options.block_O[options.block_O >= 0]].all()
            found += len(options)
        assert found > 100


def test_lists_are_shared_by_families_objectives_and_folds_by_events(
    work: Path, bases: dict[str, Path], runs: dict[str, Path], tmp_path: Path
) -> None:
    del runs
    lists = CandidateStore.of_shards([path for path in shards(work) if "fold-0" in str(path)][:1]).arrays
    assert (np.diff(lists.candidate_offsets_I1) > 0).all()
    times = times_of(shards(work))
    estimates = {path.name for path in (work / "without").iterdir()}
    other = ["model.threshold=1", "model.binary=[BB]", "loss.lists.objective=pro", "loss/tune=mert"]
    base = f"base={bases['distortion']}"
    assert trained(work, tmp_path / "run", *MODELS["distortion"], *LEARN, base, *other)["active_features"] > 0
    assert times_of(shards(work)) == times
    made = Folds.of_events(WorkDirectory(work), FOLDS).identity[:12]
    assert made in estimates
    assert {path.name for path in (work / "without").iterdir()} == estimates


def test_joint_training_leaves_floats_that_the_model_does_not_have(
    work: Path, bases: dict[str, Path], tmp_path: Path
) -> None:
    few = [*MODELS["distortion"], "model.floats=[direct,lm_first,lm_rest,length]"]
    trained(work, tmp_path / "base", *few, "model.binary=[]", f"model.folds={FOLDS}")
    trained(work, tmp_path / "run", *few, *FEATURES, *LEARN, f"base={tmp_path / 'base'}", "loss.lists.joint=true")
    before, after = (sets_of(tmp_path / name)["linked"] for name in ("base", "run"))
    np.testing.assert_array_equal(before.dense_D != 0, after.dense_D != 0)
    assert not np.allclose(before.dense_D / before.dense_D[0], after.dense_D / after.dense_D[0])


def test_stopped_while_it_learns_a_run_goes_on_to_the_same_weights(
    work: Path, bases: dict[str, Path], runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = ListLearner.epoch

    def signalled(self: ListLearner, number: int) -> float:
        os.kill(os.getpid(), signal.SIGTERM)
        return epoch(self, number)

    arguments = ["train", f"work={work}", "samples=0", *command("distortion", bases)]
    times = times_of(shards(work))
    monkeypatch.setattr(ListLearner, "epoch", signalled)
    assert main([*arguments, f"run={tmp_path / 'run'}"]) == 128 + signal.SIGTERM
    monkeypatch.undo()
    succeed(*arguments, f"run={tmp_path / 'run'}")
    assert times_of(times) == times
    files = [bits_of(folder) for folder in (tmp_path / "run", runs["distortion"])]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model.binary=[]"], "no binary features"),
        (["base=null"], "train one first"),
        (["base=nowhere"], "nowhere"),
        (["model.jump_reach=3"], "model.jump_reach=7"),
        (["decoder.partition=local"], "partition"),
    ],
)
def test_settings_that_cannot_be(
    work: Path, bases: dict[str, Path], overrides: list[str], message: str, refused_training: Said
) -> None:
    given = [*command("block" if message == "partition" else "distortion", bases), *overrides]
    assert message in refused_training(work, *given)


def test_a_base_of_another_work_directory_is_refused(
    work: Path, bases: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, file = read_config(bases["distortion"] / "config.yaml", TrainConfig), weights_of(bases["distortion"])
    other = replace(file, metadata={**file.metadata, "work_identity": "other"})
    monkeypatch.setattr(block_lists, "weights_of", lambda _: other)
    with pytest.raises(InputError, match="a different work directory"):
        event_kind(config.model).listed(config, WorkDirectory(work), bases["distortion"], FOLDS)

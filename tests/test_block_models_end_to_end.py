"""System A's further models on a small built-in corpus: distortion, n-best events, global model, devices, rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, sets_of, succeed, summary_of
from tests.formats.test_lattice_files import arcs_of_slf
from tests.test_end_to_end import QUICK, run, work  # noqa: F401
from tests.test_online_end_to_end import jumps_run  # noqa: F401
from tests.test_phrase_system_end_to_end import listed, trained, translated
from xlate.cli.main import main
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.jobs.train.global_model import folded_text
from xlate.jobs.translate import MARK
from xlate.models.block.lists import BlockStores, block_stores
from xlate.scoring.feature_weights import load_feature_weights
from xlate.scoring.weights import true_occurrences
from xlate.work.directory import WorkDirectory


def test_floats_train_on_the_oracles_of_nbest_lists(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    jumps_run: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Then binary features, here with a penalty, which leaves fewer of them."""
    nbest = ["loss.floats.data=nbest", "loss.floats.nbest=20"]
    figures = trained(work, tmp_path / "run", *nbest, "loss.l1=0.05", *QUICK, f"base={run}")
    jumps = trained(work, tmp_path / "jumps", *nbest, "model=distortion", f"base={jumps_run}")
    for name, base, found in (("run", run, figures), ("jumps", jumps_run, jumps)):
        assert found["weights"]["linked"] != summary_of(base)["weights"]["linked"]
        assert (tmp_path / name / "events" / "linked" / "header.json").exists()
    assert jumps["dev_bleu"] > 5
    assert 0 < figures["active_features"] < summary_of(run)["active_features"] / 2


def test_the_global_model_goes_on_from_a_run(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    tmp_path: Path,
    refused_training: Said,
) -> None:
    options = ["loss=global", "model.threshold=1", "loss.globally.rounds=1", "samples=0"]
    figures = trained(work, tmp_path / "run", *options, f"base={run}")
    losses = [entry["valid_loss"] for entry in figures["history"]]
    assert min(losses[1:]) < losses[0], "held-out sentences become more probable"
    before, after = (sets_of(folder) for folder in (run, tmp_path / "run"))
    assert before["linked"].dense_D.tolist() != after["linked"].dense_D.tolist()
    refused_training(work, "loss=global", f"base={run}", "model=floats")


def test_the_global_model_learns_from_lattices_of_the_training_text(
    work: Path,  # noqa: F811
    jumps_run: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Each fold decoded by a system that has not seen it; binary features begin at 0, and learn."""
    folded = ["loss=global", "loss.globally.split=train", "loss.globally.folds=3", "loss.globally.sentences=30"]
    model = ["model=distortion", "model.threshold=1", "model.binary=[BB,WB]"]
    whole = [*model, *folded, "loss.globally.rounds=1", f"base={jumps_run}"]
    figures = trained(work, tmp_path / "run", *whole)
    losses = [entry["valid_loss"] for entry in figures["history"]]
    assert min(losses[1:]) < losses[0], "held-out sentences become more probable"
    held = sets_of(tmp_path / "run")["linked"]
    assert np.count_nonzero(held.sparse_F) > 10
    assert figures["dev_bleu"] > 15
    config = load(TrainConfig, "train", [f"work={work}", *whole])
    _, system, sentences, opened = folded_text(config, WorkDirectory(work), jumps_run)
    assert {row.fold for row in sentences} == {0, 1, 2}
    seen = [system, *(opened(fold, system.weights) for fold in range(3))]
    counts = [np.asarray(one.model.blocks.unigram_cost_B).tobytes() for one in seen]
    assert len(set(counts)) == 4, "no fold is decoded by what has seen it"
    # The same seed draws the same sentences.
    assert folded_text(config, WorkDirectory(work), jumps_run)[2] == sentences


def test_other_models_and_other_floats_do_not_learn_globally_in_folds(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    refused_training: Said,
) -> None:
    folded = [f"base={run}", "loss=global", "loss.globally.split=train"]
    assert "loss.globally.split=dev" in refused_training(work, *folded, "model=phrase")
    assert "a different model" in refused_training(work, *folded, "model.floats=[unigram,lm_first,forward]")


def test_centred_families_have_the_mean_zero(work: Path, run: Path, tmp_path: Path) -> None:  # noqa: F811
    """Beside them, both sides of the bound are measured while floats are trained."""
    figures = trained(work, tmp_path / "run", *QUICK, "loss.binary.centred=true", "loss.check_bound=true")
    assert all(e["bound_left"] <= e["bound_right"] for e in figures["history"] if e["phase"] == "floats")
    plain, found = (sets_of(f)["linked"] for f in (run, tmp_path / "run"))
    stores = block_stores(WorkDirectory(work), load(TrainConfig, "train", [f"work={work}", *QUICK]).model)
    count_F = true_occurrences(stores.stores["linked"].arrays, len(stores.features))
    assert abs(found.sparse_F @ count_F) < 1e-3 * (np.abs(found.sparse_F) @ count_F)
    assert len(set(np.round(plain.sparse_F - found.sparse_F, 5).tolist())) == 1, "one family moves by one number"


OWN = {"distortion": "direct,model1,inbound,outbound,lm_first,length", "swap_or": "unigram,orientation,lm_first"}


@pytest.mark.parametrize("kind", ["distortion", "swap_or"])
def test_optional_floats_are_trained_and_tuned(work: Path, tmp_path: Path, kind: str) -> None:  # noqa: F811
    """Local training learns the costs and leaves the count of blocks at 0; tuning moves it from there."""
    floats = f"model.floats=[{OWN[kind]},forward,forward_lexical,block_count]"
    model = "distortion" if kind == "distortion" else "floats"
    chosen = [f"model={model}", f"decoder={kind}", floats]
    before = trained(work, tmp_path / "run", *chosen, "loss.project_sign=false")["weights"]
    for weights in before.values():
        assert weights["forward"] != 0
        assert weights["forward_lexical"] != 0
        assert weights["block_count"] == 0
    tune = ["loss=mira", "loss.tune.rounds=1", "loss.tune.nbest=20", "loss.tune.start=base", f"base={tmp_path / 'run'}"]
    figures = trained(work, tmp_path / "tuned", *chosen, *tune)
    assert all(weights.floats["block_count"] != 0 for weights in sets_of(tmp_path / "tuned").values())
    assert figures["dev_bleu"] > 15
    _, lists = listed(tmp_path / "tuned", tmp_path)
    assert "block_count=" in lists
    assert ("inbound=" in lists) == (kind == "distortion")


def test_one_weight_is_tuned_and_the_others_stay(
    run: Path,  # noqa: F811
    work: Path,  # noqa: F811
    tmp_path: Path,
    refused_training: Said,
) -> None:
    base = sets_of(run)["linked"]
    tune = ["loss=mert", "loss.tune.rounds=1", "loss.tune.nbest=20", f"base={run}", "model.threshold=1"]
    chosen = [*tune, "loss.tune.start=base"]
    assert "loss.tune.start=base" in refused_training(work, *tune, "loss.tune.weights=[binary]")
    assert "linked_lm_first" in refused_training(work, *chosen, "loss.tune.weights=[lm]")
    trained(work, tmp_path / "run", *chosen, "loss.tune.weights=[linked_lm_first]")
    found = sets_of(tmp_path / "run")["linked"]
    others = [name != "lm_first" for name in base.dense_names]
    assert np.array_equal(found.dense_D[others], base.dense_D[others])
    assert np.array_equal(found.sparse_F, base.sparse_F)


def test_stores_are_of_the_floats_that_are_named(work: Path) -> None:  # noqa: F811
    """Only the optional floats that are named, and unigram costs that are divided, make other stores."""

    def stores(*given: str) -> BlockStores:
        config = load(TrainConfig, "train", [f"work={work}", "model=floats", "model.folds=0", *given])
        return block_stores(WorkDirectory(work), config.model)

    floats = ["unigram", "lexical,unigram", "unigram,forward", "forward,block_count", "block_count,unigram,forward"]
    own, same, other, more, alike = [stores(f"model.floats=[{names}]").identity for names in floats]
    assert own == same
    assert more == alike
    assert len({own, other, more}) == 3
    divided = stores("model.floats=[unigram]", "model.unigram_per_word=true"), stores("model.floats=[unigram]")
    sums = [made.stores["linked"].arrays.dense_CD[:, 0].sum() for made in divided]
    assert 0 < sums[0] < sums[1]


def test_inspect_lists_explains_and_writes_weights(
    run: Path,  # noqa: F811
    tmp_path: Path,
    printed: Said,
) -> None:
    shown = printed("inspect", f"run={run}", "top=3")
    assert "BB:" in shown
    assert "lm_first" in shown
    assert "sum " not in shown
    shown = printed("inspect", f"run={run}", "top=3", "sentence='Nirka no holdo va bolko ast.'")
    assert shown.startswith("Nirka no holdo va bolko ast.\n")
    assert "sum " in shown
    assert "float weights" not in shown
    assert main(["inspect", f"run={run}", "find=nothing-has-this"]) == 2
    succeed("inspect", f"run={run}", f"weights={tmp_path / 'weights'}")
    written = load_feature_weights(tmp_path / "weights")
    assert written == load_feature_weights(run)
    linked = sets_of(run)["linked"]
    assert len([name for name in written if name.startswith("linked_BB:")]) == linked.active > 0
    assert written["linked_lm_first"] == linked.dense_D[2]


def test_translation_graphs_become_files(run: Path, tmp_path: Path) -> None:  # noqa: F811
    given = ["detokenize=false", f"lattice_out={tmp_path / 'l'}", "lattice_format=slf"]
    outputs = translated(run, tmp_path, *given)
    for number in (0, 2):
        arcs, _ = arcs_of_slf(tmp_path / "l" / f"{number}.slf")
        assert len(arcs) > 5
        assert {*outputs[number].lower().split()} <= {word for _, _, word, _ in arcs}
    assert sorted(path.name for path in (tmp_path / "l").iterdir()) == ["0.slf", "2.slf", MARK]

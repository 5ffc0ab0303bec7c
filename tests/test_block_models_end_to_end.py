"""System A's further models on a small built-in corpus: distortion, n-best events, global model, devices, rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, succeed, summary_of
from tests.formats.test_lattice_files import arcs_of_fst, arcs_of_slf
from tests.test_end_to_end import QUICK, run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import trained
from xlate.cli.main import main
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.jobs.train.global_model import folded_text
from xlate.models.block.lists import BlockStores, block_stores
from xlate.scoring.feature_weights import load_feature_weights
from xlate.scoring.weights import load_weights, true_occurrences
from xlate.work.directory import WorkDirectory


@pytest.fixture(scope="module")
def other(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A run with another seed."""
    folder = tmp_path_factory.mktemp("other")
    trained(work, folder / "run", *QUICK, "seed=7")
    return folder / "run"


def nbest_of(run: Path, tmp_path: Path) -> str:  # noqa: F811
    (tmp_path / "in.txt").write_text("Nirka no holdo va bolko ast.\n")
    arguments = ["translate", f"run={run}", f"input={tmp_path / 'in.txt'}", "nbest=5"]
    succeed(*arguments, f"nbest_out={tmp_path / 'n.txt'}", f"output={tmp_path / 'out.txt'}")
    return (tmp_path / "n.txt").read_text()


def test_the_phrase_distortion_model_trains_and_translates(work: Path, tmp_path: Path) -> None:  # noqa: F811
    chosen = ["model=distortion", "decoder=distortion", "model.binary=[TP,WB]", "measure_test=true"]
    figures = trained(work, tmp_path / "run", *chosen, *QUICK)
    assert set(figures["weights"]) == {"linked"}
    assert {"direct", "model1", "inbound", "outbound", "length"} <= set(figures["weights"]["linked"])
    assert figures["dev_bleu"] > 15
    assert figures["test_bleu"] > 15
    assert figures["features"] > 0
    assert "inbound=" in nbest_of(tmp_path / "run", tmp_path)


def test_floats_train_on_the_oracles_of_nbest_lists(work: Path, run: Path, other: Path, tmp_path: Path) -> None:  # noqa: F811
    options = ["loss.floats.data=nbest", "loss.floats.nbest=50", *QUICK]
    figures = trained(work, tmp_path / "run", *options, f"base={run}")
    assert figures["weights"]["linked"] != summary_of(run)["weights"]["linked"]
    assert (tmp_path / "run" / "events" / "linked" / "header.json").exists()
    assert summary_of(other)["weights"] != summary_of(run)["weights"]
    # With another base it is another run; its result is not that of the first.
    for base, status in ((run, 0), (other, 2)):
        assert main(["train", f"work={work}", f"run={tmp_path / 'run'}", *options, f"base={base}"]) == status
    assert main(["train", f"work={work}", f"run={tmp_path / 'none'}", "loss.floats.data=nbest"]) == 2


def test_the_global_model_goes_on_from_a_run(work: Path, run: Path, other: Path, tmp_path: Path, refused: Said) -> None:  # noqa: F811
    options = ["loss=global", "model.threshold=1", "loss.globally.rounds=1", "samples=0"]
    figures = trained(work, tmp_path / "run", *options, f"base={run}")
    losses = [entry["valid_loss"] for entry in figures["history"]]
    assert min(losses[1:]) < losses[0], "held-out sentences become more probable"
    before, after = (load_weights(folder / "weights.safetensors").sets for folder in (run, tmp_path / "run"))
    assert before["linked"].dense_D.tolist() != after["linked"].dense_D.tolist()
    for base, status in ((run, 0), (other, 2)):
        assert main(["train", f"work={work}", f"run={tmp_path / 'run'}", *options, f"base={base}"]) == status
    refused("train", f"work={work}", f"run={tmp_path / 'none'}", "loss=global")
    refused("train", f"work={work}", f"run={tmp_path / 'x'}", "loss=global", f"base={run}", "model=floats")


def test_the_global_model_learns_from_lattices_of_the_training_text(work: Path, tmp_path: Path) -> None:  # noqa: F811
    """Each fold decoded by a system that has not seen it; binary features begin at 0, and learn."""
    chosen = ["model=distortion", "model.threshold=1", "model.folds=3"]
    trained(work, tmp_path / "base", *chosen, "model.binary=[]", *QUICK)
    folded = ["loss=global", "loss.globally.split=train", "loss.globally.folds=3", "loss.globally.sentences=60"]
    whole = [*chosen, "model.binary=[BB,WB]", *folded, "loss.globally.rounds=1", f"base={tmp_path / 'base'}"]
    figures = trained(work, tmp_path / "run", *whole)
    losses = [entry["valid_loss"] for entry in figures["history"]]
    assert min(losses[1:]) < losses[0], "held-out sentences become more probable"
    held = load_weights(tmp_path / "run" / "weights.safetensors").sets["linked"]
    assert np.count_nonzero(held.sparse_F) > 10
    assert figures["dev_bleu"] > 15
    config = load(TrainConfig, "train", [f"work={work}", *whole])
    _, system, sentences, opened = folded_text(config, WorkDirectory(work), tmp_path / "base")
    assert {row.fold for row in sentences} == {0, 1, 2}
    seen = [system, *(opened(fold, system.weights) for fold in range(3))]
    counts = [np.asarray(one.model.blocks.unigram_cost_B).tobytes() for one in seen]
    assert len(set(counts)) == 4, "no fold is decoded by what has seen it"
    # The same seed draws the same sentences.
    assert folded_text(config, WorkDirectory(work), tmp_path / "base")[2] == sentences


def test_other_models_and_other_floats_do_not_learn_globally_in_folds(
    work: Path,  # noqa: F811
    run: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    folded = [f"work={work}", f"base={run}", "loss=global", "loss.globally.split=train", f"run={tmp_path / 'run'}"]
    assert "loss.globally.split=dev" in refused("train", *folded, "model=phrase")
    assert "a different model" in refused("train", *folded, "model.floats=[unigram,lm_first,forward]")
    assert not (tmp_path / "run").exists()


def test_centred_families_have_the_mean_zero(work: Path, run: Path, tmp_path: Path) -> None:  # noqa: F811
    trained(work, tmp_path / "run", *QUICK, "loss.binary.centred=true")
    plain, found = (load_weights(f / "weights.safetensors").sets["linked"] for f in (run, tmp_path / "run"))
    stores = block_stores(WorkDirectory(work), load(TrainConfig, "train", [f"work={work}", *QUICK]).model)
    count_F = true_occurrences(stores.stores["linked"].arrays, len(stores.features))
    assert abs(found.sparse_F @ count_F) < 1e-3 * (np.abs(found.sparse_F) @ count_F)
    assert len(set(np.round(plain.sparse_F - found.sparse_F, 5).tolist())) == 1, "one family moves by one number"


OWN = {"distortion": "direct,model1,lm_first,length", "swap_or": "unigram,orientation,lm_first"}


@pytest.mark.parametrize("kind", ["distortion", "swap_or"])
def test_optional_floats_are_trained_and_tuned(
    work: Path,  # noqa: F811
    tmp_path: Path,
    kind: str,
    printed: Said,
) -> None:
    """Local training learns the costs and leaves the count of blocks at 0; tuning moves it from there."""
    floats = f"model.floats=[{OWN[kind]},forward,forward_lexical,block_count]"
    model = "distortion" if kind == "distortion" else "floats"
    chosen = [f"model={model}", f"decoder={kind}", floats, "model.threshold=1"]
    before = trained(work, tmp_path / "run", *chosen, *QUICK, "loss.project_sign=false")["weights"]
    for weights in before.values():
        assert weights["forward"] != 0
        assert weights["forward_lexical"] != 0
        assert weights["block_count"] == 0
    tune = ["loss=mira", "loss.tune.rounds=2", "loss.tune.start=base", f"base={tmp_path / 'run'}"]
    figures = trained(work, tmp_path / "tuned", *chosen, *tune)
    sets = load_weights(tmp_path / "tuned" / "weights.safetensors").sets
    assert all(weights.dense_D[weights.dense_names.index("block_count")] != 0 for weights in sets.values())
    assert figures["dev_bleu"] > 15
    assert "block_count=" in nbest_of(tmp_path / "tuned", tmp_path)
    assert {"forward", "forward_lexical", "block_count"} <= set(
        printed("inspect", f"run={tmp_path / 'tuned'}", "sentence='Nirka no holdo va bolko ast.'")
        .replace("│", " ")
        .split()
    )
    if kind == "distortion":
        again = ["loss.floats.data=nbest", "loss.floats.nbest=20", f"base={tmp_path / 'tuned'}"]
        assert trained(work, tmp_path / "nbest", *chosen, *QUICK, *again)["dev_bleu"] > 5
    else:
        lattices = ["loss=global", "loss.globally.rounds=1", f"base={tmp_path / 'run'}"]
        assert trained(work, tmp_path / "global", *chosen, *lattices)["weights"]["linked"]["block_count"] != 0


def test_one_weight_is_tuned_and_the_others_stay(
    run: Path,  # noqa: F811
    work: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
) -> None:
    base = load_weights(run / "weights.safetensors").sets["linked"]
    tune = [f"work={work}", "loss=mert", "loss.tune.rounds=1", "loss.tune.nbest=20", f"base={run}", "model.threshold=1"]
    chosen = [*tune, "loss.tune.start=base"]
    assert "loss.tune.start=base" in refused("train", *tune, "loss.tune.weights=[binary]", f"run={tmp_path / 'run'}")
    assert "linked_lm_first" in refused("train", *chosen, "loss.tune.weights=[lm]", f"run={tmp_path / 'run'}")
    # What was refused has written nothing, so that the same folder can be taken.
    succeed("train", *chosen, "loss.tune.weights=[linked_lm_first]", f"run={tmp_path / 'run'}")
    found = load_weights(tmp_path / "run" / "weights.safetensors").sets["linked"]
    others = [name != "lm_first" for name in base.dense_names]
    assert np.array_equal(found.dense_D[others], base.dense_D[others])
    assert np.array_equal(found.sparse_F, base.sparse_F)


def test_stores_are_of_the_floats_that_are_named(work: Path) -> None:  # noqa: F811
    """Only the optional floats that are named, and unigram costs that are divided, make other stores."""

    def stores(*floats: str, per_word: bool = False) -> BlockStores:
        named = [f"model.floats=[{','.join(floats)}]", f"model.unigram_per_word={str(per_word).lower()}"]
        return block_stores(
            WorkDirectory(work), load(TrainConfig, "train", [f"work={work}", "model=floats", *named]).model
        )

    def identity(*floats: str) -> str:
        return stores(*floats).identity

    assert identity("unigram") == identity("lexical", "unigram")
    assert len({identity("unigram"), identity("unigram", "forward"), identity("forward", "block_count")}) == 3
    assert identity("forward", "block_count") == identity("block_count", "unigram", "forward")
    sums = [stores("unigram", per_word=flag).stores["linked"].arrays.dense_CD[:, 0].sum() for flag in (False, True)]
    assert 0 < sums[1] < sums[0]


def test_margin_losses_train(work: Path, tmp_path: Path) -> None:  # noqa: F811
    """The loss falls from epoch to epoch, and the margin makes the hinge step where the perceptron does not."""
    weights = []
    for loss in ("perceptron", "hinge"):
        figures = trained(work, tmp_path / loss, f"loss={loss}", *QUICK)
        first, *_, last = (entry["loss"] for entry in figures["history"] if entry["phase"] == "binary")
        assert last < first
        assert figures["dev_bleu"] > 15
        weights.append((figures["active_features"], figures["weights"]["linked"]))
    assert weights[0][0] < weights[1][0]
    assert weights[0][1] != weights[1][1]


def test_penalties_and_bounds_by_configuration(work: Path, run: Path, tmp_path: Path) -> None:  # noqa: F811
    sparse = trained(work, tmp_path / "sparse", "loss.l1=0.05", *QUICK)
    assert 0 < sparse["active_features"] < summary_of(run)["active_features"]
    bound = trained(work, tmp_path / "bound", "loss.check_bound=true", "model=floats", *QUICK)
    assert all(e["bound_left"] <= e["bound_right"] for e in bound["history"] if e["phase"] == "floats")


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
    linked = load_weights(run / "weights.safetensors").sets["linked"]
    assert len([name for name in written if name.startswith("linked_BB:")]) == linked.active > 0
    assert written["linked_lm_first"] == linked.dense_D[2]


@pytest.mark.parametrize("kind", ["fst", "slf"])
def test_translation_graphs_become_files(run: Path, tmp_path: Path, kind: str) -> None:  # noqa: F811
    (tmp_path / "in.txt").write_text("Nirka no holdo va bolko ast.\n\nNirka va.\n")
    arguments = ["translate", f"run={run}", f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.txt'}"]
    arguments.append("detokenize=false")
    succeed(*arguments, f"lattice_out={tmp_path / 'l'}", f"lattice_format={kind}")
    outputs = (tmp_path / "out.txt").read_text().splitlines()
    for number in (0, 2):
        arcs, goal = (arcs_of_fst if kind == "fst" else arcs_of_slf)(tmp_path / "l" / f"{number}.{kind}")
        # Nodes are in topological order, so one pass finds the best path; it spells the translation.
        best: dict[int, tuple[float, str]] = {0: (0.0, "")}
        for source, target, word, score in sorted(arcs):
            reached = best[source][0] + score, f"{best[source][1]} {word}".strip()
            best[target] = max(best.get(target, reached), reached)
        assert len(arcs) > 5
        assert best[goal][1].lower() == outputs[number].lower()
    assert not (tmp_path / "l" / f"1.{kind}").exists()
    assert (tmp_path / "l" / "words.txt").exists() == (kind == "fst")

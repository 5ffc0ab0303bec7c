"""The hierarchical system on a small built-in corpus: rules, tuning, structure features online, translation."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.commands import Said, bits_of, events_of, sets_of, summary_of
from tests.made_once import made_once
from tests.test_end_to_end import run, work  # noqa: F401
from tests.test_phrase_system_end_to_end import listed, trained, translated
from xlate.align.lexical import lexical_table
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.jobs.train.online import OnlineTraining, training_sentences
from xlate.jobs.train.tuning import NbestLists, TuningText
from xlate.models.hierarchical.decoder import HierarchicalDecoder, TunedRules
from xlate.models.hierarchical.model import UNKNOWN
from xlate.models.kind import open_system
from xlate.models.tuned import TunedByFold
from xlate.phrases.matching import TableRows
from xlate.phrases.rule_extraction import extract_rules, score_rules
from xlate.phrases.settings import RuleSettings
from xlate.scoring.weights import WEIGHTS_FILE, load_weights, save_weights
from xlate.text.lines import read_lines, write_lines
from xlate.tuners.settings import TuneConfig
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Folds, WithoutFold

RULES = ["model=hierarchical", "decoder.pop_limit=50", "decoder.stack=50"]
FEW = ["loss.tune.rounds=2", "loss.tune.nbest=20"]
STRUCTURE = ["structure=everything", "model.structure.words=[all,class4,prefix4,digits]"]
STEPS = ["source.nbest=20", "source.C=0.001", "source.dense_rate=0.01", "source.batch=3"]
ONLINE = [*STRUCTURE, "source=online", "source.start=base", "source.iterations=2", *STEPS]
FOLDS = ["source.folds=2", "source.sentences=9"]


@pytest.fixture(scope="module")
def rules_run(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    return made_once(tmp_path_factory, "rules", lambda folder: tune_rules(work, folder))


def tune_rules(work: Path, folder: Path) -> None:  # noqa: F811
    figures = trained(work, folder, *RULES, *FEW, "measure_test=true", "samples=1")
    assert figures["test_bleu"] > 20
    assert figures["tune_BLEU"] > figures["history"][0]["bleu"]
    events = events_of(folder)
    assert b"samples/derivation" in events
    assert b"TranslationModel0_0" in events


@pytest.fixture(scope="module")
def online_run(work: Path, rules_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A run that has learned structure features online."""
    folder = tmp_path_factory.mktemp("online") / "run"
    figures = trained(work, folder, *RULES, *ONLINE, f"base={rules_run}")
    assert figures["active_features"] > 500
    assert figures["history"][-1]["oracle_bleu"] > figures["history"][0]["bleu"]
    return folder


def learned(run: Path) -> dict[str, float]:  # noqa: F811
    """The weights of structure features by name."""
    return {name: weight for *_, name, weight in load_weights(run / WEIGHTS_FILE).learned("hierarchical")}


def opened(folder: Path, nbest: int) -> HierarchicalDecoder:
    system, _ = open_system(folder, config_of_run(folder))
    assert isinstance(system, HierarchicalDecoder)
    system = system.with_search(nbest=nbest)
    for derivation in system.translate(["nirka", "no", "holdo"]):
        assert system.weights_D @ derivation.features_D == pytest.approx(derivation.score)
    return system


def test_it_translates_and_shows_trees(rules_run: Path, tmp_path: Path, printed: Said) -> None:
    lines, lists = listed(rules_run, tmp_path)
    assert len(lines) == 3
    assert "TranslationModel0=" in lists
    shown = printed("inspect", f"run={rules_run}", "sentence='Nirka no holdo va bolko ast.'")
    assert "Backtrack0_0" in shown
    assert " -> " in shown


def test_the_size_of_the_first_weights_makes_no_difference(
    work: Path,  # noqa: F811
    rules_run: Path,
    online_run: Path,
    tmp_path: Path,
) -> None:
    """Powers of two round nothing: weights of a 64th give the same translations, and weights of a 64th."""
    small = shutil.copytree(rules_run, tmp_path / "small")
    file = load_weights(small / WEIGHTS_FILE)
    held = file.sets["hierarchical"]
    fixed_D = np.arange(len(held.dense_D)) == UNKNOWN
    less = replace(held, dense_D=np.where(fixed_D, held.dense_D, held.dense_D / 64))
    save_weights(small / WEIGHTS_FILE, {"hierarchical": less}, extra=file.extra, metadata=file.metadata)
    large = summary_of(online_run)
    little = trained(work, tmp_path / "little", *RULES, *ONLINE, f"base={small}")
    assert little["learned_times"] == pytest.approx(64 * large["learned_times"], rel=1e-3)
    assert little["history"] == large["history"]
    one, other = (sets_of(folder)["hierarchical"] for folder in (online_run, tmp_path / "little"))
    assert np.array_equal(one.sparse_F / 64, other.sparse_F)
    assert np.array_equal(one.dense_D[:UNKNOWN] / 64, other.dense_D[:UNKNOWN])


def test_structure_features_are_learned_online(online_run: Path, tmp_path: Path) -> None:
    rows = [*load_weights(online_run / WEIGHTS_FILE).learned("hierarchical")]
    assert len(rows) == summary_of(online_run)["active_features"]
    families = {family for _, family, *_ in rows}
    assert families == {"word_pair", "pair_bigram", "insertion", "target_bigram", "parent_child"}
    assert all(name.startswith(f"{family}:") for _, family, name, _ in rows)
    assert len(translated(online_run, tmp_path)) == 3


def test_sentences_of_the_training_text_are_decoded_without_their_folds(
    work: Path,  # noqa: F811
    rules_run: Path,
    tmp_path: Path,
    refused: Said,
    refused_training: Said,
) -> None:
    given = [f"work={work}", *RULES, *ONLINE, *FOLDS, f"base={rules_run}"]
    online, held = OnlineTraining(load(TrainConfig, "train", given)), WorkDirectory(work)
    system, folds = online.decodes, Folds.of_events(held, 2)
    assert isinstance(system, TunedByFold)
    for words, references in zip(online.text.sources, online.text.references, strict=True):
        ids = held.source_vocabulary.ids(words).tolist()
        seen = [s for s in range(len(folds.fold_S)) if held.encoded[0][s].tolist() == ids]
        assert {int(folds.fold_S[s]) for s in seen} == {system.fold_of[tuple(words)]}
        assert held.target_vocabulary.ids(references[0]).tolist() in [held.encoded[1][s].tolist() for s in seen]
    for fold, part in system.parts.items():
        others = WithoutFold(held, folds, fold, TableRows(held.blocks.table)).text
        expected = score_rules(extract_rules(*others), lexical_table(*others), RuleSettings())
        assert part.system.model.table.scores_B4.tolist() == expected.scores_B4.tolist()
        assert part.system.model.sparse is online.tuned.system.growing
    folded = ["source=online", "source.folds=2"]
    said = refused("train", f"work={work}", f"run={tmp_path / 'phrase'}", *folded, "model=phrase")
    assert "cannot be trained online on folds" in said
    dev = [f"source.text={work / 'generated' / 'dev.src'}", f"source.references=[{work / 'generated' / 'dev.tgt'}]"]
    assert "no sentence is in the training text" in refused_training(work, *folded, *RULES, *dev)


def test_the_training_text_may_be_given_with_more_translations(work: Path, tmp_path: Path) -> None:  # noqa: F811
    def sentences(*files: Path) -> TuningText:
        source, *references = map(str, files)
        return training_sentences(held, TuneConfig("online", source=source, references=references), 9, 50)

    held, given = WorkDirectory(work), [work / "generated" / f"train.{side}" for side in ("src", "tgt")]
    own = training_sentences(held, TuneConfig("online"), 9, 50)
    assert len(own) == 9
    assert sentences(*given) == own
    # A line that is not in the training text has no fold, and is left out.
    source, target = ([*read_lines(path), "gonban"] for path in given)
    backwards = [" ".join(reversed(line.split())) for line in target]
    for name, lines in (("text", source), ("one", target), ("two", backwards)):
        write_lines(tmp_path / name, lines)
    more = sentences(*(tmp_path / name for name in ("text", "one", "two")))
    assert more.sources == own.sources
    assert all(len(references) == 2 and references[0] != references[1] for references in more.references)


def test_training_goes_on_from_learned_structure_features(
    work: Path,  # noqa: F811
    online_run: Path,
    tmp_path: Path,
    refused: Said,
) -> None:
    """Floats are tuned with the sum of the features as one; online its weight goes into their own weights."""
    given = [*RULES, *STRUCTURE, *FEW, f"base={online_run}", "loss.tune.start=base", "loss.tune.select=last"]
    trained(work, tmp_path / "tuned", *given, "loss.tune.rounds=1", "loss.tune.weights=[SparseStructure0]")
    opened(tmp_path / "tuned", 5)
    before, begun = (sets_of(one)["hierarchical"].dense_D for one in (online_run, tmp_path / "tuned"))
    of_sum, known = begun[-1], learned(online_run)
    assert of_sum != 1.0
    assert np.array_equal(begun[:-1], before[:-1])
    assert learned(tmp_path / "tuned") == known
    again = [*RULES, *ONLINE, "source.iterations=1", f"base={tmp_path / 'tuned'}"]
    trained(work, tmp_path / "still", *again, "source.C=1e-12", "source.dense_rate=0")
    assert sets_of(tmp_path / "still")["hierarchical"].dense_D == pytest.approx([*begun[:-1], 1.0])
    large = {name: of_sum * weight for name, weight in known.items() if abs(weight) > 1e-4}
    after = learned(tmp_path / "still")
    assert large
    assert {name: after[name] for name in large} == pytest.approx(large, rel=1e-5)
    figures = trained(work, tmp_path / "on", *again, "source.shards=2", "source.processes=2")
    assert figures["active_features"] > len(known)
    # Other features than those of the base cannot be numbered together with them.
    for other in ([*ONLINE, "model.structure.words=[all]"], ["structure=surface", *FEW, "loss.tune.start=base"]):
        refused("train", f"work={work}", f"run={tmp_path / 'other'}", *RULES, *other, f"base={tmp_path / 'tuned'}")


def test_any_number_of_processes_gives_the_same_bits(work: Path, rules_run: Path, tmp_path: Path) -> None:  # noqa: F811
    """Here in folds, and with the scores as they are."""
    given = [*RULES, *ONLINE, *FOLDS, "source.iterations=1", "source.batch=4", "source.spread=0", f"base={rules_run}"]
    for processes in ("1", "2"):
        figures = trained(work, tmp_path / processes, *given, f"source.processes={processes}")
        assert figures["active_features"] > 0
        assert figures["online_sentences"] == 9
        assert figures["learned_times"] == 1
    assert bits_of(tmp_path / "1") == bits_of(tmp_path / "2")


def test_lists_have_facts_as_units_which_weigh_what_was_charged(work: Path, online_run: Path) -> None:  # noqa: F811
    system, held = opened(online_run, 10), WorkDirectory(work)
    sentences = [*map(held.source_tokens, held.source_lines("dev")[:5]), []]
    features, weights = system.features, system.weights
    assert features is not None
    tuned, fixed, floats = TunedRules(system, tunes_sparse=True), TunedRules(system), system.model.sums.start
    assert tuned.unit_D is None
    np.testing.assert_array_equal(fixed.unit_D, [*[1.0] * floats, 1.0 / floats])
    assert fixed.uniform.dense_D[floats:].tolist() == [1.0]
    lists = NbestLists(tuned, TuningText(sentences, [[["a"]]] * 6), 10, bool).decode(weights)
    assert lists.unit_PU is not None
    offsets, ids = features.of_units(lists.unit_PU, add=False)  # type: ignore[attr-defined]
    score_P = np.array([weights.sparse_F[ids[a:b]].sum() for a, b in pairwise(offsets)])
    part_K, at = lists.part_of_K(), lists.candidate_part_offsets_C1
    assert at is not None
    score_C = lists.dense_CD @ weights.dense_D + [score_P[part_K[a:b]].sum() for a, b in pairwise(at)]
    found = [system.translate(words) for words in sentences]
    assert np.diff(lists.candidate_offsets_I1).tolist() == [*map(len, found)]
    assert score_C == pytest.approx([derivation.score for one in found for derivation in one], abs=1e-3)


def test_bottom_up_it_translates_alike(rules_run: Path, tmp_path: Path) -> None:
    lines, lists = listed(rules_run, tmp_path, "decoder.algorithm=cky", "decoder.pop_limit=8")
    assert lines == translated(rules_run, tmp_path)
    assert "TranslationModel0=" in lists


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["decoder=cky", "structure=surface", "source=online"], "across the borders of rules"),
        (
            ["structure=surface", "model.structure.families=[word_triple]", "source=online"],
            "an unknown or repeated family",
        ),
        (["structure=surface", "model.structure.words=[lemma]", "source=online"], "an unknown kind of words"),
        (["structure=surface"], "only online training can"),
        (["loss=xbleu"], "learns no sparse features from lists"),
    ],
)
def test_bad_settings_are_refused(
    work: Path,  # noqa: F811
    tmp_path: Path,
    refused: Said,
    given: list[str],
    words: str,
) -> None:
    assert words in refused("train", f"work={work}", f"run={tmp_path / 'run'}", *RULES, *given)
    assert not (tmp_path / "run" / WEIGHTS_FILE).exists()

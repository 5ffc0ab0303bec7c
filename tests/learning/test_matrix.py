"""Every loss and tuner, from every source, for every system: a tiny training, or why there is none.

Systems are small random models that translate random words; references are what they say under other weights. Events
are made-up instances of the form that block models have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.learning.small_training import initial, settings
from tests.learning.test_list_learner import plain_settings
from tests.models.phrase.small_phrase_models import random_case
from tests.models.small_models import TARGET, jumping, model_and_arpa, random_words
from tests.models.test_every_system import SYSTEMS as ALL
from tests.tuners.test_mira import best_statistics
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import chosen, decoded, listed, spread_within_lists, under_templates
from xlate.candidates.nbest import nbest_candidates, write_nbest_store
from xlate.candidates.store import CandidateStore
from xlate.errors import InputError
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.jobs.train.tuning import TUNERS, optimiser
from xlate.learning.global_model import GlobalTraining
from xlate.learning.learner import DeviceLearner, InstanceLearner
from xlate.learning.list_learner import DeviceListLearner, ListLearner, loss_of_lists
from xlate.learning.online import Online
from xlate.learning.online_learner import OnlineLearner
from xlate.learning.run import Checkpoint
from xlate.learning.settings import BinaryConfig, GlobalConfig, GlobalLossConfig, ListsConfig, OnlineSourceConfig
from xlate.losses.loss import Loss, Needs, gains_for, loss_of, losses
from xlate.losses.pro import PairwiseLogistic
from xlate.metrics.bleu import sentence_bleu
from xlate.metrics.objective import BLEU, OracleDocument
from xlate.models.block.decoder import BlockDecoder, BlockSearch
from xlate.models.block.lists import with_units
from xlate.models.distortion import DistortionDecoder
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.training import TunedPhrases
from xlate.scoring.linear import CompiledScorer
from xlate.scoring.weights import Weights
from xlate.search.lattice import LatticeExample
from xlate.search.oracle import oracle_example
from xlate.search.settings import DistortionSearch
from xlate.text.vocabulary import EncodedText, Numbering
from xlate.tuners.gradient import descend, sampled_pairs
from xlate.tuners.settings import TUNERS as CONFIGS
from xlate.tuners.settings import PenaltyConfig, ProConfig
from xlate.updates.online import AveragedPerceptron, LossSteps, Mira, TillmannZhang

SENTENCES, LENGTH, NBEST = 12, 5, 12
SYSTEMS = ("block", "distortion", "phrase", "rerank")
SOURCES = ("events", "events on a device", "lists of the training text", "lists on a device", "lists of every round",
           "sentence by sentence", "lists from files", "lattices")  # fmt: skip
ONLINE = "sentence by sentence"
LEARNED = ("lists of the training text", "lists on a device")
KINDS = losses()
# Tuners of their own; others descend on the loss of their name.
OWN = ("mert", "mira", "pro tuner")
# Updates by pairs of an oracle and a hypothesis of one list.
PAIRS = {
    "mira": Mira(1.0, 0.002),
    "averaged_perceptron": AveragedPerceptron(),
    "tillmann_zhang": TillmannZhang(1.0, 1e-4),
}
NAMES = (*KINDS, *OWN, *(name for name in PAIRS if name not in OWN))


def empty(name: str, source: str, system: str) -> str | None:
    """Why there is no such training; None when there is one."""
    needs = KINDS[name].needs if name in KINDS else None
    if (needs is Needs.LATTICE) != (source == "lattices"):
        return "a loss over lattices sums over arcs and has no scores of candidates; all others need these"
    if (source == "lists from files") != (system == "rerank"):
        return "the lists of rerank come from files and are not decoded; all others decode theirs"
    if name in PAIRS and name not in OWN and source != ONLINE:
        return "oracles are kept, and pairs made of them, where lists are decoded with the weights of the moment"
    if name in OWN and source not in ("lists of every round", "lists from files", *([ONLINE] if name in PAIRS else [])):
        return "a tuner looks at all lists of a dev set at once, to set few weights"
    if needs is Needs.STATISTICS and source not in ("lists of every round", "lists from files"):
        return "BLEU of the whole text has no slope an instance; it is tuned on all lists at once"
    if needs is not None and KINDS[name].judges_each and not source.startswith("events"):
        return "a loss that judges each candidate by itself: scores of whole derivations have no 0 to be judged by"
    if source.startswith("events") and system == "phrase":
        return "the phrase model has no events: its steps are not aligned to the training text"
    return None


def cells() -> Iterator[Any]:
    for name in NAMES:
        for source in SOURCES:
            for system in SYSTEMS:
                if empty(name, source, system) is None:
                    yield name, source, system


def trained_cells() -> list[tuple[str, str, str]]:
    """Each loss from each source for one system, and each source for each system with one loss."""
    every, met = list(cells()), set()
    return [cell for cell in every if not {cell[:2], cell[1:]} <= met and not met.update((cell[:2], cell[1:]))]


@pytest.mark.parametrize(("name", "source", "system"), trained_cells())
def test_a_training_changes_weights_and_lowers_the_loss(
    name: str, source: str, system: str, folder: Path, tmp_path: Path
) -> None:
    if source.startswith("events"):
        changed, before, after = on_events(name, folder, device=source.endswith("device"))
    elif source == "lattices":
        changed, before, after = on_lattices(system)
    elif source == ONLINE:
        changed, before, after = on_the_way(name, lists_of(system, units=True), tmp_path)
    else:
        lists = from_file(tmp_path) if system == "rerank" else lists_of(system, units=source in LEARNED)
        if source in LEARNED:
            changed, before, after = in_steps(name, lists, device=source.endswith("device"))
        else:
            changed, before, after = at_once(name, lists)
            if source == "lists from files" and name in KINDS and KINDS[name].slope is not None:
                assert in_steps(name, lists, device=False)[0]
    assert changed
    assert after < before


def test_every_row_and_column_has_a_training_and_every_gap_a_reason() -> None:
    held = set(cells())
    assert {name for name, _, _ in held} == set(NAMES)
    assert {source for _, source, _ in held} == set(SOURCES)
    assert {system for _, _, system in held} == set(SYSTEMS)
    gaps = {(n, o, y) for n in NAMES for o in SOURCES for y in SYSTEMS} - held
    assert all(len(str(empty(*gap)).split()) > 5 for gap in gaps)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if name not in KINDS or KINDS[name].needs in (Needs.STATISTICS, Needs.LATTICE) or KINDS[name].judges_each
    ],
)
def test_steps_over_lists_refuse_what_they_do_not_have(name: str) -> None:
    with pytest.raises(InputError):
        loss_of_lists(ListsConfig(objective=name))


def on_events(name: str, folder: Path, *, device: bool) -> tuple[bool, float, float]:
    store, weights = CandidateStore.open(folder / "train"), initial()["linked"]
    # The first float is higher of true ones: a start that every loss can better.
    weights.dense_D[0] = -1.0
    phase = settings(loss=name)
    cpu = torch.device("cpu")
    learner = DeviceLearner(phase, store, weights, {}, cpu, 8) if device else InstanceLearner(phase, store, weights, {})
    met = [learner.learn(np.arange(len(store)), 0.5)[0] for _ in range(4)]
    return bool(weights.dense_D[0] != -1.0 and weights.sparse_F.any()), met[0], min(met[1:])


def on_lattices(system: str) -> tuple[bool, float, float]:
    model = ALL[{"phrase": "phrase wbe"}.get(system, system)]()
    wanted = [(words, model.translate(words)[1].words) for words in (["a", "b"], ["b", "zz", "a"])]

    def decode(weights: Weights) -> Iterator[LatticeExample]:
        for words, reference in wanted:
            example = oracle_example(model.with_weights(weights).lattice(words), [reference])
            if example is not None:
                yield example

    given = GlobalLossConfig(
        eta=0.005, binary=BinaryConfig(0.05), globally=GlobalConfig(rounds=1, epochs=4, rule="sgd")
    )
    after, figures = GlobalTraining(decode, None, given).run(model.weights)
    return bool((after.dense_D != model.weights.dense_D).any()), figures[1]["loss"], figures[-1]["loss"]


def in_steps(name: str, lists: CandidateBatch, *, device: bool) -> tuple[bool, float, float]:
    """Steps list by list; the lists stand a second time behind themselves, to be measured."""
    spread_D = spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
    twice = CandidateBatch.joined([lists, lists])
    gain_C = sentence_bleu(twice.gain_CG) / 100.0
    arrays = twice.arrays(gain_C, parts=True)._replace(dense_CD=(twice.dense_CD / spread_D).astype(np.float32))
    chosen = plain_settings(
        objective=name, rate=0.01, dense_rate=0.01, epochs=3, tolerance=0.0, batch=2 if device else 1
    )
    heldout_I = np.arange(len(twice)) >= len(lists)
    given = arrays, twice.gain_CG, heldout_I, sparse_size(lists), chosen, start_of(lists).dense_D * spread_D
    learner = DeviceListLearner(*given, torch.device("cpu")) if device else ListLearner(*given)
    figures = list(learner.epochs())
    moved = bool((learner.weights.dense_D != given[-1]).any())
    changed = moved and (bool(learner.weights.sparse_F.any()) or not sparse_size(lists))
    return changed, figures[0].heldout_loss, min(one.heldout_loss for one in figures)


def on_the_way(name: str, lists: CandidateBatch, folder: Path) -> tuple[bool, float, float]:
    """Steps while lists are ranked by the weights of the moment, which is what decoding them again would give."""
    begin, spread_D = start_of(lists), spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
    lists = replace(lists, dense_CD=(lists.dense_CD / spread_D).astype(np.float32))
    begin = replace(begin, dense_D=begin.dense_D * spread_D)

    def decode(weights: Weights, rows: NDArray[np.int64], size: int) -> CandidateBatch:
        some = lists.select(rows)
        given = some.arrays(np.zeros(some.candidates)), some.dense_CD.astype(np.float64)
        score_C = CompiledScorer(*given, weights.dense_D, weights.sparse_F)().detach().numpy()
        ends = some.candidate_offsets_I1
        best = [a + np.argsort(-score_C[a:b], kind="stable")[:size] for a, b in pairwise(ends)]
        return chosen(some, np.concatenate(best))

    def loss(weights: Weights) -> float:
        still = online_learner(name, weights, len(lists), 0.0)
        return sum(still.learn(i, decode(weights, np.array([i]), NBEST)).loss for i in range(len(lists)))

    learner = online_learner(name, begin, len(lists), 0.01 if name == "averaged_perceptron" else 0.1)
    found = Online(learner, decode, Checkpoint(folder / "latest.safetensors", "")).run()
    changed = bool((found[0].dense_D != begin.dense_D).any() and found[0].sparse_F.any())
    return changed, loss(begin), loss(found[0])


def online_learner(name: str, weights: Weights, sentences: int, rate: float) -> OnlineLearner:
    """One that learns with a step size, or with 0 only says what it would learn from."""
    update = PAIRS[name] if name in PAIRS else LossSteps(loss_of(name), 0.1)
    document = OracleDocument(np.zeros((sentences, 10)), by_sentence=True)
    steps = OnlineSourceConfig(iterations=8, nbest=NBEST, k=NBEST, m=1, rate=rate, dense_rate=rate)
    return OnlineLearner(weights, np.ones(len(weights.dense_D), np.bool_), update, steps, document)


def at_once(name: str, lists: CandidateBatch) -> tuple[bool, float, float]:
    """A tuner of all lists; the loss is minus BLEU for one that has no loss."""
    begin, trained_D = start_of(lists), np.ones(lists.dense_CD.shape[1], np.bool_)
    if tuner_of(name) is None:
        tuned = descend(lists, begin, loss_of(name), PenaltyConfig(epochs=20, step_penalty=0.0), BLEU, trained_D)
    else:
        tune = CONFIGS[tuner_of(name)](length_band=9.0)
        if hasattr(tune, "epochs"):
            tune.epochs = 20
        tuned = optimiser(tune, trained_D, BLEU)(lists, begin, 1)
    changed = bool((tuned.dense_D != begin.dense_D).any())
    if name == "pro tuner":
        # What the tuner descends on: its own pairs.
        gain_C, random = BLEU.sentences(lists.gain_CG), np.random.default_rng(1)
        pairs = map(torch.as_tensor, sampled_pairs(gain_C, lists.candidate_offsets_I1, ProConfig(), random))
        return changed, *descended(PairwiseLogistic(*pairs), lists, begin)
    if name in OWN:
        sums_BK = np.stack([best_statistics(lists, weights) for weights in (begin, tuned)])
        before, after = (-BLEU.corpus(sums_BK)).tolist()
        return changed, before, after
    return changed, *descended(loss_of(name), lists, begin)


def tuner_of(name: str) -> str | None:
    """The tuner of a configuration that stands in a row of the matrix, if there is one."""
    known = (name.removesuffix(" tuner"), f"list_{name}") if name != "pro" else ()
    return next((tuner for tuner in known if tuner in CONFIGS), None)


def descended(loss: Loss, lists: CandidateBatch, begin: Weights) -> tuple[float, float]:
    """The loss before and after descent; what a tuner returns is scaled, so the descent itself is asked."""
    given = gains_for(loss, lists.gain_CG.astype(np.float64), lists.candidate_offsets_I1, BLEU.sentences)
    features_CD, gains = lists.dense_CD.astype(np.float64), torch.as_tensor(given)

    def value(at: Weights) -> float:
        scores_C = CompiledScorer(lists.arrays(np.zeros(lists.candidates)), features_CD, at.dense_D, at.sparse_F)()
        return float(loss(scores_C, gains, torch.as_tensor(lists.candidate_offsets_I1)).detach())

    settings = PenaltyConfig(epochs=20, penalty=0.0, step_penalty=0.0)
    return value(begin), value(descend(lists, begin, loss, settings, BLEU, np.ones(features_CD.shape[1], np.bool_)))


def sparse_size(lists: CandidateBatch) -> int:
    return int(lists.part_ids_N.max(initial=-1)) + 1


def start_of(lists: CandidateBatch) -> Weights:
    names = tuple(f"f{d}" for d in range(lists.dense_CD.shape[1]))
    spread_D = spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
    dense_D = np.random.default_rng(3).normal(0, 0.1, len(names))
    return Weights(dense_D / spread_D, np.zeros(sparse_size(lists)), names)


def with_references(found: Sequence[CandidateBatch]) -> CandidateBatch:
    """Lists whose references are drawn from themselves."""
    rng = np.random.default_rng(4)
    rows = [one.words[int(rng.integers(0, len(one.dense_CD)))] for one in found]
    return listed(found, EncodedText.from_ids(rows), np.arange(len(found) + 1), words=True)


def sentences() -> list[list[str]]:
    rng = np.random.default_rng(9)
    return [random_words(rng, LENGTH) for _ in range(SENTENCES)]


@cache
def decoder_of(system: str) -> BlockDecoder | DistortionDecoder:
    limits: dict[str, Any] = {"beam": 30, "threshold": 0.0, "nbest": NBEST}
    if system == "block":
        return BlockDecoder(model_and_arpa(11, others=False)[0], BlockSearch(**limits))
    return DistortionDecoder(jumping(11)[0], DistortionSearch(**limits))


@cache
def hypotheses(system: str) -> list[CandidateBatch]:
    decoder, made = decoder_of(system), []
    used = [name != "partition" for name in decoder.feature_names]
    for words in sentences():
        found, numbering = decoder.translate(words), Numbering(TARGET, words)
        rows = np.array([one.features_D[used] for one in found])
        made.append(decoded(rows, EncodedText.from_ids(numbering.ids(one.words) for one in found)))
    return made


@cache
def phrase_lists() -> CandidateBatch:
    _, model, weights_D, sparse_F = random_case(5, "hier", "local")
    decoder = PhraseDecoder(model, weights_D, PhraseSearch(algorithm="stack", stack=30, nbest=NBEST), sparse_F=sparse_F)
    tuned = TunedPhrases(decoder, tunes_sparse=True)
    lists = with_references([tuned.listing(decoder.weights, decoder, words) for words in sentences()])
    assert not lists.is_plain
    return lists


@cache
def lists_of(system: str, *, units: bool = False) -> CandidateBatch:
    """Lists of decoded sentences; with units, pairs of blocks become the ids of the decoder's features."""
    if system == "phrase":
        return phrase_lists()
    if not units:
        return with_references(hypotheses(system))
    decoder = decoder_of(system)
    lists = with_references([with_units(decoder, words) for words in sentences()])
    found = under_templates(lists, decoder.features, None, 1.0)
    assert sparse_size(found) > 0
    return found


def from_file(folder: Path) -> CandidateBatch:
    """Lists of another system, written as text, imported, and opened as the store that the import wrote."""
    lines, references = [], []
    rng = np.random.default_rng(6)
    for i, (one, words) in enumerate(zip(hypotheses("block"), sentences(), strict=True)):
        numbering = Numbering(TARGET, words)
        texts = [
            " ".join(numbering.words(one.words_T[a:b])) for a, b in zip(one.word_offsets_C1, one.word_offsets_C1[1:])
        ]
        references.append(texts[int(rng.integers(0, len(texts)))])
        for text, row in zip(texts, one.dense_CD.tolist(), strict=True):
            sparse = " ".join(
                f"W_{word}= {n + 1}" for n, word in enumerate(sorted(set(text.split()))) if word in "uvwxy"
            )
            lines.append(
                f"{i} ||| {text} ||| A= {row[2]:.4f} B= {row[3]:.4f} C= {row[4]:.4f} {sparse} ||| {sum(row):.4f}"
            )
    (folder / "nbest").write_text("\n".join(lines) + "\n")
    arrays = nbest_arrays(by_sentence(iterate_hypotheses(folder / "nbest"), folder / "nbest"))
    write_nbest_store(folder / "store", nbest_candidates(arrays, [[line] for line in references]))
    return CandidateStore.open(folder / "store", mapped=False).arrays


def test_tuners_of_the_configuration_are_in_the_matrix() -> None:
    assert set(TUNERS) == set(CONFIGS) == {tuner_of(name) for name in NAMES} - {None}

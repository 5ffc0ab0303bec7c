"""The lattice decoder: predicted blocks, permuted in a window, scored by the language model (Kolachina et al. 2010)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints32
from xlate.config.model_schema import LcsModelConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.lm.model import NgramModel
from xlate.models.context.classifiers import context_model, distance_model
from xlate.models.context.model import ContextModel
from xlate.models.context.predicted import CONTEXT_NAME, DISPLACEMENT_NAME, PredictedPlaces
from xlate.models.context.runs import check_predicted_by, check_use, predicted_by
from xlate.models.derivation import COPIED, Derivation, Step, side_of
from xlate.models.kind import Kind, Saved, ToTune, made_of, needed
from xlate.models.phrase.model import SentencePhrases, SentencePlaces, shift_of
from xlate.models.run_files import weights_of
from xlate.models.system import System, checked_weights
from xlate.models.tuned import TunedSystem
from xlate.scoring.weights import Weights, WeightsFile
from xlate.search.beam import END_LABEL, Move, SearchSpace, Words, phrases_in
from xlate.search.lattice import LatticeArcs
from xlate.search.settings import LcsSearch, log_share
from xlate.text.terms import is_hard, own_target, terms_in
from xlate.text.vocabulary import END_ID, Vocabulary
from xlate.work.directory import WorkDirectory

# The unit of a source word that is left out.
DELETED = -3
NAMES = ("LM0", CONTEXT_NAME, "Deletion0")
LM, CONTEXT, DELETION = range(len(NAMES))
# The index after them, where places are considered.
PLACE = len(NAMES)


@dataclass(frozen=True)
class LcsModel:
    """A classifier that predicts how words are translated in context, and a language model that predicts their order.

    `placed`, if given, also predicts the order: by how far translations are from their place.
    """

    classifier: ContextModel
    target_vocabulary: Vocabulary
    lm: NgramModel
    placed: SentencePlaces | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The D float features."""
        return NAMES if self.placed is None else (*NAMES, self.placed.name)

    @cached_property
    def of_words(self) -> ContextModel:
        """The classifier, for single words only."""
        return replace(self.classifier, longest=1)

    def target(self, pair: int) -> Words:
        """The target words of a pair."""
        table = self.classifier.targets.table
        return self.target_vocabulary.words_of(table.target_phrases[int(table.target_B[pair])])


def _predicted(
    model: LcsModel, search: LcsSearch, words: Sequence[str], allowed: set[Words] | None
) -> Iterator[list[tuple[int, float]] | None]:
    """The pairs of each word with ln p, best first; None where nothing is predicted."""
    found = model.of_words.predict(words)
    ends = dict(zip(found.spans.start_I.tolist(), pairwise(found.offsets_I1.tolist()), strict=True))
    for position in range(len(words)):
        if position not in ends:
            yield None
            continue
        first, end = ends[position]
        order = first + np.argsort(-found.log_C[first:end], kind="stable")
        pairs = list(zip(found.pair_C[order].tolist(), found.log_C[order].tolist(), strict=True))
        if allowed is None:
            least_log = log_share(search.least_probability)
            likely = sum(log >= least_log for _, log in pairs)
            yield pairs[: max(1, min(likely, search.options))]
        else:
            yield [(pair, log) for pair, log in pairs if model.target(pair) in allowed]


class LatticeOption(NamedTuple):
    """What may become of the source word at a position.

    `unit` is a pair of the table, `COPIED`, a term or `DELETED`; `log_p` is ln p of a pair in the sentence, 0 for the
    others; `ids` are the language model's numbers of the target words.
    """

    position: int
    unit: int
    log_p: float
    words: Words
    ids: Ints32


# Everything that a continuation depends on: the source words that are done, bit i for word i, and the language model's
# state. States with all words done differ only in their history; the goal has one more bit.
LatticeState = tuple[int, int]


@dataclass(frozen=True)
class LatticeMoves(SearchSpace[LatticeState]):
    """The search space over one sentence of n words with O options. Labels are option numbers, -1 the end.

    The word that is done next is less than `window` positions after the first one that is not done. The options of
    position i are numbers `offsets_n1[i]` to `offsets_n1[i + 1]`, the best first, the deletion last. `place_OR` is what
    each scores at each place (`SentencePlaces`), 0 for deletions.
    """

    model: LcsModel
    weights_D: Floats
    search: LcsSearch
    words: Words
    offsets_n1: Sequence[int]
    options: Sequence[LatticeOption]
    place_OR: Floats

    def cell(self, position: int) -> range:
        """The options of one source word."""
        return range(self.offsets_n1[position], self.offsets_n1[position + 1])

    @property
    def start(self) -> LatticeState:
        return 0, int(self.model.lm.begin_state)

    @property
    def levels(self) -> int:
        return len(self.words) + 1

    @cached_property
    def fixed_OD(self) -> Floats:
        """The features of options in any position; those of the language model and of places are 0; shape (O, D)."""
        fixed_OD = np.zeros((len(self.options), len(self.model.names)))
        for row_D, option in zip(fixed_OD, self.options, strict=True):
            row_D[CONTEXT] = option.log_p
            row_D[DELETION] = self.search.deletion_cost * (option.unit == DELETED)
        return fixed_OD

    @cached_property
    def future_n(self) -> list[float]:
        """The best score of each word without a history, 0 for one without options; zeros without `future_cost`."""
        lm, ends = self.model.lm, self.offsets_n1
        if not self.search.future_cost:
            return [0.0] * len(self.words)
        alone = [lm.score_words(lm.empty_state, option.ids)[0] for option in self.options]
        score_O = (self._own_O + self.weights_D[LM] * np.array(alone)).tolist()
        return [max(score_O[first:end], default=0.0) for first, end in pairwise(ends)]

    def future(self, state: LatticeState) -> float:
        """The summed estimates of all words that are not done."""
        first, n = first_open(state[0]), len(self.words)
        if first >= n:
            return 0.0
        behind = min(n, first + self.search.window)
        open_words = (self.future_n[at] for at in range(first, behind) if not state[0] >> at & 1)
        return self._future_from[behind] + sum(open_words)

    @cached_property
    def _future_from(self) -> list[float]:
        """The summed estimates of all words from each position on."""
        return [*accumulate(reversed(self.future_n), initial=0.0)][::-1]

    def coverage(self, state: LatticeState) -> int:
        return state[0]

    def expand(self, state: LatticeState) -> Iterator[Move[LatticeState]]:
        n, (covered, lm_state) = len(self.words), state
        first = first_open(covered)
        if first == n:
            score = float(self.weights_D[LM]) * self.end_logprob(lm_state)
            yield Move(((1 << self.levels) - 1, 0), self.levels, score, END_LABEL)
            return
        count = covered.bit_count() + 1
        for position in range(first, min(n, first + self.search.window)):
            bit = 1 << position
            if not covered & bit:
                for label, score, after in self._arcs(lm_state, position):
                    if self.model.placed is not None:
                        score += float(self.weights_D[PLACE]) * self.place(label, count - 1)
                    yield Move((covered | bit, after), count, score, label)

    def place(self, label: int, covered: int) -> float:
        """What an option scores when it is placed after `covered` words."""
        assert self.model.placed is not None
        shift = shift_of(self.model.placed.reach, covered, self.options[label].position)
        return float(self.place_OR[label, shift])

    def features(self, graph: ArcGraph, label_A: Ints32) -> Floats:
        """The features of arcs, shape (A, D); all ways to a node must share their history and number of words."""
        # The last row is the end of the sentence.
        dense_AD = np.append(self.fixed_OD, np.zeros((1, len(self.model.names))), axis=0)[label_A]
        history_N, covered_N = {0: self.start[1]}, {0: 0}
        arcs = zip(graph.source_A.tolist(), graph.target_A.tolist(), label_A.tolist(), strict=True)
        for arc, (source, target, label) in enumerate(arcs):
            if label == END_LABEL:
                dense_AD[arc, LM] = self.end_logprob(history_N[source])
                continue
            dense_AD[arc, LM], history_N[target] = self.language(history_N[source], label)
            covered_N[target] = covered_N[source] + 1
            if self.model.placed is not None:
                dense_AD[arc, PLACE] = self.place(label, covered_N[source])
        return dense_AD

    def words_of(self, label: int) -> Words:
        return () if label == END_LABEL else self.options[label].words

    @cached_property
    def language(self) -> Callable[[int, int], tuple[float, int]]:
        """ln p of an option's words after a history, and the history after them; by history and label."""
        return cache(lambda lm_state, label: self.model.lm.score_words(lm_state, self.options[label].ids))

    def end_logprob(self, lm_state: int) -> float:
        """ln p(</s> | history)."""
        return self.model.lm.score(lm_state, END_ID)[0]

    @cached_property
    def _arcs(self) -> Callable[[int, int], list[tuple[int, float, int]]]:
        """The options of a word after a history, with the score of each and the history after it; valid at any time."""
        weight = float(self.weights_D[LM])

        def arcs(lm_state: int, position: int) -> list[tuple[int, float, int]]:
            said = [(label, *self.language(lm_state, label)) for label in self.cell(position)]
            return [(label, float(self._own_O[label]) + weight * logprob, after) for label, logprob, after in said]

        return cache(arcs)

    @cached_property
    def _own_O(self) -> Floats:
        return self.fixed_OD @ self.weights_D


def first_open(covered: int) -> int:
    """The lowest bit that is not set."""
    return (~covered & (covered + 1)).bit_length() - 1


@dataclass(frozen=True)
class LcsStep(Step):
    """A source word and what became of it; `log_p` is ln p of the block in its sentence."""

    log_p: float = 0.0


class LcsDecoder(System[LatticeMoves, LcsSearch]):
    """Lattice construction and scoring (Kolachina et al. 2010, section 4.1).

    Translates sentences into the sequences of predicted blocks of the highest score

        w_LM · ln p_LM(e_1 … e_m </s>)  +  w_Context · Σ_i ln p(block i | sentence)  +  w_Deletion · cost · deletions

    over the orders that the window allows, plus w_Displacement · Σ_i ln p(place of block i | sentence) where the model
    has that; the paper scores with the language model alone. There is only the readable search.

    Args:
        model: the classifier and the language model.
        weights_D: of `LcsModel.names`, shape (D,).
        search: settings.
        fast: has no effect.

    Raises:
        InputError: weights of another shape or not finite.
    """

    PARTS = ("model", "weights_D", "search", "fast")
    LONGEST = 32_767

    def __init__(self, model: LcsModel, weights_D: Floats, search: LcsSearch, fast: bool = True) -> None:
        self.model, self.search, self.fast = model, search, fast
        self._weights_D = checked_weights(weights_D, len(model.names))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The language model, the predictions, the deletions, and the places if they are considered."""
        return self.model.names

    @property
    def weights_D(self) -> Floats:
        return self._weights_D

    @property
    def target_vocabulary(self) -> Vocabulary:
        return self.model.target_vocabulary

    def with_weights(self, weights: Weights) -> LcsDecoder:
        return self.changed(weights_D=weights.dense_D)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> LatticeMoves:
        """The moves; the options of every word are predicted blocks and a term, or the word itself if there are none;
        and deletion. A hard term is the only option.

        With a target, they are all predicted blocks that occur in it, however improbable.
        """
        self.check_length(words)
        model, search = self.model, self.search
        allowed = None if target is None else phrases_in(target)
        rows, offsets, terms = list[tuple[int, int, float, Words]](), [0], terms_in(words)
        for position, found in enumerate(_predicted(model, search, words, allowed)):
            own = [unit for start, end, unit in terms if (start, end) == (position, position + 1)]
            if found is None and not own:
                own = [COPIED]
            hard = is_hard(words[position])
            if not hard:
                rows += ((position, pair, log, model.target(pair)) for pair, log in found or ())
            rows += ((position, unit, 0.0, own_target(words, unit, position)) for unit in own)
            if search.deletions and not hard:
                rows.append((position, DELETED, 0.0, ()))
            offsets.append(len(rows))
        options = [LatticeOption(*row, model.lm.vocabulary.ids(row[-1])) for row in rows]
        place_OR = np.zeros((len(options), 0))
        if model.placed is not None:
            position_O = np.array([option.position for option in options], np.int32)
            unit_O = np.array([option.unit for option in options], np.int64)
            place_OR = model.placed.of(SentencePhrases(words, position_O, position_O + 1, unit_O))
        return LatticeMoves(model, self.weights_D, search, tuple(words), offsets, options, place_OR)

    def derivation(self, space: LatticeMoves, labels: Sequence[int]) -> Derivation[LcsStep]:
        steps = list[LcsStep]()
        # A search that did not reach the end has no labels.
        label_L = np.array([*labels, END_LABEL] if labels else [], np.int32)
        place_L = np.arange(len(label_L) + 1, dtype=np.int32)
        for label in labels:
            at, unit, log_p, words, _ = space.options[label]
            side = side_of(steps[-1].source_span if steps else None, (at, at + 1))
            steps.append(LcsStep(unit, ((at, at + 1),), words, side, log_p))
        graph = ArcGraph(place_L[:-1], place_L[1:], len(place_L))
        sums_D = space.features(graph, label_L).sum(axis=0)
        return Derivation(space.words, tuple(steps), sums_D, float(self.weights_D @ sums_D))

    def arc_features(self, space: LatticeMoves, found: LatticeArcs) -> LatticeArcs:
        return found._replace(dense_AD=space.features(found.graph, found.label_A))

    def shown_steps(self, source: Sequence[str], derivation: Derivation[LcsStep]) -> Iterator[str]:
        for step in derivation.steps:
            known = f"p {np.exp(step.log_p):.3g}" if step.unit >= 0 else "(term)"
            said = {COPIED: "(copied)", DELETED: "(left out)"}.get(step.unit, known)
            yield f"{step.shown(source)}  {said}"


def language_alone(names: tuple[str, ...] = NAMES) -> Weights:
    """The weights of the paper: the language model's score and the costs of deletions, unscaled."""
    dense_D = np.zeros(len(names))
    dense_D[LM], dense_D[DELETION] = 1.0, -1.0
    return Weights(dense_D, np.zeros(0), names)


@dataclass(frozen=True)
class TunedLcs(TunedSystem):
    """The lattice decoder; the weight of deletions is tuned where there are any."""

    @property
    def trained_D(self) -> Bools:
        """All, except that of deletions if the search has none."""
        trained_D = np.ones(len(self.system.feature_names), np.bool_)
        trained_D[DELETION] = self.system.search.deletions
        return trained_D

    @property
    def uniform(self) -> Weights:
        """Equal weights for everything that is tuned; deletions cost."""
        dense_D = np.where(self.trained_D, 1.0 / self.trained_D.sum(), 0.0)
        dense_D[DELETION] *= -1.0
        return Weights(dense_D, np.zeros(0), self.system.feature_names)


class Lcs(Kind):
    """Predicted blocks, permuted in a window (Kolachina et al. 2010, section 4.1)."""

    name = "lcs"
    untrained = True
    without_lists = ("the lattice decoder has no sparse features", "loss=mira or another tuner")

    def open(
        self,
        run: Path,
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
    ) -> LcsDecoder:
        """The decoder of a run's weights over its classifier."""
        held, context = weights.sets.get(Lcs.name), config.model.context
        names = NAMES if context is None or context.distortion is None else (*NAMES, DISPLACEMENT_NAME)
        if held is None or held.dense_names != names:
            seen = None if held is None else " ".join(held.dense_names)
            raise InputError("not the weights of a lattice decoder", seen, " ".join(names), file=run)
        check_predicted_by(config.model, weights)
        return LcsDecoder(lcs_model(config.model, work), held.dense_D, config.decoder)

    def check(self, model: Any) -> None:
        """The classifiers must be trained."""
        check_use(model.context)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The weights; without a tuner, those of the language model alone."""
        model, tune = lcs_model(config.model, work), config.tune
        alone = language_alone(model.names)
        decoder = LcsDecoder(model, alone.dense_D, config.decoder)
        tuned = TunedLcs(decoder, 1 if tune is None else tune.processes)
        start = alone if tune is None else tuned.uniform
        if tune is not None and tune.start == "base":
            start = weights_of(config.base_run).sets[Lcs.name]
        metadata = {**made_of(config, work), **predicted_by(config.model)}
        return ToTune(tuned, start, lambda weights: Saved({Lcs.name: weights}, {}, {}), metadata)


def lcs_model(settings: LcsModelConfig, work: WorkDirectory | None) -> LcsModel:
    """The classifiers that the settings name, and the language model of the work directory.

    Raises:
        InputError: there is no work directory, or as `context_model` and `distance_model`.
    """
    use = settings.context
    work = needed(work if use is not None else None, settings)
    assert use is not None
    placed = None if use.distortion is None else PredictedPlaces(distance_model(Path(use.distortion), work))
    return LcsModel(context_model(Path(use.run), work), work.target_vocabulary, work.lm, placed)

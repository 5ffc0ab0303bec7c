"""What a hypothesis of a decoder over blocks may do next: the readable search spaces, and their steps taken down."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.spans import phrase_costs, span_futures
from xlate.models.block.model import LM_FIRST, LM_REST, BlockLexicon, BlockModel
from xlate.models.block.options import SentenceOptions, SpanOptions, linked_weights
from xlate.models.derivation import COPIED, END, Derivation, Span, Step
from xlate.search.beam import Move, SearchSpace, State
from xlate.search.graph import END_LABEL
from xlate.search.settings import BlockSearch, BlocksSearch
from xlate.text.vocabulary import END_ID

NO_BLOCK = -1


@dataclass(frozen=True)
class BlockStep(Step):
    """One block of a derivation with its part of the score.

    The unit is the block's number; orientation is RIGHT for the end, whose weights are the linked ones.

    Attributes:
        predecessor: the block before it, negative when there is none or it is none.
        floats: costs, natural logs; of the orientation model (a)-(e), (a) divided by the source phrase's length. The
            optional ones stand behind the model's own.
        weights: the weights they are multiplied with.
        sparse: name and weight of each binary feature that has a weight.
        normalizer: what the partition subtracts; 0 when it is off.
        score: Σ weights · floats + sparse_score - normalizer, up to rounding.
    """

    predecessor: int = NO_BLOCK
    floats: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    sparse: tuple[tuple[str, float], ...] = ()
    normalizer: float = 0.0
    score: float = 0.0

    @property
    def sparse_score(self) -> float:
        """The summed weights of the binary features."""
        return sum(weight for _, weight in self.sparse)


BlockDerivation = Derivation[BlockStep]


def float_totals(steps: Iterable[BlockStep], size: int) -> tuple[Floats, Floats]:
    """The summed floats of L and R steps (the end among them) and of N steps, each of shape (size,)."""
    linked_D, neutral_D = np.zeros(size), np.zeros(size)
    for step in steps:
        total_D = neutral_D if step.orientation == NEUTRAL else linked_D
        total_D += step.floats
    return linked_D, neutral_D


@dataclass(frozen=True)
class SpanMoves(SearchSpace[State]):
    """The search space over one sentence of a model over blocks; an option has `LABELS` labels, -1 is the end."""

    LABELS: ClassVar[int] = 1

    model: BlockLexicon
    search: BlocksSearch
    options: SpanOptions

    @property
    def local(self) -> bool:
        """Whether scores are shares of those of a span's options."""
        return False

    @property
    @abstractmethod
    def linked(self) -> Floats:
        """The weights of floats, of L and R steps and the end where these have their own."""

    @abstractmethod
    def step(self, state: State, label: int, before: BlockStep | None) -> tuple[BlockStep, State]:
        """One block taken apart, and the state behind it."""

    @staticmethod
    @abstractmethod
    def features(steps: Sequence[BlockStep], size: int) -> Floats:
        """The features of a derivation of these steps with `size` floats."""

    @property
    def levels(self) -> int:
        return len(self.options.words) + 1

    @cached_property
    def context_O(self) -> Ints32:
        """What is remembered of each option's block; see `BlockLexicon.contexts`."""
        return self.model.contexts.standing(self.options.block_O)

    @cached_property
    def future_nn(self) -> Floats:
        """Estimates of the score of every span on its own, shape (n + 1, n + 1); zeros when `future_cost` is off.

        The best sum of options from an empty history, without orientation, jumps and block bigrams. Where scores are
        shares each option counts as its share of the options of its span.
        """
        if not self.search.future_cost:
            return np.zeros((self.levels, self.levels))
        options, n = self.options, len(self.options.words)
        found: Floats = span_futures(n, options.longest, options.cell_offsets_C1, options.alone_O, self.local)
        return found

    def option(self, label: int) -> int:
        """The option of a label, -1 for the end."""
        return -1 if label == END_LABEL else label // self.LABELS

    def span(self, option: int) -> Span:
        """The source words of an option."""
        return int(self.options.start_O[option]), int(self.options.end_O[option])

    def words_of(self, label: int) -> tuple[str, ...]:
        if label == END_LABEL:
            return ()
        option = label // self.LABELS
        known = self._words_by_option.get(option)
        if known is None:
            block, start = int(self.options.block_O[option]), int(self.options.start_O[option])
            known = self.options.words[start : start + 1] if block == COPIED else self.model.target_words(block)
            self._words_by_option[option] = known
        return known

    @cached_property
    def _words_by_option(self) -> dict[int, tuple[str, ...]]:
        return {}

    def lm_costs(self, lm_state: int, option: int) -> tuple[float, float, int]:
        """(c) and (d) of an option after a history, and the history behind it."""
        words_W, offsets_O1 = self.options.phrase_words_W, self.options.phrase_offsets_O1
        costs: tuple[float, float, int] = phrase_costs(self.model.lm.arrays, words_W, offsets_O1, option, lm_state)
        return costs

    def end_cost(self, lm_state: int) -> float:
        """-ln p(</s> | history), 0 when it is not to count."""
        return -self.model.lm.score(lm_state, END_ID)[0] if self.search.end_of_sentence else 0.0

    def placed(self, label: int, before: BlockStep | None, *, asks: bool = True, **parts: Any) -> BlockStep:
        """A block in its place, with these parts of its score; it has features with the block before if it `asks`."""
        option, last = self.option(label), NO_BLOCK if before is None else before.unit
        block = int(self.options.block_O[option])
        return BlockStep(
            unit=block,
            source_spans=(self.span(option),),
            target_words=self.words_of(label),
            predecessor=last,
            sparse=self.model.features_of(last, block) if asks else (),
            **parts,
        )

    def derivation(self, labels: Iterable[int]) -> BlockDerivation:
        """Walks the search space along the labels of a path, taking down the parts of every score."""
        state: Any = self.start
        steps: list[BlockStep] = []
        for label in labels:
            before = steps[-1] if steps else None
            if label == END_LABEL:
                if self.search.end_of_sentence:
                    steps.append(self._end_step(self.end_cost(state.lm_state), before))
                break
            step, state = self.step(state, label, before)
            steps.append(step)
        score = 0.0
        for step in steps:
            score += step.score
        features = partial(self.features, steps, len(self.model.float_names))
        return Derivation(self.options.words, tuple(steps), features, score)

    def _end_step(self, cost: float, before: BlockStep | None) -> BlockStep:
        words, weights_D = len(self.options.words), self.linked
        return BlockStep(
            unit=END,
            source_spans=((words, words),),
            target_words=(),
            orientation=RIGHT,
            predecessor=NO_BLOCK if before is None else before.unit,
            floats=tuple(cost if d == LM_FIRST else 0.0 for d in range(len(weights_D))),
            weights=tuple(weights_D.tolist()),
            score=float(weights_D[LM_FIRST] * cost),
        )


class BlockState(NamedTuple):
    """All that a continuation depends on.

    Source words before `frontier` are covered, but for the gap `gap_start` to `gap_end` (0, 0 when there is none).
    `adjacent`: the last block ends at the frontier, so that the next one there is its right neighbour. `context` stands
    for the last block when the next step may have a weighted feature with it, else it is `NO_BLOCK`. The one state
    behind the end of the sentence has a frontier beyond it.
    """

    frontier: int
    gap_start: int
    gap_end: int
    adjacent: bool
    context: int
    lm_state: int


@dataclass(frozen=True)
class BlockMoves(SpanMoves[BlockState]):
    """The search space over one sentence; a label is option · 3 + orientation, -1 the end.

    From frontier i a block may cover [i, k): orientation R when the last block ended at i, else N. With swaps a block
    may also cover [j, k) with j > i, orientation N; then exactly one block fills the gap [i, j), orientation L, and
    the block after that starts at k with orientation N (TZ07 Figure 1: N, L, N, R).
    """

    LABELS = 3

    model: BlockModel
    search: BlockSearch
    options: SentenceOptions

    @property
    def start(self) -> BlockState:
        return BlockState(0, 0, 0, False, NO_BLOCK, int(self.model.lm.begin_state))

    @property
    def local(self) -> bool:
        return self.search.partition != "off"

    @cached_property
    def linked(self) -> Floats:
        return linked_weights(self.model, self.search)

    @cached_property
    def neutral(self) -> Floats:
        """The weights of N steps."""
        return np.array(self.model.neutral, dtype=np.float64)

    def future(self, state: BlockState) -> float:
        """The estimate for the gap and for what is behind the frontier."""
        n = len(self.options.words)
        if state.frontier > n:
            return 0.0
        return float(self.future_nn[state.gap_start, state.gap_end] + self.future_nn[state.frontier, n])

    def expand(self, state: BlockState) -> Iterator[Move[BlockState]]:
        n, frontier, longest = len(self.options.words), state.frontier, self.options.longest
        if state.gap_end:
            yield from self._place(state, state.gap_start, state.gap_end, LEFT)
            return
        if frontier == n:
            after = BlockState(self.levels, 0, 0, False, NO_BLOCK, 0)
            yield Move(after, self.levels, float(self.linked[LM_FIRST] * self.end_cost(state.lm_state)), END_LABEL)
            return
        orientation = RIGHT if state.adjacent else NEUTRAL
        for end in range(frontier + 1, min(n, frontier + longest) + 1):
            yield from self._place(state, frontier, end, orientation)
        if not self.search.swaps:
            return
        for begin in range(frontier + 1, min(n - 1, frontier + longest) + 1):
            if any(self.options.left_O[option] for option in self.options.cell(frontier, begin)):
                for end in range(begin + 1, min(n, begin + longest) + 1):
                    yield from self._place(state, begin, end, NEUTRAL)

    def _place(self, state: BlockState, begin: int, end: int, orientation: int) -> Iterator[Move[BlockState]]:
        """Every option of one source span with one orientation."""
        cell = self.options.cell(begin, end)
        scores, lm_states = self._cell_scores(state, cell, orientation)
        normalizer = self._normalizer(scores)
        for option, score, lm_state in zip(cell, scores, lm_states, strict=True):
            if orientation != LEFT or self.options.left_O[option]:
                after = self._after(state, option, orientation, lm_state)
                covered = after.frontier - (after.gap_end - after.gap_start)
                yield Move(after, covered, score - normalizer, option * 3 + orientation)

    def _cell_scores(self, state: BlockState, cell: range, orientation: int) -> tuple[list[float], list[int]]:
        """w·f of all options of a span without the normaliser, and the histories behind them."""
        scores, lm_states = [], []
        for option in cell:
            first, rest, lm_state = self.lm_costs(state.lm_state, option)
            scores.append(self._score(state.context, option, orientation, first, rest))
            lm_states.append(lm_state)
        return scores, lm_states

    def _score(self, context: int, option: int, orientation: int, first: float, rest: float) -> float:
        weights = self.neutral if orientation == NEUTRAL else self.linked
        score = float(self.options.static_O3[option, orientation] + weights[LM_FIRST] * first + weights[LM_REST] * rest)
        if orientation != NEUTRAL:
            score += self.model.features_weight(context, int(self.options.block_O[option]))
        return score

    def _normalizer(self, scores: list[float]) -> float:
        """What the partition subtracts from each of a span's scores; 0 when it is off."""
        if not self.local or not scores:
            return 0.0
        top = max(scores)
        total = 0.0
        for score in scores:
            total += math.exp(score - top)
        return top + math.log(total)

    def _after(self, state: BlockState, option: int, orientation: int, lm_state: int) -> BlockState:
        """The state behind an option, `lm_state` being the history behind it."""
        begin, end = self.span(option)
        if orientation == LEFT:
            return BlockState(state.frontier, 0, 0, False, NO_BLOCK, lm_state)
        context = int(self.context_O[option])
        if begin > state.frontier:
            return BlockState(end, state.frontier, begin, False, context, lm_state)
        return BlockState(end, 0, 0, True, context, lm_state)

    def step(self, state: BlockState, label: int, before: BlockStep | None) -> tuple[BlockStep, BlockState]:
        options, (option, orientation) = self.options, divmod(label, 3)
        first, rest, lm_state = self.lm_costs(state.lm_state, option)
        normalizer, linked = 0.0, orientation != NEUTRAL
        if self.local:
            normalizer = self._normalizer(self._cell_scores(state, options.cell(*self.span(option)), orientation)[0])
        own = options.unigram_O[option], options.orientation_O3[option, orientation], first, rest
        step = self.placed(
            label,
            before,
            orientation=orientation,
            floats=(*map(float, own), float(options.lexical_O[option]), *options.more_OX[option].tolist()),
            weights=tuple((self.linked if linked else self.neutral).tolist()),
            asks=linked,
            normalizer=normalizer,
            score=self._score(state.context, option, orientation, first, rest) - normalizer,
        )
        return step, self._after(state, option, orientation, lm_state)

    @staticmethod
    def features(steps: Sequence[BlockStep], size: int) -> Floats:
        """Summed floats of L and R steps, of N steps, the binary features' weights, minus the normalizers."""
        sums = sum(step.sparse_score for step in steps), -sum(step.normalizer for step in steps)
        return np.concatenate([*float_totals(steps, size), sums])

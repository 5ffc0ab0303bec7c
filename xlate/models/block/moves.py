"""What a hypothesis of the block decoder may do next: the readable form of the search space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.spans import phrase_costs
from xlate.models.block.model import LM_FIRST, LM_REST, BlockModel
from xlate.models.block.options import SentenceOptions, future_scores, linked_weights
from xlate.models.block.settings import BlockSearch
from xlate.models.derivation import COPIED
from xlate.search.space import END_LABEL, Move, SearchSpace
from xlate.text.vocabulary import END_ID

NO_BLOCK = -1


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
class BlockMoves(SearchSpace[BlockState]):
    """The search space over one sentence; a label is option · 3 + orientation, -1 the end.

    From frontier i a block may cover [i, k): orientation R when the last block ended at i, else N. With swaps a block
    may also cover [j, k) with j > i, orientation N; then exactly one block fills the gap [i, j), orientation L, and
    the block after that starts at k with orientation N (TZ07 Figure 1: N, L, N, R).
    """

    model: BlockModel
    search: BlockSearch
    options: SentenceOptions

    @property
    def start(self) -> BlockState:
        """Nothing covered, the history `<s>`."""
        return BlockState(0, 0, 0, False, NO_BLOCK, int(self.model.lm.begin_state))

    @property
    def levels(self) -> int:
        """Coverage of the goal: one more than the words of the sentence."""
        return len(self.options.words) + 1

    @cached_property
    def linked(self) -> Floats:
        """The weights of L and R steps in this search."""
        return linked_weights(self.model, self.search)

    @cached_property
    def neutral(self) -> Floats:
        """The weights of N steps."""
        return np.array(self.model.neutral, dtype=np.float64)

    @cached_property
    def context_O(self) -> Ints32:
        """What is remembered of each option's block; see `BlockLexicon.contexts_of`."""
        return self.model.contexts_of(self.options.block_O)

    @cached_property
    def future_nn(self) -> Floats:
        """Estimates of the score of every span, shape (n + 1, n + 1); zeros when `future_cost` is off."""
        if not self.search.future_cost:
            return np.zeros((self.levels, self.levels))
        return future_scores(self.options, local=self.search.partition == "local")

    def future(self, state: BlockState) -> float:
        """The estimate for the gap and for what is behind the frontier."""
        n = len(self.options.words)
        if state.frontier > n:
            return 0.0
        return float(self.future_nn[state.gap_start, state.gap_end] + self.future_nn[state.frontier, n])

    def expand(self, state: BlockState) -> Iterator[Move[BlockState]]:
        """All moves from a state."""
        n, frontier, longest = len(self.options.words), state.frontier, self.options.longest
        if state.gap_end:
            yield from self._place(state, state.gap_start, state.gap_end, LEFT)
            return
        if frontier == n:
            yield self._end(state)
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

    def option(self, label: int) -> int:
        """The option of a label, -1 for the end."""
        return -1 if label == END_LABEL else label // 3

    def words_of(self, label: int) -> tuple[str, ...]:
        """The target words of a label."""
        return () if label == END_LABEL else self.option_words(label // 3)

    def option_words(self, option: int) -> tuple[str, ...]:
        """The target words of an option."""
        known = self._words_by_option.get(option)
        if known is None:
            block, start = int(self.options.block_O[option]), int(self.options.start_O[option])
            known = self.options.words[start : start + 1] if block == COPIED else tuple(self.model.target_words(block))
            self._words_by_option[option] = known
        return known

    @cached_property
    def _words_by_option(self) -> dict[int, tuple[str, ...]]:
        return {}

    def lm_costs(self, lm_state: int, option: int) -> tuple[float, float, int]:
        """(c) and (d) of an option after a history, and the history behind it."""
        options = self.options
        costs: tuple[float, float, int] = phrase_costs(
            self.model.lm.arrays, options.phrase_words_W, options.phrase_offsets_O1, option, lm_state
        )
        return costs

    def step_score(self, context: int, option: int, orientation: int, first: float, rest: float) -> float:
        """w·f of one step, without the normaliser."""
        weights = self.neutral if orientation == NEUTRAL else self.linked
        score = float(self.options.static_O3[option, orientation] + weights[LM_FIRST] * first + weights[LM_REST] * rest)
        if orientation != NEUTRAL:
            score += self.model.features_weight(context, int(self.options.block_O[option]))
        return score

    def cell_scores(self, state: BlockState, cell: range, orientation: int) -> tuple[list[float], list[int]]:
        """w·f of all options of a span, and the histories behind them."""
        scores, lm_states = [], []
        for option in cell:
            first, rest, lm_state = self.lm_costs(state.lm_state, option)
            scores.append(self.step_score(state.context, option, orientation, first, rest))
            lm_states.append(lm_state)
        return scores, lm_states

    def normalizer(self, scores: list[float]) -> float:
        """What the partition subtracts from each of a span's scores; 0 when it is off."""
        if self.search.partition == "off" or not scores:
            return 0.0
        top = max(scores)
        total = 0.0
        for score in scores:
            total += math.exp(score - top)
        return top + math.log(total)

    def after(self, state: BlockState, option: int, orientation: int, lm_state: int) -> BlockState:
        """The state behind an option, `lm_state` being the history behind it."""
        begin, end = int(self.options.start_O[option]), int(self.options.end_O[option])
        if orientation == LEFT:
            return BlockState(state.frontier, 0, 0, False, NO_BLOCK, lm_state)
        context = int(self.context_O[option])
        if begin > state.frontier:
            return BlockState(end, state.frontier, begin, False, context, lm_state)
        return BlockState(end, 0, 0, True, context, lm_state)

    def _place(self, state: BlockState, begin: int, end: int, orientation: int) -> Iterator[Move[BlockState]]:
        """Every option of one source span with one orientation."""
        cell = self.options.cell(begin, end)
        scores, lm_states = self.cell_scores(state, cell, orientation)
        normalizer = self.normalizer(scores)
        for option, score, lm_state in zip(cell, scores, lm_states, strict=True):
            if orientation != LEFT or self.options.left_O[option]:
                after = self.after(state, option, orientation, lm_state)
                covered = after.frontier - (after.gap_end - after.gap_start)
                yield Move(after, covered, score - normalizer, option * 3 + orientation)

    def _end(self, state: BlockState) -> Move[BlockState]:
        score = 0.0
        if self.search.end_of_sentence:
            score = float(self.linked[LM_FIRST] * -self.model.lm.score(state.lm_state, END_ID)[0])
        return Move(BlockState(self.levels, 0, 0, False, NO_BLOCK, 0), self.levels, score, END_LABEL)

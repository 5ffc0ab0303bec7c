"""What a hypothesis of the phrase-distortion decoder may do next: the readable form of the search space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints32
from xlate.kernels.search.spans import phrase_costs, span_futures
from xlate.models.block.moves import NO_BLOCK
from xlate.models.block.steps import BlockDerivation, BlockStep, end_step, float_totals, scored
from xlate.models.derivation import COPIED, Span, side_of
from xlate.models.distortion.model import LM_FIRST, LM_REST, DistortionModel
from xlate.models.distortion.options import JumpOptions
from xlate.models.distortion.settings import DistortionSearch
from xlate.search.space import END_LABEL, Move, SearchSpace
from xlate.text.vocabulary import END_ID


class JumpState(NamedTuple):
    """All that a continuation depends on: covered words, end of the last block, stand-in for it, history.

    Before the first block the end is 0; the one state behind the end of the sentence has covered None.
    """

    covered: frozenset[int] | None
    last: int
    context: int
    lm_state: int


@dataclass(frozen=True)
class JumpMoves(SearchSpace[JumpState]):
    """The search space over one sentence. Labels are option numbers, -1 the end.

    A block may cover any uncovered span after which the rightmost covered word lies less than `window` behind the first
    uncovered one and at most `max_skips` maximal intervals before it are uncovered (A10).
    """

    model: DistortionModel
    search: DistortionSearch
    options: JumpOptions

    @property
    def start(self) -> JumpState:
        """Nothing covered, the history `<s>`."""
        return JumpState(frozenset(), 0, NO_BLOCK, int(self.model.lm.begin_state))

    @property
    def levels(self) -> int:
        """Coverage of the goal: one more than the words of the sentence."""
        return len(self.options.words) + 1

    @cached_property
    def context_O(self) -> Ints32:
        """What is remembered of each option's block; see `BlockLexicon.contexts_of`."""
        return self.model.contexts_of(self.options.block_O)

    @cached_property
    def future_nn(self) -> Floats:
        """Estimates of the score of every span without jumps and binary features; zeros when `future_cost` is off."""
        if not self.search.future_cost:
            return np.zeros((self.levels, self.levels))
        options = self.options
        futures: Floats = span_futures(
            len(options.words), options.longest, options.cell_offsets_C1, options.alone_O, False
        )
        return futures

    def future(self, state: JumpState) -> float:
        """The estimates of all uncovered intervals."""
        if state.covered is None:
            return 0.0
        total = 0.0
        for begin, end in intervals(state.covered, len(self.options.words)):
            total += float(self.future_nn[begin, end])
        return total

    def coverage(self, state: JumpState) -> frozenset[int] | None:
        """What coverage pruning groups by."""
        return state.covered

    def expand(self, state: JumpState) -> Iterator[Move[JumpState]]:
        """All moves from a state."""
        assert state.covered is not None
        n = len(self.options.words)
        if len(state.covered) == n:
            yield self._end(state)
            return
        for begin, end in self._spans(state.covered):
            covered = state.covered | set(range(begin, end))
            for option in self.options.cell(begin, end):
                score, lm_state = self.step_score(state, option)
                yield Move(self.after(state, option, lm_state), len(covered), score, option)

    def _spans(self, covered: frozenset[int]) -> Iterator[tuple[int, int]]:
        n = len(self.options.words)
        first = next(p for p in range(n) if p not in covered)
        for begin in range(first, min(n, first + self.search.window)):
            for end in range(begin + 1, min(n, begin + self.options.longest) + 1):
                if end - 1 in covered:
                    break
                if self._allowed(covered | set(range(begin, end))):
                    yield begin, end

    def _allowed(self, covered: frozenset[int]) -> bool:
        """The limits of skipped intervals and of the window."""
        rightmost = max(covered)
        skipped = list(intervals(covered, rightmost))
        return not skipped or (rightmost - skipped[0][0] < self.search.window and len(skipped) <= self.search.max_skips)

    def step_score(self, state: JumpState, option: int) -> tuple[float, int]:
        """w·f of one step, and the history behind it."""
        first, rest, lm_state = self.lm_costs(state.lm_state, option)
        weights, options = self.model.weights, self.options
        score = float(options.static_O[option] + options.jump_1n[state.last, options.start_O[option]])
        score += float(weights[LM_FIRST] * first + weights[LM_REST] * rest)
        return score + self.model.features_weight(state.context, int(options.block_O[option])), lm_state

    def lm_costs(self, lm_state: int, option: int) -> tuple[float, float, int]:
        """(c) and (d) of an option after a history, and the history behind it."""
        options = self.options
        costs: tuple[float, float, int] = phrase_costs(
            self.model.lm.arrays, options.phrase_words_W, options.phrase_offsets_O1, option, lm_state
        )
        return costs

    def after(self, state: JumpState, option: int, lm_state: int) -> JumpState:
        """The state behind an option, `lm_state` being the history behind it."""
        assert state.covered is not None
        begin, end = int(self.options.start_O[option]), int(self.options.end_O[option])
        return JumpState(state.covered | set(range(begin, end)), end, int(self.context_O[option]), lm_state)

    def option(self, label: int) -> int:
        """The option of a label, -1 for the end."""
        return label

    def words_of(self, label: int) -> tuple[str, ...]:
        """The target words of a label."""
        if label == END_LABEL:
            return ()
        block, start = int(self.options.block_O[label]), int(self.options.start_O[label])
        return self.options.words[start : start + 1] if block == COPIED else tuple(self.model.target_words(block))

    def _end(self, state: JumpState) -> Move[JumpState]:
        score = self.end_cost(state.lm_state) * float(self.model.weights[LM_FIRST])
        return Move(JumpState(None, 0, NO_BLOCK, 0), self.levels, score, END_LABEL)

    def end_cost(self, lm_state: int) -> float:
        """-ln p(</s> | history), 0 when it is not to count."""
        return -self.model.lm.score(lm_state, END_ID)[0] if self.search.end_of_sentence else 0.0


def intervals(covered: frozenset[int], n: int) -> Iterator[tuple[int, int]]:
    """The maximal uncovered intervals of n words, left to right."""
    begin = None
    for p in range(n + 1):
        if p < n and p not in covered:
            begin = p if begin is None else begin
        elif begin is not None:
            yield begin, p
            begin = None


def jump_features(steps: Sequence[BlockStep], size: int) -> Floats:
    """The summed floats, `size` of them, and the binary features' summed weights."""
    linked_D, neutral_D = float_totals(steps, size)
    return np.append(linked_D + neutral_D, sum(step.sparse_score for step in steps))


def read_jumps(moves: JumpMoves, labels: Iterable[int]) -> BlockDerivation:
    """Walks the search space along the labels of a path, taking down the parts of every score."""
    state, last = moves.start, NO_BLOCK
    before: Span | None = None
    steps: list[BlockStep] = []
    for label in labels:
        if label == END_LABEL:
            if moves.search.end_of_sentence:
                words, cost = len(moves.options.words), moves.end_cost(state.lm_state)
                steps.append(end_step(words, last, cost, np.asarray(moves.model.weights), LM_FIRST))
            break
        score, lm_state = moves.step_score(state, label)
        steps.append(_step(moves, state, label, last, score, before))
        before, last = steps[-1].source_span, int(moves.options.block_O[label])
        state = moves.after(state, label, lm_state)
    return scored(moves.options.words, steps, partial(jump_features, steps, len(moves.model.float_names)))


def _step(moves: JumpMoves, state: JumpState, option: int, last: int, score: float, before: Span | None) -> BlockStep:
    options, model = moves.options, moves.model
    begin, end, block = int(options.start_O[option]), int(options.end_O[option]), int(options.block_O[option])
    first, rest, _ = moves.lm_costs(state.lm_state, option)
    direct, model1, length = options.floats_O3[option].tolist()
    inbound, outbound = options.inbound_1n[state.last, begin], options.outbound_1n[state.last, begin]
    own = direct, model1, first, rest, float(inbound), float(outbound), length
    return BlockStep(
        unit=block,
        source_spans=((begin, end),),
        target_words=moves.words_of(option),
        orientation=side_of(before, (begin, end)),
        predecessor=last,
        source_words=options.words[begin:end],
        floats=(*own, *options.more_OX[option].tolist()),
        weights=tuple(np.asarray(model.weights).tolist()),
        sparse=model.features_of(last, block),
        score=score,
    )

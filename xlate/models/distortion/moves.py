"""What a hypothesis of the phrase-distortion decoder may do next: the readable form of the search space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats
from xlate.models.block.model import LM_FIRST, LM_REST
from xlate.models.block.moves import NO_BLOCK, BlockStep, SpanMoves, float_totals
from xlate.models.derivation import side_of
from xlate.models.distortion.model import DistortionModel, JumpOptions
from xlate.search.beam import Move
from xlate.search.graph import END_LABEL
from xlate.search.settings import DistortionSearch


class JumpState(NamedTuple):
    """All that a continuation depends on: covered words, end of the last block, stand-in for it, history.

    Before the first block the end is 0; the one state behind the end of the sentence has covered None.
    """

    covered: frozenset[int] | None
    last: int
    context: int
    lm_state: int


@dataclass(frozen=True)
class JumpMoves(SpanMoves[JumpState]):
    """The search space over one sentence. Labels are option numbers, -1 the end.

    A block may cover any uncovered span after which the rightmost covered word lies less than `window` behind the first
    uncovered one and at most `max_skips` maximal intervals before it are uncovered (A10).
    """

    model: DistortionModel
    search: DistortionSearch
    options: JumpOptions

    @property
    def start(self) -> JumpState:
        return JumpState(frozenset(), 0, NO_BLOCK, int(self.model.lm.begin_state))

    @property
    def linked(self) -> Floats:
        return np.asarray(self.model.weights)

    def future(self, state: JumpState) -> float:
        """The estimates of all uncovered intervals."""
        if state.covered is None:
            return 0.0
        total = 0.0
        for begin, end in intervals(state.covered, len(self.options.words)):
            total += float(self.future_nn[begin, end])
        return total

    def coverage(self, state: JumpState) -> frozenset[int] | None:
        return state.covered

    def expand(self, state: JumpState) -> Iterator[Move[JumpState]]:
        assert state.covered is not None
        if len(state.covered) == len(self.options.words):
            score = self.end_cost(state.lm_state) * float(self.model.weights[LM_FIRST])
            yield Move(JumpState(None, 0, NO_BLOCK, 0), self.levels, score, END_LABEL)
            return
        for begin, end in self._spans(state.covered):
            for option in self.options.cell(begin, end):
                score, after = self._scored(state, option, *self.lm_costs(state.lm_state, option))
                assert after.covered is not None
                yield Move(after, len(after.covered), score, option)

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

    def _scored(
        self, state: JumpState, option: int, first: float, rest: float, lm_state: int
    ) -> tuple[float, JumpState]:
        """w·f of one step with these costs of the language model, and the state behind it."""
        assert state.covered is not None
        weights, options, (begin, end) = self.model.weights, self.options, self.span(option)
        score = float(options.static_O[option] + options.jump_1n[state.last, begin])
        score += float(weights[LM_FIRST] * first + weights[LM_REST] * rest)
        score += self.model.features_weight(state.context, int(options.block_O[option]))
        covered = state.covered | set(range(begin, end))
        return score, JumpState(covered, end, int(self.context_O[option]), lm_state)

    def step(self, state: JumpState, label: int, before: BlockStep | None) -> tuple[BlockStep, JumpState]:
        options, place = self.options, (state.last, int(self.options.start_O[label]))
        first, rest, lm_state = self.lm_costs(state.lm_state, label)
        score, after = self._scored(state, label, first, rest, lm_state)
        direct, model1, length = options.floats_O3[label].tolist()
        jumps = float(options.inbound_1n[place]), float(options.outbound_1n[place])
        step = self.placed(
            label,
            before,
            orientation=side_of(None if before is None else before.source_span, self.span(label)),
            floats=(direct, model1, first, rest, *jumps, length, *options.more_OX[label].tolist()),
            weights=tuple(self.linked.tolist()),
            score=score,
        )
        return step, after

    @staticmethod
    def features(steps: Sequence[BlockStep], size: int) -> Floats:
        """The summed floats and the binary features' summed weights."""
        linked_D, neutral_D = float_totals(steps, size)
        return np.append(linked_D + neutral_D, sum(step.sparse_score for step in steps))


def intervals(covered: frozenset[int], n: int) -> Iterator[tuple[int, int]]:
    """The maximal uncovered intervals of n words, left to right."""
    begin = None
    for p in range(n + 1):
        if p < n and p not in covered:
            begin = p if begin is None else begin
        elif begin is not None:
            yield begin, p
            begin = None

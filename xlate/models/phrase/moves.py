"""What a hypothesis of the phrase decoder may do next: the readable form of the search space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats
from xlate.kernels.search.phrase_orientation import GroupScores
from xlate.models.derivation import COPIED, Step
from xlate.models.phrase.model import DISTORTION, LM, PhraseModel
from xlate.models.phrase.options import NO_FORWARD, PhraseOptions, selected_options
from xlate.models.phrase.orientation import Stack, adjacent_orientation, forward_orientation, refine, shift_reduce
from xlate.models.phrase.sentence_scores import shift_of
from xlate.models.phrase.settings import PhraseSearch
from xlate.search.forced_decoding import phrases_in
from xlate.search.space import END_LABEL, Move, SearchSpace
from xlate.text.vocabulary import END_ID

NOWHERE = -1


class PhraseState(NamedTuple):
    """All that a continuation depends on.

    Bit i of `covered` says that source word i is translated. `start` and `end` bound the last source span; a start
    whose left neighbour is covered counts as `NOWHERE`, for no phrase can end there any more. `forward` is the number
    of the last phrase's forward scores, `stack` the groups of phrases of the hierarchical model, else empty, `last` the
    kind of the last word when sparse features ask for it. All ways to translate every word are alike but for the
    history; the goal has one bit more.
    """

    covered: int
    start: int
    end: int
    forward: int
    lm_state: int
    stack: Stack
    last: int = 0


@dataclass(frozen=True)
class PhraseMoves(SearchSpace[PhraseState]):
    """The search space over one sentence. Labels are option numbers, -1 the end.

    A phrase may start at most `distortion_limit` words from the end of the one before it; one that does not start at
    the first gap must end at most that many words behind the gap (Moses's rule, so that a jump back is possible).
    """

    model: PhraseModel
    weights_D: Floats
    search: PhraseSearch
    options: PhraseOptions
    groups: GroupScores

    @property
    def start(self) -> PhraseState:
        """Nothing covered, the history `<s>`."""
        return PhraseState(0, NOWHERE, 0, NO_FORWARD, int(self.model.lm.begin_state), ())

    @property
    def levels(self) -> int:
        """Coverage of the goal: one more than the words of the sentence."""
        return len(self.options.words) + 1

    @cached_property
    def future_nn(self) -> Floats:
        """Estimates of the score of every span, shape (n + 1, n + 1); zeros when `future_cost` is off."""
        if not self.search.future_cost:
            return np.zeros((self.levels, self.levels))
        return self.options.future_nn()

    def gaps(self, covered: int) -> list[tuple[int, int]]:
        """The spans not covered, left to right."""
        n = len(self.options.words)
        edges = [i for i in range(n + 1) if _open(covered, i, n) != _open(covered, i - 1, n)]
        return list(zip(edges[::2], edges[1::2], strict=True))

    def future(self, state: PhraseState) -> float:
        """The estimate for every gap, and for the jumps when they are filled from left to right."""
        total, at = 0.0, state.end
        for begin, end in self.gaps(state.covered):
            total += float(self.future_nn[begin, end])
            if self.search.distortion_future:
                total -= float(self.weights_D[DISTORTION]) * abs(begin - at)
            at = end
        return total

    def expand(self, state: PhraseState) -> Iterator[Move[PhraseState]]:
        """All moves from a state."""
        n, limit = len(self.options.words), self.search.distortion_limit
        gaps = self.gaps(state.covered)
        if not gaps:
            yield self._end(state)
        for gap, gap_end in gaps:
            for begin in range(gap, gap_end):
                if limit is not None and abs(begin - state.end) > limit:
                    continue
                for end in range(begin + 1, min(gap_end, n, begin + self.options.longest) + 1):
                    if begin == gaps[0][0] or limit is None or end - gaps[0][0] <= limit:
                        yield from self._place(state, begin, end)

    def step(self, label: int) -> Step:
        """The phrase behind a label."""
        start, end = int(self.options.start_O[label]), int(self.options.end_O[label])
        return Step(int(self.options.pair_O[label]), ((start, end),), self.words_of(label))

    def words_of(self, label: int) -> tuple[str, ...]:
        """The target words of a label."""
        if label == END_LABEL:
            return ()
        known = self._words.get(label)
        if known is None:
            pair, start = int(self.options.pair_O[label]), int(self.options.start_O[label])
            known = self.options.words[start : start + 1] if pair == COPIED else self.model.target_words(pair)
            self._words[label] = known
        return known

    @cached_property
    def _words(self) -> dict[int, tuple[str, ...]]:
        return {}

    def _place(self, state: PhraseState, begin: int, end: int) -> Iterator[Move[PhraseState]]:
        """Every option of one source span."""
        options = self.options
        backward, forward = self._orientations(state, begin, end)
        jump = float(self.weights_D[DISTORTION]) * abs(begin - state.end)
        before = float(options.forward_FK[state.forward, forward]) - jump + self._group(state, begin, end, backward)
        for option in options.cell(begin, end):
            logprob, lm_state = self.model.lm.score_words(state.lm_state, options.phrase(option))
            score = float(options.static_O[option] + options.backward_OK[option, backward])
            if self.model.placed is not None:
                shift = shift_of(self.model.placed.reach, state.covered.bit_count(), begin)
                score += float(self.weights_D[self.model.place_slot] * options.place_OR[option, shift])
            if self._bigrams:
                score += float(self.groups.bigrams_RR[state.last, self.groups.first_O[option]])
            score += before + float(self.weights_D[LM]) * logprob
            after = self._after(state, begin, end, option, lm_state)
            yield Move(after, after.covered.bit_count(), score, option)

    @property
    def _bigrams(self) -> bool:
        return len(self.groups.bigrams_RR) > 0

    @property
    def _known(self) -> bool:
        return len(self.groups.first_O) > 0

    @property
    def _grouped(self) -> bool:
        return self._known and self.model.sparse is not None and self.model.sparse.has_groups

    def _orientations(self, state: PhraseState, begin: int, end: int) -> tuple[int, int]:
        """Orientation of a span with respect to what is before it, and of what is before with respect to it."""
        before, span = (state.start, state.end), (begin, end)
        backward = adjacent_orientation(before, span)
        if not self.model.hierarchical:
            return backward, backward
        backward, _ = shift_reduce(state.stack, span)
        forward = forward_orientation(before, span, lambda i: bool(state.covered >> i & 1))
        if self.model.orientations == 3:
            return backward, forward
        group_end = state.stack[-1].end if state.stack else 0
        gaps = self.gaps(state.covered)
        return (
            refine(backward, behind=begin >= group_end, everything=len(state.stack) < 2),
            refine(forward, behind=begin >= state.end, everything=len(gaps) == 1 and gaps[0][0] == state.end),
        )

    def _group(self, state: PhraseState, begin: int, end: int, o: int) -> float:
        """What the group before a span scores."""
        if not self._grouped:
            return 0.0
        scores, start, stop, first = self.groups, -1, 0, 0
        if state.stack:
            start, stop, first = state.stack[-1]
        total = scores.first_nK[start, o] + scores.last_nK[stop - 1, o]
        total += scores.first_RK[first, o] + scores.last_RK[state.last, o]
        for low, high in ((stop, begin), (end, start)):
            if low < high:
                total += scores.between_nK[high, o] - scores.between_nK[low, o]
        return float(total)

    def _after(self, state: PhraseState, begin: int, end: int, option: int, lm_state: int) -> PhraseState:
        n, forward = len(self.options.words), int(self.options.forward_O[option])
        last = int(self.groups.last_O[option]) if self._known else 0
        first = int(self.groups.first_O[option]) if self._grouped else 0
        stack = shift_reduce(state.stack, (begin, end), first)[1] if self.model.hierarchical else ()
        covered = state.covered | ((1 << end) - (1 << begin))
        if covered == (1 << n) - 1:
            return PhraseState(covered, NOWHERE, n, NO_FORWARD, lm_state, ())
        oriented = self.model.reordering is not None or self.model.hierarchical
        if not oriented or begin == 0 or covered >> (begin - 1) & 1:
            begin = NOWHERE
        return PhraseState(covered, begin, end, forward, lm_state, stack, last)

    def _end(self, state: PhraseState) -> Move[PhraseState]:
        score = float(self.weights_D[LM]) * self.model.lm.score(state.lm_state, END_ID)[0]
        goal = PhraseState((1 << self.levels) - 1, NOWHERE, self.levels, NO_FORWARD, 0, ())
        return Move(goal, self.levels, score, END_LABEL)


def _open(covered: int, i: int, n: int) -> bool:
    return 0 <= i < n and not covered >> i & 1


def occurring(moves: PhraseMoves, target: Sequence[str]) -> PhraseMoves:
    """A search space with only the options whose words stand somewhere in a translation."""
    phrases = phrases_in(target)
    kept = np.array([label for label in range(len(moves.options)) if moves.words_of(label) in phrases], dtype=np.int64)
    groups = moves.groups
    if len(groups.first_O):
        groups = groups._replace(first_O=groups.first_O[kept], last_O=groups.last_O[kept])
    return replace(moves, options=selected_options(moves.options, kept), groups=groups)

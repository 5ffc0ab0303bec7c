"""What a hypothesis of the lattice decoder may do next: the lattice of predicted blocks, permuted in a window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats
from xlate.models.context.lcs_options import CONTEXT, DELETED, DELETION, LM, PLACE, LcsModel, LcsOptions
from xlate.models.context.lcs_settings import LcsSearch
from xlate.models.phrase.sentence_scores import shift_of
from xlate.search.space import END_LABEL, Move, SearchSpace, Words
from xlate.text.vocabulary import END_ID


class LatticeState(NamedTuple):
    """All that a continuation depends on: bit i of `covered` says that source word i is done.

    All ways to do every word are alike but for the history; the goal has one bit more.
    """

    covered: int
    lm_state: int


@dataclass(frozen=True)
class LatticeMoves(SearchSpace[LatticeState]):
    """The search space over one sentence. Labels are option numbers, -1 the end.

    The word that is done next lies less than `window` positions behind the first one that is not done.
    """

    model: LcsModel
    weights_D: Floats
    search: LcsSearch
    options: LcsOptions

    @property
    def start(self) -> LatticeState:
        """Nothing covered, the history `<s>`."""
        return LatticeState(0, int(self.model.lm.begin_state))

    @property
    def levels(self) -> int:
        """Coverage of the goal: one more than the words of the sentence."""
        return len(self.options.words) + 1

    @cached_property
    def fixed_OD(self) -> Floats:
        """The features of options wherever they stand, those of the language model and of places 0; shape (O, D)."""
        fixed_OD = np.zeros((len(self.options), len(self.model.names)))
        fixed_OD[:, CONTEXT] = self.options.log_O
        fixed_OD[self.options.unit_O == DELETED, DELETION] = self.search.deletion_cost
        return fixed_OD

    @cached_property
    def future_n(self) -> list[float]:
        """The best score of each word without a history, 0 of one without options; zeros without `future_cost`."""
        options, lm = self.options, self.model.lm
        if not self.search.future_cost:
            return [0.0] * len(options.words)
        alone = [lm.score_words(lm.empty_state, words)[0] for words in options.lm_words_O]
        score_O = (self._own_O + self.weights_D[LM] * np.array(alone)).tolist()
        cells = (options.cell(position) for position in range(len(options.words)))
        return [max((score_O[label] for label in cell), default=0.0) for cell in cells]

    def future(self, state: LatticeState) -> float:
        """The estimates of all words that are not done."""
        first, n = first_open(state.covered), len(self.options.words)
        if first >= n:
            return 0.0
        behind = min(n, first + self.search.window)
        open_words = (self.future_n[at] for at in range(first, behind) if not state.covered >> at & 1)
        return self._future_from[behind] + sum(open_words)

    @cached_property
    def _future_from(self) -> list[float]:
        """The estimates of all words from a position on."""
        return [*accumulate(reversed(self.future_n), initial=0.0)][::-1]

    def coverage(self, state: LatticeState) -> int:
        """The words that are done."""
        return state.covered

    def expand(self, state: LatticeState) -> Iterator[Move[LatticeState]]:
        """All moves from a state."""
        n, (covered, lm_state) = len(self.options.words), state
        first = first_open(covered)
        if first == n:
            score = float(self.weights_D[LM]) * self.end_logprob(lm_state)
            yield Move(LatticeState((1 << self.levels) - 1, 0), self.levels, score, END_LABEL)
            return
        count = covered.bit_count() + 1
        for position in range(first, min(n, first + self.search.window)):
            bit = 1 << position
            if not covered & bit:
                for label, score, after in self._arcs(lm_state, position):
                    if self.model.placed is not None:
                        score += float(self.weights_D[PLACE]) * self.place(label, count - 1)
                    yield Move(LatticeState(covered | bit, after), count, score, label)

    def place(self, label: int, covered: int) -> float:
        """What an option scores where it is put when so many words are done; 0 where that is not looked at."""
        if self.model.placed is None:
            return 0.0
        shift = shift_of(self.model.placed.reach, covered, int(self.options.position_O[label]))
        return float(self.options.place_OR[label, shift])

    def words_of(self, label: int) -> Words:
        """The target words of a label."""
        return () if label == END_LABEL else self.options.target_O[label]

    def language(self, lm_state: int, label: int) -> tuple[float, int]:
        """ln p of an option's words after a history, and the history behind them."""
        known = self._scored.get((lm_state, label))
        if known is None:
            known = self.model.lm.score_words(lm_state, self.options.lm_words_O[label])
            self._scored[lm_state, label] = known
        return known

    def end_logprob(self, lm_state: int) -> float:
        """ln p(</s> | history)."""
        return self.model.lm.score(lm_state, END_ID)[0]

    def _arcs(self, lm_state: int, position: int) -> list[tuple[int, float, int]]:
        """The options of a word after a history, what each scores, and the history behind it; the same at any time."""
        known = self._listed.get((lm_state, position))
        if known is None:
            weight, known = float(self.weights_D[LM]), []
            for label in self.options.cell(position):
                logprob, after = self.language(lm_state, label)
                known.append((label, float(self._own_O[label]) + weight * logprob, after))
            self._listed[lm_state, position] = known
        return known

    @cached_property
    def _own_O(self) -> Floats:
        return np.asarray(self.fixed_OD @ self.weights_D)

    @cached_property
    def _scored(self) -> dict[tuple[int, int], tuple[float, int]]:
        return {}

    @cached_property
    def _listed(self) -> dict[tuple[int, int], list[tuple[int, float, int]]]:
        return {}


def first_open(covered: int) -> int:
    """The lowest bit that is not set."""
    return (~covered & (covered + 1)).bit_length() - 1

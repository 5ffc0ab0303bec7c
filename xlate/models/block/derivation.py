"""A finished translation: the blocks it is made of, and where its score comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.features.block import FLOATS
from xlate.kernels.orientation import NEUTRAL, RIGHT
from xlate.models.block.model import FLOAT_COUNT, LM_FIRST
from xlate.models.block.moves import END_LABEL, NO_BLOCK, BlockMoves, BlockState
from xlate.text.vocabulary import END_ID

END_BLOCK = -2


@dataclass(frozen=True)
class Step:
    """One block of a derivation with its part of the score.

    Attributes:
        block: its number; -1 (`options.COPIED`) for a source word that stands for itself, -2 (`END_BLOCK`) for
            `</s>`, which covers nothing and has no target words.
        predecessor: the block before it, negative when there is none or it is none.
        source_span: half-open, in words.
        source_words, target_words: the two phrases.
        orientation: LEFT, RIGHT or NEUTRAL; RIGHT for the end, whose weights are the linked ones.
        floats: costs (a)-(e), natural logs, (a) divided by the source phrase's length.
        weights: the weights they are multiplied with.
        sparse: name and weight of each binary feature that has a weight.
        normalizer: what the partition subtracts; 0 when it is off.
        score: Σ weights · floats + sparse_score - normalizer, up to rounding.
    """

    block: int
    predecessor: int
    source_span: tuple[int, int]
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    orientation: int
    floats: tuple[float, ...]
    weights: tuple[float, ...]
    sparse: tuple[tuple[str, float], ...]
    normalizer: float
    score: float

    @property
    def sparse_score(self) -> float:
        """The summed weights of the binary features."""
        return sum(weight for _, weight in self.sparse)

    @property
    def is_end(self) -> bool:
        """Whether this is the end of the sentence, not a block."""
        return self.block == END_BLOCK


@dataclass(frozen=True)
class Derivation:
    """A source sentence, the steps that translate it, target left to right, their summed score, names of its floats."""

    source: tuple[str, ...]
    steps: tuple[Step, ...]
    score: float
    names: tuple[str, ...] = FLOATS

    @property
    def words(self) -> list[str]:
        """The target words."""
        return [word for step in self.steps for word in step.target_words]

    @property
    def blocks(self) -> tuple[Step, ...]:
        """The steps without the end of the sentence."""
        return tuple(step for step in self.steps if not step.is_end)

    def features(self) -> list[tuple[str, float]]:
        """Summed floats by name, then the binary features' summed weights and, if there is one, minus the partition.

        The orientation model has two weight sets, so its floats stand once for L and R steps (`linked_NAME`, the end
        among them) and once for N steps (`neutral_NAME`).
        """
        linked_D, neutral_D = self.float_totals()
        if self.names == FLOATS:
            values = [(f"linked_{name}", float(v)) for name, v in zip(self.names, linked_D, strict=True)]
            values += [(f"neutral_{name}", float(v)) for name, v in zip(self.names, neutral_D, strict=True)]
        else:
            values = [(name, float(v)) for name, v in zip(self.names, linked_D + neutral_D, strict=True)]
        values.append(("binary", sum(step.sparse_score for step in self.steps)))
        normalizer = sum(step.normalizer for step in self.steps)
        return [*values, ("partition", -normalizer)] if normalizer else values

    def float_totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The summed floats of L and R steps (the end among them) and of N steps, each of shape (D,)."""
        linked_D, neutral_D = np.zeros(len(self.names)), np.zeros(len(self.names))
        for step in self.steps:
            total_D = neutral_D if step.orientation == NEUTRAL else linked_D
            total_D += step.floats
        return linked_D, neutral_D


def read_derivation(moves: BlockMoves, labels: Iterable[int]) -> Derivation:
    """Walks the search space along the labels of a path, taking down the parts of every score."""
    state, last = moves.start, NO_BLOCK
    steps: list[Step] = []
    for label in labels:
        if label == END_LABEL:
            if moves.search.end_of_sentence:
                steps.append(_end_step(moves, state.lm_state, last))
            break
        option, orientation = divmod(label, 3)
        step, lm_state = _step(moves, state, option, orientation, last)
        steps.append(step)
        last = step.block
        state = moves.after(state, option, orientation, lm_state)
    score = 0.0
    for step in steps:
        score += step.score
    return Derivation(moves.options.words, tuple(steps), score)


def _step(moves: BlockMoves, state: BlockState, option: int, orientation: int, last: int) -> tuple[Step, int]:
    """One block taken apart, and the history behind it."""
    options, model = moves.options, moves.model
    begin, end = int(options.start_O[option]), int(options.end_O[option])
    first, rest, lm_state = moves.lm_costs(state.lm_state, option)
    normalizer = 0.0
    if moves.search.partition != "off":
        normalizer = moves.normalizer(moves.cell_scores(state, options.cell(begin, end), orientation)[0])
    block = int(options.block_O[option])
    linked = orientation != NEUTRAL
    step = Step(
        block=block,
        predecessor=last,
        source_span=(begin, end),
        source_words=options.words[begin:end],
        target_words=moves.option_words(option),
        orientation=orientation,
        floats=(
            float(options.unigram_O[option]),
            float(options.orientation_O3[option, orientation]),
            first,
            rest,
            float(options.lexical_O[option]),
        ),
        weights=tuple((moves.linked if linked else moves.neutral).tolist()),
        sparse=model.features_of(last, block) if linked else (),
        normalizer=normalizer,
        score=moves.step_score(state.context, option, orientation, first, rest) - normalizer,
    )
    return step, lm_state


def _end_step(moves: BlockMoves, lm_state: int, last: int) -> Step:
    cost = -moves.model.lm.score(lm_state, END_ID)[0]
    n = len(moves.options.words)
    return Step(
        block=END_BLOCK,
        predecessor=last,
        source_span=(n, n),
        source_words=(),
        target_words=(),
        orientation=RIGHT,
        floats=tuple(cost if d == LM_FIRST else 0.0 for d in range(FLOAT_COUNT)),
        weights=tuple(moves.linked.tolist()),
        sparse=(),
        normalizer=0.0,
        score=float(moves.linked[LM_FIRST] * cost),
    )

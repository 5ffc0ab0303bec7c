"""The steps of block derivations: each block with its part of the score, for explanations and training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.features.bigrams import BigramIndex
from xlate.kernels.orientation import NEUTRAL, RIGHT
from xlate.models.block.model import LM_FIRST
from xlate.models.block.moves import NO_BLOCK, BlockMoves, BlockState
from xlate.models.derivation import END, Derivation, Step
from xlate.search.space import END_LABEL
from xlate.text.vocabulary import END_ID


@dataclass(frozen=True)
class BlockStep(Step):
    """One block of a derivation with its part of the score.

    The unit is the block's number; orientation is RIGHT for the end, whose weights are the linked ones.

    Attributes:
        predecessor: the block before it, negative when there is none or it is none.
        source_words: the source phrase.
        floats: costs, natural logs; of the orientation model (a)-(e), (a) divided by the source phrase's length. The
            optional ones stand behind the model's own.
        weights: the weights they are multiplied with.
        sparse: name and weight of each binary feature that has a weight.
        normalizer: what the partition subtracts; 0 when it is off.
        score: Σ weights · floats + sparse_score - normalizer, up to rounding.
    """

    predecessor: int = NO_BLOCK
    source_words: tuple[str, ...] = ()
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


def block_features(steps: Sequence[BlockStep], size: int) -> Floats:
    """Summed floats of L and R steps, of N steps, `size` each, the binary features' weights, minus the normalizers."""
    linked_D, neutral_D = float_totals(steps, size)
    sparse = sum(step.sparse_score for step in steps)
    return np.concatenate([linked_D, neutral_D, [sparse, -sum(step.normalizer for step in steps)]])


def read_derivation(moves: BlockMoves, labels: Iterable[int]) -> BlockDerivation:
    """Walks the search space along the labels of a path, taking down the parts of every score."""
    state, last = moves.start, NO_BLOCK
    steps: list[BlockStep] = []
    for label in labels:
        if label == END_LABEL:
            if moves.search.end_of_sentence:
                cost = -moves.model.lm.score(state.lm_state, END_ID)[0]
                steps.append(end_step(len(moves.options.words), last, cost, moves.linked, LM_FIRST))
            break
        option, orientation = divmod(label, 3)
        step, lm_state = _step(moves, state, option, orientation, last)
        steps.append(step)
        last = step.unit
        state = moves.after(state, option, orientation, lm_state)
    return scored(moves.options.words, steps, partial(block_features, steps, len(moves.model.float_names)))


def scored(words: tuple[str, ...], steps: Sequence[BlockStep], features: partial[Floats]) -> BlockDerivation:
    """The derivation of these steps."""
    score = 0.0
    for step in steps:
        score += step.score
    return Derivation(words, tuple(steps), features, score)


def _step(moves: BlockMoves, state: BlockState, option: int, orientation: int, last: int) -> tuple[BlockStep, int]:
    """One block taken apart, and the history behind it."""
    options, model = moves.options, moves.model
    begin, end = int(options.start_O[option]), int(options.end_O[option])
    first, rest, lm_state = moves.lm_costs(state.lm_state, option)
    normalizer = 0.0
    if moves.search.partition != "off":
        normalizer = moves.normalizer(moves.cell_scores(state, options.cell(begin, end), orientation)[0])
    block = int(options.block_O[option])
    linked = orientation != NEUTRAL
    step = BlockStep(
        unit=block,
        source_spans=((begin, end),),
        target_words=moves.option_words(option),
        orientation=orientation,
        predecessor=last,
        source_words=options.words[begin:end],
        floats=(
            float(options.unigram_O[option]),
            float(options.orientation_O3[option, orientation]),
            first,
            rest,
            float(options.lexical_O[option]),
            *options.more_OX[option].tolist(),
        ),
        weights=tuple((moves.linked if linked else moves.neutral).tolist()),
        sparse=model.features_of(last, block) if linked else (),
        normalizer=normalizer,
        score=moves.step_score(state.context, option, orientation, first, rest) - normalizer,
    )
    return step, lm_state


def step_bigrams(index: BigramIndex, steps: Sequence[BlockStep], asks: Sequence[bool]) -> tuple[Ints, Ints32]:
    """The binary features of N steps, of those that ask for the block before: offsets (N + 1) and ids."""
    pairs = [(step.predecessor if asked else NO_BLOCK, step.unit) for step, asked in zip(steps, asks, strict=True)]
    return index.of_units(np.array(pairs, dtype=np.int32).reshape(-1, 2))


def end_step(words: int, last: int, cost: float, weights_D: Floats, lm_first: int) -> BlockStep:
    """The end of a sentence of so many words: `cost` of `</s>` under the weight of float number `lm_first`."""
    return BlockStep(
        unit=END,
        source_spans=((words, words),),
        target_words=(),
        orientation=RIGHT,
        predecessor=last,
        floats=tuple(cost if d == lm_first else 0.0 for d in range(len(weights_D))),
        weights=tuple(weights_D.tolist()),
        score=float(weights_D[lm_first] * cost),
    )

"""Decoders over blocks: what they share, and MON, SWAP and SWAP & OR, which use orientation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise, starmap
from operator import mul
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, row_numbers
from xlate.features.block import BigramIndex
from xlate.kernels.memory import best_of_rows
from xlate.kernels.pairs import LETTERS, NEUTRAL, RIGHT
from xlate.kernels.search.best_paths import Paths
from xlate.kernels.search.block_decoder import LONGEST_SENTENCE
from xlate.kernels.search.lattice_passes import ArcGraph, arc_bigrams, arc_language_costs, live_contexts
from xlate.models.block.model import LEXICAL, LM_FIRST, LM_REST, ORIENTATION, UNIGRAM, BlockLexicon, BlockModel
from xlate.models.block.moves import (
    NO_BLOCK,
    BlockDerivation,
    BlockMoves,
    BlockStep,
    SentenceOptions,
    SpanMoves,
    SpanOptions,
    blocks_of_spans,
    linked_weights,
    options_of_cells,
)
from xlate.models.derivation import COPIED, END, Derivation
from xlate.models.system import System
from xlate.scoring.weights import Weights
from xlate.search.beam import END_LABEL, ended, path_of
from xlate.search.lattice import LatticeArcs, chosen_arcs, linear_scores
from xlate.search.settings import BlockSearch, BlocksSearch
from xlate.text.vocabulary import END_ID, Vocabulary

PARTITION = "partition"
Lexicon = TypeVar("Lexicon", bound=BlockLexicon)
Moves = TypeVar("Moves", bound=SpanMoves)
Blocks = TypeVar("Blocks", bound=BlocksSearch)


class BlockSystem(System[Moves, Blocks], Generic[Lexicon, Moves, Blocks]):
    """Floats of blocks, and binary features of a block and the one before.

    Args:
        model: blocks, language model, weights.
        search: settings.
        fast: whether to use the compiled search; the readable one gives the same derivations and scores.
    """

    MOVES: ClassVar[type[SpanMoves]]

    def __init__(self, model: Lexicon, search: Blocks, fast: bool = True) -> None:
        self.model, self.search, self.fast = model, search, fast

    @property
    def features(self) -> BigramIndex:
        """The binary features of a block and its predecessor."""
        return self.model.feature_index

    @property
    def target_vocabulary(self) -> Vocabulary:
        return self.model.target_vocabulary

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The floats by their weights, and the sum of binary features."""
        return (*self.model.dense_names, "binary")

    @property
    def weights(self) -> Weights:
        """The weights of floats, one field of the model after the other, and of binary features."""
        dense_D = np.concatenate([getattr(self.model, name) for name in self.model.WEIGHTS])
        return Weights(dense_D, np.asarray(self.model.feature_weights), self.model.dense_names)

    def with_weights(self, weights: Weights) -> Self:
        names = self.model.WEIGHTS
        dense = dict(zip(names, np.split(np.array(weights.dense_D), len(names)), strict=True))
        return self.changed(model=self.model.reweighted(feature_weights=weights.sparse_F, **dense))

    @abstractmethod
    def options(self, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32) -> SpanOptions:
        """The options of a sentence: the blocks of some cells, with their scores."""

    @abstractmethod
    def own_floats(self, space: Moves, graph: ArcGraph, label_A: Ints32) -> Floats:
        """The floats of arcs that no language model gives (other columns are arbitrary); no arc is the end."""

    @abstractmethod
    def weights_of(self, label_A: AnyInts) -> Floats:
        """What the floats of arcs are multiplied by."""

    @abstractmethod
    def orientation(self, space: Moves, label: int, before: BlockStep | None) -> int:
        """LEFT, RIGHT or NEUTRAL of a block relative to the step before; RIGHT at the end of the sentence."""

    def asks(self, label_A: AnyInts) -> Bools:
        """Which labels need the block before; an orientation is a label, too: that of the first option."""
        return np.ones(len(label_A), np.bool_)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> Moves:
        """The moves; with a target, those with all blocks of the model that occur in it."""
        self.check_length(words)
        search = self.search
        longest, scored = max(1, min(search.max_phrase, len(words))), search.option_order == "score"
        most = None if scored or target is not None else search.options
        cells, blocks = blocks_of_spans(self.model, words, longest, most, target)
        options = self.options(words, longest, cells, blocks)
        if scored and target is None:
            kept = best_of_rows(options.alone_O, options.cell_offsets_C1, search.options)
            options = self.options(words, longest, cells[kept], blocks[kept])
        return self.MOVES(self.model, search, options)  # type: ignore[return-value]  # a class cannot name its parameter

    def derivation(self, space: Moves, labels: Sequence[int]) -> BlockDerivation:
        if labels:
            return self.derivations(space, path_of(labels))[0]
        # The search did not reach the end.
        return Derivation(space.options.words, (), np.zeros(len(self.feature_names)), 0.0)

    def listed(self, space: Moves) -> list[BlockDerivation]:
        return self.derivations(space, self.nbest_paths(space))

    def derivations(self, space: Moves, paths: Paths) -> list[BlockDerivation]:
        """The derivations along some paths, which leave out the end of the sentence."""
        if self.search.end_of_sentence:
            paths = ended(paths)
        label_L = paths.labels_L
        float_LD = self.floats(space, path_graph(paths), label_L)
        steps = self._steps(space, paths, float_LD)

        def features_D(part: slice) -> Floats:
            sums = sum(step.sparse_score for step in steps[part]), -sum(step.normalizer for step in steps[part])
            totals_D = self.columns(float_LD[part], label_L[part]).sum(axis=0)
            # Only a model with a partition has a feature for it.
            return np.concatenate([totals_D, sums])[: len(self.feature_names)]

        found = []
        for part in starmap(slice, pairwise(paths.offsets_N1.tolist())):
            # One after the other: `sum` may add differently.
            *_, score = accumulate((step.score for step in steps[part]), initial=0.0)
            found.append(Derivation(space.options.words, tuple(steps[part]), partial(features_D, part), score))
        return found

    def _steps(self, space: Moves, paths: Paths, float_LD: Floats) -> list[BlockStep]:
        weights_F, steps, label_L = np.asarray(self.model.feature_weights), list[BlockStep](), paths.labels_L
        block_L, first_P = self.blocks_of(space, label_L), set(paths.offsets_N1[:-1].tolist())
        before_L = blocks_before(block_L, paths)
        pairs_L2 = np.stack([np.where(self.asks(label_L), before_L, NO_BLOCK), block_L], axis=1)
        offsets_L1, ids_A = self.features.of_units(pairs_L2)
        columns = (column.tolist() for column in (label_L, block_L, before_L, float_LD, self.weights_of(label_L)))
        rows = zip(*columns, pairwise(offsets_L1.tolist()), space.scores(paths).tolist(), strict=True)
        for label, block, before, floats, weights, (start, end), score in rows:
            ids = ids_A[start:end][weights_F[ids_A[start:end]] != 0]
            sparse = tuple(zip(self.features.names(ids), weights_F[ids].tolist(), strict=True))
            normalizer = 0.0
            if space.local and label != END_LABEL:
                normalizer = sum(map(mul, weights, floats)) + sum(weight for _, weight in sparse) - score
            steps.append(
                BlockStep(
                    unit=block,
                    source_spans=(space.span(label),),
                    target_words=space.words_of(label),
                    orientation=self.orientation(space, label, None if len(steps) in first_P else steps[-1]),
                    predecessor=before,
                    floats=tuple(floats),
                    weights=tuple(weights),
                    sparse=sparse,
                    normalizer=normalizer,
                    score=score,
                )
            )
        return steps

    def blocks_of(self, space: Moves, label_A: AnyInts) -> Ints32:
        """The block of each label, `END` for the end."""
        block_A = space.options.block_O[label_A // space.LABELS]
        return np.where(label_A < 0, END, block_A).astype(np.int32)

    def floats(self, space: Moves, graph: ArcGraph, label_A: Ints32) -> Floats:
        """The floats of arcs in the order of the model's `float_names`, (A, D)."""
        options, lm, option_A = space.options, self.model.lm, label_A // np.int32(space.LABELS)
        place = int(lm.begin_state), END_ID if self.search.end_of_sentence else -1, graph, option_A
        float_AD = self.own_floats(space, graph, label_A)
        float_AD[:, len(self.model.own_floats) :] = options.more_OX[option_A]
        float_AD[label_A < 0] = 0.0
        costs_A2 = arc_language_costs(lm.arrays, *place, options.phrase_words_W, options.phrase_offsets_O1)
        float_AD[:, [LM_FIRST, LM_REST]] = np.asarray(costs_A2)
        return float_AD

    def columns(self, float_AD: Floats, label_A: AnyInts) -> Floats:  # noqa: ARG002
        """The floats of arcs in the columns of `weights`."""
        return float_AD

    def step_floats(self, space: Moves, graph: ArcGraph, label_A: Ints32) -> Floats:
        """The floats of arcs that the search uses, in the columns of `weights`."""
        return self.columns(self.floats(space, graph, label_A), label_A)

    def arc_features(self, space: Moves, found: LatticeArcs) -> LatticeArcs:
        """Arcs with floats and binary features; nodes know the last block if any arc from there has one with it.

        Nodes that the decoder recombined because a feature's weight is 0 are split, so that it can be trained.
        """
        model, graph, block_A = self.model, found.graph, self.blocks_of(space, found.label_A)
        dense_AD = self.step_floats(space, graph, found.label_A)
        # After a block that is generated to the left the next one is neutral, so it does not need the block before.
        successor_A = np.where(self.asks(found.label_A), block_A, NO_BLOCK).astype(np.int32)
        context_A = self.features.standing_B1[np.maximum(block_A, NO_BLOCK)]
        node_P, context_P, place_A = _pairs(graph.target_A, context_A)
        live_P = live_contexts(graph, successor_A, model.families, node_P, context_P)
        context_A = np.where(live_P[place_A], context_A, NO_BLOCK)
        # One node per pair of node and last block; arc_B is the original of each of the new arcs.
        node_M, context_M, place_A = _pairs(np.append(0, graph.target_A), np.append(NO_BLOCK, context_A))
        offsets_N1 = np.searchsorted(graph.source_A, np.arange(graph.nodes + 1))
        arc_B, offsets_M1 = gathered(offsets_N1, node_M)
        source_B = row_numbers(offsets_M1).astype(np.int32)
        split = ArcGraph(source_B, place_A[1:][arc_B].astype(np.int32), len(node_M))
        offsets_B1, ids_M = arc_bigrams(model.families, context_M[source_B], successor_A[arc_B])
        arcs = chosen_arcs(found._replace(dense_AD=dense_AD), arc_B, split)
        return arcs._replace(sparse_offsets_A1=offsets_B1, sparse_ids_M=ids_M)

    def step_features(self, derivation: BlockDerivation) -> tuple[Ints, Ints32]:
        steps = derivation.steps
        asks = self.asks(np.array([step.orientation for step in steps], np.int64))
        pairs = [(s.predecessor if asked else NO_BLOCK, s.unit) for s, asked in zip(steps, asks, strict=True)]
        return self.features.of_units(np.array(pairs, np.int32).reshape(-1, 2))

    def explain(self, source: Sequence[str], derivation: BlockDerivation) -> str:
        """One block per line, then the end of the sentence, then the sum.

        A line holds source span (from 0, end excluded), orientation, source words -> target words, how often the block
        was seen, its score and the contributions to it: weight × cost of every float with a contribution, the binary
        features with their weights, the partition. The strongest contribution comes first. Contributions are natural
        logs.

        Example:
            [0,2) N  das haus -> the house  (N=12)  -3.41 = unigram -0.5×4.2=-2.1, lexical -0.3×2.6=-0.78, …
        """
        lines = []
        for step in derivation.steps:
            what, (start, end) = "end of sentence", step.source_span
            if not step.is_end:
                seen = "copied" if step.unit == COPIED else "term"
                if step.unit >= 0:
                    seen = f"N={int(self.model.blocks.count_B[step.unit])}"
                sides = f"{' '.join(source[start:end])} -> {' '.join(step.target_words)}"
                what = f"[{start},{end}) {LETTERS[step.orientation]}  {sides}  ({seen})"
            floats = zip(self.model.float_names, step.weights, step.floats, strict=True)
            parts = [(f"{name} {weight:.3g}×{cost:.4g}", weight * cost) for name, weight, cost in floats]
            parts += [*step.sparse, ("partition", -step.normalizer)]
            parts = sorted((part for part in parts if part[1]), key=lambda part: -abs(part[1]))
            reasons = ", ".join(f"{how}={value:.4g}" for how, value in parts)
            lines.append(f"{what}  {step.score:.4f}" + (f" = {reasons}" if reasons else ""))
        return "\n".join([*lines, f"sum {derivation.score:.4f}  {' '.join(derivation.words)}"])


def path_graph(paths: Paths) -> ArcGraph:
    """Paths that share only the start: arc a leads to node a + 1."""
    size = len(paths.labels_L)
    source_L = np.arange(size, dtype=np.int32)
    source_L[paths.offsets_N1[:-1]] = 0
    return ArcGraph(source_L, np.arange(1, size + 1, dtype=np.int32), size + 1)


def blocks_before(block_L: Ints32, paths: Paths) -> Ints32:
    """The block before each step of some paths, `NO_BLOCK` for their first ones."""
    before_L = np.roll(block_L, 1)
    before_L[paths.offsets_N1[:-1]] = NO_BLOCK
    return before_L


def _pairs(node_A: AnyInts, context_A: AnyInts) -> tuple[Ints32, Ints32, Ints]:
    """The distinct pairs of node and context, sorted by node, and which of them each arc has."""
    both_A = (node_A.astype(np.int64) << 32) | (context_A.astype(np.int64) + 1)
    pairs, place_A = np.unique(both_A, return_inverse=True)
    node_P, context_P = (pairs >> 32).astype(np.int32), ((pairs & 0xFFFFFFFF) - 1).astype(np.int32)
    return node_P, context_P, place_A.reshape(-1)


AnyBlockSystem = BlockSystem[Any, Any, Any]


class BlockDecoder(BlockSystem[BlockModel, BlockMoves, BlockSearch]):
    """Translates sentences into the block sequences of the highest score.

    With blocks b_1 … b_m, orientations o_1 … o_m and b_0 = `<s>`, the decoder maximises

        Σ_i w(o_i)·f(b_i, o_i; b_{i-1}) + [o_i ∈ {L, R}] v(b_{i-1}, b_i) - Z_i   +   w_c · -ln p(</s> | history)

    over all sequences that cover the source once and in the order `mode` allows (`BlockMoves`). f are the costs (a)-(e)
    of A3 and the optional floats, w(L) = w(R) = `linked`, w(N) = `neutral`, v the summed weights of the binary
    features, w_c the linked weight of (c); Z_i is 0, or with `partition="local"`
    ln Σ_{b ∈ Γ(b_i)} exp(w·f(b, o_i; b_{i-1}) + v). (TZ07 Eq. 1 and 6, section 5.1.)

    Example:
        >>> decoder = BlockDecoder(model, BlockSearch(mode="swap_or"))     # doctest: +SKIP
        >>> decoder.translate("das haus ist klein".split())[0].words       # doctest: +SKIP
        ['the', 'house', 'is', 'small']
    """

    MOVES = BlockMoves
    LONGEST = LONGEST_SENTENCE

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The floats of L and R steps (including the end), of N steps, the sum of binary features, the partition."""
        return (*super().feature_names, PARTITION)

    @property
    def weights_D(self) -> Floats:
        """The linked weights as this search uses them, the neutral ones, and 1 for values that are already sums."""
        return np.concatenate([linked_weights(self.model, self.search), self.model.neutral, [1.0, 1.0]])

    def options(self, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32) -> SentenceOptions:
        """The options of cells: their costs and target words, and their weighted sums."""
        model, search = self.model, self.search
        common, first_O, rest_O = options_of_cells(model, words, longest, cells, block_O)
        blocks, size, copied_O, known_O = model.blocks, len(block_O), block_O == COPIED, block_O >= 0
        known, more_OX = block_O[known_O], common["more_OX"]
        # A term is certain.
        unigram_O, lexical_O, orientation_O3 = np.zeros(size), np.zeros(size), np.zeros((size, 3))
        unigram_O[copied_O], lexical_O[copied_O] = search.unknown_unigram, search.unknown_lexical
        unigram_O[known_O], lexical_O[known_O] = blocks.unigram_cost_B[known], blocks.lexical_B[known]
        unigram_O /= (cells % longest + 1).astype(np.int32)
        orientation_O3[:, :NEUTRAL] = np.log(2.0)
        orientation_O3[known_O, :NEUTRAL] = model.orientation_cost_B2[known]
        left_O = np.full(size, search.min_left_count <= 0)
        left_O[known_O] = blocks.left_B[known] >= search.min_left_count
        linked, own = linked_weights(model, search), len(model.own_floats)
        static_O3 = np.stack(
            [
                w[UNIGRAM] * unigram_O + w[ORIENTATION] * side_O + w[LEXICAL] * lexical_O + more_OX @ w[own:]
                for side_O, w in zip(orientation_O3.T, (linked, linked, np.asarray(model.neutral)), strict=True)
            ],
            axis=1,
        )
        alone_O = linked[UNIGRAM] * unigram_O + linked[LEXICAL] * lexical_O + linked[LM_FIRST] * first_O
        return SentenceOptions(
            **common,
            unigram_O=unigram_O,
            orientation_O3=orientation_O3,
            lexical_O=lexical_O,
            left_O=left_O,
            static_O3=static_O3,
            alone_O=alone_O + linked[LM_REST] * rest_O + more_OX @ linked[own:],
        )

    def asks(self, label_A: AnyInts) -> Bools:
        """All except those of N steps."""
        return np.asarray(_orientations(label_A) != NEUTRAL)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> BlockMoves:
        """The moves; a partition needs those of the search."""
        return super().space(words, target if self.search.partition == "off" else None)

    def orientation(self, space: BlockMoves, label: int, before: BlockStep | None) -> int:  # noqa: ARG002
        return RIGHT if label < 0 else label % 3

    def weights_of(self, label_A: AnyInts) -> Floats:
        linked = linked_weights(self.model, self.search)
        return np.where(self.asks(label_A)[:, None], linked, np.asarray(self.model.neutral, np.float64))

    def own_floats(self, space: BlockMoves, graph: ArcGraph, label_A: Ints32) -> Floats:  # noqa: ARG002
        options, option_A = space.options, label_A // 3
        float_AD = np.zeros((len(option_A), len(self.model.float_names)))
        float_AD[:, UNIGRAM] = options.unigram_O[option_A]
        float_AD[:, ORIENTATION] = options.orientation_O3[option_A, _orientations(label_A)]
        float_AD[:, LEXICAL] = options.lexical_O[option_A]
        return float_AD

    def columns(self, float_AD: Floats, label_A: AnyInts) -> Floats:
        """The floats of arcs in the columns of its weights, linked ones first; shape (A, 2 · (5 + X))."""
        asks_A1 = self.asks(label_A)[:, None]
        return np.concatenate([np.where(asks_A1, float_AD, 0.0), np.where(asks_A1, 0.0, float_AD)], axis=1)

    def step_floats(self, space: BlockMoves, graph: ArcGraph, label_A: Ints32) -> Floats:
        float_AD = super().step_floats(space, graph, label_A)
        if self.search.mode == "swap":
            float_AD[:, ORIENTATION] = 0.0
        return float_AD

    def arc_features(self, space: BlockMoves, found: LatticeArcs) -> LatticeArcs:
        """Floats and binary features of the arcs; the normalisers of a partition are fixed scores."""
        arcs, weights = super().arc_features(space, found), self.weights
        if not space.local:
            return arcs
        return arcs._replace(base_A=arcs.score_A - linear_scores(arcs, weights.dense_D, weights.sparse_F))

    def shown_features(self, derivation: BlockDerivation) -> Iterator[tuple[str, Sequence[float]]]:
        """All features, and the partition if there is one."""
        for name, values in super().shown_features(derivation):
            if name != PARTITION or any(values):
                yield name, values


def _orientations(label_A: AnyInts) -> AnyInts:
    """The orientation of each label; the end is to the right."""
    return np.where(label_A < 0, RIGHT, label_A % 3)

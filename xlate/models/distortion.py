"""The phrase-distortion model, its decoder, and the costs of its jumps: blocks with skipped source intervals (TZ07)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.lexical import Model1
from xlate.array_types import AnyInts, Floats, Floats32, Ints, Ints32
from xlate.arrays.ranges import check_lengths
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.config.model_schema import DistortionModelConfig
from xlate.features.block import DISTORTION_FLOATS
from xlate.kernels.counting.alignment import model1_costs
from xlate.kernels.features.blocks import BlockArrays, DistortionArrays
from xlate.kernels.pairs import RIGHT
from xlate.kernels.search import distortion_decoder
from xlate.kernels.search.hypotheses import Limits
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.models.block.decoder import BlockSystem
from xlate.models.block.kind import LINKED, EventKind
from xlate.models.block.model import LM_FIRST, LM_REST, BlockLexicon
from xlate.models.block.moves import BlockStep, SpanMoves, SpanOptions, options_of_cells
from xlate.models.derivation import COPIED, side_of
from xlate.phrases.distortion import Distortion
from xlate.phrases.table import phrase_pairs
from xlate.search.beam import END_LABEL, EVERY_MOVE
from xlate.search.settings import DistortionSearch
from xlate.text.vocabulary import BEGIN_ID, END_ID
from xlate.work.estimates import Estimates
from xlate.work.stages import Stage, run_stage

DIRECT, MODEL1, _, _, INBOUND, OUTBOUND, LENGTH = range(len(DISTORTION_FLOATS))


@dataclass(frozen=True)
class DistortionModel(BlockLexicon):
    """Blocks with weights for floats ((a)-(g) of TZ07, Table V, and optional ones) and for F binary features.

    Attributes:
        weights: of (a) to (g) and of the optional floats, shape (7 + X,).
        distortion: jump costs by source word; model1_B: -ln p(S|T) of every block under Model 1.
        direct_discount: subtracted from counts before the direct cost, as in training.

    Raises:
        InputError: weights of another shape or not finite, or feature keys that are not sorted.
    """

    LASTING = (*BlockLexicon.LASTING, "direct_cost_B")
    WEIGHTS = ("weights",)
    own_floats = DISTORTION_FLOATS

    weights: Floats
    distortion: Distortion
    model1_B: Floats32
    direct_discount: float = 0.0

    @cached_property
    def direct_cost_B(self) -> Floats32:
        """(a) of every block."""
        return self.blocks.direct_cost_B(self.direct_discount)

    @property
    def feature_arrays(self) -> BlockArrays:
        phrases, source_B = self.table.source_phrases, np.asarray(self.table.source_B)
        words_T, offsets_P1 = np.asarray(phrases.ids_T), phrases.offsets_S1
        jumps = DistortionArrays(
            direct_B=self.direct_cost_B,
            model1_B=np.ascontiguousarray(self.model1_B),
            first_B=words_T[offsets_P1[source_B]].astype(np.int32),
            last_B=words_T[offsets_P1[source_B + 1] - 1].astype(np.int32),
            inbound_VK=np.ascontiguousarray(self.distortion.inbound_VK),
            outbound_VK=np.ascontiguousarray(self.distortion.outbound_VK),
        )
        return super().feature_arrays._replace(distortion=jumps)


@dataclass(frozen=True, kw_only=True)
class JumpOptions(SpanOptions):
    """Options of the phrase-distortion model, with the costs of jumps between all positions.

    `floats_O3` are direct, Model 1 and length costs, `static_O` the weighted sum of these and the optional floats,
    `alone_O` that plus the language model's from an empty history. `inbound_1n[e, s]` and `outbound_1n[e, s]` are the
    costs of continuing at position s when the last block ended before e, where 0 is the beginning of the sentence;
    `jump_1n` is their weighted sum.
    """

    floats_O3: Floats
    static_O: Floats
    inbound_1n: Floats
    outbound_1n: Floats
    jump_1n: Floats


@dataclass(frozen=True)
class JumpMoves(SpanMoves):
    """The search space over one sentence; labels are option numbers."""

    KERNEL = distortion_decoder

    model: DistortionModel
    search: DistortionSearch
    options: JumpOptions

    @cached_property
    def task(self) -> distortion_decoder.Task:
        search, weights = self.search, self.model.weights
        return distortion_decoder.Task(
            self.model.arrays,
            self.arrays(distortion_decoder.JumpSentence),
            EVERY_MOVE,
            first_weight=float(weights[LM_FIRST]),
            rest_weight=float(weights[LM_REST]),
            max_skips=search.max_skips,
            window=search.window,
            end_word=END_ID if search.end_of_sentence else -1,
        )


class DistortionDecoder(BlockSystem[DistortionModel, JumpMoves, DistortionSearch]):
    """Translates sentences into the block sequences of the highest score Σ_i w·f(b_i; b_{i-1}) + v(b_{i-1}, b_i).

    f are the seven floats of TZ07, Table V, and the optional ones, v the summed weights of the binary features. Each
    sequence covers the source once, in an order that `DistortionSearch` allows. After the last block comes
    w_c · -ln p(</s> | history).
    """

    MOVES = JumpMoves
    LONGEST = 32_767

    @property
    def weights_D(self) -> Floats:
        """The floats' weights, and 1 for values that are already weighted sums."""
        return np.append(self.model.weights, 1.0)

    def options(self, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32) -> JumpOptions:
        """Costs of the options and of the jumps between all positions, and their weighted sums.

        A copied word has the fixed costs of the search settings.
        """
        model, search = self.model, self.search
        common, first_O, rest_O = options_of_cells(model, words, longest, cells, block_O)
        known_O, weights = block_O >= 0, np.asarray(model.weights, np.float64)
        known, floats_O3 = block_O[known_O], np.zeros((len(block_O), 3))
        floats_O3[known_O, 0], floats_O3[known_O, 1] = model.direct_cost_B[known], model.model1_B[known]
        floats_O3[block_O == COPIED, :2] = search.unknown_direct, search.unknown_model1
        floats_O3[:, 2] = -np.diff(common["phrase_offsets_O1"])
        static_O = floats_O3 @ weights[[DIRECT, MODEL1, LENGTH]] + common["more_OX"] @ weights[len(model.own_floats) :]
        ids_n, reach = model.source_vocabulary.ids(words).astype(np.int64), model.distortion.reach
        left_1 = np.concatenate([[BEGIN_ID], ids_n])
        jump_1n = np.arange(len(words))[None, :] - np.arange(len(words) + 1)[:, None] + 1
        column_1n = np.clip(jump_1n, -reach, reach) + reach
        inbound_1n = model.distortion.inbound_VK[ids_n[None, :], column_1n].astype(np.float64)
        outbound_1n = model.distortion.outbound_VK[left_1[:, None], column_1n].astype(np.float64)
        return JumpOptions(
            **common,
            floats_O3=floats_O3,
            static_O=static_O,
            alone_O=static_O + weights[LM_FIRST] * first_O + weights[LM_REST] * rest_O,
            inbound_1n=inbound_1n,
            outbound_1n=outbound_1n,
            jump_1n=weights[INBOUND] * inbound_1n + weights[OUTBOUND] * outbound_1n,
        )

    def limits(self, *, every_arc: bool = True) -> Limits:
        return super().limits(every_arc=every_arc)._replace(group_beam=self.search.coverage_beam)

    def orientation(self, space: JumpMoves, label: int, before: BlockStep | None) -> int:
        if label == END_LABEL:
            return RIGHT
        return side_of(None if before is None else before.source_span, space.span(label))

    def weights_of(self, label_A: AnyInts) -> Floats:
        return np.broadcast_to(self.model.weights, (len(label_A), len(self.model.weights)))

    def own_floats(self, space: JumpMoves, graph: ArcGraph, label_A: Ints32) -> Floats:
        options = space.options
        # All ways to a node end at the same source word.
        last_N = np.zeros(graph.nodes, np.int64)
        last_N[graph.target_A] = np.where(label_A < 0, 0, options.end_O[label_A])
        place = last_N[graph.source_A], options.start_O[label_A]
        dense_AD = np.zeros((len(label_A), len(self.model.float_names)))
        dense_AD[:, [DIRECT, MODEL1, LENGTH]] = options.floats_O3[label_A]
        dense_AD[:, INBOUND], dense_AD[:, OUTBOUND] = options.inbound_1n[place], options.outbound_1n[place]
        return dense_AD


# The folders of a distortion stage.
JUMPS, MODEL1_COSTS = "jumps", "model1"
MODEL1_KIND = "set of Model 1 costs"


class DistortionKind(EventKind):
    """The phrase-distortion model of Tillmann & Zhang 2007, section 5.3."""

    name = "distortion"
    MODEL, SYSTEM = DistortionModel, DistortionDecoder
    sets = (LINKED,)

    def identity_settings(self, estimates: Estimates, model: Any) -> dict[str, Any]:
        discount = {"direct_discount": model.direct_discount} if model.direct_discount else {}
        return {"distortion": _stage(estimates, model).identity, **discount}

    def own_fields(self, estimates: Estimates, model: Any) -> dict[str, Any]:
        distortion, model1_B = _jump_costs(estimates, model)
        return {"distortion": distortion, "model1_B": model1_B, "direct_discount": model.direct_discount}


def _stage(estimates: Estimates, model: DistortionModelConfig) -> Stage:
    """Jump costs and Model 1 weights of a text, estimated when a work directory lacks them."""
    settings: dict[str, Any] = {
        "reach": model.jump_reach,
        "smoothing": model.jump_smoothing,
        "iterations": model.model1_iterations,
        "on": estimates.identity,
        "version": 2,
    }
    name = estimates.folder / "distortion" / f"{model.jump_reach}-{model.jump_smoothing:g}-{model.model1_iterations}"
    return run_stage(estimates.work.path, str(name), settings, lambda folder: _estimate(estimates, model, folder))


def _jump_costs(estimates: Estimates, model: DistortionModelConfig) -> tuple[Distortion, Floats32]:
    """The contents of the stage.

    Raises:
        InputError: a file is missing or damaged, or its words or blocks are not those of the work directory.
    """
    work, folder = estimates.work, _stage(estimates, model).folder
    stored = open_arrays(folder / MODEL1_COSTS, MODEL1_KIND, {"model1_B": ("<f4", 1)}, mapped=False)
    check_lengths(stored, model1_B=(len(work.blocks),))
    return Distortion.load(folder / JUMPS, len(work.source_vocabulary)), stored["model1_B"]


def _estimate(estimates: Estimates, model: DistortionModelConfig, folder: Path) -> dict[str, Any]:
    work = estimates.work
    source, target, links = estimates.text
    words = len(work.source_vocabulary.words)
    Distortion.count(source, links, words, model.jump_reach, model.jump_smoothing).save(folder / JUMPS)
    model1 = Model1.train(source, target, len(work.target_vocabulary.words), model.model1_iterations)
    model1_B = model1_costs(phrase_pairs(work.blocks.table), model1.table, model1.probability_K, 1e-7)
    save_arrays(folder / MODEL1_COSTS, MODEL1_KIND, {"model1_B": model1_B})
    return {"model1_pairs": len(model1.keys_K)}

"""The blocks that may translate the spans of one source sentence under the phrase-distortion model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.models.block.options import SpanOptions, collected, lm_costs_alone, target_phrases
from xlate.models.derivation import COPIED
from xlate.models.distortion.model import DIRECT, INBOUND, LENGTH, LM_FIRST, LM_REST, MODEL1, OUTBOUND, DistortionModel
from xlate.models.distortion.settings import DistortionSearch
from xlate.text.vocabulary import BEGIN_ID


@dataclass(frozen=True, kw_only=True)
class JumpOptions(SpanOptions):
    """Options of the phrase-distortion model, with the costs of jumps between all positions.

    `floats_O3` are direct, Model 1 and length costs, `static_O` the weighted sum of them and the optional floats,
    `alone_O` that and the language model's from an empty history. `inbound_1n[e, s]` and `outbound_1n[e, s]` are the
    costs of going on at position s when the last block ended before e, 0 standing for the beginning of the sentence;
    `jump_1n` is their weighted sum.
    """

    floats_O3: Floats
    static_O: Floats
    inbound_1n: Floats
    outbound_1n: Floats
    jump_1n: Floats


def collect_jump_options(
    model: DistortionModel, search: DistortionSearch, words: Sequence[str], target: Sequence[str] | None = None
) -> JumpOptions:
    """The options of every span, at most `search.options` each, and the jump costs between all positions.

    A word without a block of its own as a single word becomes itself, at the fixed costs of the search settings. With
    `target` all options whose words stand in it.
    """
    return collected(model, search, words, target, lambda *cells: _gather(model, search, words, *cells))


def _gather(
    model: DistortionModel, search: DistortionSearch, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32
) -> JumpOptions:
    start_O, length_O = (cells // longest).astype(np.int32), (cells % longest + 1).astype(np.int32)
    offsets_O1, words_W = target_phrases(model, words, block_O, start_O)
    floats_O3 = _static_floats(model, search, block_O, np.diff(offsets_O1))
    weights = np.asarray(model.weights, dtype=np.float64)
    more_OX = model.more.of_units(block_O)
    static_O = floats_O3 @ weights[[DIRECT, MODEL1, LENGTH]] + more_OX @ weights[len(model.own_floats) :]
    first_O, rest_O = lm_costs_alone(model, offsets_O1, words_W)
    inbound_1n, outbound_1n = jump_floats(model, words)
    return JumpOptions(
        words=tuple(words),
        longest=longest,
        cell_offsets_C1=offsets_of(np.bincount(cells, minlength=len(words) * longest)),
        block_O=block_O,
        start_O=start_O,
        end_O=start_O + length_O,
        floats_O3=floats_O3,
        static_O=static_O,
        more_OX=more_OX,
        alone_O=static_O + weights[LM_FIRST] * first_O + weights[LM_REST] * rest_O,
        phrase_offsets_O1=offsets_O1,
        phrase_words_W=words_W,
        inbound_1n=inbound_1n,
        outbound_1n=outbound_1n,
        jump_1n=weights[INBOUND] * inbound_1n + weights[OUTBOUND] * outbound_1n,
    )


def _static_floats(model: DistortionModel, search: DistortionSearch, block_O: Ints32, target_length_O: Ints) -> Floats:
    copied_O = block_O == COPIED
    known_O = np.where(copied_O, 0, block_O)
    floats_O3 = np.zeros((len(block_O), 3))
    if len(model.blocks.table):
        floats_O3[:, 0] = model.direct_cost_B[known_O]
        floats_O3[:, 1] = model.model1_B[known_O]
    floats_O3[copied_O, 0], floats_O3[copied_O, 1] = search.unknown_direct, search.unknown_model1
    floats_O3[:, 2] = -target_length_O
    return floats_O3


def jump_floats(model: DistortionModel, words: Sequence[str]) -> tuple[Floats, Floats]:
    """Inbound and outbound costs between all positions of a sentence, shape (n + 1, n) each; see `JumpOptions`."""
    ids_n, reach = model.source_vocabulary.ids(words).astype(np.int64), model.distortion.reach
    left_1 = np.concatenate([[BEGIN_ID], ids_n])
    jump_1n = np.arange(len(words))[None, :] - np.arange(len(words) + 1)[:, None] + 1
    column_1n = np.clip(jump_1n, -reach, reach) + reach
    inbound_1n = model.distortion.inbound_VK[ids_n[None, :], column_1n].astype(np.float64)
    return inbound_1n, model.distortion.outbound_VK[left_1[:, None], column_1n].astype(np.float64)

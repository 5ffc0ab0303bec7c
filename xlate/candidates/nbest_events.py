"""Candidates from n-best lists: the oracle's block bigrams, against the other blocks of the list (TZ07 section 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import StoreWriter
from xlate.kernels.features.bigram_features import put_bigrams
from xlate.kernels.features.block_features import NOBODY, Before, BlockArrays, Placed, block_costs
from xlate.kernels.orientation import NEUTRAL
from xlate.lm.model import NgramModel


@dataclass(frozen=True)
class OracleStep:
    """One block of an oracle block sequence: what follows what, and which blocks of the list cover the same words.

    Attributes:
        before: the block before it, negative when there is none or it is an unknown word; before_end: its source end.
        block, start, orientation: the block itself.
        others: other blocks that some translation of the list uses for the same source words.
        lm_words: the target words so far, in the language model's numbers.
    """

    before: int
    before_end: int
    block: int
    start: int
    orientation: int
    others: Sequence[int]
    lm_words: Sequence[int]


def write_events(
    directory: Path,
    steps: Iterable[OracleStep],
    blocks: BlockArrays,
    lm: NgramModel,
    names: Sequence[str],
    features: int,
) -> dict[str, int]:
    """Writes the stores `linked` and `neutral` of oracle steps; returns their numbers of instances.

    Without neutral orientation, as in the phrase-distortion model, `neutral` stays empty. Steps whose predecessor is
    unknown are left out unless they are neutral.

    Args:
        directory: where each store gets a folder.
        steps: of all sentences.
        blocks: what features are computed from; lm: the language model; names: of the floats.
        features: the number of sparse features.
    """
    rows = [(step, step.orientation == NEUTRAL and blocks.oriented) for step in steps]
    sizes = {}
    for name, neutral in (("linked", False), ("neutral", True)):
        kept = [step for step, is_neutral in rows if is_neutral == neutral and (neutral or step.before >= 0)]
        with StoreWriter(directory / name, names, 0 if neutral else features) as writer:
            for batch in _batches(kept, blocks, lm, neutral):
                writer.append(batch)
        sizes[name] = len(kept)
    return sizes


def _batches(
    steps: Sequence[OracleStep], blocks: BlockArrays, lm: NgramModel, neutral: bool
) -> Iterator[CandidateBatch]:
    for start in range(0, len(steps), 1000):
        yield _batch(steps[start : start + 1000], blocks, lm, neutral)


def _batch(steps: Sequence[OracleStep], blocks: BlockArrays, lm: NgramModel, neutral: bool) -> CandidateBatch:
    sizes = [1 + len(step.others) for step in steps]
    total = sum(sizes)
    dense_CD = np.zeros((total, blocks.dense), dtype=np.float32)
    gain_C = np.full(total, -1, dtype=np.float32)
    ids_N = np.zeros(total * max(1, len(blocks.bigrams.tag_A)), dtype=np.int32)
    id_offsets_C1 = np.zeros(total + 1, dtype=np.int64)
    c = 0
    for step in steps:
        state = int(lm.begin_state)
        for word in step.lm_words:
            state = lm.score(state, word)[1]
        before = NOBODY if neutral else step.before
        gain_C[c] = 1
        for block in (step.block, *step.others):
            placed = Placed(block, step.start, step.orientation)
            block_costs(blocks, lm.arrays, Before(before, step.before_end, state), placed, dense_CD[c])
            n = int(id_offsets_C1[c])
            id_offsets_C1[c + 1] = n if before < 0 else put_bigrams(blocks.bigrams, before, block, ids_N, n)
            c += 1
    offsets_I1 = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return CandidateBatch(offsets_I1, dense_CD, gain_C[:, None], id_offsets_C1, ids_N[: id_offsets_C1[-1]])

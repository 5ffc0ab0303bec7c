"""The phrase model whose weights are tuned, and its lists with units, which know of no features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, decoded, of_no_words, with_steps
from xlate.errors import InputError
from xlate.features.phrase_sparse import STEP
from xlate.kernels.search.best_paths import sample_paths
from xlate.kernels.search.phrase_paths import Paths
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel
from xlate.models.unit_tuned import TunedUnits
from xlate.scoring.weights import Weights


class TunedPhrases(TunedUnits[PhraseDecoder]):
    """The phrase decoder; a reordering model that it does not have is not tuned, nor are sums of no features."""

    @property
    def trained_D(self) -> Bools:
        trained_D, model = super().trained_D, self.decoder.model
        if model.reordering is None:
            trained_D[[name.startswith("LexicalReordering") for name in model.columns]] = False
        if model.sparse is not None:
            trained_D[model.slots[SPARSE_REORDERING]] &= any(family.crossed > 1 for family in model.sparse.families)
            trained_D[model.slots[SPARSE_PLAIN]] &= any(family.crossed == 1 for family in model.sparse.families)
        return trained_D

    @property
    def uniform(self) -> Weights:
        start, sparse = super().uniform, self.decoder.model.sparse
        return replace(start, sparse_F=np.zeros(len(sparse))) if self.tunes_sparse and sparse is not None else start

    @property
    def growing(self) -> None:
        """None: what features there are is known."""
        return

    @staticmethod
    def with_parts(decoder: PhraseDecoder, words: Sequence[str]) -> CandidateBatch:
        """With sparse features as ids of the phrases."""
        if not words:
            nothing = np.zeros(2, np.int64), np.zeros(0, np.int32)
            return with_steps(of_no_words(decoder.model.size), *nothing, ids=(nothing[0][:1], nothing[1]))
        found = decoder.nbest_list(words)
        assert found.model.sparse is not None
        parts = found.parts
        ids = found.model.sparse.ids(parts.steps)
        return with_steps(decoded(found.floats_ND, found.words), found.paths.offsets_N1, parts.part_L, ids=ids)


def with_sums(theta: Weights, model: PhraseModel) -> Weights:
    """Float weights of a model, perhaps of one without some features: 0 for floats, 1 for sparse sums (λ = 1)."""
    held = dict(zip(theta.dense_names, theta.dense_D.tolist(), strict=True))
    dense_D = np.array([held.get(name, 0.0) for name in model.columns])
    dense_D[model.sums] = 1.0
    return replace(theta, dense_D=dense_D, dense_names=model.columns)


def with_units(decoder: PhraseDecoder, words: Sequence[str], draw: Draw | None = None) -> CandidateBatch:
    """The n-best list of a sentence, or derivations that are drawn, with units; sums of sparse features are left out.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    if not words:
        raise InputError("an empty sentence has no list", expected="one word or more")
    space = decoder.space(words)
    if draw is None:
        found = decoder.space_list(space)
        draws_C = np.zeros(len(found), dtype=np.int32)
    else:
        arcs, generator = decoder.search_space(space, every_arc=True).arcs, np.random.default_rng(draw.seed_of(words))
        offsets_N1, labels_L, drawn_C = sample_paths(arcs, draw.scale, draw.draws, generator)
        found, draws_C = decoder.list_of(space, Paths(offsets_N1, labels_L)), drawn_C.astype(np.int32)
    parts = found.told_apart(groups=True, last_words=True)
    listed = decoded(found.floats_ND[:, : found.model.sums.start], found.words)
    return with_steps(
        replace(listed, draws_C=draws_C),
        found.paths.offsets_N1,
        parts.part_L,
        units=np.stack([parts.steps[name] for name in STEP], axis=1).astype(np.int32),
        between=(parts.steps["between_offsets"].astype(np.int64), parts.steps["between"].astype(np.int32)),
    )

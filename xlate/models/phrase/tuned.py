"""The phrase model whose weights are tuned, and the candidates of its lists as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import AnyFloats, Bools, Floats
from xlate.arrays.ragged import offsets_of, places_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, decoded, of_no_words, with_steps
from xlate.features.phrase_sparse import STEP
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.lists import PhraseList, target_ids
from xlate.models.phrase.model import SPARSE_PLAIN, SPARSE_REORDERING, UNKNOWN, WORD_PENALTY, PhraseModel
from xlate.scoring.weights import Weights
from xlate.search.processes import each_sentence
from xlate.text.encoded import EncodedText
from xlate.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class TunedPhrases:
    """The phrase decoder; its penalty of unknown words is not tuned, nor is a reordering model it does not have.

    Sparse features have fixed weights `sparse_F`, and their sums are floats that are tuned; with `tunes_sparse` the
    weights themselves are tuned, and the sums weigh 1.
    """

    decoder: PhraseDecoder
    processes: int = 1
    sparse_F: Floats | None = None
    tunes_sparse: bool = False

    @property
    def model(self) -> PhraseModel:
        """The model without weights."""
        return self.decoder.model

    @property
    def trained_D(self) -> Bools:
        """All but the penalty of unknown words and what is always 0."""
        names = self.model.columns
        trained_D = np.ones(len(names), dtype=np.bool_)
        trained_D[UNKNOWN] = False
        if self.model.reordering is None:
            trained_D[[name.startswith("LexicalReordering") for name in names]] = False
        if self.model.sparse is not None:
            slots, held = self.model.slots, () if self.tunes_sparse else self.model.sparse.families
            trained_D[slots[SPARSE_REORDERING]] = any(family.crossed > 1 for family in held)
            trained_D[slots[SPARSE_PLAIN]] = any(family.crossed == 1 for family in held)
        return trained_D

    @property
    def uniform(self) -> Weights:
        """The same for every feature; negative for the word penalty, which counts words below 0."""
        trained_D = self.trained_D
        dense_D = np.where(trained_D, 1.0 / trained_D.sum(), 0.0)
        dense_D[WORD_PENALTY] *= -1.0
        dense_D[UNKNOWN] = 1.0
        if not self.tunes_sparse or self.model.sparse is None:
            return Weights(dense_D, np.zeros(0), self.model.columns)
        return with_sums(Weights(dense_D, np.zeros(len(self.model.sparse)), self.model.columns), self.model)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target words."""
        return self.decoder.target_vocabulary

    @property
    def growing(self) -> None:
        """None: what features there are is known."""
        return

    def hypotheses(self, weights: Weights, sentences: list[list[str]], size: int) -> Iterator[CandidateBatch]:
        """Lists without two hypotheses of the same words, with steps as parts when sparse weights are tuned."""
        decoder = self.weighted(weights).with_search(nbest=size)
        return each_sentence(decoder, with_ids if self.tunes_sparse else with_floats, sentences, self.processes)

    def weighted(self, weights: Weights) -> PhraseDecoder:
        """The decoder under tuned weights, and the fixed ones of sparse features, if any."""
        if not self.tunes_sparse and self.sparse_F is not None:
            weights = replace(weights, sparse_F=self.sparse_F)
        return self.decoder.with_weights(weights)


def with_sums(theta: Weights, model: PhraseModel) -> Weights:
    """Float weights of a model, perhaps of one without some features: 0 for floats, 1 for sparse sums (λ = 1)."""
    dense_D = np.zeros(model.size)
    held = dict(zip(theta.dense_names, theta.dense_D.tolist(), strict=True))
    for place, name in enumerate(model.columns):
        dense_D[place] = held.get(name, 0.0)
    if model.sparse is not None:
        dense_D[model.slots[SPARSE_REORDERING]] = 1.0
        dense_D[model.slots[SPARSE_PLAIN]] = 1.0
    return replace(theta, dense_D=dense_D, dense_names=model.columns)


def with_floats(decoder: PhraseDecoder, words: Sequence[str]) -> CandidateBatch:
    """The n-best list of a sentence with float features, sums of sparse ones among them.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not words:
        return of_no_words(decoder.model.size)
    found = decoder.nbest_list(words)
    return _numbered(found, found.features_ND)


def with_ids(decoder: PhraseDecoder, words: Sequence[str]) -> CandidateBatch:
    """The same with sparse features as ids of the phrases, and their sums left at 0."""
    if not words:
        nothing = np.zeros(2, np.int64), np.zeros(0, np.int32)
        return with_steps(of_no_words(decoder.model.size), *nothing, ids=(nothing[0][:1], nothing[1]))
    found = decoder.nbest_list(words)
    assert found.model.sparse is not None
    parts = found.parts
    ids = found.model.sparse.ids(parts.steps)
    return with_steps(_numbered(found, found.floats_ND), found.paths.offsets_N1, parts.part_L, ids=ids)


def with_units(decoder: PhraseDecoder, words: Sequence[str], draw: Draw | None = None) -> CandidateBatch:
    """The n-best list of a sentence, or derivations that are drawn, with units; sums of sparse features are left out.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    if draw is None:
        found = decoder.nbest_list(words)
        draws_C = np.zeros(len(found), dtype=np.int32)
    else:
        found, drawn_C = decoder.drawn_list(words, draw.draws, draw.scale, draw.seed_of(words))
        draws_C = drawn_C.astype(np.int32)
    sums, parts = found.model.slots.get(SPARSE_REORDERING), found.told_apart()
    listed = _numbered(found, found.floats_ND[:, : None if sums is None else sums.start])
    return with_steps(
        replace(listed, draws_C=draws_C),
        found.paths.offsets_N1,
        parts.part_L,
        units=np.stack([parts.steps[name] for name in STEP], axis=1).astype(np.int32),
        between=(parts.steps["between_offsets"].astype(np.int64), parts.steps["between"].astype(np.int32)),
    )


def _numbered(found: PhraseList, features_CD: AnyFloats) -> CandidateBatch:
    options, paths = found.options, found.paths
    offsets_O1, ids_W = options.phrases.offsets_O1, target_ids(found.model, options)
    lengths_L = (offsets_O1[1:] - offsets_O1[:-1])[paths.labels_L]
    words_T = ids_W[places_of(offsets_O1, paths.labels_L)]
    return decoded(features_CD, EncodedText(words_T, offsets_of(lengths_L)[paths.offsets_N1]))

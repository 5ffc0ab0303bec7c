"""The candidates of a sentence as numbers: with floats alone, with sparse ids, or with units of any templates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xlate.array_types import AnyFloats
from xlate.arrays.ragged import offsets_of, places_of
from xlate.candidates.lists import DecodedList, Draw
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.lists import PhraseList, target_ids
from xlate.models.phrase.model import SPARSE_REORDERING


def with_floats(decoder: PhraseDecoder, words: Sequence[str]) -> DecodedList:
    """The n-best list of a sentence with float features, sums of sparse ones among them.

    Raises:
        InputError: a sentence of more words than the search can number.
    """
    if not words:
        return _nothing(decoder)
    found = decoder.nbest_list(words)
    return _numbered(found, found.features_ND)


def with_ids(decoder: PhraseDecoder, words: Sequence[str]) -> DecodedList:
    """The same with sparse features as ids of the phrases, and their sums left at 0."""
    if not words:
        nothing = np.zeros(2, np.int64), np.zeros(0, np.int32)
        return _nothing(decoder)._replace(
            part_offsets_C1=nothing[0], parts_K=nothing[1], id_offsets_P1=nothing[0][:1], ids_N=nothing[1]
        )
    found = decoder.nbest_list(words)
    assert found.model.sparse is not None
    parts = found.parts
    offsets_P1, ids_N = found.model.sparse.ids(parts.applications, parts.groups)
    return _numbered(found, found.floats_ND)._replace(
        part_offsets_C1=found.paths.offsets_N1, parts_K=parts.part_L, id_offsets_P1=offsets_P1, ids_N=ids_N
    )


def with_units(decoder: PhraseDecoder, words: Sequence[str], draw: Draw | None = None) -> DecodedList:
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
    groups = parts.groups
    columns = [*vars(parts.applications).values(), groups.orientation_N]
    columns += [groups.source_first_N, groups.source_last_N, groups.target_first_N, groups.target_last_N, parts.start_P]
    return _numbered(found, found.floats_ND[:, : None if sums is None else sums.start])._replace(
        part_offsets_C1=found.paths.offsets_N1,
        parts_K=parts.part_L,
        unit_PU=np.stack(columns, axis=1).astype(np.int32),
        between_offsets_P1=groups.between_offsets_N1,
        between_T=np.asarray(groups.between_T, dtype=np.int32),
        draws_C=draws_C,
    )


def _numbered(found: PhraseList, features_CD: AnyFloats) -> DecodedList:
    options, paths = found.moves.options, found.paths
    offsets_O1, ids_W = options.phrases.offsets_O1, target_ids(found.model, options)
    lengths_L = (offsets_O1[1:] - offsets_O1[:-1])[paths.labels_L]
    return DecodedList(
        features_CD.astype(np.float32),
        offsets_of(lengths_L)[paths.offsets_N1],
        ids_W[places_of(offsets_O1, paths.labels_L)],
    )


def _nothing(decoder: PhraseDecoder) -> DecodedList:
    """The one translation of a sentence without words."""
    return DecodedList.of_words([np.zeros(0, np.int32)], np.zeros((1, decoder.model.size)))

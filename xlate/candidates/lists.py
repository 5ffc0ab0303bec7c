"""Lists of hypotheses from systems: made into batches, pooled, measured, and given features.

Lists of the same sentence from several decodings become one list with every candidate once. Rounds of tuning are pooled
this way, and so are several decodings of the training text.

Lists hold units instead of features, so one decoding serves every set of features. The unit of a phrase model is a
phrase in its place, with the columns of `phrase_sparse.STEP`; the source words between a phrase and the group before it
are `between_T`. The unit of a model over blocks is the block before and the block; that of a hierarchical model is a
fact about the structure of derivations.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.array_types import NO_INTS, NO_INTS32, AnyArray, AnyFloats, AnyInts, Floats, Ints, Ints32, Uints
from xlate.arrays.ragged import offsets_of, places_in_rows, places_of, row_numbers
from xlate.arrays.ranges import pieces
from xlate.candidates.batch import UNITS, WORDS, CandidateBatch
from xlate.errors import refuse_if
from xlate.features.block import BigramIndex
from xlate.features.phrase_sparse import STEP, SparseFeatures
from xlate.features.structure import StructureFeatures
from xlate.kernels.counting.ngram_statistics import list_statistics
from xlate.kernels.search.best_paths import GraphArcs, Paths, sample_paths
from xlate.metrics.bleu import ORDER
from xlate.text.vocabulary import EncodedText


@dataclass(frozen=True)
class Draw:
    """How candidates are drawn: how many, in proportion to exp(scale · score); the seed and the words decide which."""

    draws: int
    scale: float
    seed: int

    def paths(self, arcs: GraphArcs, words: Sequence[str]) -> tuple[Paths, Ints32]:
        """The distinct paths drawn from the graph of a sentence, and the count of each; see `sample_paths`."""
        generator = np.random.default_rng((zlib.crc32(" ".join(words).encode()) + self.seed) % 2**31)
        offsets_N1, labels_L, count_N = sample_paths(arcs, self.scale, self.draws, generator)
        return Paths(offsets_N1, labels_L), count_N.astype(np.int32)


def decoded(features_CD: AnyFloats, words: EncodedText) -> CandidateBatch:
    """C translations of one sentence with D floats, best first or in the order drawn: one instance without gains.

    Words are numbered by `text.Numbering`.
    """
    none_C1 = np.zeros(len(words) + 1, np.int64)
    return CandidateBatch(
        np.array([0, len(words)]),
        np.asarray(features_CD, np.float32),
        np.zeros((len(words), 0), np.float32),
        none_C1,
        NO_INTS32,
        word_offsets_C1=words.offsets_S1,
        words_T=words.ids_T,
    )


def of_no_words(columns: int) -> CandidateBatch:
    """The only translation of an empty sentence, with all floats 0."""
    return decoded(np.zeros((1, columns)), EncodedText.from_ids([NO_INTS32]))


def of_no_steps(columns: int, width: int = 0) -> CandidateBatch:
    """The same without steps, whose parts would have ids, or units of some width."""
    offsets = np.zeros(2, np.int64)
    parts: dict[str, Any] = {"units": np.zeros((0, width), np.int32)} if width else {"ids": (offsets[:1], NO_INTS32)}
    return with_steps(of_no_words(columns), offsets, NO_INTS32, **parts)


def with_steps(
    found: CandidateBatch,
    offsets_C1: Ints,
    steps_K: Ints32,
    *,
    ids: tuple[Ints, Ints32] | None = None,
    units: Ints32 | None = None,
    between: tuple[Ints, Ints32] | None = None,
) -> CandidateBatch:
    """Translations of one sentence with their steps as parts, numbered within the sentence.

    Args:
        found: the C translations.
        offsets_C1, steps_K: the steps of each.
        ids: the sparse features of each of P parts, as offsets and ids; none by default.
        units: the unit of each part, (P, U), if there are no ids yet.
        between: further numbers of each unit, as offsets and numbers; none by default.
    """
    rows_P = units if ids is None else ids[0][1:]
    assert rows_P is not None
    nothing = np.zeros(len(rows_P) + 1, np.int64), NO_INTS32
    id_offsets_P1, ids_N = nothing if ids is None else ids
    between_offsets_P1, between_T = (None, None) if units is None else between or nothing
    return replace(
        found,
        part_offsets_I1=np.array([0, len(rows_P)]),
        candidate_part_offsets_C1=offsets_C1,
        candidate_parts_K=steps_K,
        part_id_offsets_P1=id_offsets_P1,
        part_ids_N=ids_N,
        unit_PU=units,
        between_offsets_P1=between_offsets_P1,
        between_T=between_T,
    )


def ngram_statistics(
    words: EncodedText,
    candidate_offsets_I1: Ints,
    references: EncodedText,
    reference_offsets_I1: Ints,
    order: int = ORDER,
) -> Ints:
    """BLEU statistics of C hypotheses in sacrebleu's layout, (C, 2 + 2·order); see `bleu_scores`.

    Words are compared by number, so hypotheses and references must use the same numbering, and no word of a reference
    may be unknown: unknown words all have the number 0 and would match each other.

    Args:
        words: of the hypotheses.
        candidate_offsets_I1: which of them belong to each of I lists.
        references: with the numbering of the hypotheses.
        reference_offsets_I1: which of them belong to each list, at least one.
    """
    sides = *words.arrays, candidate_offsets_I1, *references.arrays
    return list_statistics(*sides, reference_offsets_I1, order)


def listed(
    found: Sequence[CandidateBatch],
    references: EncodedText,
    reference_offsets_I1: Ints,
    sentence_I: Ints | None = None,
    *,
    words: bool = False,
) -> CandidateBatch:
    """The lists of a text, with BLEU statistics as gains.

    Args:
        found: the translations of each of I sentences; see `decoded`.
        references: with the numbering of the translations, sentence by sentence.
        reference_offsets_I1: which of them belong to each sentence.
        sentence_I: numbers of the sentences, if they are to be kept.
        words: whether to keep the target words too.

    Raises:
        InputError: there is no sentence.
    """
    refuse_if(not found, "no sentences", None, "one or more")
    joined = CandidateBatch.joined(found)
    statistics_CK = ngram_statistics(joined.words, joined.candidate_offsets_I1, references, reference_offsets_I1)
    left_out: dict[str, Any] = {} if words else dict.fromkeys(WORDS)
    return replace(joined, gain_CG=statistics_CK.astype(np.float32), sentence_I=sentence_I, **left_out)


def pool(batches: Sequence[CandidateBatch], *, by_words: bool = False) -> CandidateBatch:
    """Joins lists of the same I instances; of equal candidates of an instance the first stays.

    Two candidates are equal if they have the same dense features, gains, and contents of their parts: ids with values,
    or units, in any order. With `by_words` they are equal if they have the same target words, whatever their
    derivation. Earlier batches come first, and the order within a batch stays, so joining candidates that the pool
    already has changes nothing. Parts that no candidate holds any more are left out.

    Args:
        batches: all of the same instances and columns, without base scores.
        by_words: whether candidates are compared by their words.

    Raises:
        ValueError: there is no batch, batches differ in instances, columns or arrays, have base scores, or lack words.
    """
    if not batches:
        raise ValueError("nothing to pool")
    for batch in batches:
        if batch.base_C is not None:
            raise ValueError("a batch with base scores cannot be pooled")
        if len(batch) != len(batches[0]) or batch.dense_CD.shape[1:] != batches[0].dense_CD.shape[1:]:
            raise ValueError(f"{len(batch)} instances of {batch.dense_CD.shape[1:]} floats, unlike the batches before")
    instances = len(batches[0])
    if not instances:
        return batches[0]
    whole = CandidateBatch.joined(batches)
    instance_C = row_numbers(whole.candidate_offsets_I1) % instances
    order_C = np.argsort(instance_C, kind="stable")
    keys_C = _sequence_hashes(*whole.words.arrays) if by_words else _keys(whole)
    _, number_C = np.unique(keys_C[order_C], return_inverse=True)
    pairs_C = instance_C[order_C] * (int(number_C.max(initial=0)) + 1) + number_C.reshape(-1)
    # The first of equals, ordered by instance, and within each in the given order.
    first_C = np.zeros(len(pairs_C), np.bool_)
    first_C[np.unique(pairs_C, return_index=True)[1]] = True
    return chosen(whole, order_C[first_C], instances)


def chosen(whole: CandidateBatch, rows_C: AnyInts, instances: int | None = None) -> CandidateBatch:
    """Some candidates of a batch, given in the order of their instances; only their own parts stay.

    The same sequence of `instances` may occur several times in the batch, by default once.
    """
    kept_C, instances = np.asarray(rows_C, np.int64), instances or len(whole)
    instance_C = row_numbers(whole.candidate_offsets_I1) % instances
    rows = {"I": np.arange(instances), "C": kept_C, "P": kept_C}
    offsets_I1 = offsets_of(np.bincount(instance_C[kept_C], minlength=instances))
    if whole.part_offsets_I1 is None:
        return replace(whole.taken(rows), candidate_offsets_I1=offsets_I1)
    # Parts are put in the order of the instances and renumbered in the candidates.
    used_P = np.zeros(len(whole.part_id_offsets_P1) - 1, np.bool_)
    assert whole.candidate_part_offsets_C1 is not None
    part_K = whole.part_of_K()[places_of(whole.candidate_part_offsets_C1, kept_C)]
    used_P[part_K] = True
    instance_P = row_numbers(whole.part_offsets_I1) % instances
    rows["P"] = np.argsort(instance_P, kind="stable")
    rows["P"] = rows["P"][used_P[rows["P"]]]
    part_offsets_I1 = offsets_of(np.bincount(instance_P[rows["P"]], minlength=instances))
    number_P = np.zeros(len(used_P), np.int64)
    number_P[rows["P"]] = places_in_rows(part_offsets_I1)
    return replace(
        whole.taken(rows),
        candidate_offsets_I1=offsets_I1,
        part_offsets_I1=part_offsets_I1,
        candidate_parts_K=number_P[part_K].astype(np.int32),
    )


def _keys(batch: CandidateBatch) -> NDArray[np.void]:
    """All that candidates are compared by, as one string of bytes per candidate."""
    # The contents of a part as a sum of 64-bit hashes, so that sums over parts are those of all their contents.
    values_N = batch.part_values_N
    bits_N = np.ones(len(batch.part_ids_N), np.float32) if values_N is None else values_N + np.float32(0)
    mixed_N = (batch.part_ids_N.astype(np.uint64) << np.uint64(32)) | bits_N.view(np.uint32).astype(np.uint64)
    hash_P = _sums(_mixed(mixed_N), batch.part_id_offsets_P1)
    if batch.unit_PU is not None:
        unit_PU, offsets_P1, between_T = batch.units
        width = unit_PU.shape[1]
        own_P = _sequence_hashes(unit_PU.reshape(-1), np.arange(len(unit_PU) + 1) * width)
        sums_P = own_P + _sequence_hashes(between_T, offsets_P1, width)
        hash_P = hash_P + _mixed(sums_P)
    hash_C = hash_P
    if batch.candidate_part_offsets_C1 is not None:
        hash_C = _sums(hash_P[batch.part_of_K()], batch.candidate_part_offsets_C1)
    # Adding 0 turns -0 into 0, which is equal but has different bytes.
    columns = batch.dense_CD + 0.0, batch.gain_CG + 0.0, hash_C[:, None]
    bytes_C = np.concatenate([np.ascontiguousarray(column).view(np.uint8) for column in columns], axis=1)
    return bytes_C.view(np.dtype((np.void, bytes_C.shape[1])))


def _sequence_hashes(values_N: Ints32, offsets_R1: Ints, before: int = 0) -> Uints:
    """A hash of each ragged row: the sum of hashes of its values with their places, of which some may come before."""
    place_N = (1 + before + places_in_rows(offsets_R1)).astype(np.uint64)
    return _sums(_mixed((place_N << np.uint64(32)) | values_N.astype(np.uint32).astype(np.uint64)), offsets_R1)


def _mixed(values: Uints) -> Uints:
    """The finaliser of splitmix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values


def _sums(values_N: Uints, offsets_R1: Ints) -> Uints:
    """The sum of each ragged row, modulo 2^64."""
    sums_N1 = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values_N, dtype=np.uint64)])
    sums_R: Uints = sums_N1[offsets_R1[1:]] - sums_N1[offsets_R1[:-1]]
    return sums_R


def centred_in_lists(dense_CD: AnyArray, candidate_offsets_I1: Ints) -> Floats:
    """Floats minus their mean in the list, (C, D): the part that ranks hypotheses, with all its digits."""
    sizes_I = np.diff(candidate_offsets_I1)
    rows_I = np.flatnonzero(sizes_I)
    values_CD = np.asarray(dense_CD, np.float64)
    sums_ID = np.add.reduceat(values_CD, candidate_offsets_I1[:-1][rows_I], axis=0)
    return values_CD - np.repeat(sums_ID / sizes_I[rows_I, None], sizes_I[rows_I], axis=0)


def spread_within_lists(dense_CD: AnyArray, candidate_offsets_I1: Ints) -> Floats:
    """The standard deviation of each float within lists, 1 if it never varies, (D,)."""
    squares_1D = np.zeros((0, dense_CD.shape[1]))
    for some in pieces(len(candidate_offsets_I1) - 1, LISTS_AT_A_TIME):
        ends = candidate_offsets_I1[some.start : some.stop + 1]
        centred_CD = centred_in_lists(dense_CD[ends[0] : ends[-1]], ends - ends[0])
        # One row after the other, as a sum over all lists at once would.
        squares_1D = np.concatenate([squares_1D, centred_CD**2]).sum(axis=0, keepdims=True)
    spread_D: Floats = np.sqrt(squares_1D[0] / len(dense_CD))
    return np.where(spread_D > 1e-9, spread_D, 1.0)


def spread_of_scores(score_C: AnyArray, candidate_offsets_I1: Ints) -> float:
    """The standard deviation of scores (C,) within lists, averaged over lists of more than one; 0 without such lists.

    List i has the candidates from `candidate_offsets_I1[i]` to the next; the unit is that of the scores.
    """
    sizes_I = np.diff(candidate_offsets_I1)
    several_I = sizes_I > 1
    if not several_I.any():
        return 0.0
    squares_C = centred_in_lists(score_C[:, None], candidate_offsets_I1)[:, 0] ** 2
    rows_I = np.flatnonzero(sizes_I)
    mean_I = np.add.reduceat(squares_C, candidate_offsets_I1[:-1][rows_I]) / sizes_I[rows_I]
    return float(np.sqrt(mean_I[several_I[rows_I]]).mean())


# Columns of `unit_PU`.
PAIR, LENGTH, START = (STEP.index(name) for name in ("pair", "source_length", "start"))
UNITS_AT_A_TIME, LISTS_AT_A_TIME = 250_000, 5000
# Sparse features that units have.
UnitFeatures = SparseFeatures | BigramIndex | StructureFeatures


def under_templates(
    lists: CandidateBatch, sparse: UnitFeatures, weights_D: Floats | None, gamma: float
) -> CandidateBatch:
    """Lists of units as lists of the ids of their features.

    Dense features are weighted into `base_C`; without weights they are kept as features. Candidates that were drawn
    have ln(draws) / γ there: exp(γ · score) is then their weight as a sample of all derivations, and sparse weights
    learned since then reweight them.
    """
    base_C = None if weights_D is None else lists.dense_CD @ weights_D
    if lists.draws_C is not None and lists.draws_C.any():
        base_C = np.log(lists.draws_C) / gamma
    return replace(
        with_ids(lists, sparse),
        dense_CD=lists.dense_CD if weights_D is None else lists.dense_CD[:, :0],
        base_C=None if base_C is None else base_C.astype(np.float32),
    )


def with_ids(lists: CandidateBatch, index: UnitFeatures) -> CandidateBatch:
    """Lists of units as lists of the ids of their features; new features get ids."""
    unit_PU, offsets_P1, between_T = lists.units
    no_units: dict[str, Any] = dict.fromkeys(UNITS)
    if not isinstance(index, SparseFeatures):
        id_offsets_P1, ids_N = index.of_units(unit_PU)
        return replace(lists, part_id_offsets_P1=id_offsets_P1, part_ids_N=ids_N, **no_units)
    # Made in pieces, because the computation takes several times their memory.
    lengths, found = [NO_INTS], [NO_INTS32]
    for some in pieces(len(unit_PU), UNITS_AT_A_TIME):
        ends = offsets_P1[some.start : some.stop + 1]
        steps = dict(zip(STEP, unit_PU[some].T, strict=True))
        between = {"between_offsets": ends - ends[0], "between": between_T[ends[0] : ends[-1]]}
        offsets, ids = index.ids({**steps, **between})
        lengths.append(np.diff(offsets))
        found.append(ids)
    id_offsets_P1, ids_N = offsets_of(np.concatenate(lengths)), np.concatenate(found)
    return replace(lists, part_id_offsets_P1=id_offsets_P1, part_ids_N=ids_N, **no_units)

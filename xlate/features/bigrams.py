"""The sparse families BB, TP and WB: what each sees of a block and of its predecessor (A5; TZ07 Eq. 3, 10, 11).

BB   block bigram          b' and b                                    BB:das haus|the house>ist|is
TP   target phrase bigram  target phrases t' and t                     TP:the house>is
WB   word boundary         last word of t' and first word of t         WB:house>is
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xlate.errors import InputError
from xlate.kernels.features.bigram_features import SIDE_BITS, BigramFamilies
from xlate.kernels.memory.hashing import build_table
from xlate.phrases.blocks import BlockSet

FAMILIES = ("BB", "TP", "WB")
SIDE_MASK = (1 << SIDE_BITS) - 1


def sides(blocks: BlockSet, family: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What a family sees of each of B blocks as predecessor and as successor, each of shape (B,).

    Raises:
        InputError: no such family.
    """
    table = blocks.table
    if family == "BB":
        block_B = np.arange(len(blocks), dtype=np.int32)
        return block_B, block_B
    if family == "TP":
        target_B = np.ascontiguousarray(table.target_B, dtype=np.int32)
        return target_B, target_B
    if family == "WB":
        offsets_Q1, words_T = table.target_phrases.offsets_S1, np.asarray(table.target_phrases.ids_T)
        last_B, first_B = offsets_Q1[np.asarray(table.target_B) + 1] - 1, offsets_Q1[np.asarray(table.target_B)]
        return words_T[last_B].astype(np.int32), words_T[first_B].astype(np.int32)
    raise InputError("no such family of binary features", seen=family, expected=", ".join(FAMILIES))


def frequent_keys(blocks: BlockSet, family: str, threshold: int) -> NDArray[np.uint64]:
    """The sorted keys of a family's bigrams that follow each other more than `threshold` times in the counted text."""
    left_B, right_B = sides(blocks, family)
    before_U = (blocks.bigram_keys_U >> np.uint64(32)).astype(np.int64)
    block_U = (blocks.bigram_keys_U & np.uint64(0xFFFFFFFF)).astype(np.int64)
    keys_U = feature_keys(family, left_B[before_U], right_B[block_U])
    keys_K, row_U = np.unique(keys_U, return_inverse=True)
    count_K = np.bincount(row_U, weights=blocks.bigram_count_U, minlength=len(keys_K))
    return np.ascontiguousarray(keys_K[count_K > threshold])


def feature_keys(family: str, left_K: NDArray[np.int32], right_K: NDArray[np.int32]) -> NDArray[np.uint64]:
    """The keys of K bigrams of a family."""
    tag = np.uint64(FAMILIES.index(family) << 2 * SIDE_BITS)
    return tag | (left_K.astype(np.uint64) << np.uint64(SIDE_BITS)) | right_K.astype(np.uint64)


def split_key(key: int) -> tuple[str, int, int]:
    """The family of a key, and what it sees of predecessor and block."""
    return FAMILIES[key >> 2 * SIDE_BITS], key >> SIDE_BITS & SIDE_MASK, key & SIDE_MASK


def families_of(keys_F: NDArray[np.uint64]) -> tuple[str, ...]:
    """The families that sorted keys speak of."""
    tags = np.unique(np.asarray(keys_F) >> np.uint64(2 * SIDE_BITS))
    return tuple(FAMILIES[int(tag)] for tag in tags)


def family_ranges(keys_F: NDArray[np.uint64]) -> dict[str, slice]:
    """Where the keys of each family stand among sorted keys."""
    starts = [np.uint64(tag << 2 * SIDE_BITS) for tag in range(len(FAMILIES) + 1)]
    places = np.searchsorted(np.asarray(keys_F), starts)
    return {name: slice(int(places[tag]), int(places[tag + 1])) for tag, name in enumerate(FAMILIES)}


def bigram_families(blocks: BlockSet, keys_F: NDArray[np.uint64], names: Sequence[str] | None = None) -> BigramFamilies:
    """What kernels need to find the features of two blocks; the row of a feature is its place in `keys_F`.

    Args:
        blocks: the block set.
        keys_F: the features' keys, each once.
        names: the families to look for; those of the keys when None.
    """
    names = families_of(keys_F) if names is None else names
    pairs = [sides(blocks, name) for name in names]
    shape = (len(names), len(blocks))
    left_AB, right_AB = (np.array([pair[side] for pair in pairs], dtype=np.int32).reshape(shape) for side in (0, 1))
    return BigramFamilies(
        tag_A=np.array([FAMILIES.index(name) for name in names], dtype=np.int64),
        left_AB=left_AB,
        right_AB=right_AB,
        bigrams=build_table(np.ascontiguousarray(keys_F)),
    )


def contexts(families: BigramFamilies, keys_F: NDArray[np.uint64]) -> NDArray[np.int32]:
    """For each block, one that has the same features as predecessor, or -1 when no feature begins with it; shape (B,).

    A decoder need remember no more of the block before. Two blocks count as the same when every family sees the same of
    them, where what no feature begins with counts as nothing.
    """
    shape = families.left_AB.shape
    seen_AB = np.full(shape, -1, dtype=np.int64)
    ranges = family_ranges(np.sort(keys_F))
    ordered = np.sort(keys_F)
    for family, tag in enumerate(families.tag_A.tolist()):
        begun = np.unique(ordered[ranges[FAMILIES[tag]]] >> np.uint64(SIDE_BITS)).astype(np.int64) & SIDE_MASK
        left_B = families.left_AB[family]
        seen_AB[family] = np.where(np.isin(left_B, begun), left_B, -1)
    if not shape[0] or not shape[1]:
        return np.full(shape[1], -1, dtype=np.int32)
    _, first, inverse = np.unique(seen_AB, axis=1, return_index=True, return_inverse=True)
    context_B = first[inverse.reshape(-1)].astype(np.int32)
    context_B[(seen_AB < 0).all(axis=0)] = -1
    return context_B

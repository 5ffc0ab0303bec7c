"""Features of the structure of derivations: keys, scores under weights, and a growing table of features.

A *fact* is a row of five numbers: a family, and up to four words. A *kind* says how a word is represented: as itself,
its class, or its first letters. Each fact has one feature per pair of kinds, one kind for source words and one for
target words (in families of one language, for the first and the second word).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32, Uints
from xlate.compiled import compiled, embedded, inlined, inner, loop, prefetch
from xlate.kernels.memory import EMPTY, HashTable, find, first_slot, grown, places, slot_of

WORD_PAIR, PAIR_BIGRAM, INSERTION, TARGET_BIGRAM, PARENT_CHILD = range(5)
# Columns of a fact, and of a described feature: family, both kinds, and the values.
FACT, DESCRIBED = 5, 7
NO_VALUE = -1
# A direct-mapped cache of fact scores: a new one replaces an old one.
SCORED = np.dtype([("key", np.uint64), ("score", np.float64)])
MEMORY = 1 << 15


class Kinds(NamedTuple):
    """The value of each word in each kind, (K, V) by side, -1 for none, and which kinds are crossed in each family.

    `pairs_C2` are pairs of kinds; those of family f are rows `pair_offsets_1[f]` to `pair_offsets_1[f + 1]`.
    """

    source_KV: Ints32
    target_KV: Ints32
    pairs_C2: Ints32
    pair_offsets_1: Ints


class StructureWeights(NamedTuple):
    """The weights of F features and the table from their keys to their numbers.

    Each search has its own `memory`, and its own `keys_C` with room for one key per pair of kinds.
    """

    kinds: Kinds
    table: HashTable
    weights_F: Floats
    memory: AnyArray
    keys_C: Uints


@inlined
def mixed(key: np.uint64, value: int) -> np.uint64:
    """A key extended by one more number."""
    key = (key ^ np.uint64(np.int64(value) + 2)) * np.uint64(0x9E3779B97F4A7C15)
    return key ^ (key >> np.uint64(29))


@inlined
def fact_key(family: int, a: int, b: int, c: int, d: int) -> np.uint64:
    """The key of a fact."""
    return mixed(mixed(mixed(mixed(mixed(np.uint64(0), family), a), b), c), d)


@inlined
def described(kinds: Kinds, family: int, words: tuple[int, int, int, int], pair: int) -> tuple[int, int, int, int]:
    """The values of a fact's words in two kinds; the first is -1 when a word has none."""
    x, y = kinds.pairs_C2[pair, 0], kinds.pairs_C2[pair, 1]
    a, b, c, d = words
    first, second, third, fourth = 0, 0, 0, 0
    if family == TARGET_BIGRAM:
        first, second = kinds.target_KV[x, a], kinds.target_KV[y, b]
    elif family == PARENT_CHILD:
        first, second = kinds.source_KV[x, a], kinds.source_KV[y, b]
    else:
        first, second = kinds.source_KV[x, a], kinds.target_KV[y, b]
    if family == PAIR_BIGRAM:
        third, fourth = kinds.source_KV[x, c], kinds.target_KV[y, d]
    if second == NO_VALUE or third == NO_VALUE or fourth == NO_VALUE:
        first = NO_VALUE
    return first, second, third, fourth


@inlined
def feature_key(family: int, pair: int, values: tuple[int, int, int, int]) -> np.uint64:
    """The key of a feature."""
    return mixed(fact_key(family, values[0], values[1], values[2], values[3]), pair)


@embedded
def fact_score(known: StructureWeights, family: int, words: tuple[int, int, int, int]) -> float:
    """The sum of the weights of a fact's features."""
    key = fact_key(family, words[0], words[1], words[2], words[3])
    held = known.memory[first_slot(key, np.uint64(MEMORY - 1))]
    if held.key != key:
        held.key, held.score = key, _looked_up(known, family, words)
    return float(held.score)


@inner
def _looked_up(known: StructureWeights, family: int, words: tuple[int, int, int, int]) -> float:
    """The score of a fact that is not in the cache."""
    total, count, mask = 0.0, 0, np.uint64(len(known.table.keys_H) - 1)
    # The table is rarely in the processor's cache: all of a fact's slots are prefetched before the first is read.
    for pair in places(known.kinds.pair_offsets_1, family):
        values = described(known.kinds, family, words, pair)
        if values[0] != NO_VALUE:
            known.keys_C[count] = feature_key(family, pair, values)
            prefetch(known.table.keys_H, first_slot(known.keys_C[count], mask))
            count += 1
    for at in range(count):
        row = find(known.table, known.keys_C[at])
        # A feature may be newer than the weights.
        if 0 <= row < len(known.weights_F):
            total += known.weights_F[row]
    return total


def new_memory() -> AnyArray:
    """An empty cache of fact scores."""
    memory = np.zeros(MEMORY, SCORED)
    memory["key"] = EMPTY
    return memory


class Growing(NamedTuple):
    """A growing table of features: slots, and a description of each feature; `size_1[0]` are in use."""

    keys_H: Uints
    rows_H: Ints32
    described_F7: Ints32
    size_1: Ints


@loop
def numbered(kinds: Kinds, growing: Growing, facts_A5: Ints32, add: bool) -> tuple[Growing, Ints, Ints32]:
    """The numbers of the features of A facts: offsets (A + 1) and numbers; unknown features are added, or left out.

    Also returns the table, perhaps in new arrays.
    """
    offsets_A1 = np.zeros(len(facts_A5) + 1, np.int64)
    most = 0
    for at in range(len(facts_A5)):
        family = facts_A5[at, 0]
        most += kinds.pair_offsets_1[family + 1] - kinds.pair_offsets_1[family]
    if add:
        growing = _with_room(growing, most)
    ids_N, count = np.empty(most, np.int32), 0
    for at in range(len(facts_A5)):
        family = facts_A5[at, 0]
        words = (facts_A5[at, 1], facts_A5[at, 2], facts_A5[at, 3], facts_A5[at, 4])
        for pair in places(kinds.pair_offsets_1, family):
            values = described(kinds, family, words, pair)
            if values[0] == NO_VALUE:
                continue
            row = _row(growing, feature_key(family, pair, values), family, kinds.pairs_C2[pair], values, add)
            if row >= 0:
                ids_N[count] = row
                count += 1
        offsets_A1[at + 1] = count
    return growing, offsets_A1, ids_N[:count].copy()


@embedded
def _row(
    growing: Growing, key: np.uint64, family: int, kinds_2: Ints32, values: tuple[int, int, int, int], add: bool
) -> int:
    slot = slot_of(growing.keys_H, key)
    if growing.keys_H[slot] == key:
        return int(growing.rows_H[slot])
    if not add:
        return NO_VALUE
    row = growing.size_1[0]
    growing.size_1[0] = row + 1
    growing.keys_H[slot], growing.rows_H[slot] = key, row
    line = growing.described_F7[row]
    line[0], line[1], line[2] = family, kinds_2[0], kinds_2[1]
    line[3], line[4], line[5], line[6] = values[0], values[1], values[2], values[3]
    return int(row)


@inner
def _with_room(growing: Growing, more: int) -> Growing:
    """The table, or a copy in larger arrays with room for `more` features."""
    size, needed = growing.size_1[0], growing.size_1[0] + more
    keys_H, rows_H = growing.keys_H, growing.rows_H
    slots = len(keys_H)
    while 2 * slots < 3 * needed:
        slots *= 2
    if slots > len(keys_H):
        keys_H, rows_H = np.full(slots, EMPTY, np.uint64), np.full(slots, -1, np.int32)
        for old in range(len(growing.keys_H)):
            if growing.keys_H[old] != EMPTY:
                slot = slot_of(keys_H, growing.keys_H[old])
                keys_H[slot], rows_H[slot] = growing.keys_H[old], growing.rows_H[old]
    return Growing(keys_H, rows_H, grown(growing.described_F7, size, more), growing.size_1)


@loop
def appended(growing: Growing, described_N7: Ints32, keys_N: Uints) -> Growing:
    """The table with N more features, which must be new to it."""
    growing = _with_room(growing, len(keys_N))
    for n in range(len(keys_N)):
        line = described_N7[n]
        _row(growing, keys_N[n], line[0], line[1:3], (line[3], line[4], line[5], line[6]), True)
    return growing


@compiled
def description_keys(kinds: Kinds, described_F7: Ints32) -> Uints:
    """The keys of described features, (F,); `EMPTY` where a family does not cross a feature's kinds."""
    keys_F = np.full(len(described_F7), EMPTY, np.uint64)
    for f in range(len(described_F7)):
        line = described_F7[f]
        for pair in places(kinds.pair_offsets_1, line[0]):
            if kinds.pairs_C2[pair, 0] == line[1] and kinds.pairs_C2[pair, 1] == line[2]:
                keys_F[f] = feature_key(line[0], pair, (line[3], line[4], line[5], line[6]))
    return keys_F

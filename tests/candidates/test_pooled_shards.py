"""Lists of several decodings pooled, against the same by hand."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from xlate.arrays.ragged import offsets_of
from xlate.candidates.part_shards import PartShard
from xlate.candidates.pooled_shards import pooled

# A derivation is a tuple of phrases; a phrase is a row of twelve numbers and the words in between.
Phrase = tuple[tuple[int, ...], tuple[int, ...]]


def phrase(number: int, *between: int) -> Phrase:
    return tuple(number * 100 + column for column in range(12)), between


def shard(lists: list[list[tuple[Phrase, ...]]]) -> PartShard:
    parts = [sorted({p for derivation in one for p in derivation}) for one in lists]
    flat = [derivation for one in lists for derivation in one]
    owner = [i for i, one in enumerate(lists) for _ in one]
    numbers = [parts[i].index(p) for i, derivation in zip(owner, flat, strict=True) for p in derivation]
    every = [p for some in parts for p in some]
    return PartShard(
        np.arange(len(lists)),
        offsets_of([len(one) for one in lists]),
        np.array([[len(d), sum(p[0][0] for p in d)] for d in flat], dtype=np.float32),
        np.array([[len(d)] for d in flat], dtype=np.int16),
        np.zeros(len(flat), dtype=np.int32),
        offsets_of([len(some) for some in parts]),
        offsets_of([len(d) for d in flat]),
        np.array(numbers, dtype=np.int32),
        np.array([p[0] for p in every], dtype=np.int32).reshape(-1, 12),
        offsets_of([len(p[1]) for p in every]),
        np.array([word for p in every for word in p[1]], dtype=np.int32),
    )


def derivations(shard: PartShard) -> list[list[tuple[Phrase, ...]]]:
    found = []
    for i in range(len(shard.sentence_I)):
        one = []
        for c in range(shard.candidate_offsets_I1[i], shard.candidate_offsets_I1[i + 1]):
            steps = shard.candidate_parts_K[slice(*shard.candidate_part_offsets_C1[c : c + 2])]
            rows = [int(shard.part_offsets_I1[i] + step) for step in steps]
            between = [shard.between_T[slice(*shard.between_offsets_P1[r : r + 2])] for r in rows]
            one.append(
                tuple(
                    (tuple(shard.phrase_P12[r].tolist()), tuple(b.tolist())) for r, b in zip(rows, between, strict=True)
                )
            )
        found.append(one)
    return found


A, B, C, D = phrase(1), phrase(2, 5), phrase(2, 6), phrase(3, 5, 6)
FIRST = [[(A, B), (A, C)], [(D,)], []]
SECOND = [[(A, C), (B, A), (D,)], [(D,), (D, A)], [(A,)]]


def test_what_came_before_counts_once() -> None:
    joined = pooled([shard(FIRST), shard(SECOND)])
    assert derivations(joined) == [[(A, B), (A, C), (B, A), (D,)], [(D,), (D, A)], [(A,)]]
    # Every derivation keeps its own features and statistics.
    flat = [d for one in derivations(joined) for d in one]
    assert joined.features_CD.tolist() == [[len(d), sum(p[0][0] for p in d)] for d in flat]
    assert joined.statistics_CK[:, 0].tolist() == [len(d) for d in flat]


def test_the_order_of_phrases_and_the_words_between_tell_apart() -> None:
    joined = pooled([shard([[(A, B)]]), shard([[(B, A)]]), shard([[(A, C)]]), shard([[(A, B)]])])
    assert derivations(joined) == [[(A, B), (B, A), (A, C)]]


def test_a_pool_of_one_is_itself() -> None:
    one = shard(FIRST)
    for field in fields(PartShard):
        assert np.array_equal(getattr(pooled([one]), field.name), getattr(one, field.name))

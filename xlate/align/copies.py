"""Copies in parallel text: pairs with the same source or the same target, and folds that never separate them.

A system that must translate a sentence as if unseen must not have seen a copy of it either. Two pairs are copies when
their sources or their targets have the same letters and digits, ignoring case, and so are two pairs that a chain of
such pairs connects.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from xlate.array_types import NO_INTS, Bools, Ints
from xlate.arrays.ranges import pieces


def normal_form(words: Sequence[str]) -> str:
    """Letters and digits of a sentence, case-folded; the sentence itself when it has none.

    Example: `["Ein", "Haus", "."]` gives `einhaus`.
    """
    kept = "".join(filter(str.isalnum, "".join(words).casefold()))
    return kept or " ".join(words)


# Sentences are sorted in groups of about so many.
SORTED = 1 << 22


def digests(sentences: Iterable[Sequence[str]]) -> Ints:
    """A number for each of S sentences, (S,), which those with the same normal form share."""
    # They take less memory than words; the probability that two of a million sentences share one is below 1e-7.
    each = (blake2b(normal_form(words).encode(), digest_size=8).digest() for words in sentences)
    return np.frombuffer(b"".join(each), np.int64)


def copy_groups(source_S: Ints, target_S: Ints) -> Ints:
    """The group of each of S pairs, (S,): copies have the same number, which is that of the first of them.

    Args:
        source_S, target_S: the digests of both sides, which may be larger than memory.
    """
    parent_S = np.arange(len(source_S))

    def root(pair: int) -> int:
        while parent_S[pair] != pair:
            parent_S[pair] = parent_S[parent_S[pair]]
            pair = int(parent_S[pair])
        return pair

    for digest_S in (source_S, target_S):
        parts = 1 + len(digest_S) // SORTED
        for part in range(parts):
            places = [at.start + np.flatnonzero(digest_S[at] % parts == part) for at in pieces(len(digest_S))]
            row_N = np.concatenate([NO_INTS, *places])
            row_N = row_N[np.argsort(digest_S[row_N], kind="stable")]
            same_N = np.flatnonzero(digest_S[row_N[1:]] == digest_S[row_N[:-1]])
            for one, other in zip(row_N[same_N].tolist(), row_N[same_N + 1].tolist(), strict=True):
                ends = root(one), root(other)
                # The earlier pair is the root, so that a group has the number of its first pair.
                parent_S[max(ends)] = min(ends)
    for at in pieces(len(parent_S)):
        while (parent_S[parent_S[at]] != parent_S[at]).any():
            parent_S[at] = parent_S[parent_S[at]]
    return parent_S


def balanced_folds(group_S: Ints, folds: int) -> Ints:
    """The fold of each of S pairs, (S,): every group is in one fold, and folds are as equal in size as that allows.

    Groups go to the fold that has the fewest pairs so far, the largest first; groups of one pair come last, in their
    order, so that neighbours, which may be alike, are usually in one fold.

    Raises:
        ValueError: fewer than one fold.
    """
    if folds < 1:
        raise ValueError(f"{folds} folds, expected 1 or more")
    groups, place_S, size_G = np.unique(group_S, return_inverse=True, return_counts=True)
    fold_G = np.full(len(groups), -1, np.int64)
    several = np.flatnonzero(size_G > 1)
    filled = [(0, fold) for fold in range(folds)]
    for group in several[np.argsort(-size_G[several], kind="stable")].tolist():
        held, fold = heapq.heappop(filled)
        fold_G[group] = fold
        heapq.heappush(filled, (held + int(size_G[group]), fold))
    alone = np.flatnonzero(size_G == 1)
    held_K = np.zeros(folds, np.int64)
    held_K[[fold for _, fold in filled]] = [held for held, _ in filled]
    fold_G[alone] = np.repeat(np.arange(folds), _room(held_K, len(alone)))
    return fold_G[place_S]


def _room(held_K: Ints, more: int) -> Ints:
    """How many single pairs each fold takes so that all become as equal as possible, (K,)."""
    order_K = np.argsort(held_K, kind="stable")
    taken_K = np.zeros(len(held_K), np.int64)
    for count in range(len(order_K), 0, -1):
        # The `count` smallest folds are filled to one level, if the next one is not below it.
        chosen = order_K[:count]
        level, rest = divmod(int(held_K[chosen].sum()) + more, count)
        if level >= held_K[chosen].max() or count == 1:
            taken_K[chosen] = level - held_K[chosen]
            taken_K[chosen[:rest]] += 1
            break
    return taken_K


def heldout_pairs(group_S: Ints, every: int) -> Bools:
    """Which of S pairs are held out, (S,): every `every`-th group, with all its copies; none when `every` is 0.

    Copies that are more than a hundredth of the text are kept in, so about as many pairs as requested are held out.
    """
    if not every:
        return np.zeros(len(group_S), bool)
    _, place_S, size_G = np.unique(group_S, return_inverse=True, return_counts=True)
    small_G = (size_G == 1) | (size_G * 100 <= len(group_S))
    number_G = np.cumsum(small_G) - 1
    held_G = small_G & (number_G % every == every - 1)
    held_S: Bools = held_G[place_S]
    return held_S

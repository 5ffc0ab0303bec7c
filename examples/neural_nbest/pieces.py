"""Splits words into pieces by merging frequent neighbours (Sennrich et al. 2016), and makes batches of numbers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

Pairs = Sequence[tuple[list[int], list[int]]]
PAD, BEGIN, END, UNKNOWN = range(4)
# Follows a piece that is not the last of its word.
JOINED = "@@"


class Pieces:
    """The joint merges of two languages, and the resulting pieces, by number."""

    def __init__(self, merges: list[tuple[str, str]], pieces: list[str]) -> None:
        self.rank = {tuple(pair): place for place, pair in enumerate(merges)}
        self.pieces = pieces
        self.id = {piece: number for number, piece in enumerate(pieces, start=UNKNOWN + 1)}
        self.known: dict[str, list[int]] = {}

    @classmethod
    def learn(cls, words: Counter[str], merges: int) -> Pieces:
        """Learns a number of merges from words with their counts."""
        split = {word: _characters(word) for word in words}
        counts: Counter[tuple[str, str]] = Counter()
        holders: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for word, row in split.items():
            for pair in pairwise(row):
                counts[pair] += words[word]
                holders[pair].add(word)
        # Pairs by an earlier count; those whose counts have changed since are skipped.
        queue = [(-count, pair) for pair, count in counts.items()]
        heapify(queue)
        done: list[tuple[str, str]] = []
        while len(done) < merges and queue:
            count, best = heappop(queue)
            if -count != counts[best]:
                continue
            if -count < 2:
                break
            done.append(best)
            changed: set[tuple[str, str]] = set()
            for word in list(holders[best]):
                row = split[word]
                split[word] = merged = _merge(row, best)
                for sign, pairs in ((-1, list(pairwise(row))), (1, list(pairwise(merged)))):
                    for pair in pairs:
                        counts[pair] += sign * words[word]
                        (holders[pair].add if sign > 0 else holders[pair].discard)(word)
                    changed.update(pairs)
            counts[best] = 0
            for pair in changed - {best}:
                heappush(queue, (-counts[pair], pair))
        letters = {letter for word in words for letter in word}
        made = {_merge([left, right], (left, right))[0] for left, right in done}
        return cls(done, sorted(made | letters | {letter + JOINED for letter in letters}))

    def __len__(self) -> int:
        """How many numbers there are, including those of the ends and of unknown pieces."""
        return len(self.pieces) + UNKNOWN + 1

    def save(self, path: Path) -> None:
        """Writes merges and pieces."""
        path.write_text(json.dumps([list(self.rank), self.pieces]), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Pieces:
        """Reads what `save` wrote."""
        merges, pieces = json.loads(path.read_text(encoding="utf-8"))
        return cls(merges, pieces)

    def ids(self, words: Sequence[str]) -> list[int]:
        """The numbers of the pieces of some words."""
        return [number for word in words for number in self._of_word(word)]

    def words(self, ids: Sequence[int]) -> str:
        """The words that the pieces make, separated by blanks."""
        return "".join(f"{self.pieces[i - UNKNOWN - 1]} " for i in ids if i > UNKNOWN).replace(f"{JOINED} ", "").strip()

    def _of_word(self, word: str) -> list[int]:
        if word not in self.known:
            row = _characters(word)
            while len(row) > 1:
                pair = min(pairwise(row), key=lambda p: self.rank.get(p, len(self.rank)))
                if pair not in self.rank:
                    break
                row = _merge(row, pair)
            self.known[word] = [self.id.get(piece, UNKNOWN) for piece in row]
        return self.known[word]


def _characters(word: str) -> list[str]:
    return [c + JOINED for c in word[:-1]] + [word[-1]]


def _merge(row: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for piece in row:
        if merged and (merged[-1], piece) == pair:
            merged[-1] = merged[-1].removesuffix(JOINED) + piece
        else:
            merged.append(piece)
    return merged


def padded(rows: Sequence[Sequence[int]], device: str) -> Tensor:
    """Rows of numbers as one tensor."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], device=device)


def batches(pairs: Pairs, tokens: int, seed: int) -> list[list[int]]:
    """Batches of sentences of similar length, in an order drawn for the epoch."""
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0]), i))
    found: list[list[int]] = [[]]
    for i in order:
        if (len(found[-1]) + 1) * (max(map(len, pairs[i])) + 2) > tokens:
            found.append([])
        found[-1].append(i)
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed)).tolist()
    return [found[place] for place in order]

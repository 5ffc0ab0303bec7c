"""Counts of pairs of sequences in bounded memory.

The pairs of a part of a corpus form a sorted run. When a run exceeds the memory, it is kept in scratch files. In the
end the runs are merged part by part: first the sequences of each side, in ranges of their first words, which numbers
them in the whole corpus; then the pairs, in ranges of source sides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.array_types import AnyArray, Ints, Ints16, Ints32
from xlate.arrays.ragged import joined_offsets, offsets_of, row_numbers
from xlate.arrays.scratch import Scratch, joined_rows
from xlate.arrays.stored import HEADER, arrays_of, layout_of, open_arrays, save_arrays
from xlate.kernels.counting.alignment import InnerLinks
from xlate.kernels.counting.merging import CountedRows, merge_rows
from xlate.kernels.memory import Trie, intern_rows, preorder, spell
from xlate.text.vocabulary import EncodedText

if TYPE_CHECKING:
    # Translating needs the tables, which import this file, but does not extract them.
    from xlate.kernels.counting.rule_extraction import PairStore, RuleLimits

RUN = "run of counted pairs"
SIDES = SOURCE, TARGET, SHAPE = 0, 1, 2
# How many times the tables of counts must fit into memory while they grow and are sorted.
GROWTH = 3
# The bytes of a pair, or of a sequence, while it is merged.
ROW_BYTES = 200


@dataclass(frozen=True)
class Run:
    """N pairs, sorted by the rows of their source sides, target sides and shapes, which are sorted too."""

    sources: EncodedText
    targets: EncodedText
    shapes: EncodedText
    source_N: Ints32
    target_N: Ints32
    shape_N: Ints32
    weight_N: Ints

    @property
    def sequences(self) -> tuple[EncodedText, EncodedText, EncodedText]:
        """The distinct ones of each of `SIDES`."""
        return self.sources, self.targets, self.shapes

    @property
    def rows(self) -> tuple[Ints32, Ints32, Ints32]:
        """Those of each pair."""
        return self.source_N, self.target_N, self.shape_N


@dataclass(frozen=True)
class PairCounts:
    """B pairs over P distinct source and Q distinct target phrases, sorted by (source_B, target_B), with their counts.

    Phrases are in the order of their word numbers; those of rules hold non-terminals. X distinct shapes, that is
    sequences of internal links in the order (target, source), lie between `link_offsets_X1[x]` and
    `link_offsets_X1[x + 1]`. `shape_B` is the most frequent shape of each pair; a tie goes to the one whose source
    positions, listed for each target word in turn, come last in order. `inverse_shape_B` breaks ties with the two sides
    exchanged: Moses counts each direction on its own, so it can weight p(f|e) by other links than p(e|f). Counts are
    those of `RuleLimits.unit`.
    """

    source_phrases: EncodedText
    target_phrases: EncodedText
    source_B: Ints32
    target_B: Ints32
    shape_B: Ints32
    inverse_shape_B: Ints32
    count_B: Ints
    source_count_P: Ints
    target_count_Q: Ints
    link_offsets_X1: Ints
    link_source_K: Ints16
    link_target_K: Ints16

    def __len__(self) -> int:
        """The number of distinct pairs B."""
        return len(self.source_B)

    @property
    def links(self) -> tuple[InnerLinks, InnerLinks]:
        """The links of each pair, and those with the two sides exchanged."""
        offsets_X1, source_K, target_K = self.link_offsets_X1, self.link_source_K, self.link_target_K
        direct = InnerLinks(self.shape_B, offsets_X1, source_K, target_K)
        return direct, InnerLinks(self.inverse_shape_B, offsets_X1, target_K, source_K)


def number_nodes(trie: Trie, node_B: Ints32) -> tuple[EncodedText, Ints32]:
    """The distinct sequences of some nodes in the order of their word numbers, and the row of each given node."""
    size = int(trie.size_1[0])
    rank_N = preorder(trie.parent_N[:size], trie.word_N[:size])
    used_N = np.zeros(size, dtype=np.bool_)
    used_N[node_B] = True
    node_P = np.flatnonzero(used_N)
    node_P = node_P[np.argsort(rank_N[node_P])]
    row_N = np.full(size, -1, dtype=np.int32)
    row_N[node_P] = np.arange(len(node_P), dtype=np.int32)
    return EncodedText(*spell(trie.parent_N, trie.word_N, node_P.astype(np.int32))), row_N[node_B]


def number_phrases(phrases: EncodedText) -> tuple[EncodedText, Ints32]:
    """The distinct phrases in the order of their word numbers, and the row of each given phrase."""
    trie, node_S = intern_rows(*phrases.arrays)
    return number_nodes(trie, node_S)


def sorted_run(store: PairStore) -> Run:
    """Counted pairs as a run."""
    keys = store.pairs.keys_K[: int(store.pairs.size_1[0])]
    sources, source_B = number_nodes(store.sources, (keys >> np.uint64(32)).astype(np.int32))
    targets, target_B = number_nodes(store.targets, keys.astype(np.uint32).astype(np.int32))
    order = np.argsort((source_B.astype(np.int64) << 32) | target_B)
    rank_B = np.empty(len(keys), dtype=np.int64)
    rank_B[order] = np.arange(len(keys))
    keys_N = store.shaped.keys_K[: int(store.shaped.size_1[0])]
    shapes, shape_N = number_nodes(store.shapes, keys_N.astype(np.uint32).astype(np.int32))
    pair_N = (keys_N >> np.uint64(32)).astype(np.int64)
    order = np.argsort((rank_B[pair_N] << 32) | shape_N)
    pair_N = pair_N[order]
    columns = source_B[pair_N], target_B[pair_N], shape_N[order]
    return Run(sources, targets, shapes, *columns, store.weight_N[: len(keys_N)][order])


def _inverse_ranks(offsets_X1: Ints, source_K: Ints32, target_K: Ints32, limits: RuleLimits) -> Ints32:
    """The rank of each shape when source positions come last, listed for each target word in turn."""
    by_source = np.lexsort((target_K, source_K, row_numbers(offsets_X1)))
    inverse_K = ((limits.symbols - 1 - source_K) * limits.target_span + target_K)[by_source]
    return number_phrases(EncodedText(inverse_K, offsets_X1))[1]


class Runs(Scratch):
    """The runs of a corpus, and what they are merged into."""

    def __init__(self, memory_mb: int | None = None, scratch: Path | None = None) -> None:
        super().__init__(memory_mb, scratch)
        self._runs: list[Run] = []

    def are_full(self, arrays: Iterable[AnyArray]) -> bool:
        """Whether the counts that these arrays hold are to be written as a run."""
        return not self.holds(GROWTH * sum(array.nbytes for array in arrays))

    def write(self, run: Run) -> None:
        """Writes a run after the earlier ones."""
        texts = (EncodedText(*self.stored([text.arrays])) for text in run.sequences)
        columns: list[Any] = [*texts, *self.stored([(*run.rows, run.weight_N)])]
        self._runs.append(Run(*columns))

    def save(self, folder: Path) -> None:
        """Keeps the runs in folders of their own."""
        for number, run in enumerate(self._runs):
            save_arrays(folder / str(number), RUN, arrays_of(run))

    def read(self, folder: Path) -> None:
        """Adds the runs that were kept in a folder.

        Raises:
            InputError: one of them is damaged.
        """
        for number in range(len(list(folder.glob(f"*/{HEADER}")))):
            held = open_arrays(folder / str(number), RUN, layout_of(Run)[0])
            self._runs.append(Run(**held.fields()))

    def merge(self, limits: RuleLimits, last: Run | None = None) -> PairCounts:
        """The pairs of all runs and of a last one, each once. What does not fit into memory is mapped from files.

        Args:
            limits: of the pairs.
            last: a run that need not be written when it is the only one.
        """
        if last is not None and not self._runs:
            texts, parts = last.sequences, iter([_joined([last], [(0, len(last.weight_N))])])
        else:
            if last is not None:
                self.write(last)
            merged, numbers = zip(*map(self._merged_texts, SIDES), strict=True)
            texts, parts = (merged[0], merged[1], merged[2]), self._row_parts(numbers)
        shapes = texts[SHAPE]
        column_K, source_K = np.divmod(shapes.ids_T, limits.symbols)
        target_K = limits.target_span - 1 - column_K
        ranks = _inverse_ranks(shapes.offsets_S1, source_K, target_K, limits)
        weights = [np.zeros(len(text), np.int64) for text in texts[:SHAPE]]

        def columns() -> Iterator[tuple[AnyArray, ...]]:
            for rows in parts:
                part = merge_rows(rows, ranks)
                for weight, side_B in zip(weights, part[:SHAPE], strict=True):
                    np.add.at(weight, side_B, part[-1])
                yield part

        held = *(self.stored(columns()) if self._runs else next(columns())), *weights
        links = shapes.offsets_S1, source_K.astype(np.int16), target_K.astype(np.int16)
        every: list[Any] = [texts[SOURCE], texts[TARGET], *held, *links]
        return PairCounts(*every)

    def _merged_texts(self, side: int) -> tuple[EncodedText, list[Ints32]]:
        """The distinct sequences of a side, and the numbers of those of each run."""
        texts = [run.sequences[side] for run in self._runs]
        numbers = [self.filled(len(text), np.int32(0)) for text in texts]

        def parts() -> Iterator[tuple[AnyArray, ...]]:
            found = 0
            for rows in self._ranges(list(map(len, texts)), lambda r, row: int(next(iter(texts[r][row]), -1))):
                pieces = [text.offsets_S1[low : high + 1] for text, (low, high) in zip(texts, rows, strict=True)]
                ids_T = np.concatenate([text.ids_T[at[0] : at[-1]] for text, at in zip(texts, pieces, strict=True)])
                offsets_N1, ends_R1 = joined_offsets(pieces), offsets_of([high - low for low, high in rows])
                distinct, number_N = number_phrases(EncodedText(ids_T, offsets_N1))
                for number_S, (low, high), first in zip(numbers, rows, ends_R1, strict=False):
                    number_S[low:high] = number_N[first : first + high - low] + found
                yield distinct.arrays
                found += len(distinct)

        return EncodedText(*self.stored(joined_rows(parts()))), numbers

    def _row_parts(self, numbers: Sequence[Sequence[Ints32]]) -> Iterator[CountedRows]:
        """The pairs of all runs in ranges of source sides, with the numbers of their sequences in the whole corpus."""
        sizes = [len(run.weight_N) for run in self._runs]
        for rows in self._ranges(sizes, lambda r, row: int(numbers[SOURCE][r][self._runs[r].rows[SOURCE][row]])):
            yield _joined(self._runs, rows, numbers)

    def _ranges(self, sizes: Sequence[int], key: Callable[[int, int], int]) -> Iterator[list[tuple[int, int]]]:
        """Ranges of rows of each run: together all rows of some keys, few enough for the memory if keys are rare."""
        assert self.memory is not None
        largest = int(np.argmax(sizes))
        step = max(1, self.memory // ROW_BYTES * sizes[largest] // max(1, sum(sizes)))
        first = [0] * len(sizes)
        for bound in [*sorted({key(largest, row) for row in range(step, sizes[largest], step)}), None]:
            last = list(sizes)
            if bound is not None:
                last = [bisect_left(range(size), bound, key=partial(key, r)) for r, size in enumerate(sizes)]
            if last != first or bound is None:
                yield list(zip(first, last, strict=True))
            first = last


def _joined(
    runs: Sequence[Run], rows: Sequence[tuple[int, int]], numbers: Sequence[Sequence[Ints32]] | None = None
) -> CountedRows:
    """A range of the rows of each run; `numbers` are those of the sequences of each side and run."""
    columns = []
    for side in SIDES:
        pieces = [run.rows[side][slice(*row)] for run, row in zip(runs, rows, strict=True)]
        columns.append(
            np.concatenate([numbers[side][r][piece] if numbers else piece for r, piece in enumerate(pieces)])
        )
    weight_N = np.concatenate([run.weight_N[slice(*row)] for run, row in zip(runs, rows, strict=True)])
    return CountedRows(columns[SOURCE], columns[TARGET], columns[SHAPE], weight_N, offsets_of([b - a for a, b in rows]))

"""The blocks that may translate the spans of one source sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import lengths_of, offsets_of, places_of, row_numbers
from xlate.kernels.lm import step_all, walk_sentences
from xlate.kernels.search.spans import span_rows
from xlate.models.block.model import ORIENTATION, BlockLexicon, BlockModel
from xlate.models.derivation import COPIED
from xlate.search.beam import phrases_in
from xlate.search.settings import BlockSearch


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """O options of a sentence of n words, grouped by source span.

    A span from `start` of `length` words (1 to J) is cell c = start · J + length - 1; its options are numbers
    `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`. `block_O` is `COPIED` where the source word itself is the target.
    `more_OX` are its X optional floats, `alone_O` is the score of an option from an empty history. `phrase_words_W` are
    the language model's numbers.
    """

    words: tuple[str, ...]
    longest: int
    cell_offsets_C1: Ints
    block_O: Ints32
    start_O: Ints32
    end_O: Ints32
    more_OX: Floats
    alone_O: Floats
    phrase_offsets_O1: Ints
    phrase_words_W: Ints32

    def cell(self, start: int, end: int) -> range:
        """The numbers of the options of one source span of at most J words."""
        c = start * self.longest + end - start - 1
        return range(int(self.cell_offsets_C1[c]), int(self.cell_offsets_C1[c + 1]))

    def __len__(self) -> int:
        """The number of options O."""
        return len(self.block_O)


@dataclass(frozen=True, kw_only=True)
class SentenceOptions(SpanOptions):
    """Options of the orientation model, with what does not depend on the history.

    `static_O3` is the weighted sum of floats (a), (b), (e) and the optional ones for each orientation L, R, N;
    `alone_O` that of all but (b), from an empty history, under the linked weights.
    """

    unigram_O: Floats
    orientation_O3: Floats
    lexical_O: Floats
    left_O: Bools
    static_O3: Floats


def blocks_of_spans(
    model: BlockLexicon, words: Sequence[str], longest: int, most: int | None, target: Sequence[str] | None
) -> tuple[Ints, Ints32]:
    """Cell and block of every option, cells ascending, blocks of a cell most frequent first.

    A word without a block of its own as a single word becomes itself. A word the source vocabulary lacks is in no
    block. The `most` most frequent blocks of a span are options, or all; with `target` those whose words stand in it.
    """
    row_C = span_rows(model.source_finder, model.source_vocabulary.ids(words), longest)
    offsets_P1, order_O = model.blocks.options
    size_C = np.where(row_C < 0, 0, offsets_P1[row_C + 1] - offsets_P1[row_C])
    # Of a word that stands in left-out sentences alone no block is known.
    copied_C = (size_C == 0) & (np.arange(len(row_C)) % longest == 0)
    if most is not None:
        size_C = np.minimum(size_C, most)
    size_C = np.where(copied_C, 1, size_C)
    cells = np.repeat(np.arange(len(row_C)), size_C)
    blocks = np.full(len(cells), COPIED, dtype=np.int32)
    chosen = ~copied_C[cells]
    rank = np.arange(len(cells)) - np.repeat(np.cumsum(size_C) - size_C, size_C)
    blocks[chosen] = order_O[(offsets_P1[row_C[cells]] + rank)[chosen]]
    if target is None:
        return cells, blocks
    phrases = phrases_in(target)
    said = {block: model.target_words(block) in phrases for block in set(blocks.tolist()) - {COPIED}}
    copied = [word in target for word in words]
    kept = [
        copied[cell // longest] if block == COPIED else said[block]
        for cell, block in zip(cells.tolist(), blocks.tolist(), strict=True)
    ]
    return cells[kept], blocks[kept]


def options_of_cells(
    model: BlockLexicon, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32
) -> tuple[dict[str, Any], Floats, Floats]:
    """What the options of all models over blocks have in common, and (c) and (d) of each from an empty history."""
    start_O = (cells // longest).astype(np.int32)
    offsets_O1, words_W = _target_phrases(model, words, block_O, start_O)
    empty, firsts = model.lm.empty_state, words_W[offsets_O1[:-1]]
    first_O = -step_all(model.lm.arrays, np.full(len(firsts), empty, dtype=np.int32), firsts)[0]
    rest_O = -walk_sentences(model.lm.arrays, empty, -1, words_W, offsets_O1) - first_O
    common = {
        "words": tuple(words),
        "longest": longest,
        "cell_offsets_C1": offsets_of(np.bincount(cells, minlength=len(words) * longest)),
        "block_O": block_O,
        "start_O": start_O,
        "end_O": start_O + (cells % longest + 1).astype(np.int32),
        "more_OX": model.more.of_units(block_O),
        "phrase_offsets_O1": offsets_O1,
        "phrase_words_W": words_W,
    }
    return common, first_O, rest_O


def _target_phrases(model: BlockLexicon, words: Sequence[str], block_O: Ints32, start_O: Ints32) -> tuple[Ints, Ints32]:
    """The target words of all options in the language model's numbers, with offsets."""
    table, copied_O = model.blocks.table, block_O == COPIED
    rows, places = table.target_B[block_O[~copied_O]], table.target_phrases.offsets_S1
    length_O = np.ones(len(block_O), dtype=np.int64)
    length_O[~copied_O] = lengths_of(places, rows)
    offsets_O1 = offsets_of(length_O)
    words_W = np.empty(int(offsets_O1[-1]), dtype=np.int32)
    words_W[places_of(offsets_O1, np.flatnonzero(~copied_O))] = model.lm_ids_T[places_of(places, rows)]
    words_W[offsets_O1[:-1][copied_O]] = model.lm.vocabulary.ids([words[start] for start in start_O[copied_O]])
    return offsets_O1, words_W


def linked_weights(model: BlockModel, search: BlockSearch) -> Floats:
    """The weights of L and R steps, (b) switched off in mode `swap`; shape (5 + X,)."""
    weights = np.array(model.linked, dtype=np.float64)
    if search.mode == "swap":
        weights[ORIENTATION] = 0.0
    return weights


def best_of_cells(options: SpanOptions, most: int) -> Ints:
    """The numbers of the best options alone of every cell, at most `most` each, best first."""
    offsets_C1, alone_O = options.cell_offsets_C1, options.alone_O
    cell_O = row_numbers(offsets_C1)
    order = np.lexsort((np.arange(len(alone_O)), -alone_O, cell_O))
    rank_O = np.arange(len(alone_O)) - offsets_C1[cell_O]
    return order[rank_O < most]

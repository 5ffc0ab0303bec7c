"""The blocks that may translate the spans of one source sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xlate.decode.block_model import LEXICAL, LM_FIRST, LM_REST, ORIENTATION, UNIGRAM, BlockModel
from xlate.decode.block_settings import BlockSearch
from xlate.kernels.ngram import step_all, walk_sentences
from xlate.phrases.orientation import LEFT, NEUTRAL, RIGHT
from xlate.phrases.table import offsets_of, ragged_rows
from xlate.text.vocabulary import UNKNOWN_ID

COPIED = -1


@dataclass(frozen=True)
class SentenceOptions:
    """O options of a sentence of n words, grouped by source span, with what does not depend on the history.

    A span from `start` of `length` words (1 to J) is cell c = start · J + length - 1; its options are numbers
    `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`. `block_O` is `COPIED` where the source word itself is the target.
    `static_O3` is the weighted sum of floats (a), (b), (e) for each orientation L, R, N; `alone_O` the weighted sum
    of all but (b), from an empty history, under the linked weights. `phrase_words_W` are the language model's numbers.
    """

    words: tuple[str, ...]
    longest: int
    cell_offsets_C1: NDArray[np.int64]
    block_O: NDArray[np.int32]
    start_O: NDArray[np.int32]
    end_O: NDArray[np.int32]
    unigram_O: NDArray[np.float64]
    orientation_O3: NDArray[np.float64]
    lexical_O: NDArray[np.float64]
    left_O: NDArray[np.bool_]
    static_O3: NDArray[np.float64]
    alone_O: NDArray[np.float64]
    phrase_offsets_O1: NDArray[np.int64]
    phrase_words_W: NDArray[np.int32]

    def cell(self, start: int, end: int) -> range:
        """The numbers of the options of one source span of at most J words."""
        c = start * self.longest + end - start - 1
        return range(int(self.cell_offsets_C1[c]), int(self.cell_offsets_C1[c + 1]))

    def phrase(self, option: int) -> NDArray[np.int32]:
        """The target words of an option."""
        return self.phrase_words_W[self.phrase_offsets_O1[option] : self.phrase_offsets_O1[option + 1]]

    def __len__(self) -> int:
        """The number of options O."""
        return len(self.block_O)


def collect_options(model: BlockModel, search: BlockSearch, words: Sequence[str]) -> SentenceOptions:
    """The options of every span, at most `search.options` each; every word can be translated or is copied.

    A word without a block of its own as a single word becomes itself, at the fixed costs of the search settings. A
    word the source vocabulary lacks is in no block.
    """
    longest = max(1, min(search.max_phrase, len(words)))
    cells, blocks = _blocks_of_spans(model, search, words, longest)
    options = _gather(model, search, words, longest, cells, blocks)
    if search.option_order == "score":
        kept = _best_of_cells(options, search.options)
        options = _gather(model, search, words, longest, cells[kept], blocks[kept])
    return options


def _blocks_of_spans(
    model: BlockModel, search: BlockSearch, words: Sequence[str], longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Cell and block of every option, cells ascending, blocks of a cell most frequent first."""
    ids_n = model.source_vocabulary.ids(words)
    offsets_P1, order_O = model.blocks.options
    most = None if search.option_order == "score" else search.options
    cells: list[int] = []
    rows: list[NDArray[np.int32]] = []
    for start in range(len(words)):
        for length in range(1, min(longest, len(words) - start) + 1):
            found = _row(model, ids_n[start : start + length])
            if found >= 0:
                cells.append(start * longest + length - 1)
                rows.append(order_O[offsets_P1[found] : offsets_P1[found + 1]][:most])
            elif length == 1:
                cells.append(start * longest)
                rows.append(np.array([COPIED], dtype=np.int32))
    sizes = [len(row) for row in rows]
    blocks = np.concatenate(rows).astype(np.int32) if rows else np.zeros(0, dtype=np.int32)
    return np.repeat(np.array(cells, dtype=np.int64), sizes), blocks


def _row(model: BlockModel, ids: NDArray[np.int32]) -> int:
    return -1 if (ids == UNKNOWN_ID).any() else model.blocks.source_row(ids)


def _gather(
    model: BlockModel,
    search: BlockSearch,
    words: Sequence[str],
    longest: int,
    cells: NDArray[np.int64],
    block_O: NDArray[np.int32],
) -> SentenceOptions:
    """Costs and target words of the options, and their weighted sums."""
    copied_O = block_O == COPIED
    known_O = np.where(copied_O, 0, block_O)
    start_O, length_O = (cells // longest).astype(np.int32), (cells % longest + 1).astype(np.int32)
    orientation_O3 = np.zeros((len(block_O), 3))
    if len(model.blocks.table):
        unigram_O = model.blocks.unigram_cost_B[known_O].astype(np.float64)
        lexical_O = model.blocks.lexical_B[known_O].astype(np.float64)
        left_O = model.blocks.left_B[known_O] >= search.left_count
        orientation_O3[:, [LEFT, RIGHT]] = model.orientation_cost_B2[known_O]
    else:
        unigram_O, lexical_O, left_O = np.zeros(len(block_O)), np.zeros(len(block_O)), np.zeros(len(block_O), bool)
    unigram_O[copied_O], lexical_O[copied_O] = search.unknown_unigram, search.unknown_lexical
    orientation_O3[copied_O, :NEUTRAL] = np.log(2.0)
    left_O[copied_O] = search.left_count <= 0
    unigram_O /= length_O
    linked = linked_weights(model, search)
    static_O3 = np.stack(
        [
            w[UNIGRAM] * unigram_O + w[ORIENTATION] * orientation_O3[:, o] + w[LEXICAL] * lexical_O
            for o, w in ((LEFT, linked), (RIGHT, linked), (NEUTRAL, model.neutral))
        ],
        axis=1,
    )
    phrase_offsets_O1, phrase_words_W = _phrases(model, words, block_O, start_O)
    first_O, rest_O = _costs_alone(model, phrase_offsets_O1, phrase_words_W)
    alone_O = linked[UNIGRAM] * unigram_O + linked[LEXICAL] * lexical_O + linked[LM_FIRST] * first_O
    return SentenceOptions(
        words=tuple(words),
        longest=longest,
        cell_offsets_C1=offsets_of(np.bincount(cells, minlength=len(words) * longest)),
        block_O=block_O,
        start_O=start_O,
        end_O=start_O + length_O,
        unigram_O=unigram_O,
        orientation_O3=orientation_O3,
        lexical_O=lexical_O,
        left_O=left_O,
        static_O3=static_O3,
        alone_O=alone_O + linked[LM_REST] * rest_O,
        phrase_offsets_O1=phrase_offsets_O1,
        phrase_words_W=phrase_words_W,
    )


def linked_weights(model: BlockModel, search: BlockSearch) -> NDArray[np.float64]:
    """The weights of L and R steps, (b) switched off in mode `swap`; shape (5,)."""
    weights = np.array(model.linked, dtype=np.float64)
    if search.mode == "swap":
        weights[ORIENTATION] = 0.0
    return weights


def _phrases(
    model: BlockModel, words: Sequence[str], block_O: NDArray[np.int32], start_O: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The target words of all options in the language model's numbers, with offsets."""
    table = model.blocks.table
    copies = np.flatnonzero(block_O == COPIED)
    lengths_O = np.ones(len(block_O), dtype=np.int64)
    chosen = np.flatnonzero(block_O != COPIED)
    rows = table.target_B[block_O[chosen]]
    lengths_O[chosen] = np.diff(table.target_phrases.offsets_S1)[rows]
    offsets_O1 = offsets_of(lengths_O)
    words_W = np.empty(offsets_O1[-1], dtype=np.int32)
    words_W[ragged_rows(offsets_O1, chosen)] = model.lm_ids_T[ragged_rows(table.target_phrases.offsets_S1, rows)]
    words_W[offsets_O1[copies]] = [model.lm.vocabulary.id(words[start]) for start in start_O[copies]]
    return offsets_O1, words_W


def _costs_alone(
    model: BlockModel, offsets_O1: NDArray[np.int64], words_W: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(c) and (d) of every option from an empty history."""
    empty = model.lm.empty_state
    firsts = words_W[offsets_O1[:-1]]
    first_O = -step_all(model.lm.arrays, np.full(len(firsts), empty, dtype=np.int32), firsts)[0]
    return first_O, -walk_sentences(model.lm.arrays, empty, -1, words_W, offsets_O1) - first_O


def _best_of_cells(options: SentenceOptions, most: int) -> NDArray[np.int64]:
    """The numbers of the best options alone of every cell, at most `most` each, best first."""
    cell_O = np.repeat(np.arange(len(options.cell_offsets_C1) - 1), np.diff(options.cell_offsets_C1))
    order = np.lexsort((np.arange(len(options)), -options.alone_O, cell_O))
    rank_O = np.arange(len(options)) - options.cell_offsets_C1[cell_O]
    return order[rank_O < most]


def future_scores(options: SentenceOptions, *, local: bool) -> NDArray[np.float64]:
    """An estimate of the score of translating each span on its own, shape (n + 1, n + 1), 0 for empty spans.

    The best sum of options from an empty history under the linked weights, without orientation and block bigrams.
    With `local` each option counts as its share of the options of its span.
    """
    n = len(options.words)
    best_nn = np.full((n + 1, n + 1), -np.inf)
    for start in range(n):
        for end in range(start + 1, min(n, start + options.longest) + 1):
            cell = options.cell(start, end)
            if cell:
                scores = options.alone_O[cell.start : cell.stop]
                best_nn[start, end] = scores.max() - (_log_sum_exp(scores) if local else 0.0)
    for start in range(n + 1):
        best_nn[start, start] = 0.0
    for length in range(2, n + 1):
        for start in range(n - length + 1):
            end = start + length
            joined = best_nn[start, start + 1 : end] + best_nn[start + 1 : end, end]
            best_nn[start, end] = max(best_nn[start, end], joined.max())
    return best_nn


def _log_sum_exp(scores: NDArray[np.float64]) -> float:
    top = float(scores.max())
    return top + float(np.log(np.exp(scores - top).sum()))

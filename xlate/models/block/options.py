"""The blocks that may translate the spans of one source sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from xlate.array_types import Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.kernels.lm.ngram import step_all, walk_sentences
from xlate.kernels.orientation import LEFT, NEUTRAL, RIGHT
from xlate.kernels.search.spans import span_futures, span_rows
from xlate.models.block.lexicon import BlockLexicon
from xlate.models.block.model import LEXICAL, LM_FIRST, LM_REST, ORIENTATION, UNIGRAM, BlockModel
from xlate.models.block.settings import BlockSearch
from xlate.models.derivation import COPIED
from xlate.search.space import phrases_in


class OptionLimits(Protocol):
    """The search settings that say which options a span has; see `BlockSearch`."""

    @property
    def options(self) -> int:
        """The most blocks of one span."""

    @property
    def option_order(self) -> str:
        """By which those are chosen."""

    @property
    def max_phrase(self) -> int:
        """The longest span, in words."""


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

    def phrase(self, option: int) -> Ints32:
        """The target words of an option."""
        return self.phrase_words_W[self.phrase_offsets_O1[option] : self.phrase_offsets_O1[option + 1]]

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


Options = TypeVar("Options", bound=SpanOptions)
# Options with their costs, made of the longest span in words, the cells and the blocks.
Gather = Callable[[int, Ints, Ints32], Options]


class _Every(NamedTuple):
    """No limit."""

    options: int = 2**31 - 1
    option_order: str = "count"
    max_phrase: int = 2**31 - 1


def collect_options(
    model: BlockModel, search: BlockSearch, words: Sequence[str], target: Sequence[str] | None = None
) -> SentenceOptions:
    """The options of every span, at most `search.options` each; every word can be translated or is copied.

    A word without a block of its own as a single word becomes itself, at the fixed costs of the search settings. A
    word the source vocabulary lacks is in no block. With `target` all options whose words stand in it.
    """
    return collected(model, search, words, target, lambda *cells: _gather(model, search, words, *cells))


def collected(
    model: BlockLexicon,
    search: OptionLimits,
    words: Sequence[str],
    target: Sequence[str] | None,
    gather: Gather[Options],
) -> Options:
    """The options of every span within the limits of a search, by count or by their score alone."""
    longest = max(1, min(search.max_phrase, len(words)))
    cells, blocks = blocks_of_spans(model, search, words, longest, target)
    options = gather(longest, cells, blocks)
    if search.option_order == "score" and target is None:
        kept = best_of_cells(options.cell_offsets_C1, options.alone_O, search.options)
        options = gather(longest, cells[kept], blocks[kept])
    return options


def blocks_of_spans(
    model: BlockLexicon,
    search: OptionLimits,
    words: Sequence[str],
    longest: int,
    target: Sequence[str] | None = None,
) -> tuple[Ints, Ints32]:
    """Cell and block of every option, cells ascending, blocks of a cell most frequent first.

    With `target` those whose words stand in it, however many.
    """
    if target is not None:
        cells, blocks = blocks_of_spans(model, _Every(), words, longest)
        phrases = phrases_in(target)
        said = {block: tuple(model.target_words(block)) in phrases for block in set(blocks.tolist()) - {COPIED}}
        copied = [word in target for word in words]
        kept = [
            copied[cell // longest] if block == COPIED else said[block]
            for cell, block in zip(cells.tolist(), blocks.tolist(), strict=True)
        ]
        return cells[kept], blocks[kept]
    row_C = span_rows(model.source_finder, model.source_vocabulary.ids(words), longest)
    offsets_P1, order_O = model.blocks.options
    size_C = np.where(row_C < 0, 0, offsets_P1[row_C + 1] - offsets_P1[row_C])
    # Of a word that stands in left-out sentences alone no block is known.
    copied_C = (size_C == 0) & (np.arange(len(row_C)) % longest == 0)
    if search.option_order == "count":
        size_C = np.minimum(size_C, search.options)
    size_C = np.where(copied_C, 1, size_C)
    cells = np.repeat(np.arange(len(row_C)), size_C)
    blocks = np.full(len(cells), COPIED, dtype=np.int32)
    chosen = ~copied_C[cells]
    rank = np.arange(len(cells)) - np.repeat(np.cumsum(size_C) - size_C, size_C)
    blocks[chosen] = order_O[(offsets_P1[row_C[cells]] + rank)[chosen]]
    return cells, blocks


def _gather(
    model: BlockModel, search: BlockSearch, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32
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
    linked, own = linked_weights(model, search), len(model.own_floats)
    more_OX = model.more.of_units(block_O)
    static_O3 = np.stack(
        [
            w[UNIGRAM] * unigram_O + w[ORIENTATION] * orientation_O3[:, o] + w[LEXICAL] * lexical_O + more_OX @ w[own:]
            for o, w in ((LEFT, linked), (RIGHT, linked), (NEUTRAL, np.asarray(model.neutral)))
        ],
        axis=1,
    )
    phrase_offsets_O1, phrase_words_W = target_phrases(model, words, block_O, start_O)
    first_O, rest_O = lm_costs_alone(model, phrase_offsets_O1, phrase_words_W)
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
        more_OX=more_OX,
        alone_O=alone_O + linked[LM_REST] * rest_O + more_OX @ linked[own:],
        phrase_offsets_O1=phrase_offsets_O1,
        phrase_words_W=phrase_words_W,
    )


def linked_weights(model: BlockModel, search: BlockSearch) -> Floats:
    """The weights of L and R steps, (b) switched off in mode `swap`; shape (5 + X,)."""
    weights = np.array(model.linked, dtype=np.float64)
    if search.mode == "swap":
        weights[ORIENTATION] = 0.0
    return weights


def target_phrases(model: BlockLexicon, words: Sequence[str], block_O: Ints32, start_O: Ints32) -> tuple[Ints, Ints32]:
    """The target words of all options in the language model's numbers, with offsets."""
    table, copied_O = model.blocks.table, block_O == COPIED
    if copied_O.all():
        begin_O, length_O = np.zeros(len(block_O), dtype=np.int64), np.ones(len(block_O), dtype=np.int64)
    else:
        row_O = table.target_B[np.where(copied_O, 0, block_O)]
        begin_O = table.target_phrases.offsets_S1[row_O]
        length_O = np.where(copied_O, 1, table.target_phrases.offsets_S1[row_O + 1] - begin_O)
    offsets_O1 = offsets_of(length_O)
    places_W = np.arange(offsets_O1[-1]) + np.repeat(begin_O - offsets_O1[:-1], length_O)
    words_W = model.lm_ids_T[places_W] if not copied_O.all() else np.empty(len(places_W), dtype=np.int32)
    words_W[offsets_O1[:-1][copied_O]] = model.lm.vocabulary.ids([words[start] for start in start_O[copied_O]])
    return offsets_O1, words_W


def lm_costs_alone(model: BlockLexicon, offsets_O1: Ints, words_W: Ints32) -> tuple[Floats, Floats]:
    """(c) and (d) of every option from an empty history."""
    empty = model.lm.empty_state
    firsts = words_W[offsets_O1[:-1]]
    first_O = -step_all(model.lm.arrays, np.full(len(firsts), empty, dtype=np.int32), firsts)[0]
    return first_O, -walk_sentences(model.lm.arrays, empty, -1, words_W, offsets_O1) - first_O


def best_of_cells(offsets_C1: Ints, alone_O: Floats, most: int) -> Ints:
    """The numbers of the best options alone of every cell, at most `most` each, best first."""
    cell_O = row_numbers(offsets_C1)
    order = np.lexsort((np.arange(len(alone_O)), -alone_O, cell_O))
    rank_O = np.arange(len(alone_O)) - offsets_C1[cell_O]
    return order[rank_O < most]


def future_scores(options: SentenceOptions, *, local: bool) -> Floats:
    """An estimate of the score of translating each span on its own, shape (n + 1, n + 1), 0 for empty spans.

    The best sum of options from an empty history under the linked weights, without orientation and block bigrams.
    With `local` each option counts as its share of the options of its span.
    """
    scores: Floats = span_futures(len(options.words), options.longest, options.cell_offsets_C1, options.alone_O, local)
    return scores

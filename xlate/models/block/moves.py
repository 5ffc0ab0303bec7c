"""The blocks that may translate the spans of a sentence, what a hypothesis may do next, the steps of derivations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import lengths_of, offsets_of
from xlate.kernels.lm import step_all, walk_sentences
from xlate.kernels.search import block_decoder
from xlate.kernels.search.spans import span_futures, span_rows
from xlate.models.block.model import LM_FIRST, LM_REST, ORIENTATION, BlockLexicon, BlockModel
from xlate.models.derivation import Derivation, Span, Step
from xlate.models.unit_model import UnitSpace, own_cells, unit_texts, units_in
from xlate.search.beam import END_LABEL, EVERY_MOVE
from xlate.search.settings import BlockSearch, BlocksSearch
from xlate.text.terms import open_ids
from xlate.text.vocabulary import END_ID

NO_BLOCK = -1


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """O options of a sentence of n words, grouped by source span.

    A span from `start` of `length` words (1 to J) is cell c = start · J + length - 1; its options are numbers
    `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`. `block_O` is `COPIED` where the source word itself is the target,
    and at most `TERM` for terms.
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

    A word without a single-word block is copied. A word that the source vocabulary lacks is in no block. The `most`
    most frequent blocks of a span are options, or all; with `target`, those whose words occur in it. Terms are options,
    too; nothing else translates the words of hard ones.
    """
    row_C = span_rows(model.table.source_finder, open_ids(words, model.source_vocabulary.ids(words)), longest)
    offsets_P1, order_O = model.blocks.options
    found = np.flatnonzero(row_C >= 0)
    rows = row_C[found]
    # No block is known for a word that occurs only in left-out sentences.
    size = lengths_of(offsets_P1, rows)
    if most is not None:
        size = np.minimum(size, most)
    offsets = offsets_of(size)
    cells = np.repeat(found, size)
    blocks = order_O[np.repeat(offsets_P1[rows] - offsets[:-1], size) + np.arange(len(cells))]
    own_N, unit_N = own_cells(words, longest, cells)
    if len(own_N):
        cells, blocks = np.concatenate([cells, own_N]), np.concatenate([blocks, unit_N.astype(np.int32)])
        order = np.argsort(cells, kind="stable")
        cells, blocks = cells[order], blocks[order]
    if target is None:
        return cells, blocks
    kept = units_in(target, model.target_words, words, blocks, cells // longest)
    return cells[kept], blocks[kept]


def options_of_cells(
    model: BlockLexicon, words: Sequence[str], longest: int, cells: Ints, block_O: Ints32
) -> tuple[dict[str, Any], Floats, Floats]:
    """What the options of all models over blocks share, and (c) and (d) of each from an empty history."""
    start_O = (cells // longest).astype(np.int32)
    text = unit_texts(model.table, model.lm_ids_T, model.lm.vocabulary.ids, words, block_O, start_O)
    words_W, offsets_O1 = text.arrays
    empty, firsts = model.lm.empty_state, words_W[offsets_O1[:-1]]
    first_O = -step_all(model.lm.arrays, np.full(len(firsts), empty, np.int32), firsts)[0]
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


def linked_weights(model: BlockModel, search: BlockSearch) -> Floats:
    """The weights of L and R steps, (b) switched off in mode `swap`; shape (5 + X,)."""
    weights = np.array(model.linked, np.float64)
    if search.mode == "swap":
        weights[ORIENTATION] = 0.0
    return weights


@dataclass(frozen=True, kw_only=True)
class BlockStep(Step):
    """One block of a derivation with its part of the score.

    The unit is the block's number; orientation is RIGHT for the end, whose weights are the linked ones.

    Attributes:
        predecessor: the block before it, negative if there is none or it is no block.
        floats: costs, natural logs; of the orientation model (a)-(e), (a) divided by the source phrase's length. The
            optional ones follow the model's own.
        weights: what they are multiplied by.
        sparse: name and weight of each binary feature that has a weight.
        normalizer: what the partition subtracts; 0 when it is off.
        score: Σ weights · floats + sparse_score - normalizer, up to rounding.
    """

    predecessor: int
    floats: tuple[float, ...]
    weights: tuple[float, ...]
    sparse: tuple[tuple[str, float], ...]
    normalizer: float
    score: float

    @property
    def sparse_score(self) -> float:
        """The summed weights of the binary features."""
        return sum(weight for _, weight in self.sparse)


BlockDerivation = Derivation[BlockStep]


Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


@dataclass(frozen=True)
class SpanMoves(UnitSpace):
    """The search space over one sentence of a model over blocks.

    An option has `LABELS` labels; -1 is the end.
    """

    LABELS = 1

    model: BlockLexicon
    search: BlocksSearch
    options: SpanOptions

    @property
    def local(self) -> bool:
        """Whether scores are shares among the options of a span."""
        return False

    @cached_property
    def future_nn(self) -> Floats:
        """Estimates of the score of every span on its own, shape (n + 1, n + 1); zeros when `future_cost` is off.

        The best sum of options from an empty history, without orientation, jumps and block bigrams. Where scores are
        shares, each option counts as its share among the options of its span.
        """
        if not self.search.future_cost:
            return np.zeros((self.levels, self.levels))
        options, n = self.options, len(self.options.words)
        return span_futures(n, options.longest, options.cell_offsets_C1, options.alone_O, self.local)

    def arrays(self, kind: type[Arrays]) -> Arrays:
        """The options in the form that the compiled moves take."""
        options, fields = self.options, kind._fields  # type: ignore[attr-defined]  # it is a named tuple
        context_O = self.model.standing_B1[np.maximum(options.block_O, -1)]
        own = {"words": len(options.words), "context_O": context_O, "future_nn": self.future_nn}
        return kind(**own, **{name: getattr(options, name) for name in fields if name not in own})

    def coverage(self, state: int) -> int:
        return int(self.hypotheses.nodes["first"][state])

    def span(self, label: int) -> Span:
        """The source words of a label, none at the end."""
        if label == END_LABEL:
            return self.levels - 1, self.levels - 1
        option = label // self.LABELS
        return int(self.options.start_O[option]), int(self.options.end_O[option])

    def units(self, labels: AnyInts | int) -> tuple[AnyInts, AnyInts]:
        option = labels // self.LABELS
        return self.options.block_O[option], self.options.start_O[option]


@dataclass(frozen=True)
class BlockMoves(SpanMoves):
    """The search space of the orientation model; a label is option · 3 + orientation."""

    LABELS = 3
    KERNEL = block_decoder

    model: BlockModel
    search: BlockSearch
    options: SentenceOptions

    @property
    def local(self) -> bool:
        return self.search.partition != "off"

    @cached_property
    def task(self) -> block_decoder.Task:
        search, linked = self.search, linked_weights(self.model, self.search)
        sentence = self.arrays(block_decoder.SentenceArrays)
        lm_weights_32 = np.array([w[[LM_FIRST, LM_REST]] for w in (linked, linked, np.asarray(self.model.neutral))])
        end_word = END_ID if search.end_of_sentence else -1
        numbers = lm_weights_32, search.mode != "mon", self.local, end_word
        return block_decoder.Task(self.model.arrays, sentence, EVERY_MOVE, *numbers, *block_decoder.workspace(sentence))

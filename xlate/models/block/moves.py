"""What a hypothesis of a decoder over blocks may do next, by the compiled moves; and the steps of derivations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints32
from xlate.kernels.search import block_decoder
from xlate.kernels.search.hypotheses import Hypotheses, Limits
from xlate.kernels.search.spans import span_futures
from xlate.models.block.model import LM_FIRST, LM_REST, BlockLexicon, BlockModel
from xlate.models.block.options import SentenceOptions, SpanOptions, linked_weights
from xlate.models.derivation import COPIED, Derivation, Span, Step
from xlate.search.beam import Move, SearchSpace
from xlate.search.graph import END_LABEL
from xlate.search.settings import BlockSearch, BlocksSearch
from xlate.text.vocabulary import END_ID

NO_BLOCK = -1
# The readable search prunes by itself.
EVERY_MOVE = Limits(0, 0, -np.inf, True)


@dataclass(frozen=True)
class BlockStep(Step):
    """One block of a derivation with its part of the score.

    The unit is the block's number; orientation is RIGHT for the end, whose weights are the linked ones.

    Attributes:
        predecessor: the block before it, negative when there is none or it is none.
        floats: costs, natural logs; of the orientation model (a)-(e), (a) divided by the source phrase's length. The
            optional ones stand behind the model's own.
        weights: the weights they are multiplied with.
        sparse: name and weight of each binary feature that has a weight.
        normalizer: what the partition subtracts; 0 when it is off.
        score: Σ weights · floats + sparse_score - normalizer, up to rounding.
    """

    predecessor: int = NO_BLOCK
    floats: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    sparse: tuple[tuple[str, float], ...] = ()
    normalizer: float = 0.0
    score: float = 0.0

    @property
    def sparse_score(self) -> float:
        """The summed weights of the binary features."""
        return sum(weight for _, weight in self.sparse)


BlockDerivation = Derivation[BlockStep]


Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


@dataclass(frozen=True)
class SpanMoves(SearchSpace[int]):
    """The search space over one sentence of a model over blocks.

    States are numbers of hypotheses. An option has `LABELS` labels; -1 is the end. `KERNEL` is the module of the
    compiled moves.
    """

    LABELS: ClassVar[int] = 1
    KERNEL: ClassVar[Any]

    model: BlockLexicon
    search: BlocksSearch
    options: SpanOptions

    @property
    @abstractmethod
    def task(self) -> tuple[Any, ...]:
        """What the compiled search takes of the sentence."""

    @property
    def local(self) -> bool:
        """Whether scores are shares of those of a span's options."""
        return False

    @property
    def start(self) -> int:
        return 0

    @property
    def levels(self) -> int:
        return len(self.options.words) + 1

    @cached_property
    def future_nn(self) -> Floats:
        """Estimates of the score of every span on its own, shape (n + 1, n + 1); zeros when `future_cost` is off.

        The best sum of options from an empty history, without orientation, jumps and block bigrams. Where scores are
        shares each option counts as its share of the options of its span.
        """
        if not self.search.future_cost:
            return np.zeros((self.levels, self.levels))
        options, n = self.options, len(self.options.words)
        found: Floats = span_futures(n, options.longest, options.cell_offsets_C1, options.alone_O, self.local)
        return found

    def arrays(self, kind: type[Arrays]) -> Arrays:
        """The options as the compiled moves take them."""
        options, fields = self.options, kind._fields  # type: ignore[attr-defined]  # it is a named tuple
        context_O: Ints32 = self.model.contexts.standing(options.block_O)
        own = {"words": len(options.words), "context_O": context_O, "future_nn": self.future_nn}
        return kind(**own, **{name: getattr(options, name) for name in fields if name not in own})

    @cached_property
    def _search(self) -> list[Hypotheses]:
        """One search, which grows."""
        return [self.KERNEL.begun(self.task)]

    @cached_property
    def _moves(self) -> dict[int, AnyArray]:
        return {}

    def moves(self, state: int) -> AnyArray:
        """The moves of a hypothesis as records of `target`, `label` and `score`."""
        if state not in self._moves:
            [search] = self._search
            first = int(search.counts[1])
            search = self._search[0] = self.KERNEL.extended(self.task, EVERY_MOVE, search, state)
            self._moves[state] = search.arcs[first : search.counts[1]]
        return self._moves[state]

    def expand(self, state: int) -> Iterator[Move[int]]:
        for _, target, label, score in self.moves(state).tolist():
            yield Move(target, self._level_and_future(target)[0], score, label)

    def future(self, state: int) -> float:
        return self._level_and_future(state)[1]

    def coverage(self, state: int) -> int:
        return int(self._search[0].nodes["first"][state])

    def _level_and_future(self, state: int) -> tuple[int, float]:
        found: tuple[int, float] = self.KERNEL.level_and_future(self.coverage(state), self.levels - 1, self.future_nn)
        return found

    def scores(self, labels: Sequence[int]) -> list[float]:
        """What each step along the labels of a path scores."""
        state, found = self.start, []
        for label in labels:
            moves = self.moves(state)
            place = int(np.flatnonzero(moves["label"] == label)[0])
            state = int(moves["target"][place])
            found.append(float(moves["score"][place]))
        return found

    def span(self, label: int) -> Span:
        """The source words of a label, none at the end."""
        if label == END_LABEL:
            return self.levels - 1, self.levels - 1
        option = label // self.LABELS
        return int(self.options.start_O[option]), int(self.options.end_O[option])

    def words_of(self, label: int) -> tuple[str, ...]:
        if label == END_LABEL:
            return ()
        option = label // self.LABELS
        known = self._words_by_option.get(option)
        if known is None:
            block, start = int(self.options.block_O[option]), int(self.options.start_O[option])
            known = self.options.words[start : start + 1] if block == COPIED else self.model.target_words(block)
            self._words_by_option[option] = known
        return known

    @cached_property
    def _words_by_option(self) -> dict[int, tuple[str, ...]]:
        return {}


@dataclass(frozen=True)
class BlockMoves(SpanMoves):
    """The search space of the orientation model; a label is option · 3 + orientation."""

    LABELS = 3
    KERNEL: ClassVar[Any] = block_decoder

    model: BlockModel
    search: BlockSearch
    options: SentenceOptions

    @property
    def local(self) -> bool:
        return self.search.partition != "off"

    @cached_property
    def task(self) -> block_decoder.Task:
        search, linked = self.search, linked_weights(self.model, self.search)
        numbers = block_decoder.SearchNumbers(
            lm_weights_32=np.array([w[[LM_FIRST, LM_REST]] for w in (linked, linked, np.asarray(self.model.neutral))]),
            swaps=search.swaps,
            local=self.local,
            end_word=END_ID if search.end_of_sentence else -1,
        )
        sentence = self.arrays(block_decoder.SentenceArrays)
        return block_decoder.Task(self.model.arrays, sentence, numbers, block_decoder.workspace(sentence))

"""What a hypothesis of the phrase decoder may do next: the compiled moves as a search space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import Floats
from xlate.kernels.search.hypotheses import Limits
from xlate.kernels.search.phrase_decoder import Expansion, expanded, start_expanding
from xlate.kernels.search.phrase_moves import (
    FIVE_WAY,
    HIERARCHICAL,
    NO_REORDERING,
    WORD_BASED,
    GroupScores,
    PhraseNumbers,
    PhraseSentence,
)
from xlate.kernels.search.spans import span_futures
from xlate.models.phrase.history import histories_of
from xlate.models.phrase.model import DISTORTION, LM, PhraseModel
from xlate.models.phrase.options import PhraseOptions
from xlate.search.beam import Move, SearchSpace
from xlate.search.graph import END_LABEL
from xlate.search.settings import PhraseSearch
from xlate.text.vocabulary import END_ID


@dataclass(frozen=True)
class PhraseMoves(SearchSpace[int]):
    """The search space over one sentence. States are numbers of hypotheses, labels those of options, -1 the end.

    A phrase may start at most `distortion_limit` words from the end of the one before it; one that does not start at
    the first gap must end at most that many words behind the gap (Moses's rule, so that a jump back is possible).
    """

    model: PhraseModel
    weights_D: Floats
    search: PhraseSearch
    options: PhraseOptions
    groups: GroupScores

    @property
    def start(self) -> int:
        return 0

    @property
    def levels(self) -> int:
        return len(self.options.words) + 1

    def future(self, state: int) -> float:
        return self._known[1][state]

    def expand(self, state: int) -> Iterator[Move[int]]:
        search, futures = self._known
        search[0] = expanded(self.model.lm.arrays, self.sentence, self.numbers, search[0], state)
        columns = (column.tolist() for column in search[0][3:])
        for target, label, score, level, future in zip(*columns, strict=True):
            futures[target] = future
            yield Move(target, level, score, label)

    def words_of(self, label: int) -> tuple[str, ...]:
        return () if label == END_LABEL else self.options.step(self.model, label).target_words

    @cached_property
    def _known(self) -> tuple[list[Expansion], dict[int, float]]:
        """The last expansion of the readable search, and the estimates of its hypotheses by their numbers."""
        made = start_expanding(self.model.lm.arrays, self.sentence, self.numbers)
        return [made], {0: float(made.future_M[0])}

    @cached_property
    def sentence(self) -> PhraseSentence:
        """The options as the compiled search takes them."""
        model, options, n = self.model, self.options, len(self.options.words)
        histories, weights_K = model.histories, self.weights_D[model.history_slots]
        future_nn = np.zeros((n + 1, n + 1))
        if self.search.future_cost:
            alone_O, kinds = options.alone_O, zip(histories, weights_K, strict=True)
            alone_O = alone_O + sum(w * kind.alone(model, options) for kind, w in kinds if kind.alone is not None)
            future_nn = span_futures(n, options.longest, options.cell_offsets_C1, alone_O, False)
        return PhraseSentence(
            words=n,
            longest=options.longest,
            cell_offsets_C1=options.cell_offsets_C1,
            static_O=options.static_O,
            alone_O=options.alone_O,
            backward_OK=options.backward_OK,
            forward_O=options.forward_O,
            phrases=options.phrases,
            place_OR=options.place_OR * self.weights_D[model.place_slots].sum(),
            future_nn=future_nn,
            groups=self.groups,
            histories=histories_of(histories, weights_K, model, options) if histories else None,
        )

    @cached_property
    def numbers(self) -> PhraseNumbers:
        """Weights and settings as the compiled search takes them, without the limits of its stacks."""
        search, model = self.search, self.model
        reordering = WORD_BASED if model.reordering is not None else NO_REORDERING
        if model.hierarchical:
            reordering = HIERARCHICAL if model.orientations == 3 else FIVE_WAY
        return PhraseNumbers(
            lm_weight=float(self.weights_D[LM]),
            distortion_weight=float(self.weights_D[DISTORTION]),
            forward_FK=self.options.forward_FK,
            reordering=reordering,
            groups=model.sparse is not None and model.sparse.has_groups,
            bigrams=model.sparse is not None and model.sparse.has_bigrams,
            begin_state=int(model.lm.begin_state),
            end_word=END_ID,
            limits=Limits(0, 0, -np.inf, True),
            log_early_threshold=search.log_early_threshold,
            distortion_limit=search.distortion_limit,
            distortion_future=search.distortion_future,
            pop_limit=search.pop_limit,
        )

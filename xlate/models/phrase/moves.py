"""What a hypothesis of the phrase decoder may do next: the compiled moves as a search space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Floats
from xlate.kernels.search import phrase_decoder
from xlate.kernels.search.phrase_coverage import FIVE_WAY, HIERARCHICAL, NO_REORDERING, WORD_BASED
from xlate.kernels.search.phrase_moves import GroupScores, PhraseSentence
from xlate.kernels.search.spans import span_futures
from xlate.models.derivation import Step
from xlate.models.phrase.history import histories_of
from xlate.models.phrase.model import DISTORTION, LM, PhraseModel
from xlate.models.phrase.options import PhraseOptions
from xlate.models.unit_model import UnitSpace
from xlate.search.beam import EVERY_MOVE
from xlate.search.settings import PhraseSearch, log_share
from xlate.text.vocabulary import END_ID


@dataclass(frozen=True)
class PhraseMoves(UnitSpace):
    """The search space over one sentence. Labels are numbers of options, -1 the end.

    A phrase may start at most `distortion_limit` words from the end of the one before it; one that does not start at
    the first gap must end at most that many words past the gap (Moses's rule, so that a jump back is possible).
    """

    KERNEL = phrase_decoder

    model: PhraseModel
    weights_D: Floats
    search: PhraseSearch
    options: PhraseOptions
    groups: GroupScores

    def units(self, labels: AnyInts | int) -> tuple[AnyInts, AnyInts]:
        return self.options.pair_O[labels], self.options.start_O[labels]

    def steps(self, labels: Sequence[int]) -> tuple[Step, ...]:
        """The steps of options; derivations of a sentence share them."""
        options, known = self.options, self._steps
        for label in labels:
            if label not in known:
                span = int(options.start_O[label]), int(options.end_O[label])
                known[label] = Step(int(options.pair_O[label]), (span,), self.words_of(label))
        return tuple([known[label] for label in labels])

    @cached_property
    def _steps(self) -> dict[int, Step]:
        return {}

    @cached_property
    def task(self) -> PhraseSentence:
        model, search, options, sparse = self.model, self.search, self.options, self.model.sparse
        histories, weights_K = model.histories, self.weights_D[model.history_slots]
        return PhraseSentence(
            lm=model.lm.arrays,
            words=len(options.words),
            longest=options.longest,
            cell_offsets_C1=options.cell_offsets_C1,
            static_O=options.static_O,
            alone_O=options.alone_O,
            backward_OK=options.backward_OK,
            forward_O=options.forward_O,
            phrases=options.phrases,
            place_OR=options.place_OR * self.weights_D[model.place_slots].sum(),
            future_nn=self._future_nn,
            groups=self.groups,
            histories=histories_of(histories, weights_K, model, options) if histories else None,
            lm_weight=float(self.weights_D[LM]),
            distortion_weight=float(self.weights_D[DISTORTION]),
            forward_FK=options.forward_FK,
            reordering=reordering_of(model),
            has_groups=sparse is not None and sparse.has_groups,
            has_bigrams=sparse is not None and sparse.has_bigrams,
            begin_state=int(model.lm.begin_state),
            end_word=END_ID,
            limits=EVERY_MOVE,
            log_early_threshold=log_share(search.early_threshold),
            distortion_limit=search.distortion_limit,
            distortion_future=search.distortion_future,
            pop_limit=search.pop_limit,
        )

    @property
    def _future_nn(self) -> Floats:
        model, options, n = self.model, self.options, len(self.options.words)
        if not self.search.future_cost:
            return np.zeros((n + 1, n + 1))
        kinds = zip(model.histories, self.weights_D[model.history_slots], strict=True)
        alone_O = options.alone_O + sum(w * kind.alone(model, options) for kind, w in kinds if kind.alone is not None)
        return span_futures(n, options.longest, options.cell_offsets_C1, alone_O, False)


def reordering_of(model: PhraseModel) -> int:
    """What orients the phrases of a model, as compiled moves know it."""
    if model.hierarchical:
        return HIERARCHICAL if model.orientations == 3 else FIVE_WAY
    return WORD_BASED if model.reordering is not None else NO_REORDERING

"""What a hypothesis of the lattice decoder may do next: what each source word may become, permuted in a window.

The lattice of predicted blocks is that of Kolachina et al. 2010, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.kernels.search.lattice_passes import ArcGraph
from xlate.lm.model import NgramModel
from xlate.models.context.model import ContextModel
from xlate.models.context.predicted import NAME
from xlate.models.derivation import COPIED
from xlate.models.phrase.model import SentencePhrases, SentencePlaces, shift_of
from xlate.search.beam import Move, SearchSpace, Words, phrases_in
from xlate.search.graph import END_LABEL
from xlate.search.settings import LcsSearch
from xlate.text.vocabulary import END_ID, Vocabulary

# The unit of a source word that is left out.
DELETED = -3
NAMES = ("LM0", NAME, "Deletion0")
LM, CONTEXT, DELETION = range(len(NAMES))
# Behind them, where places are looked at.
PLACE = len(NAMES)


@dataclass(frozen=True)
class LcsModel:
    """What says how words are translated in context, and a language model that says in which order.

    `placed`, if given, says in which order, too: by how far translations stand from their place.
    """

    classifier: ContextModel
    target_vocabulary: Vocabulary
    lm: NgramModel
    placed: SentencePlaces | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The D float features."""
        return NAMES if self.placed is None else (*NAMES, self.placed.name)

    @cached_property
    def of_words(self) -> ContextModel:
        """The classifier, asked for single words alone."""
        return replace(self.classifier, longest=1)

    @cached_property
    def lm_number_V(self) -> Ints32:
        """The language model's numbers of the target words, shape (V,)."""
        number_V: Ints32 = self.lm.map_vocabulary(self.target_vocabulary.words)
        return number_V

    def target(self, pair: int) -> tuple[Words, Ints32]:
        """The target words of a pair, and the language model's numbers of them."""
        table = self.classifier.targets.table
        ids = table.target_phrases[int(table.target_B[pair])]
        return tuple(self.target_vocabulary.word(number) for number in ids.tolist()), self.lm_number_V[ids]


@dataclass(frozen=True)
class LcsOptions:
    """O options of a sentence of n words: those of position i are numbers `offsets_n1[i]` to `offsets_n1[i + 1]`.

    The best come first, the deletion last. `unit_O` are pairs of the table, `COPIED` or `DELETED`; `log_O` is ln p of a
    block in the sentence, 0 for the others; `place_OR` what each scores where it is put (`SentencePlaces`), 0 for
    deletions.
    """

    words: Words
    offsets_n1: Ints
    position_O: Ints32
    unit_O: Ints
    log_O: Floats
    target_O: tuple[Words, ...]
    lm_words_O: tuple[Ints32, ...]
    place_OR: Floats

    def cell(self, position: int) -> range:
        """The options of one source word."""
        return range(int(self.offsets_n1[position]), int(self.offsets_n1[position + 1]))

    def __len__(self) -> int:
        """The number of options O."""
        return len(self.unit_O)


def collect_lcs_options(
    model: LcsModel, search: LcsSearch, words: Sequence[str], target: Sequence[str] | None = None
) -> LcsOptions:
    """The options of every word of a sentence: predicted blocks; the word itself where nothing is predicted; deletion.

    With a target they are all predicted blocks that stand in it, however improbable.
    """
    allowed = None if target is None else phrases_in(target)
    cells = list(_predicted(model, search, words, allowed))
    nothing = (), np.zeros(0, np.int32)
    rows: list[tuple[int, int, float, tuple[Words, Ints32]]] = []
    offsets = [0]
    for position, (word, found) in enumerate(zip(words, cells, strict=True)):
        if found is None:
            rows.append((position, COPIED, 0.0, ((word,), model.lm.map_vocabulary([word]))))
        else:
            rows += [(position, pair, log, model.target(pair)) for pair, log in found]
        if search.deletions:
            rows.append((position, DELETED, 0.0, nothing))
        offsets.append(len(rows))
    position_O = np.array([row[0] for row in rows], np.int32)
    unit_O = np.array([row[1] for row in rows], np.int64)
    place_OR = np.zeros((len(rows), 0))
    if model.placed is not None:
        place_OR = model.placed.of(SentencePhrases(words, position_O, position_O + 1, unit_O))
    return LcsOptions(
        words=tuple(words),
        offsets_n1=np.array(offsets),
        position_O=position_O,
        unit_O=unit_O,
        log_O=np.array([row[2] for row in rows], np.float64),
        target_O=tuple(row[3][0] for row in rows),
        lm_words_O=tuple(row[3][1] for row in rows),
        place_OR=place_OR,
    )


def _predicted(
    model: LcsModel, search: LcsSearch, words: Sequence[str], allowed: set[Words] | None
) -> Iterator[list[tuple[int, float]] | None]:
    """The pairs of each word with ln p, best first; None where nothing is predicted."""
    found = model.of_words.predict(words)
    instances = dict(zip(found.spans.start_I.tolist(), range(len(found.spans)), strict=True))
    for position in range(len(words)):
        if position not in instances:
            yield None
            continue
        first, end = found.offsets_I1[instances[position] : instances[position] + 2].tolist()
        order = first + np.argsort(-found.log_C[first:end], kind="stable")
        pairs = list(zip(found.pair_C[order].tolist(), found.log_C[order].tolist(), strict=True))
        if allowed is None:
            likely = sum(log >= search.least_log for _, log in pairs)
            yield pairs[: max(1, min(likely, search.options))]
        else:
            yield [(pair, log) for pair, log in pairs if model.target(pair)[0] in allowed]


class LatticeState(NamedTuple):
    """All that a continuation depends on: bit i of `covered` says that source word i is done.

    All ways to do every word are alike but for the history; the goal has one bit more.
    """

    covered: int
    lm_state: int


@dataclass(frozen=True)
class LatticeMoves(SearchSpace[LatticeState]):
    """The search space over one sentence. Labels are option numbers, -1 the end.

    The word that is done next lies less than `window` positions behind the first one that is not done.
    """

    model: LcsModel
    weights_D: Floats
    search: LcsSearch
    options: LcsOptions

    @property
    def start(self) -> LatticeState:
        return LatticeState(0, int(self.model.lm.begin_state))

    @property
    def levels(self) -> int:
        return len(self.options.words) + 1

    @cached_property
    def fixed_OD(self) -> Floats:
        """The features of options wherever they stand, those of the language model and of places 0; shape (O, D)."""
        fixed_OD = np.zeros((len(self.options), len(self.model.names)))
        fixed_OD[:, CONTEXT] = self.options.log_O
        fixed_OD[self.options.unit_O == DELETED, DELETION] = self.search.deletion_cost
        return fixed_OD

    @cached_property
    def future_n(self) -> list[float]:
        """The best score of each word without a history, 0 of one without options; zeros without `future_cost`."""
        options, lm = self.options, self.model.lm
        if not self.search.future_cost:
            return [0.0] * len(options.words)
        alone = [lm.score_words(lm.empty_state, words)[0] for words in options.lm_words_O]
        score_O = (self._own_O + self.weights_D[LM] * np.array(alone)).tolist()
        cells = (options.cell(position) for position in range(len(options.words)))
        return [max((score_O[label] for label in cell), default=0.0) for cell in cells]

    def future(self, state: LatticeState) -> float:
        """The estimates of all words that are not done."""
        first, n = first_open(state.covered), len(self.options.words)
        if first >= n:
            return 0.0
        behind = min(n, first + self.search.window)
        open_words = (self.future_n[at] for at in range(first, behind) if not state.covered >> at & 1)
        return self._future_from[behind] + sum(open_words)

    @cached_property
    def _future_from(self) -> list[float]:
        """The estimates of all words from a position on."""
        return [*accumulate(reversed(self.future_n), initial=0.0)][::-1]

    def coverage(self, state: LatticeState) -> int:
        return state.covered

    def expand(self, state: LatticeState) -> Iterator[Move[LatticeState]]:
        n, (covered, lm_state) = len(self.options.words), state
        first = first_open(covered)
        if first == n:
            score = float(self.weights_D[LM]) * self.end_logprob(lm_state)
            yield Move(LatticeState((1 << self.levels) - 1, 0), self.levels, score, END_LABEL)
            return
        count = covered.bit_count() + 1
        for position in range(first, min(n, first + self.search.window)):
            bit = 1 << position
            if not covered & bit:
                for label, score, after in self._arcs(lm_state, position):
                    if self.model.placed is not None:
                        score += float(self.weights_D[PLACE]) * self.place(label, count - 1)
                    yield Move(LatticeState(covered | bit, after), count, score, label)

    def place(self, label: int, covered: int) -> float:
        """What an option scores where it is put when so many words are done."""
        assert self.model.placed is not None
        shift = shift_of(self.model.placed.reach, covered, int(self.options.position_O[label]))
        return float(self.options.place_OR[label, shift])

    def features(self, graph: ArcGraph, label_A: Ints32) -> Floats:
        """The features of arcs, shape (A, D); all ways to a node must have one history and as many words."""
        # The end of the sentence has the last row.
        dense_AD = np.append(self.fixed_OD, np.zeros((1, len(self.model.names))), axis=0)[label_A]
        history_N, covered_N = {0: self.start.lm_state}, {0: 0}
        arcs = zip(graph.source_A.tolist(), graph.target_A.tolist(), label_A.tolist(), strict=True)
        for arc, (source, target, label) in enumerate(arcs):
            if label == END_LABEL:
                dense_AD[arc, LM] = self.end_logprob(history_N[source])
                continue
            dense_AD[arc, LM], history_N[target] = self.language(history_N[source], label)
            covered_N[target] = covered_N[source] + 1
            if self.model.placed is not None:
                dense_AD[arc, PLACE] = self.place(label, covered_N[source])
        return dense_AD

    def words_of(self, label: int) -> Words:
        return () if label == END_LABEL else self.options.target_O[label]

    @cached_property
    def language(self) -> Callable[[int, int], tuple[float, int]]:
        """ln p of an option's words after a history, and the history behind them; by history and label."""
        return cache(lambda lm_state, label: self.model.lm.score_words(lm_state, self.options.lm_words_O[label]))

    def end_logprob(self, lm_state: int) -> float:
        """ln p(</s> | history)."""
        return self.model.lm.score(lm_state, END_ID)[0]

    @cached_property
    def _arcs(self) -> Callable[[int, int], list[tuple[int, float, int]]]:
        """The options of a word after a history, what each scores, and the history behind it; the same at any time."""
        weight = float(self.weights_D[LM])

        def arcs(lm_state: int, position: int) -> list[tuple[int, float, int]]:
            cell = self.options.cell(position)
            said = [(label, *self.language(lm_state, label)) for label in cell]
            return [(label, float(self._own_O[label]) + weight * logprob, after) for label, logprob, after in said]

        return cache(arcs)

    @cached_property
    def _own_O(self) -> Floats:
        return np.asarray(self.fixed_OD @ self.weights_D)


def first_open(covered: int) -> int:
    """The lowest bit that is not set."""
    return (~covered & (covered + 1)).bit_length() - 1

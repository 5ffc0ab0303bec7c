"""The lattice of a sentence before it is permuted: what each source word may become (Kolachina et al. 2010, 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.lm.model import NgramModel
from xlate.models.context.lcs_settings import LcsSearch
from xlate.models.context.model import ContextModel
from xlate.models.context.predicted import NAME
from xlate.models.derivation import COPIED
from xlate.models.phrase.sentence_scores import SentencePhrases, SentencePlaces
from xlate.search.space import Words, phrases_in
from xlate.text.vocabulary import Vocabulary

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

"""The translations of a source sentence's spans, best first, with what they score wherever they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of, places_of
from xlate.features.phrase_sparse import Applications
from xlate.kernels.lm.phrase_lm import PhrasesAlone
from xlate.kernels.memory.rows import distinct_rows
from xlate.kernels.search.spans import span_futures, span_rows
from xlate.models.derivation import COPIED
from xlate.models.phrase.model import LM, PHRASE_PENALTY, UNKNOWN, WORD_PENALTY, PhraseModel
from xlate.models.phrase.ranking import RankedPairs, RankedPhrases, weighted
from xlate.models.phrase.sentence_scores import SentencePhrases
from xlate.models.ranking import best_of_groups, joined_rows, logprobs_alone, phrases_alone
from xlate.models.unit_model import UNKNOWN_PENALTY

NO_FORWARD = 0


@dataclass(frozen=True)
class PhraseOptions:
    """O options of a sentence of n words, grouped by source span; see `RankedPairs` for the numbers of each.

    `source_n` are the numbers of the words, `first_O` and `last_O` those of the first and last target word of options.
    What an option scores by the orientation of the phrase after is row `forward_O` of `forward_FK`, whose first is 0.
    `more_OE` are the floats that options have in this sentence, if the model has any, `place_OR` those of each place
    where they may be put; see `SentencePlaces`.

    A span from `start` of `length` words (1 to J) is cell c = start · J + length - 1; its options are numbers
    `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`, best first. `pair_O` is `COPIED` where a word stands for itself.
    """

    words: tuple[str, ...]
    source_n: Ints32
    longest: int
    cell_offsets_C1: Ints
    pair_O: Ints
    start_O: Ints32
    end_O: Ints32
    static_O: Floats
    alone_O: Floats
    backward_OK: Floats
    forward_O: Ints32
    forward_FK: Floats
    first_O: Ints32
    last_O: Ints32
    phrases: PhrasesAlone
    more_OE: Floats
    place_OR: Floats

    def cell(self, start: int, end: int) -> range:
        """The numbers of the options of one source span of at most J words."""
        c = start * self.longest + end - start - 1
        return range(int(self.cell_offsets_C1[c]), int(self.cell_offsets_C1[c + 1]))

    def phrase(self, option: int) -> Ints32:
        """The target words of an option."""
        offsets_O1 = self.phrases.offsets_O1
        return self.phrases.words_W[offsets_O1[option] : offsets_O1[option + 1]]

    def future_nn(self) -> Floats:
        """The best sum of options without history over each span, shape (n + 1, n + 1), 0 for empty spans."""
        scores: Floats = span_futures(len(self.words), self.longest, self.cell_offsets_C1, self.alone_O, False)
        return scores

    def __len__(self) -> int:
        """The number of options O."""
        return len(self.pair_O)


def collect_phrase_options(
    model: PhraseModel,
    weights_D: Floats,
    ranked: RankedPhrases,
    longest: int,
    words: Sequence[str],
    sparse_F: Floats | None = None,
) -> PhraseOptions:
    """The options of every span of at most `longest` words.

    A word that no pair translates by itself may stand for itself, at the penalty of unknown words (Moses's rule, which
    asks nothing about longer phrases that hold the word).
    """
    longest = max(1, min(longest, len(words)))
    source_n = model.source_vocabulary.ids(words)
    row_C = span_rows(model.source_finder, source_n, longest)
    known_C = row_C >= 0
    copied_C = ~known_C & (np.arange(len(row_C)) % longest == 0)
    rows = row_C[known_C]
    ranked.rank(rows)
    size_C = copied_C.astype(np.int64)
    size_C[known_C] = ranked.sizes(rows)
    cell_O = np.repeat(np.arange(len(row_C)), size_C)
    copied_O = copied_C[cell_O]
    if model.in_sentence is not None:
        placed = _in_sentence(model, weights_D, words, longest, ranked, (rows, cell_O[~copied_O]))
        found, cell_O = _with_words_left(model, weights_D, words, longest, placed, sparse_F)
        size_C = np.bincount(cell_O, minlength=len(row_C))
    else:
        found = ranked.units(rows)
        if copied_O.any():
            starts = cell_O[copied_O] // longest
            copies = _copies(model, weights_D, [words[start] for start in starts.tolist()], sparse_F)
            found = joined_rows(found, copies, copied_O)
    number_O, first_F = distinct_rows(found.forward_RK.view(np.uint64))
    start_O = cell_O // longest
    return PhraseOptions(
        words=tuple(words),
        source_n=source_n,
        longest=longest,
        cell_offsets_C1=offsets_of(size_C),
        pair_O=found.unit_R,
        start_O=start_O.astype(np.int32),
        end_O=(start_O + cell_O % longest + 1).astype(np.int32),
        static_O=found.static_R,
        alone_O=found.alone_R,
        backward_OK=found.backward_RK,
        forward_O=number_O,
        forward_FK=np.concatenate([np.zeros((1, model.orientations)), found.forward_RK[first_F]]),
        first_O=found.first_R,
        last_O=found.last_R,
        phrases=found.phrases,
        more_OE=found.more_RE,
        place_OR=model.place_logs(SentencePhrases(words, start_O, start_O + cell_O % longest + 1, found.unit_R)),
    )


# Options, and the cell of each.
Placed = tuple[RankedPairs, Ints]


def _in_sentence(
    model: PhraseModel,
    weights_D: Floats,
    words: Sequence[str],
    longest: int,
    ranked: RankedPhrases,
    asked: tuple[Ints32, Ints],
) -> Placed:
    """The best options of each cell with what they score in their sentence, best first; others are left out.

    `asked` are the source phrases, and the cell of each of their pairs. Of most pairs only the number and the score are
    looked at.
    """
    rows, cell_O = asked
    places, start_O = ranked.places(rows), cell_O // longest
    more_OE = ranked.column("more_RE", places)
    here = np.flatnonzero(np.isnan(more_OE).any(axis=1))
    start_H, last_H, pair_H = start_O[here], cell_O[here] % longest, ranked.column("unit_R", places[here])
    more_OE[here] = model.sentence_floats(SentencePhrases(words, start_H, start_H + last_H + 1, pair_H))
    there = np.flatnonzero((more_OE > -np.inf).all(axis=1))
    added_O = (more_OE[there] * weights_D[model.sentence_slots]).sum(axis=1)
    alone_O = ranked.column("alone_R", places[there]) + added_O
    order = best_of_groups(alone_O, np.bincount(cell_O[there], minlength=1), ranked.options)
    kept, added_O = there[order], added_O[order]
    chosen = ranked.at(places[kept])
    static_O, alone_O = chosen.static_R + added_O, chosen.alone_R + added_O
    return replace(chosen, static_R=static_O, alone_R=alone_O, more_RE=more_OE[kept]), cell_O[kept]


def _with_words_left(
    model: PhraseModel, weights_D: Floats, words: Sequence[str], longest: int, placed: Placed, sparse_F: Floats | None
) -> Placed:
    """The same with words that stand for themselves because none of their translations is an option there."""
    found, cell_O = placed
    empty_C = np.ones(len(words) * longest, np.bool_)
    empty_C[cell_O] = False
    left = np.flatnonzero(empty_C[::longest]) * longest
    if not len(left):
        return placed
    copies = _copies(model, weights_D, [words[c // longest] for c in left.tolist()], sparse_F)
    both = np.concatenate([cell_O, left])
    order = np.argsort(both, kind="stable")
    return joined_rows(found, copies, order >= len(cell_O)), both[order]


def _copies(model: PhraseModel, weights_D: Floats, words: list[str], sparse_F: Floats | None) -> RankedPairs:
    """Words that stand for themselves."""
    penalty = weights_D[UNKNOWN] * UNKNOWN_PENALTY - weights_D[WORD_PENALTY] + weights_D[PHRASE_PENALTY]
    static, backward = np.full(len(words), penalty), np.zeros((len(words), model.orientations))
    if model.sparse is not None and sparse_F is not None:
        backward, plain = weighted(model, weights_D, sparse_F, copied_words(model, words))
        static += plain
    text = np.arange(len(words) + 1), model.lm.vocabulary.ids(words)
    target = model.target_vocabulary.ids(words)
    no_forward = np.zeros((len(words), model.orientations))
    alone = static + weights_D[LM] * logprobs_alone(model.lm, *text)
    scores = static, alone, phrases_alone(model.lm, *text), backward, no_forward
    more = np.zeros((len(words), model.sentence_slots.stop - model.sentence_slots.start))
    return RankedPairs(np.full(len(words), COPIED), *scores, target, target, more)


def copied_words(model: PhraseModel, words: Sequence[str]) -> Applications:
    """Words that stand for themselves as applications."""
    source, target = model.source_vocabulary.ids(words), model.target_vocabulary.ids(words)
    one = np.ones(len(words), dtype=np.int64)
    return Applications(np.full(len(words), COPIED), source, source, target, target, one, one)


def selected_options(options: PhraseOptions, kept: Ints) -> PhraseOptions:
    """Only the options of these ascending numbers."""
    sizes_C = np.diff(np.searchsorted(kept, options.cell_offsets_C1))
    phrases, places = options.phrases, places_of(options.phrases.offsets_O1, kept)
    lengths = phrases.offsets_O1[kept + 1] - phrases.offsets_O1[kept]
    chosen = {
        name: getattr(options, name)[kept]
        for name in (
            "pair_O", "start_O", "end_O", "static_O", "alone_O", "backward_OK", "forward_O", "first_O", "last_O",
            "more_OE", "place_OR",
        )
    }  # fmt: skip
    return replace(
        options,
        cell_offsets_C1=offsets_of(sizes_C),
        phrases=PhrasesAlone(
            offsets_of(lengths), phrases.words_W[places], phrases.states_W[places], phrases.rest_W[places]
        ),
        **chosen,
    )

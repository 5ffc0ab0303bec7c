"""The translations of a source sentence's spans under some weights, best first, with what they score anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xlate.array_types import Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.features.phrase_sparse import GROUP, OWN, Steps
from xlate.kernels.lm import PhrasesAlone
from xlate.kernels.memory import best_of_rows, distinct_rows
from xlate.kernels.search.phrase_moves import GroupScores
from xlate.kernels.search.spans import span_rows
from xlate.models.derivation import COPIED
from xlate.models.phrase.model import PHRASE_PENALTY, UNKNOWN, WORD_PENALTY, PhraseModel, SentencePhrases
from xlate.models.unit_model import (
    UNKNOWN_PENALTY,
    RankedRows,
    Ranking,
    joined_rows,
    joined_targets,
    own_cells,
    rows_at,
    units_in,
)
from xlate.text.terms import open_ids
from xlate.text.vocabulary import BEGIN_ID


@dataclass(frozen=True)
class RankedPairs(RankedRows):
    """R phrase pairs, those of each source phrase together and best first; static is table scores and penalties.

    Attributes:
        backward_RK: weighted scores of the K orientations with respect to the phrase before, local sparse features
            added.
        forward_RK: the same of the phrase after, without sparse features.
        first_R, last_R: the numbers of the first and the last target word.
        more_RE: the floats of pairs in their sentence, NaN where they depend on the sentence.
    """

    backward_RK: Floats
    forward_RK: Floats
    first_R: Ints32
    last_R: Ints32
    more_RE: Floats


class RankedPhrases(Ranking[RankedPairs]):
    """The best pairs of each requested source phrase (Moses's table limit).

    If phrases also have scores in their sentence, these are all pairs that may be among the best in some sentence: the
    best are only known there, except for pairs that score alike everywhere.
    """

    model: PhraseModel
    ROWS = RankedPairs

    def __init__(self, model: PhraseModel, weights_D: Floats, options: int, sparse_F: Floats | None) -> None:
        super().__init__(model, weights_D, options)
        self.sparse_F = sparse_F if sparse_F is not None and sparse_F.any() else None

    def prepare(self, sentences: Sequence[Ints32], longest: int) -> None:
        """Ranks whatever the spans of at most `longest` words of these sentences need."""
        finder, seen_P = self.model.table.source_finder, np.zeros(len(self.model.table.sides), np.bool_)
        for source_n in sentences:
            if len(source_n):
                row_C = span_rows(finder, source_n, max(1, min(longest, len(source_n))))
                seen_P[row_C[row_C >= 0]] = True
        self.rank(np.flatnonzero(seen_P))

    def ranked(self, rows: Ints) -> tuple[RankedPairs, Ints]:
        """The pairs of some source phrases, and how many each of them keeps."""
        model, weights_D, k = self.model, self.weights_D, self.model.orientations
        pair_B, size_S = self.units_of(rows)
        static_B, crossed_BK = model.static_scores(weights_D, pair_B), None
        if model.sparse is not None and self.sparse_F is not None:
            crossed_BK, plain_B = self.weighted(self.sparse_F, model.sparse.of_pairs(pair_B))
            static_B = static_B + plain_B
        targets = model.target_phrases(pair_B)
        alone_B = self.alone(static_B, self.words_of(targets))
        kept, size_S, more_RE = self._kept(pair_B, alone_B, size_S)
        pair_R = pair_B[kept]
        logs_RK2 = model.log_reordering(pair_R)
        backward_RK = weights_D[model.backward] * logs_RK2[:, :k]
        if crossed_BK is not None:
            backward_RK += crossed_BK[kept]
        # No zero is negative, so that equal rows have equal bits.
        forward_RK = weights_D[model.forward] * logs_RK2[:, k:] + 0.0
        chosen = targets.select(kept)
        first_R, last_R = (chosen.ids_T[places] for places in (chosen.offsets_S1[:-1], chosen.offsets_S1[1:] - 1))
        scores = static_B[kept], alone_B[kept], *self.phrases(self.words_of(chosen)), backward_RK, forward_RK
        return RankedPairs(pair_R, *scores, first_R, last_R, more_RE), size_S

    def weighted(self, sparse_F: Floats, phrases: Steps) -> tuple[Floats, Floats]:
        """What local sparse features of phrases score in each orientation, (N, K), and in all, (N,)."""
        assert self.model.sparse is not None
        crossed_NK, plain_N = self.model.sparse.local_scores(sparse_F, phrases)
        weights_K1 = self.weights_D[self.model.sums]
        return crossed_NK * weights_K1[:-1], plain_N * float(weights_K1[-1])

    def own_pairs(self, words: Sequence[str], unit_N: Ints, start_N: Ints, end_N: Ints) -> RankedPairs:
        """Copied words and terms of a sentence."""
        model, weights_D = self.model, self.weights_D
        offsets_N1, said = joined_targets(words, unit_N, start_N)
        text = offsets_N1, model.lm.vocabulary.ids(said)
        target = model.target_vocabulary.ids(said)
        first_N, last_N, length_N = target[offsets_N1[:-1]], target[offsets_N1[1:] - 1], np.diff(offsets_N1)
        static_N = weights_D[UNKNOWN] * UNKNOWN_PENALTY * (unit_N == COPIED)
        static_N = static_N - weights_D[WORD_PENALTY] * length_N + weights_D[PHRASE_PENALTY]
        backward_NK = forward_NK = np.zeros((len(unit_N), model.orientations))
        if self.sparse_F is not None:
            source = model.source_vocabulary.ids(words)
            sides = source[start_N], source[end_N - 1], first_N, last_N, end_N - start_N, length_N
            own: Steps = dict(zip(OWN, (unit_N, *sides), strict=True))
            backward_NK, plain_N = self.weighted(self.sparse_F, own)
            static_N += plain_N
        scores = static_N, self.alone(static_N, text), *self.phrases(text), backward_NK, forward_NK
        more_NE = np.zeros((len(unit_N), len(weights_D[model.sentence_slots])))
        return RankedPairs(unit_N, *scores, first_N, last_N, more_NE)

    def _kept(self, pair_B: Ints, alone_B: Floats, size_S: Ints) -> tuple[Ints, Ints, Floats]:
        """The places of pairs that may be options, best first, the number per source phrase, and `more_RE`."""
        if self.model.in_sentence is None:
            kept = best_of_rows(alone_B, offsets_of(size_S), self.options)
            return kept, np.minimum(size_S, self.options), np.zeros((len(kept), 0))
        order = best_of_rows(alone_B, offsets_of(size_S), max(len(alone_B), 1))
        more_RE = self.model.in_sentence.anywhere(pair_B[order])
        score_R = alone_B[order] + (more_RE * self.weights_D[self.model.sentence_slots]).sum(axis=1)
        source_R = np.repeat(np.arange(len(size_S)), size_S)
        settled = np.flatnonzero((more_RE > -np.inf).all(axis=1))
        size = np.bincount(source_R[settled], minlength=len(size_S))
        kept_R = np.asarray(np.isnan(more_RE).any(axis=1))
        kept_R[settled[best_of_rows(score_R[settled], offsets_of(size), self.options)]] = True
        size_S = np.bincount(source_R[kept_R], minlength=len(size_S))
        return order[kept_R], size_S, more_RE[kept_R]


@dataclass(frozen=True)
class PlacedPhrases:
    """O phrases over spans of a sentence of n words, with the numbers that features use.

    `source_n` are the numbers of the words, `first_O` and `last_O` those of the first and last target word of phrases.
    `pair_O` is `COPIED` for a copied word, and at most `TERM` for a term. `more_OE` are the floats that phrases have in
    this sentence, if the model has any, `place_OR` those of each place where they may be put; see `SentencePlaces`.
    """

    words: tuple[str, ...]
    source_n: Ints32
    pair_O: Ints
    start_O: Ints32
    end_O: Ints32
    first_O: Ints32
    last_O: Ints32
    phrases: PhrasesAlone
    more_OE: Floats
    place_OR: Floats

    def __len__(self) -> int:
        """The number of phrases O."""
        return len(self.pair_O)


@dataclass(frozen=True)
class PhraseOptions(PlacedPhrases):
    """O options of a sentence, grouped by source span; see `RankedPairs` for what each scores.

    What an option scores by the orientation of the phrase after is row `forward_O` of `forward_FK`, whose first is 0.
    A span from `start` of `length` words (1 to J) is cell c = start · J + length - 1; its options are numbers
    `cell_offsets_C1[c]` to `cell_offsets_C1[c + 1]`, best first.
    """

    longest: int
    cell_offsets_C1: Ints
    static_O: Floats
    alone_O: Floats
    backward_OK: Floats
    forward_O: Ints32
    forward_FK: Floats


def collect_phrase_options(
    ranked: RankedPhrases, longest: int, words: Sequence[str], target: Sequence[str] | None
) -> PhraseOptions:
    """The options of every span of at most `longest` words; with a `target`, those whose words occur in it.

    A word that no pair translates on its own may be copied, at the penalty for unknown words (Moses's rule, which
    ignores longer phrases that hold the word). Terms are options, too; nothing else translates words of hard ones.
    """
    model, longest = ranked.model, max(1, min(longest, len(words)))
    source_n = model.source_vocabulary.ids(words)
    row_C = span_rows(model.table.source_finder, open_ids(words, source_n), longest)
    cells = np.flatnonzero(row_C >= 0)
    rows = row_C[cells]
    ranked.rank(rows)
    cell_O = np.repeat(cells, ranked.sizes(rows))
    if model.in_sentence is None:
        found = ranked.units(rows)
    else:
        found, cell_O = _in_sentence(ranked, words, longest, ranked.places(rows), cell_O)
    found, cell_O = _with_own(ranked, words, longest, found, cell_O)
    if target is not None:
        kept = units_in(target, model.target_words, words, found.unit_R, cell_O // longest)
        found, cell_O = rows_at(found, kept), cell_O[kept]
    number_O, first_F = distinct_rows(found.forward_RK.view(np.uint64))
    start_O = cell_O // longest
    end_O = start_O + cell_O % longest + 1
    return PhraseOptions(
        words=tuple(words),
        source_n=source_n,
        longest=longest,
        cell_offsets_C1=offsets_of(np.bincount(cell_O, minlength=len(row_C))),
        pair_O=found.unit_R,
        start_O=start_O.astype(np.int32),
        end_O=end_O.astype(np.int32),
        static_O=found.static_R,
        alone_O=found.alone_R,
        backward_OK=found.backward_RK,
        forward_O=number_O,
        forward_FK=np.concatenate([np.zeros((1, model.orientations)), found.forward_RK[first_F]]),
        first_O=found.first_R,
        last_O=found.last_R,
        phrases=found.phrases,
        more_OE=found.more_RE,
        place_OR=model.place_logs(SentencePhrases(words, start_O, end_O, found.unit_R)),
    )


def _with_own(
    ranked: RankedPhrases, words: Sequence[str], longest: int, found: RankedPairs, cell_O: Ints
) -> tuple[RankedPairs, Ints]:
    """Options and their cells with terms, and a copy of each word that no pair or term translates on its own."""
    cell_N, unit_N = own_cells(words, longest, cell_O)
    if not len(cell_N):
        return found, cell_O
    start_N = cell_N // longest
    own = ranked.own_pairs(words, unit_N, start_N, start_N + cell_N % longest + 1)
    both = np.concatenate([cell_O, cell_N])
    found = joined_rows(found, own)
    # A term may be better than other options of its cell.
    order = np.lexsort((-found.alone_R, both))
    return rows_at(found, order), both[order]


def _in_sentence(
    ranked: RankedPhrases, words: Sequence[str], longest: int, places: Ints, cell_O: Ints
) -> tuple[RankedPairs, Ints]:
    """The best options of each cell with what they score in their sentence, best first, and their cells.

    `places` are the ranked pairs, `cell_O` the cell of each. Of most pairs only the number and the score are used.
    """
    model, start_O = ranked.model, cell_O // longest
    more_OE = ranked.column("more_RE", places)
    here = np.flatnonzero(np.isnan(more_OE).any(axis=1))
    start_H, last_H, pair_H = start_O[here], cell_O[here] % longest, ranked.column("unit_R", places[here])
    more_OE[here] = model.sentence_floats(SentencePhrases(words, start_H, start_H + last_H + 1, pair_H))
    there = np.flatnonzero((more_OE > -np.inf).all(axis=1))
    added_O = (more_OE[there] * ranked.weights_D[model.sentence_slots]).sum(axis=1)
    alone_O = ranked.column("alone_R", places[there]) + added_O
    order = best_of_rows(alone_O, offsets_of(np.bincount(cell_O[there], minlength=1)), ranked.options)
    kept, added_O = there[order], added_O[order]
    chosen = ranked.at(places[kept])
    static_O, alone_O = chosen.static_R + added_O, chosen.alone_R + added_O
    return replace(chosen, static_R=static_O, alone_R=alone_O, more_RE=more_OE[kept]), cell_O[kept]


class GroupWeights:
    """What a group's words score in K orientations, as a function of the phrases of a sentence.

    When no sparse feature considers groups, the scores are empty and never used.
    """

    def __init__(self, model: PhraseModel, weights_D: Floats, sparse_F: Floats) -> None:
        sparse, weights_K1 = model.sparse, weights_D[model.sums]
        self.sparse = None if sparse is None or not (sparse.has_groups or sparse.has_bigrams) else sparse
        self.sparse_F, self.orientations = sparse_F, model.orientations
        if self.sparse is not None:
            self.plain = float(weights_K1[-1])
            self.scores = [self.sparse.word_scores(sparse_F, position) * weights_K1[:-1] for position in GROUP]

    def __call__(self, phrases: PlacedPhrases) -> GroupScores:
        sparse = self.sparse
        if sparse is None:
            none_0K, kinds_0 = np.zeros((0, self.orientations)), np.zeros(0, np.int32)
            return GroupScores(none_0K, none_0K, none_0K, none_0K, none_0K, kinds_0, kinds_0, np.zeros((0, 0)))
        first_VK, last_VK, between_VK, target_first_WK, target_last_WK = self.scores
        word_O2 = np.concatenate([phrases.first_O, phrases.last_O])
        _, place, number_O2 = np.unique(sparse.kind_V[word_O2], return_index=True, return_inverse=True)
        words_R = np.concatenate([[BEGIN_ID], word_O2[place]])
        kind_O2 = (number_O2.reshape(-1) + 1).astype(np.int32)
        source_n1 = np.concatenate([phrases.source_n, np.array([BEGIN_ID], np.int32)])
        between_nK = np.concatenate([np.zeros((1, between_VK.shape[1])), between_VK[phrases.source_n]]).cumsum(axis=0)
        bigrams_RR = np.zeros((0, 0))
        if sparse.has_bigrams:
            bigrams_RR = sparse.bigram_scores(self.sparse_F, words_R, words_R) * self.plain
        return GroupScores(
            first_VK[source_n1],
            last_VK[source_n1],
            between_nK,
            target_first_WK[words_R],
            target_last_WK[words_R],
            kind_O2[: len(phrases)],
            kind_O2[len(phrases) :],
            bigrams_RR,
        )

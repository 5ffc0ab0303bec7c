"""The hierarchical model as the decoder sees it: rules, language model, the float features of Watanabe et al.; and the
matches of rules in a source sentence with the translations of their source sides, best first.

With structure features, compiled searches also consider the words and links of translations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xlate.array_types import AnyInts, Bools, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, lengths_of, offsets_of, places_in_rows, places_of, row_numbers
from xlate.features.index import slots_of
from xlate.features.structure import StructureFeatures
from xlate.kernels.features.structure import Kinds, StructureWeights, new_memory
from xlate.kernels.memory import best_of_rows, build_table, distinct_rows
from xlate.kernels.search.rule_facts import NO_PAIR, RuleWords, Structure, own_words
from xlate.kernels.search.spans import NO_GAP, Matches, match_rules, option_words
from xlate.models.derivation import COPIED, Span
from xlate.models.unit_model import (
    UNKNOWN_PENALTY,
    RankedRows,
    Ranking,
    UnitModel,
    columns_of,
    joined_rows,
    joined_targets,
    weighted_sum,
)
from xlate.phrases.table import GAP, RuleTable
from xlate.text.terms import open_ids, terms_in
from xlate.text.vocabulary import BEGIN_ID, UNKNOWN_ID

# Features in the order of n-best lists, with the number of values of each (B3).
RULE_FEATURES = {
    "LM0": 1,
    "WordPenalty0": 1,
    "RulePenalty0": 1,
    "Glue0": 1,
    "TranslationModel0": 4,
    "Insertion0": 1,
    "Deletion0": 1,
    "Backtrack0": 2,
    "UnknownWordPenalty0": 1,
}
SLOTS = slots_of(RULE_FEATURES)
SIZE = sum(RULE_FEATURES.values())
LM, WORD_PENALTY, RULE_PENALTY, GLUE, INSERTION, DELETION, UNKNOWN = (
    SLOTS[name].start
    for name in ("LM0", "WordPenalty0", "RulePenalty0", "Glue0", "Insertion0", "Deletion0", "UnknownWordPenalty0")
)
TABLE, BACKTRACK = SLOTS["TranslationModel0"], SLOTS["Backtrack0"]
COLUMNS = columns_of(RULE_FEATURES)
# The sum of the sparse features, the last float of a model that has some.
STRUCTURE = "SparseStructure0"


@dataclass(frozen=True)
class HierarchicalModel(UnitModel[RuleTable]):
    """Rules with scores and a language model; it holds no weights.

    A derivation has D = 13 float features: ln p of the language model; minus its words; its rules; the spans that were
    glued on; natural logs of the four scores of its rules; minus the target words, and minus the source words, that no
    word across explains (Bender et al. 2004); minus the times its rules went back in the source, and minus the words
    they went back (Watanabe et al. 2006b); the penalty for copied words. With structure features their weighted sum is
    one more; `sparse` are these.
    """

    sparse: StructureFeatures | None = None

    @property
    def features(self) -> dict[str, int]:
        """The D float features by name, with the number of values of each."""
        return {**RULE_FEATURES, **({STRUCTURE: 1} if self.sparse is not None else {})}

    def rule_features(self, rule_N: AnyInts, length_N: AnyInts | int = 1) -> Floats:
        """The features of rules in any context, shape (N, D); a negative number is a copied word, or a term.

        `length_N` are the target words of these.
        """
        table, known_N = self.table, np.asarray(rule_N) >= 0
        rules = np.asarray(rule_N)[known_N]
        features_ND = np.zeros((len(known_N), self.size))
        features_ND[:, RULE_PENALTY] = 1.0
        features_ND[:, WORD_PENALTY] = -np.asarray(length_N, np.float64)
        features_ND[np.asarray(rule_N) == COPIED, UNKNOWN] = UNKNOWN_PENALTY
        features_ND[known_N, WORD_PENALTY] = -lengths_of(table.target_phrases.offsets_S1, table.target_B[rules])
        features_ND[known_N, TABLE] = self.log_scores(rules)
        features_ND[known_N, INSERTION] = -table.insertion_B[rules].astype(np.float64)
        features_ND[known_N, DELETION] = -table.deletion_B[rules].astype(np.float64)
        return features_ND


class RankedRules(Ranking[RankedRows]):
    """The best rules of each requested source side."""

    model: HierarchicalModel
    ROWS = RankedRows

    def ranked(self, rows: Ints) -> tuple[RankedRows, Ints]:
        """The rules of some source sides, and how many each of them keeps."""
        rule_B, size_S = self.units_of(rows)
        static_B = weighted_sum(self.model.rule_features(rule_B), self.weights_D)
        targets = self.model.target_phrases(rule_B)
        alone_B = self.alone(static_B, self.words_of(targets))
        kept = best_of_rows(alone_B, offsets_of(size_S), self.options)
        scores = static_B[kept], alone_B[kept], *self.phrases(self.words_of(targets.select(kept)))
        return RankedRows(rule_B[kept], *scores), np.minimum(size_S, self.options)

    def own_rules(self, words: Sequence[str], unit_N: Ints, start_N: Ints) -> RankedRows:
        """Copied words and terms of a sentence."""
        offsets_N1, said = joined_targets(words, unit_N, start_N)
        text = offsets_N1, self.model.lm.vocabulary.ids(said)
        static_N = weighted_sum(self.model.rule_features(unit_N, np.diff(offsets_N1)), self.weights_D)
        return RankedRows(unit_N, static_N, self.alone(static_N, text), *self.phrases(text))


@dataclass(frozen=True)
class RuleOptions:
    """M matches in a sentence of n words and T translations of their source sides; labels are numbers of both.

    Match m may be translated by translations `begin_M[m]` to `end_M[m]`, whose labels start at `label_offsets_M1[m]`.
    `backtrack_M22` is how often a match goes back in the source and by how many words, with its gaps in the order of
    the source, and in reverse; `swapped_T` says of which translations they come in reverse in the target.
    """

    words: tuple[str, ...]
    longest: int
    matches: Matches
    begin_M: Ints
    end_M: Ints
    backtrack_M22: Ints32
    found: RankedRows
    swapped_T: Bools

    @cached_property
    def label_offsets_M1(self) -> Ints:
        """The first label of each match, shape (M + 1,)."""
        return offsets_of(self.end_M - self.begin_M)

    def taken_apart(self, labels: AnyInts | int) -> tuple[Ints, Ints]:
        """The match and the translation of each label, or of one."""
        match = np.searchsorted(self.label_offsets_M1, labels, side="right") - 1
        return match, self.begin_M[match] + (labels - self.label_offsets_M1[match])

    def span(self, match: int) -> Span:
        """The source words from the first of a match to just past the last one, including gaps."""
        begin, end = self.matches.spans_M2[match].tolist()
        return begin, end

    def gaps(self, match: int, swapped: bool) -> tuple[Span, ...]:
        """The gaps of a match in the order of the target."""
        a, b, c, d = self.matches.gaps_M4[match].tolist()
        spans = [span for span in ((a, b), (c, d)) if span[0] != NO_GAP]
        return tuple(reversed(spans) if swapped else spans)


def collect_rule_options(ranked: RankedRules, max_span: int, words: Sequence[str]) -> RuleOptions:
    """The matches of rules in spans of at most `max_span` words.

    A word that no rule translates on its own may be copied, at the penalty for unknown words. Terms are translations,
    too; nothing else translates words of hard ones.
    """
    model, longest = ranked.model, max(1, min(max_span, len(words)))
    sides = len(model.table.sides)
    source_n = model.source_vocabulary.ids(words)
    terms = [(start, end, unit) for start, end, unit in terms_in(words) if end - start <= longest]
    spans_X2 = np.array([term[:2] for term in terms], np.int32).reshape(-1, 2)
    hidden_n = open_ids(words, source_n)
    matches: Matches = match_rules(model.table.source_finder, hidden_n, GAP, longest, sides, spans_X2)
    rows, place_M = np.unique(matches.row_M, return_inverse=True)
    known = rows[rows < sides]
    ranked.rank(known)
    copied = rows[rows >= sides] - sides
    size_S = np.concatenate([ranked.sizes(known), np.ones(len(copied), np.int64)])
    found = ranked.units(known)
    if len(copied):
        # Numbers after those of all words are terms.
        unit_X, start_X = np.array(
            [(COPIED, start) for start in range(len(words))] + [(unit, start) for start, _, unit in terms]
        ).T
        copies = ranked.own_rules(words, unit_X[copied], start_X[copied])
        found = joined_rows(found, copies)
    offsets_S1, swapped_T = offsets_of(size_S), np.zeros(len(found.unit_R), np.bool_)
    known_T = found.unit_R >= 0
    swapped_T[known_T] = model.table.swapped_B[found.unit_R[known_T]]
    return RuleOptions(
        tuple(words),
        longest,
        matches,
        offsets_S1[place_M],
        offsets_S1[place_M + 1],
        backtracks(matches),
        found,
        swapped_T,
    )


def backtracks(matches: Matches) -> Ints32:
    """How often each match goes back in the source, and by how many words in all; shape (M, 2, 2).

    The match's own words are translated first, up to the last of them; then each gap in target order. A gap that
    begins to the left of where the previous one ended is a step back by that many words. The first row of a match is
    for gaps in source order, the second for the reverse.
    """
    gaps_M4, end_M = matches.gaps_M4, matches.spans_M2[:, 1]
    swapped_M4 = np.where(gaps_M4[:, 2:3] == NO_GAP, gaps_M4, np.roll(gaps_M4, 2, axis=1))
    # The own words end where the span does, or where a gap at its end begins.
    last_M, last_end_M, *_ = swapped_M4.T
    own_M = np.where((last_M != NO_GAP) & (last_end_M == end_M), last_M, end_M)
    found_M22 = np.zeros((len(end_M), 2, 2), np.int32)
    for order, (first, first_end, second, _) in enumerate((gaps_M4.T, swapped_M4.T)):
        for start, before in ((first, own_M), (second, first_end)):
            back = np.where(start == NO_GAP, 0, np.maximum(before - start, 0))
            found_M22[:, order, 0] += back > 0
            found_M22[:, order, 1] += back
    return found_M22


def rule_words(model: HierarchicalModel, unit_T: Ints, source_n: Ints32, lengths_T: Ints) -> RuleWords:
    """The words and links of translations of `lengths_T` words; copies and terms are unknown words without links."""
    table, known_T, word_offsets_T1 = model.table, unit_T >= 0, offsets_of(lengths_T)
    phrases, unknown_W = table.target_phrases, np.full(word_offsets_T1[-1], UNKNOWN_ID, np.int32)
    words_W = option_words(phrases.ids_T, phrases.offsets_S1, table.target_B, unknown_W, unit_T, word_offsets_T1)
    counts_T = np.zeros(len(unit_T), np.int64)
    links, ends = gathered(table.link_offsets_B1, unit_T[known_T])
    counts_T[known_T] = np.diff(ends)
    pair_offsets_T1 = offsets_of(counts_T)
    of_K = np.repeat(np.arange(len(unit_T)), counts_T)
    place_K, target_K = np.asarray(table.link_source_K[links]), np.asarray(table.link_target_K[links])
    sides = table.source_sides
    source_K = sides.ids_T[sides.offsets_S1[table.source_B[unit_T[of_K]]] + place_K]
    at_K = word_offsets_T1[of_K] + target_K
    linked_W = np.zeros(len(words_W), np.bool_)
    linked_W[at_K] = True
    # Neither a copied word nor that of a term is an inserted word.
    linked_W[places_of(word_offsets_T1, np.flatnonzero(unit_T < 0))] = True
    source_K = np.ascontiguousarray(source_K, np.int32)
    own = own_words(pair_offsets_T1, place_K, source_K)
    return RuleWords(
        word_offsets_T1,
        words_W,
        linked_W,
        pair_offsets_T1,
        source_K,
        words_W[at_K],
        *own,
        np.ascontiguousarray(source_n),
    )


def structure_of(words: RuleWords, known: StructureWeights) -> Structure:
    """What a search must know about a sentence's translations."""
    last_pair = words.pair_offsets_T1[1:] - 1
    some = np.diff(words.pair_offsets_T1) > 0
    rows_T3 = np.full((len(some) + 1, 3), NO_PAIR, np.int32)
    rows_T3[1:, 0] = words.words_W[words.word_offsets_T1[1:] - 1]
    rows_T3[1:, 1][some] = words.source_K[last_pair[some]]
    rows_T3[1:, 2][some] = words.target_K[last_pair[some]]
    rows_T3[0, 0] = BEGIN_ID
    # No row is all zeros, which could not be distinguished from none; the beginning comes first, with number 0.
    number_T, first_E = distinct_rows((rows_T3 - NO_PAIR + 1).astype(np.uint64))
    offsets_T1 = words.own_offsets_T1
    # A translation without links is a row of zeros, which is number 0: the parent of none.
    own_TO = np.zeros((len(some), np.diff(offsets_T1).max(initial=1)), np.uint64)
    own_TO[row_numbers(offsets_T1), places_in_rows(offsets_T1)] = words.own_V + 1
    parent_T, first_P = distinct_rows(own_TO)
    ending_T, parent_rule_P = number_T[1:] - np.int32(1), np.append(0, first_P)
    return Structure(True, words, known, ending_T, rows_T3[first_E], parent_T, parent_rule_P, len(parent_rule_P))


def no_structure(translations: int) -> Structure:
    """The structure of a sentence in a model without structure features."""
    nothing, none = np.zeros(0, np.int32), np.zeros(1, np.int64)
    words = RuleWords(none, nothing, np.zeros(0, np.bool_), none, nothing, nothing, none, nothing, nothing)
    kinds = Kinds(
        np.zeros((1, 1), np.int32), np.zeros((1, 1), np.int32), np.zeros((0, 2), np.int32), np.zeros(6, np.int64)
    )
    no_keys = np.zeros(0, np.uint64)
    known = StructureWeights(kinds, build_table(no_keys), np.zeros(1), new_memory(), no_keys)
    zeros_T, row = np.zeros(translations, np.int32), np.zeros((1, 3), np.int32)
    return Structure(False, words, known, zeros_T, row, zeros_T, none, 1)

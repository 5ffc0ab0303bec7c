"""Tables of phrase pairs and of hierarchical rules, with counts, internal links and the four Moses scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from xlate.align.lexical import LexicalTable
from xlate.array_types import AnyArray, AnyInts, Bools, Floats, Ints, Ints16, Ints32
from xlate.arrays.ragged import lengths_of, marked_in_rows, offsets_of, places_of
from xlate.arrays.ranges import (
    check_lengths,
    check_offsets,
    check_rising,
    check_shapes,
    check_within,
    pieces,
    refuse,
)
from xlate.arrays.stored import StoredArrays, arrays_of, layout_of, open_arrays, save_arrays, unusable
from xlate.errors import InputError
from xlate.kernels.counting.alignment import NO_GAP, InnerLinks, lexical_weights
from xlate.kernels.counting.matching import PhraseFinder
from xlate.kernels.memory import HashTable, build_table, intern_rows, pair_keys
from xlate.kernels.pairs import PhrasePairs
from xlate.lm.kneser_ney import discounts_of
from xlate.phrases.runs import PairCounts, Runs
from xlate.phrases.settings import MOST_GAPS
from xlate.text.vocabulary import BEGIN_ID, EncodedText

# Columns of scores.
INVERSE_PHRASE, INVERSE_LEXICAL, DIRECT_PHRASE, DIRECT_LEXICAL = range(4)


@dataclass(frozen=True, kw_only=True)
class LinkedPairs:
    """B pairs of a table, sorted by their source sides, with scores and the links inside them.

    Attributes:
        KIND: the kind of table, as stored.
        SOURCE: the name of the source sides.
    """

    KIND: ClassVar[str]
    SOURCE: ClassVar[str]
    target_phrases: EncodedText
    source_B: Ints32
    target_B: Ints32
    count_B: Floats
    scores_B4: Floats
    link_offsets_B1: Ints
    link_source_K: Ints16
    link_target_K: Ints16

    def __len__(self) -> int:
        """The number of pairs B."""
        return len(self.source_B)

    @property
    def sides(self) -> EncodedText:
        """The P distinct source sides."""
        found: EncodedText = getattr(self, self.SOURCE)
        return found

    @cached_property
    def source_finder(self) -> PhraseFinder:
        """Finds the source sides in a sentence; a stored phrase model has it in its files."""
        return phrase_finder(self.sides)

    def pairs_of(self, row_R: AnyInts) -> tuple[Ints, Ints]:
        """The first pair of each of R source sides, and how many each has; few of the table's pairs are read."""
        rows = row_R.astype(self.source_B.dtype)
        first_R, last_R = (np.searchsorted(self.source_B, rows, side) for side in ("left", "right"))
        return first_R, last_R - first_R

    def links(self, b: int) -> list[tuple[int, int]]:
        """The internal links of pair b as (place in the source side, place in the target phrase)."""
        part = slice(self.link_offsets_B1[b], self.link_offsets_B1[b + 1])
        return list(zip(self.link_source_K[part].tolist(), self.link_target_K[part].tolist(), strict=True))

    def save(self, directory: str | Path) -> None:
        """Writes the table into a directory as a folder of arrays."""
        texts = {"source": self.sides, "target": self.target_phrases}
        # The minimum sizes of the vocabularies.
        words = {f"{side}_words": int(text.ids_T.max(initial=-1)) + 1 for side, text in texts.items()}
        save_arrays(directory, self.KIND, arrays_of(self), words)

    @classmethod
    def load(cls, directory: str | Path, words: tuple[int, int] | None = None) -> Self:
        """Reads what `save` wrote, memory-mapped (read-only); `words` are the sizes of its vocabularies.

        Raises:
            InputError: a file is missing or damaged, ids are out of range, or of larger vocabularies.
        """
        stored = open_arrays(directory, cls.KIND, layout_of(cls)[0], cls._check)
        for side, size in zip(("source", "target"), words or (), strict=bool(words)):
            if stored.number(f"{side}_words") > size:
                seen = f"{side} words up to number {stored.number(f'{side}_words') - 1}"
                path = stored.folder / f"{side}_B.npy"
                raise unusable(path, "a table over a different vocabulary", seen, f"numbers below {size}")
        return cls(**stored.fields())

    @classmethod
    def _check(cls, stored: StoredArrays) -> None:
        """Checks the rows, words, counts, scores and links of a stored table."""
        check_shapes(stored)
        sides = (("source", cls.SOURCE), ("target", "target_phrases"))
        for side, texts in sides:
            check_offsets(stored, f"{texts}_offsets", len(stored[f"{texts}_ids"]))
            check_within(stored, f"{texts}_ids", 0, stored.number(f"{side}_words"))
            check_within(stored, f"{side}_B", 0, len(stored[f"{texts}_offsets"]) - 1)
        check_rising(stored, "source_B")
        check_offsets(stored, "link_offsets_B1", len(stored["link_source_K"]))
        for side, texts in sides:
            _check_links(stored, side, stored[f"{texts}_offsets"])


def _check_links(stored: StoredArrays, side: str, offsets: Ints) -> None:
    """Checks that every link is between words of its pair."""
    for piece in pieces(len(stored["source_B"])):
        ends = np.asarray(stored["link_offsets_B1"][piece.start : piece.stop + 1])
        lengths_K = np.repeat(lengths_of(offsets, stored[f"{side}_B"][piece]), np.diff(ends))
        name = f"link_{side}_K"
        check_within(stored, name, 0, lengths_K, stored[name][ends[0] : ends[-1]], ends[0])


@dataclass(frozen=True, kw_only=True)
class PhraseTable(LinkedPairs):
    """B phrase pairs over P distinct source and Q distinct target phrases, sorted by (source_B, target_B).

    Rows of `source_phrases` and of `target_phrases` are in lexicographic order, by word numbers. The four scores
    of a pair are p(f|e), lex(f|e), p(e|f), lex(e|f) as plain probabilities (no logs), where f is the source phrase and
    e the target phrase. The internal links of pair b lie between `link_offsets_B1[b]` and `link_offsets_B1[b + 1]`,
    positions from 0 within the phrases, in the order (target, source) of Moses's tables.

    Example: the pairs (a b, x), (a b, y) and (c, x)::

        source_phrases  a b | c        source_B  0 0 1
        target_phrases  x | y          target_B  0 1 0
    """

    KIND = "phrase table"
    SOURCE = "source_phrases"
    source_phrases: EncodedText
    source_count_P: Floats
    target_count_Q: Floats

    @classmethod
    def _check(cls, stored: StoredArrays) -> None:
        counts = {"source_count_P": "source_phrases_offsets", "target_count_Q": "target_phrases_offsets"}
        check_lengths(stored, **{name: (len(stored[offsets]) - 1,) for name, offsets in counts.items()})
        super()._check(stored)

    def select(self, keep_B: Bools) -> PhraseTable:
        """The pairs marked true, with the phrases they use; scores and phrase counts stay as they are."""
        source_rows, source_B = np.unique(self.source_B[keep_B], return_inverse=True)
        target_rows, target_B = np.unique(self.target_B[keep_B], return_inverse=True)
        rows_B = np.flatnonzero(keep_B)
        links = places_of(self.link_offsets_B1, rows_B)
        return PhraseTable(
            source_phrases=self.source_phrases.select(source_rows),
            target_phrases=self.target_phrases.select(target_rows),
            source_B=source_B.astype(np.int32),
            target_B=target_B.astype(np.int32),
            count_B=self.count_B[rows_B],
            scores_B4=self.scores_B4[rows_B],
            link_offsets_B1=offsets_of(np.diff(self.link_offsets_B1)[rows_B]),
            link_source_K=self.link_source_K[links],
            link_target_K=self.link_target_K[links],
            source_count_P=self.source_count_P[source_rows],
            target_count_Q=self.target_count_Q[target_rows],
        )


def score_phrases(
    counts: PairCounts, lexical: LexicalTable, runs: Runs | None = None, smoothing: str = "none"
) -> PhraseTable:
    """Phrase probabilities (see `phrase_shares`) and lexical weights of counted phrase pairs, as Moses's `score`.

    lex(e|f) is, over the words of e, the product of the mean of p(e_i|f_j) over the linked f_j, or of p(e_i|NULL)
    (Koehn et al. 2003, section 4.4), lex(f|e) the converse. With `runs`, they are computed for some pairs at a time,
    and mapped from its files.

    Raises:
        InputError: the lexical table lacks a word pair that is linked inside a phrase pair.
    """
    words = word_probabilities(lexical), word_probabilities(lexical, inverse=True)
    totals = counts.source_count_P, counts.target_count_Q
    shares = phrase_shares(counts.count_B, (counts.source_B, counts.target_B), totals, smoothing)
    columns = scored_columns(phrase_pairs(counts), counts.links, counts.count_B, shares, words, runs)
    return PhraseTable(
        source_phrases=counts.source_phrases,
        target_phrases=counts.target_phrases,
        source_B=counts.source_B,
        target_B=counts.target_B,
        source_count_P=counts.source_count_P.astype(np.float64),
        target_count_Q=counts.target_count_Q.astype(np.float64),
        **columns,
    )


Shares = Callable[[slice], tuple[Floats, Floats]]


def scored_columns(
    pairs: PhrasePairs,
    links: tuple[InnerLinks, InnerLinks],
    count_B: Ints,
    shares: Shares,
    words: Sequence[tuple[HashTable, Floats]],
    runs: Runs | None = None,
    *,
    gap: int = NO_GAP,
    unit: int = 1,
) -> dict[str, Any]:
    """The counts, scores and links of a table by the names of its fields, computed for some pairs at a time.

    Args:
        pairs, links, words, gap: see `four_scores`.
        count_B: in units of `unit`.
        shares: p(e|f) and p(f|e) of any range of the pairs.
        runs: what is returned is mapped from its files.

    Raises:
        InputError: see `four_scores`.
    """

    def columns() -> Iterator[tuple[AnyArray, ...]]:
        end, lengths_X = 0, np.diff(links[0].offsets_X1)
        for part in pieces(max(1, len(count_B))):
            some = pairs._replace(source_B=pairs.source_B[part], target_B=pairs.target_B[part])
            direct, inverse = (each._replace(shape_B=each.shape_B[part]) for each in links)
            scores_B4 = four_scores(some, (direct, inverse), shares(part), words, gap)
            places, ends_B1 = places_of(direct.offsets_X1, direct.shape_B), end + offsets_of(lengths_X[direct.shape_B])
            inner = direct.source_K[places], direct.target_K[places]
            yield count_B[part] / unit, scores_B4, ends_B1[min(part.start, 1) :], *inner
            end = ends_B1[-1]

    names = "count_B", "scores_B4", "link_offsets_B1", "link_source_K", "link_target_K"
    return dict(zip(names, (runs or Runs()).stored(columns()), strict=True))


def phrase_shares(count_B: Ints, rows: tuple[Ints32, Ints32], totals: tuple[Ints, Ints], smoothing: str) -> Shares:
    """p(e|f) and p(f|e) of any range of the pairs: relative frequencies, smoothed or not.

    With `kneser_ney`, p(e|f) = (N(f, e) - D) / N(f) + α(f) p_b(e) (Foster, Kuhn & Johnson 2006, section 3.2). D is one
    of three discounts, by N(f, e); α(f) is the sum of the discounts of f's pairs over N(f); and p_b(e) is the share of
    e in all distinct pairs. p(f|e) is the converse.

    Args:
        count_B: N(f, e); pairs with a count of 0 only get a share of what the discounts leave.
        rows: the source and target phrase of each pair; totals: N(f) and N(e) of the phrases.
        smoothing: `none` or `kneser_ney` (modified Kneser-Ney).
    """
    discounts = np.zeros(4) if smoothing == "none" else discounts_of(count_B, "phrase pairs")
    left, types = ([np.zeros(len(total_P)) for total_P in totals] for _ in range(2))
    for piece in pieces(len(count_B)) if discounts.any() else ():
        off_B, seen_B = discounts[np.minimum(count_B[piece], 3)], count_B[piece] > 0
        for row_B, left_P, types_P in zip(rows, left, types, strict=True):
            np.add.at(left_P, row_B[piece], off_B)
            np.add.at(types_P, row_B[piece], seen_B)
    distinct = max(1, types[0].sum())

    def shares(part: slice) -> tuple[Floats, Floats]:
        kept_B = count_B[part] - discounts[np.minimum(count_B[part], 3)]
        at = [row_B[part] for row_B in rows]
        direct, inverse = (
            (kept_B + left[f][at[f]] * (types[e][at[e]] / distinct)) / np.maximum(totals[f][at[f]], 1)
            for f, e in ((0, 1), (1, 0))
        )
        return direct, inverse

    return shares


def phrase_pairs(phrases: PhraseTable | PairCounts) -> PhrasePairs:
    """The phrase pairs in the form that compiled loops take."""
    texts = *phrases.source_phrases.arrays, *phrases.target_phrases.arrays
    return PhrasePairs(*map(np.ascontiguousarray, (phrases.source_B, phrases.target_B, *texts)))


def four_scores(
    pairs: PhrasePairs,
    links: tuple[InnerLinks, InnerLinks],
    shares: tuple[Floats, Floats],
    words: Sequence[tuple[HashTable, Floats]],
    gap: int,
) -> Floats:
    """The scores of B pairs, (B, 4): relative frequencies, and lexical weights both ways.

    Args:
        pairs: over words and the number `gap` for non-terminals.
        links: inside pairs, to weight p(e|f), and to weight p(f|e), with sides exchanged.
        shares: p(e|f) and p(f|e).
        words: the probabilities of target and of source words; see `word_probabilities`.

    Raises:
        InputError: the lexical table lacks a word pair that is linked inside a pair.
    """
    scores_B4 = np.empty((len(pairs.source_B), 4))
    scores_B4[:, DIRECT_PHRASE], scores_B4[:, INVERSE_PHRASE] = shares
    scores_B4[:, DIRECT_LEXICAL] = lexical_weights(pairs, links[0], *words[0], gap)
    scores_B4[:, INVERSE_LEXICAL] = lexical_weights(pairs.inverse(), links[1], *words[1], gap)
    wrong = np.flatnonzero(np.isnan(scores_B4).any(axis=1))
    if len(wrong):
        p, q = pairs.source_B[wrong[0]], pairs.target_B[wrong[0]]
        source = pairs.source_T[pairs.source_offsets_P1[p] : pairs.source_offsets_P1[p + 1]]
        target = pairs.target_U[pairs.target_offsets_Q1[q] : pairs.target_offsets_Q1[q + 1]]
        raise InputError(
            "the lexical table lacks a linked word pair of a phrase pair",
            f"word numbers {source} and {target}",
            "a lexical table of the same corpus and links as the phrases",
            "compute the lexical table again",
        )
    return scores_B4


def direct_lexical_weights(phrases: PhraseTable, lexical: LexicalTable) -> Floats:
    """lex(e|f) of a table's pairs under other word probabilities, (B,); NaN where those lack a link inside a pair."""
    columns = phrases.link_offsets_B1, phrases.link_source_K, phrases.link_target_K
    links = InnerLinks(np.arange(len(phrases), dtype=np.int32), *map(np.asarray, columns))
    return lexical_weights(phrase_pairs(phrases), links, *word_probabilities(lexical), NO_GAP)


def word_probabilities(lexical: LexicalTable, *, inverse: bool = False) -> tuple[HashTable, Floats]:
    """p(target|source) of the linked words as `lexical_weights` takes it, or p(source|target)."""
    given_K, word_K, probability_K = lexical.source_K, lexical.target_K, lexical.target_given_source_K
    if inverse:
        given_K, word_K, probability_K = word_K, given_K, lexical.source_given_target_K
    # Numbers are raised by one so that NULL is 0.
    return build_table(pair_keys(given_K.astype(np.int64) + 1, word_K.astype(np.int64) + 1)), probability_K


def phrase_finder(phrases: EncodedText) -> PhraseFinder:
    """A finder of phrases by their words; an unknown word (number 0) is in no phrase."""
    trie, node_S = intern_rows(*map(np.array, phrases.arrays))
    row_N = np.full(int(trie.size_1[0]), -1, np.int32)
    row_N[node_S] = np.arange(len(node_S), dtype=np.int32)
    return PhraseFinder(HashTable(trie.keys_H, trie.rows_H), row_N)


# Marks a non-terminal in a source side. No sentence holds the word `<s>`, so its number is free.
GAP = BEGIN_ID


@dataclass(frozen=True, kw_only=True)
class RuleTable(LinkedPairs):
    """B rules X → ⟨γ, b̄ β⟩ over P source sides γ and Q target phrases b̄, sorted by (source_B, target_B, swapped_B).

    A source side is a row of word numbers, `GAP` for each non-terminal; b̄ is a phrase of one word or more; β are the
    non-terminals of γ, those of the source from left to right, or with `swapped_B` from right to left (Watanabe et al.
    2007, Eq. 2). Rows of `source_sides` and of `target_phrases` are in lexicographic order, by word numbers.

    The four scores are p(γ|b̄β), lex(γ|b̄β), p(b̄β|γ), lex(b̄β|γ) as plain probabilities, in the columns of
    `phrases.table`. The most frequent internal links of rule b lie between `link_offsets_B1[b]` and
    `link_offsets_B1[b + 1]`: places in the source side, gaps counted, and in b̄, from 0, in the order (target, source).
    `insertion_B` counts the target words of a rule that no word of its source side, nor NULL, makes likely;
    `deletion_B` the source words likewise (Bender et al. 2004).

    Example: the rules X → ⟨ne X1 pas, not X1⟩ and X → ⟨X1 de X2, of X2 X1⟩::

        source_sides    ne GAP pas | GAP de GAP        source_B  0 1     swapped_B  False True
        target_phrases  not | of                       target_B  0 1
    """

    KIND = "rule table"
    SOURCE = "source_sides"
    source_sides: EncodedText
    swapped_B: Bools
    insertion_B: Ints16
    deletion_B: Ints16

    @classmethod
    def _check(cls, stored: StoredArrays) -> None:
        """Also checks non-terminals, orders, and inserted and deleted words."""
        super()._check(stored)
        source = EncodedText(stored["source_sides_ids"], stored["source_sides_offsets"])
        gaps_P = gaps_of(source)
        check_within(stored, "source_sides_ids", 0, MOST_GAPS + 1, gaps_P)
        words_P = np.diff(source.offsets_S1) - gaps_P
        words_Q = np.diff(stored["target_phrases_offsets"])
        for piece in pieces(len(stored["source_B"])):
            ends = np.asarray(stored["link_offsets_B1"][piece.start : piece.stop + 1])
            source_B, target_B = np.asarray(stored["source_B"][piece]), np.asarray(stored["target_B"][piece])
            for name, most in (("insertion_B", words_Q[target_B]), ("deletion_B", words_P[source_B])):
                check_within(stored, name, 0, most + 1, stored[name][piece], piece.start)
            turned = np.flatnonzero(stored["swapped_B"][piece] & (gaps_P[source_B] < MOST_GAPS))
            if len(turned):
                seen = f"swapped rule {piece.start + int(turned[0])} with {gaps_P[source_B[turned[0]]]} non-terminals"
                raise refuse(stored, "swapped_B", seen, f"{MOST_GAPS} non-terminals in a swapped rule")
            starts_K = np.repeat(source.offsets_S1[source_B], np.diff(ends))
            wrong = np.flatnonzero(source.ids_T[starts_K + stored["link_source_K"][ends[0] : ends[-1]]] == GAP)
            if len(wrong):
                seen = f"a link to a non-terminal at {int(ends[0] + wrong[0])}"
                raise refuse(stored, "link_source_K", seen, "links of words")


def gaps_of(source_sides: EncodedText) -> Ints:
    """How many non-terminals each of P source sides has, (P,)."""
    return marked_in_rows(np.asarray(source_sides.ids_T) == GAP, source_sides.offsets_S1)

"""The features of a block given its predecessor: dense costs and sparse bigram features (TZ07, Table III).

Dense features are costs, negative natural logs. The orientation model has

    unigram      (a)  -ln p(b)
    orientation  (b)  -ln p_o(b), 0 for a neutral block
    lm_first     (c)  -ln p(first target word | the target words before)
    lm_rest      (d)  -ln p(remaining target words | the words before each)
    lexical      (e)  -ln p(S|T)

The phrase-distortion model (TZ07, Table V) has instead

    direct       (a)  -ln N(b)/N(T)
    model1       (b)  -ln p(S|T) by IBM Model 1
    lm_first, lm_rest (c), (d)
    inbound      (e)  -ln p(jump | source word landed on)
    outbound     (f)  -ln p(jump | source word left)
    length       (g)  minus the number of target words

After these come the optional floats that a model names: costs that a block has in any context.

    forward          -ln p(T|S) of the phrase table
    forward_lexical  -ln lex(T|S) of the phrase table
    block_count      1 for each block, so that a tuned weight can favour fewer and longer ones

To add one, add an entry to `MORE_FLOATS`. Models hold only those that they name, in the order of that table.

Example: b = (das haus, the house) with o = R after a block ending in "in": unigram 9.2, orientation 0.1, lm_first 0.8
(the | in), lm_rest 2.9 (house | in the), lexical 1.3, and, if seen often enough, the sparse
features `BB:im|in>das haus|the house`, `TP:in>the house` and `WB:in>the`.

The sparse features of a block b and its predecessor b' are bigrams of these families (A5; TZ07 Eq. 3, 10, 11):

    BB   block bigram          b' and b                                    BB:das haus|the house>ist|is
    TP   target phrase bigram  target phrases t' and t                     TP:the house>is
    WB   word boundary         last word of t' and first word of t         WB:house>is

To add a family, add an entry to `FAMILIES`. One that sees the same number in every predecessor is local to the block.
The index of these features gives each an id, the place of its key among the sorted keys, and a readable name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from xlate.array_types import NO_FLOATS, Floats, Floats32, Ints, Ints32, Uints
from xlate.arrays.ragged import places_of_keys
from xlate.errors import InputError, check_choice, refuse_if
from xlate.features.index import Numbers, Sizes
from xlate.kernels.features.blocks import SIDE_BITS, BigramFamilies
from xlate.kernels.memory import build_table
from xlate.kernels.search.lattice_passes import arc_bigrams
from xlate.phrases.blocks import BlockSet
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE
from xlate.text.terms import TERM
from xlate.text.vocabulary import Vocabulary

SIDE_MASK = (1 << SIDE_BITS) - 1
# The room in a key for the number of its family.
MOST_FAMILIES = 1 << 64 - 2 * SIDE_BITS


@dataclass(frozen=True)
class Family:
    """What a family sees of the predecessor and of the block: for each of B blocks a number from 0 to below 2^31 - 1.

    Attributes:
        predecessor: what it sees of each block as predecessor, (B,).
        block: what it sees of each block as successor, (B,).
        name: such a pair of numbers in words, without the name of the family.
    """

    predecessor: Callable[[BlockSet], Ints32]
    block: Callable[[BlockSet], Ints32]
    name: Callable[[BlockNames, int, int], str]


def _block_numbers(blocks: BlockSet) -> Ints32:
    return np.arange(len(blocks), dtype=np.int32)


def _target_phrases(blocks: BlockSet) -> Ints32:
    return np.ascontiguousarray(blocks.table.target_B, np.int32)


def _target_words(blocks: BlockSet, *, last: bool) -> Ints32:
    phrases = blocks.table.target_phrases
    return np.asarray(phrases.ids_T)[phrases.offsets_S1[np.asarray(blocks.table.target_B) + last] - last].astype(
        np.int32
    )


# Keys hold the place of a family in this table, so add new ones at the end.
FAMILIES = {
    "BB": Family(_block_numbers, _block_numbers, lambda w, left, right: f"{w.block(left)}>{w.block(right)}"),
    "TP": Family(_target_phrases, _target_phrases, lambda w, left, right: f"{w.phrase(left)}>{w.phrase(right)}"),
    "WB": Family(
        partial(_target_words, last=True),
        partial(_target_words, last=False),
        lambda w, left, right: f"{w.target.word(left)}>{w.target.word(right)}",
    ),
}


def sides(blocks: BlockSet, family: str) -> tuple[Ints32, Ints32]:
    """What a family sees of each of B blocks as predecessor and as successor, each of shape (B,).

    Raises:
        InputError: no such family.
    """
    check_choice("no such family of binary features", family, FAMILIES)
    return FAMILIES[family].predecessor(blocks), FAMILIES[family].block(blocks)


def frequent_keys(blocks: BlockSet, family: str, threshold: int) -> Uints:
    """The sorted keys of a family's bigrams that occur more than `threshold` times in the counted text."""
    left_B, right_B = sides(blocks, family)
    before_U = (blocks.bigram_keys_U >> np.uint64(32)).astype(np.int64)
    block_U = (blocks.bigram_keys_U & np.uint64(0xFFFFFFFF)).astype(np.int64)
    keys_U = feature_keys(family, left_B[before_U], right_B[block_U])
    keys_K, row_U = np.unique(keys_U, return_inverse=True)
    count_K = np.bincount(row_U, blocks.bigram_count_U, minlength=len(keys_K))
    return np.ascontiguousarray(keys_K[count_K > threshold])


def feature_keys(family: str, left_K: Ints32, right_K: Ints32) -> Uints:
    """The keys of K bigrams of a family."""
    tag = np.uint64(_tag(family) << 2 * SIDE_BITS)
    return tag | (left_K.astype(np.uint64) << np.uint64(SIDE_BITS)) | right_K.astype(np.uint64)


def split_key(key: int) -> tuple[str, int, int]:
    """The family of a key, and what it sees of predecessor and block."""
    return _family(key >> 2 * SIDE_BITS), key >> SIDE_BITS & SIDE_MASK, key & SIDE_MASK


def _tag(family: str) -> int:
    """The number of a family in keys."""
    tag = list(FAMILIES).index(family)
    refuse_if(tag >= MOST_FAMILIES, "too many families of sparse features", family, f"at most {MOST_FAMILIES}")
    return tag


def _family(tag: int) -> str:
    """The name of the family with this number in keys."""
    if tag >= len(FAMILIES):
        remedy = "import the module that adds the family before you open the run"
        raise InputError("features of an unknown family", f"family {tag}", remedy=remedy)
    return list(FAMILIES)[tag]


def bigram_families(blocks: BlockSet, keys_F: Uints) -> BigramFamilies:
    """What kernels need to find the features of two blocks; the row of a feature is its place in `keys_F`."""
    tag_A = np.unique(np.asarray(keys_F) >> np.uint64(2 * SIDE_BITS)).astype(np.int64)
    pairs = [sides(blocks, _family(tag)) for tag in tag_A.tolist()]
    shape = (len(pairs), len(blocks))
    left_AB, right_AB = (np.array([pair[side] for pair in pairs], np.int32).reshape(shape) for side in (0, 1))
    return BigramFamilies(
        tag_A=tag_A,
        left_AB=left_AB,
        right_AB=right_AB,
        bigrams=build_table(np.ascontiguousarray(keys_F)),
    )


def standing(families: BigramFamilies, keys_F: Uints) -> Ints32:
    """The block that represents each of B blocks as predecessor, because it has the same of some features; (B + 1,).

    It is -1 if none of the features, given by their sorted keys, begins with the block. The last place is that of what
    is no block. A decoder need remember no more about the previous block. Two blocks count as the same if every family
    sees the same of them; whatever no feature begins with counts as nothing.
    """
    head_K = (keys_F >> np.uint64(SIDE_BITS)).astype(np.int64)
    head_K = head_K[np.flatnonzero(np.diff(head_K, prepend=-1))]
    standing_B1 = np.full(families.left_AB.shape[1] + 1, -1, np.int32)
    # What all families so far see of a block, as one number; 0 is nothing.
    seen_B = np.zeros(len(standing_B1) - 1, np.int64)
    for tag, left_B in zip(families.tag_A.tolist(), families.left_AB, strict=True):
        known_B = places_of_keys(head_K, (tag << SIDE_BITS) | left_B.astype(np.int64)) >= 0
        both_B = (seen_B << SIDE_BITS) | np.where(known_B, left_B + 1, 0)
        seen_B = np.unique(np.append(0, both_B), return_inverse=True)[1].reshape(-1)[1:]
    known_K = np.flatnonzero(seen_B)
    _, first, inverse = np.unique(seen_B[known_K], return_index=True, return_inverse=True)
    standing_B1[known_K] = known_K[first][inverse.reshape(-1)]
    return standing_B1


@dataclass(frozen=True)
class BlockNames:
    """Spells out blocks and features: `das haus|the house`, `TP:the house>is small`."""

    blocks: BlockSet
    source: Vocabulary
    target: Vocabulary

    def block(self, b: int) -> str:
        """Source and target words of a block."""
        table = self.blocks.table
        source = " ".join(self.source.words_of(table.source_phrases[int(table.source_B[b])]))
        return f"{source}|{self.phrase(int(table.target_B[b]))}"

    def phrase(self, row: int) -> str:
        """The words of a target phrase."""
        return " ".join(self.target.words_of(self.blocks.table.target_phrases[row]))

    def feature(self, key: int) -> str:
        """The name of a feature, starting with its family."""
        family, left, right = split_key(key)
        return f"{family}:{FAMILIES[family].name(self, left, right)}"


@dataclass(frozen=True)
class BigramIndex:
    """F sparse features: the id of one is the place of its key among the sorted keys, so each family is contiguous.

    The index is built before candidates are written, and never changes.
    """

    keys_F: Uints
    words: BlockNames

    @classmethod
    def frequent(cls, words: BlockNames, families: Sequence[str], threshold: int) -> BigramIndex:
        """All features of some families that were seen more often than `threshold` (A5; TZ07 Eq. 3, 10, 11).

        Raises:
            InputError: no such family.
        """
        keys = [frequent_keys(words.blocks, family, threshold) for family in families]
        return cls(np.sort(np.concatenate([np.zeros(0, np.uint64), *keys])), words)

    def __len__(self) -> int:
        """The number of features F."""
        return len(self.keys_F)

    @property
    def sizes(self) -> Sizes:
        """The families that have features, and how many."""
        tags, counts = np.unique(self.keys_F >> np.uint64(2 * SIDE_BITS), return_counts=True)
        return [(_family(tag), count) for tag, count in zip(tags.tolist(), counts.tolist(), strict=True)]

    def names(self, ids: Numbers, members: int = 0) -> Iterator[str]:  # noqa: ARG002
        return map(self.words.feature, self.keys_F[ids].tolist())

    def of_units(self, pairs_P2: Ints32) -> tuple[Ints, Ints32]:
        """The ids of all features of pairs (b', b), none where either is negative: offsets (P+1) and ids."""
        before_P, block_P = np.ascontiguousarray(pairs_P2.T, np.int32)
        return arc_bigrams(self.families, before_P, block_P)

    @cached_property
    def families(self) -> BigramFamilies:
        """What every family sees of blocks, and the ids by key, ready for lookup."""
        return bigram_families(self.words.blocks, self.keys_F)

    @cached_property
    def standing_B1(self) -> Ints32:
        """What represents each of B blocks if every feature counts, even with weight 0; see `standing`."""
        return standing(self.families, self.keys_F)


# Minus the lowest log of a probability, which 0 gets too, as in the phrase-based model.
HIGHEST_COST = 100.0


@dataclass(frozen=True)
class BlockFloat:
    """An optional float.

    Attributes:
        costs: its value for each of B blocks, (B,).
        copied: its value for a word that is copied because no block translates it.
        local: whether it distinguishes the candidates of an event; if not, local training leaves its weight at 0.
    """

    costs: Callable[[BlockSet], Floats32]
    copied: float = 0.0
    local: bool = True


def _score_costs(blocks: BlockSet, column: int) -> Floats32:
    with np.errstate(divide="ignore"):
        costs_B = -np.log(np.asarray(blocks.table.scores_B4)[:, column])
    return np.minimum(costs_B, HIGHEST_COST).astype(np.float32)


MORE_FLOATS = {
    "forward": BlockFloat(lambda blocks: _score_costs(blocks, DIRECT_PHRASE)),
    "forward_lexical": BlockFloat(lambda blocks: _score_costs(blocks, DIRECT_LEXICAL)),
    # Every candidate of an event is one block: only the sink of the local softmax, unknown to decoders, would pull it.
    "block_count": BlockFloat(lambda blocks: np.ones(len(blocks), np.float32), copied=1.0, local=False),
}


def more_floats(names: Collection[str]) -> tuple[str, ...]:
    """The optional floats among the given ones, in the order of `MORE_FLOATS`."""
    return tuple(name for name in MORE_FLOATS if name in names)


@dataclass(frozen=True)
class MoreFloats:
    """The X optional floats of a model.

    Attributes:
        names: in the order of `MORE_FLOATS`.
        cost_BX: their values for each of B blocks; without floats B may be 0.
        copied_X: their values for a copied word.
    """

    names: tuple[str, ...]
    cost_BX: Floats32
    copied_X: Floats

    @classmethod
    def of(cls, blocks: BlockSet, names: Collection[str]) -> MoreFloats:
        """The named floats of some blocks.

        Raises:
            InputError: no such float.
        """
        for name in names:
            check_choice("no such optional float", name, MORE_FLOATS)
        ordered = more_floats(names)
        cost_BX = np.empty((len(blocks), len(ordered)), np.float32)
        for x, name in enumerate(ordered):
            cost_BX[:, x] = MORE_FLOATS[name].costs(blocks)
        return cls(ordered, cost_BX, np.array([MORE_FLOATS[name].copied for name in ordered], np.float64))

    @classmethod
    def none(cls) -> MoreFloats:
        """No floats, for any blocks."""
        return cls((), np.zeros((0, 0), np.float32), NO_FLOATS)

    def of_units(self, block_O: Ints32) -> Floats:
        """The values for O blocks, or copied words where the number is negative; 0 for terms; shape (O, X)."""
        value_OX = np.tile(self.copied_X, (len(block_O), 1)) * (block_O > TERM)[:, None]
        if self.names:
            known_O = block_O >= 0
            value_OX[known_O] = self.cost_BX[block_O[known_O]]
        return value_OX


FLOATS = ("unigram", "orientation", "lm_first", "lm_rest", "lexical")
DISTORTION_FLOATS = ("direct", "model1", "lm_first", "lm_rest", "inbound", "outbound", "length")

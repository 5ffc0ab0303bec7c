"""Optional floats of blocks: costs that a block has wherever it stands, added to a model's own when it names them.

forward          -ln p(T|S) of the phrase table
forward_lexical  -ln lex(T|S) of the phrase table
block_count      1 for each block, so that a tuned weight can ask for fewer and longer ones

A new one is an entry in `MORE_FLOATS`. Models hold only those that they name, in the order of that table, behind
their own floats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from xlate.array_types import Floats, Floats32, Ints32
from xlate.errors import InputError
from xlate.phrases.blocks import BlockSet
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE

# The least logarithm of a probability, that of 0 among them, as in the phrase-based model.
HIGHEST_COST = 100.0
Costs = Floats32


@dataclass(frozen=True)
class BlockFloat:
    """An optional float.

    Attributes:
        costs: its value for each of B blocks, (B,).
        copied: its value for a word that is copied because no block translates it.
        local: whether it tells the candidates of an event apart; if not, local training leaves its weight at 0.
    """

    costs: Callable[[BlockSet], Costs]
    copied: float = 0.0
    local: bool = True


def _score_costs(blocks: BlockSet, column: int) -> Costs:
    with np.errstate(divide="ignore"):
        costs_B = -np.log(np.asarray(blocks.table.scores_B4)[:, column])
    return np.minimum(costs_B, HIGHEST_COST).astype(np.float32)


MORE_FLOATS = {
    "forward": BlockFloat(lambda blocks: _score_costs(blocks, DIRECT_PHRASE)),
    "forward_lexical": BlockFloat(lambda blocks: _score_costs(blocks, DIRECT_LEXICAL)),
    # Every candidate of an event is one block: only the sink of the local softmax, which no decoder knows, would pull.
    "block_count": BlockFloat(lambda blocks: np.ones(len(blocks), dtype=np.float32), copied=1.0, local=False),
}


def more_floats(names: Collection[str]) -> tuple[str, ...]:
    """Those of some floats that are optional ones, in the order of `MORE_FLOATS`."""
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
        strange = [name for name in names if name not in MORE_FLOATS]
        if strange:
            raise InputError("no such optional float", seen=strange[0], expected=", ".join(MORE_FLOATS))
        ordered = more_floats(names)
        cost_BX = np.empty((len(blocks), len(ordered)), dtype=np.float32)
        for x, name in enumerate(ordered):
            cost_BX[:, x] = MORE_FLOATS[name].costs(blocks)
        return cls(ordered, cost_BX, np.array([MORE_FLOATS[name].copied for name in ordered], dtype=np.float64))

    @classmethod
    def none(cls) -> MoreFloats:
        """No floats, of any blocks."""
        return cls((), np.zeros((0, 0), dtype=np.float32), np.zeros(0))

    def of_units(self, block_O: Ints32) -> Floats:
        """The values for O blocks, or copied words where the number is negative; shape (O, X)."""
        value_OX = np.tile(self.copied_X, (len(block_O), 1))
        if self.names:
            known_O = block_O >= 0
            value_OX[known_O] = self.cost_BX[block_O[known_O]]
        return value_OX

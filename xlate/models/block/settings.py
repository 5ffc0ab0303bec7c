"""What the block decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.search.settings import SearchSettings, check_choice, check_counts

MODES = ("mon", "swap", "swap_or")
PARTITIONS = ("off", "local")
OPTION_ORDERS = ("count", "score")
LEFT_COUNT = 3


@dataclass(frozen=True)
class BlocksSearch(SearchSettings):
    """What every search over blocks is told.

    Attributes:
        option_order: which blocks of a source span are its options: the most frequent (`count`) or the best by what
            does not depend on the block before, from an empty history (`score`).
        max_phrase: the longest source phrase of a block, in words.
        end_of_sentence: whether the cost of `</s>` is added under the weight of `lm_first`.
    """

    option_order: str = "count"
    max_phrase: int = 7
    end_of_sentence: bool = True

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_choice(self, "option_order", OPTION_ORDERS)
        check_counts(self, "max_phrase")


@dataclass(frozen=True)
class BlockSearch(BlocksSearch):
    """Settings of the block decoder (A10; TZ07 sections 3.3 and 5.1).

    Attributes:
        mode: `mon` translates monotonely; `swap` may exchange two neighbouring source phrases, orientation costing
            nothing; `swap_or` searches the same space with the orientation model. Options are ordered, and `</s>` is
            weighed, under the linked weights.
        min_left_count: blocks with N_L(b) below it are never generated to the left; None stands for 3 in `swap_or`
            (TZ07 section 5.1) and for 0 in `swap`.
        partition: `off` sums w·f (no normaliser, as the paper's own runs); `local` subtracts from each step the log of
            the sum of exp(w·f) over the source span's options Γ(b), same predecessor, orientation and history.
        unknown_unigram, unknown_lexical: costs (a) and (e) of copying a word that no block of one word translates.
    """

    mode: str = "swap_or"
    min_left_count: int | None = None
    partition: str = "off"
    unknown_unigram: float = 20.0
    unknown_lexical: float = 20.0

    def __post_init__(self) -> None:
        """Checks every value."""
        super().__post_init__()
        check_choice(self, "mode", MODES)
        check_choice(self, "partition", PARTITIONS)

    @property
    def swaps(self) -> bool:
        """Whether neighbouring source phrases may be exchanged."""
        return self.mode != "mon"

    @property
    def left_count(self) -> int:
        """The least N_L(b) of a block that may be generated to the left."""
        if self.min_left_count is not None:
            return self.min_left_count
        return LEFT_COUNT if self.mode == "swap_or" else 0

"""What the block decoder searches, and how hard."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.errors import InputError
from xlate.search.settings import check_counts, check_shares, log_share
from xlate.text.cutting import MAX_WORDS

MODES = ("mon", "swap", "swap_or")
PARTITIONS = ("off", "local")
OPTION_ORDERS = ("count", "score")
LEFT_COUNT = 3


@dataclass(frozen=True)
class BlockSearch:
    """Settings of the block decoder (A10; TZ07 sections 3.3 and 5.1).

    Attributes:
        mode: `mon` translates monotonely; `swap` may exchange two neighbouring source phrases, orientation costing
            nothing; `swap_or` searches the same space with the orientation model.
        beam: the most hypotheses kept for one number of covered source words; None keeps all.
        threshold: a hypothesis whose score is below this share of the best one's is dropped (scores are logs, so
            ln(threshold) is added); 0 keeps all.
        options: the most blocks of one source span.
        option_order: which blocks those are: the most frequent (`count`) or the best by unigram, lexical, language
            model and optional costs from an empty history under the linked weights (`score`).
        max_phrase: the longest source phrase of a block, in words.
        min_left_count: blocks with N_L(b) below it are never generated to the left; None stands for 3 in `swap_or`
            (TZ07 section 5.1) and for 0 in `swap`.
        partition: `off` sums w·f (no normaliser, as the paper's own runs); `local` subtracts from each step the log of
            the sum of exp(w·f) over the source span's options Γ(b), same predecessor, orientation and history.
        end_of_sentence: whether the cost of `</s>` is added under the linked weight of `lm_first`.
        future_cost: whether pruning compares score plus an estimate of what is left to translate.
        max_words: a sentence of more words is translated in pieces (`decode.pieces`).
        nbest: how many derivations are returned, at most.
        distinct: whether the derivations must differ in their target words.
        unknown_unigram, unknown_lexical: costs (a) and (e) of copying a word that no block of one word translates.
    """

    mode: str = "swap_or"
    beam: int | None = 100
    threshold: float = 1e-5
    options: int = 20
    option_order: str = "count"
    max_phrase: int = 7
    min_left_count: int | None = None
    partition: str = "off"
    end_of_sentence: bool = True
    future_cost: bool = True
    max_words: int = MAX_WORDS
    nbest: int = 1
    distinct: bool = True
    unknown_unigram: float = 20.0
    unknown_lexical: float = 20.0

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        _one_of("mode", self.mode, MODES)
        _one_of("partition", self.partition, PARTITIONS)
        _one_of("option_order", self.option_order, OPTION_ORDERS)
        check_counts(self, "beam", "options", "max_phrase", "nbest", "max_words")
        check_shares(self, "threshold")

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

    @property
    def log_threshold(self) -> float:
        """The natural log of the threshold, minus infinity when it is off."""
        return log_share(self.threshold)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"decoder setting {name}", seen=value, expected=", ".join(allowed))

"""Language model scores of target sides with gaps: what a piece of a translation must remember at both its ends.

The first words of a piece have a probability only when the words before them are known, so a piece keeps them: as many
as the model's order less one, and at its right end a state of the model (Chiang 2007, Section 5.3.2).
"""

from __future__ import annotations

from typing import NamedTuple

from xlate.lm.model import NgramModel
from xlate.text.vocabulary import BEGIN_ID, END_ID


class Ends(NamedTuple):
    """What the language model must know of a piece of a translation.

    Attributes:
        left: the words at its beginning whose probability depends on what stands before.
        right: the model's state behind its last word.
        settled: whether `right` stays whatever stands before; else the piece is nothing but `left`.
    """

    left: tuple[int, ...]
    right: int
    settled: bool


# A target side: numbers of words, and for the non-terminal of tail k (from 0) the number -1 - k.
TargetSide = tuple[int, ...]
NO_ENDS = Ends((), 0, False)


class Languages:
    """Scores pieces of translations, with all queries remembered.

    Args:
        model: gives natural log probabilities; None scores everything 0 and remembers nothing.
        weight: what they are multiplied by.
    """

    def __init__(self, model: NgramModel | None, weight: float) -> None:
        self.model = model
        self.weight = weight
        self.open_words = 0 if model is None else model.order - 1
        self._known: dict[tuple[int, int], tuple[float, int]] = {}

    def query(self, state: int, word: int) -> tuple[float, int]:
        """The weighted log probability of a word after a state, and the state behind it."""
        key = (state, word)
        found = self._known.get(key)
        if found is None:
            assert self.model is not None
            logprob, after = self.model.score(state, word)
            self._known[key] = found = (self.weight * logprob, after)
        return found

    def word(self, text: str) -> int:
        """The number of a target word."""
        return 0 if self.model is None else self.model.vocabulary.id(text)

    def join(self, target: TargetSide, tails: tuple[Ends, ...]) -> tuple[float, float, Ends]:
        """Puts pieces into a target side.

        Returns:
            what becomes certain beyond the scores of the pieces themselves; an estimate for the words that stay open,
            as if nothing stood before them; and the ends of the whole.
        """
        if self.model is None:
            return 0.0, 0.0, NO_ENDS
        query, most = self.query, self.open_words
        certain = estimate = 0.0
        left: list[int] = []
        settled = most == 0
        state = 0
        for symbol in target:
            words: tuple[int, ...] = (symbol,)
            if symbol < 0:
                tail = tails[-1 - symbol]
                words = tail.left
            for word in words:
                if word == BEGIN_ID:
                    settled, state = True, self.model.begin_state
                    continue
                logprob, state = query(state, word)
                if settled:
                    certain += logprob
                else:
                    estimate += logprob
                    left.append(word)
                    settled = len(left) == most
            if symbol < 0 and tail.settled:
                settled, state = True, tail.right
        return certain, estimate, Ends(tuple(left), state, settled)

    def finish(self, ends: Ends, marked: bool) -> float:
        """What is still to be added to a whole sentence; `marked` ones have `<s>` and `</s>` in them already."""
        if self.model is None:
            return 0.0
        total, state = 0.0, 0 if marked else self.model.begin_state
        for word in ends.left:
            logprob, state = self.query(state, word)
            total += logprob
        if marked:
            return total
        return total + self.query(ends.right if ends.settled else state, END_ID)[0]

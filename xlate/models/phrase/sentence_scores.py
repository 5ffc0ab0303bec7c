"""What phrases score in the sentence they stand in: floats that no table can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class SentenceScores(Protocol):
    """Gives phrases of a sentence E more floats."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the floats are called."""

    def of(
        self,
        words: Sequence[str],
        start_O: NDArray[np.integer],
        end_O: NDArray[np.integer],
        pair_O: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """The floats of O phrases of a sentence, shape (O, E), natural logs; -inf where a phrase is no option there.

        Args:
            words: the sentence.
            start_O, end_O: the source spans, half-open.
            pair_O: the phrase pairs, `COPIED` for words that stand for themselves, which score 0.
        """

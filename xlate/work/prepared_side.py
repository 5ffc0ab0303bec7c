"""How lines of a side become the tokens that a system knows, and its words lines again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xlate.text.tokens import Preprocessor
from xlate.text.truecase import Truecaser


@dataclass(frozen=True)
class PreparedSide:
    """Tokens and casing of a side.

    Attributes:
        preprocessor: makes tokens of lines. case: `true`, `lower` or `keep`.
        caser: what `true` goes by.
    """

    preprocessor: Preprocessor
    case: str
    caser: Truecaser | None = None

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line, cased."""
        return self.cased(self.preprocessor.tokens(line))

    def cased(self, tokens: list[str]) -> list[str]:
        """Tokens in the casing of the training text."""
        if self.caser is not None:
            return self.caser.apply(tokens)
        return [token.lower() for token in tokens] if self.case == "lower" else tokens

    def text(self, tokens: Sequence[str], detokenize: bool = True) -> str:
        """A line: beginnings of sentences as they are written and, when asked, detokenised."""
        if self.caser is not None:
            tokens = self.caser.restore(tokens)
        return self.preprocessor.text(tokens) if detokenize else " ".join(tokens)

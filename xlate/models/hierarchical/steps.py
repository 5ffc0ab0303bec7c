"""A rule put into a derivation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from xlate.models.derivation import Span, Step, spans_moved


@dataclass(frozen=True)
class RuleStep(Step):
    """A rule put into a derivation.

    Attributes:
        span: the source words from the first of the rule to behind the last, gaps among them.
        gaps: the spans left open, in the order of the target.
        glued: whether the rule was glued on to what is before, and not put into a gap.
        swapped: whether its gaps come in reverse in the target.
    """

    span: Span = (0, 0)
    gaps: tuple[Span, ...] = ()
    glued: bool = False
    swapped: bool = False

    def moved(self, by: int) -> Self:
        """The same rule so many source words further on, its gaps too."""
        (span,) = spans_moved([self.span], by)
        return replace(super().moved(by), span=span, gaps=spans_moved(self.gaps, by))

    @property
    def runs(self) -> list[tuple[int, int, bool]]:
        """The source side from left to right: runs of own words, and gaps, which say so; begin and end of each."""
        return sorted([*((a, b, False) for a, b in self.source_spans), *((a, b, True) for a, b in self.gaps)])

    @property
    def places(self) -> list[int]:
        """The source position of each symbol of the source side, that of its first word for a gap."""
        return [place for a, b, gap in self.runs for place in ([a] if gap else range(a, b))]

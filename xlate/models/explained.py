"""Derivations explained: what a unit of a table scores, and what each feature of the whole adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from xlate.array_types import Floats
from xlate.models.derivation import COPIED, Derivation

_SCORES = ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")


class ScoredUnits(Protocol):
    """A table of phrase pairs or of rules."""

    @property
    def scores_B4(self) -> Floats:
        """The four scores of each unit."""

    @property
    def count_B(self) -> Floats:
        """How often each was counted."""


def unit_scores(table: ScoredUnits, unit: int) -> str:
    """What a table knows of a unit.

    Example: `p(f|e) 0.6, lex(f|e) 0.4, p(e|f) 0.8, lex(e|f) 0.5  (N=12)`
    """
    if unit == COPIED:
        return "(copied)"
    scores = (f"{name} {p:.3g}" for name, p in zip(_SCORES, table.scores_B4[unit], strict=True))
    return f"{', '.join(scores)}  (N={table.count_B[unit]:g})"


def explained(lines: Sequence[str], names: Sequence[str], weights_D: Floats, derivation: Derivation[Any]) -> str:
    """Lines that show the units of a derivation, then weight × value of each feature, strongest first, then the sum."""
    shown = list(lines)
    parts = zip(names, weights_D.tolist(), derivation.features_D.tolist(), strict=True)
    for name, weight, value in sorted(parts, key=lambda part: -abs(part[1] * part[2])):
        if weight * value:
            shown.append(f"  {name:<24} {weight:>9.4f} × {value:>10.4f} = {weight * value:>9.4f}")
    shown.append(f"sum {derivation.score:.4f}  {' '.join(derivation.words)}")
    return "\n".join(shown)

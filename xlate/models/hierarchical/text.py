"""Derivations of rules in words: as a tree, and what spoke for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xlate.array_types import Floats
from xlate.models.derivation import explained, unit_scores
from xlate.models.hierarchical.model import HierarchicalModel
from xlate.models.hierarchical.scored import RuleDerivation
from xlate.models.hierarchical.steps import RuleStep


def explain_rules(
    model: HierarchicalModel, weights_D: Floats, source: Sequence[str], derivation: RuleDerivation
) -> str:
    """A derivation as a tree, then weight × value of every feature, strongest first, then the sum.

    Example:
        [0,4)  ne [1,2) pas X -> not X1  p(f|e) 0.6, …
          [1,2)  go -> go
    """
    shown = [f"{'  ' * depth}{_explained(model, source, step)}" for depth, step in tree(derivation.steps)]
    return explained(shown, model.columns, weights_D, derivation)


def tree(steps: Sequence[RuleStep]) -> Iterator[tuple[int, RuleStep]]:
    """The rules of a derivation, in its order, each with how deep it lies below a glued one."""
    waiting: list[int] = []
    for step in steps:
        depth = 0 if step.glued else waiting.pop()
        waiting += [depth + 1] * len(step.gaps)
        yield depth, step


def _explained(model: HierarchicalModel, source: Sequence[str], step: RuleStep) -> str:
    start, end = step.span
    line = f"[{start},{end})  {source_side(source, step)} -> {target_side(step)}"
    return f"{line}  {unit_scores(model.table, step.unit)}"


def source_side(source: Sequence[str], step: RuleStep) -> str:
    """The source side of a rule, its gaps numbered from left to right."""
    number, shown = 0, []
    for begin, end, gap in step.runs:
        number += gap
        shown.append(f"X{number}" if gap else " ".join(source[begin:end]))
    return " ".join(shown)


def target_side(step: RuleStep) -> str:
    """The target side of a rule, its gaps with their numbers in the source."""
    order = sorted(step.gaps)
    return " ".join([*step.target_words, *(f"X{order.index(gap) + 1}" for gap in step.gaps)])

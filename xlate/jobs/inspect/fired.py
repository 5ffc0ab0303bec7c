"""The sparse features that fired in a derivation, step by step, with their weights and in words."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xlate.features.index import spelled_names
from xlate.jobs.inspect.weights import decimals
from xlate.jobs.translate import Translation
from xlate.models.derivation import Step
from xlate.models.system import AnyDerivation, AnySystem

# How many words of a class stand behind its number.
MEMBERS = 4


class Fired(NamedTuple):
    """A feature that fired in a step: its family, its name, its weight, and how often."""

    family: str
    name: str
    weight: float
    times: int

    @property
    def score(self) -> float:
        """What it adds to the score."""
        return self.weight * self.times


class StepFeatures(NamedTuple):
    """The features that fired in a step and have a weight, strongest first, and how many have none."""

    weighted: list[Fired]
    without_weight: int


class FiredFeatures:
    """Says which features of a system fire; what is the same for all sentences is computed once."""

    def __init__(self, system: AnySystem, members: int = MEMBERS) -> None:
        self.system = system
        self.members = members
        self.index = system.features
        self._weights_F = system.weights.sparse_F
        self._ranges = [] if self.index is None else list(self.index.ranges)
        self._ends = [ids.stop for _, ids in self._ranges]

    def of(self, derivation: AnyDerivation) -> list[StepFeatures]:
        """The features of each step of a derivation, all without features where a system has none."""
        offsets_N1, ids_A = self.system.step_features(derivation)
        steps = range(len(derivation.steps))
        return [self._step(ids_A[offsets_N1[step] : offsets_N1[step + 1]].tolist()) for step in steps]

    def _step(self, ids: list[int]) -> StepFeatures:
        counted = Counter(ids)
        weights = {feature: float(self._weights_F[feature]) for feature in counted}
        kept = [feature for feature in counted if weights[feature]]
        names = [] if self.index is None else list(spelled_names(self.index, np.array(kept, np.int64), self.members))
        fired = [
            Fired(self._family(feature), name, weights[feature], counted[feature])
            for feature, name in zip(kept, names, strict=True)
        ]
        return StepFeatures(sorted(fired, key=lambda one: -abs(one.score)), len(counted) - len(kept))

    def _family(self, feature: int) -> str:
        return self._ranges[bisect_right(self._ends, feature)][0]


# How many features stand behind the trace of a translation.
SHOWN = 5


def full_explanation(translation: Translation, top: int = SHOWN) -> str:
    """The trace of a translation, and behind it the strongest sparse features that fired, where there are any."""
    system, derivation = translation.system, translation.derivations[0]
    assert system is not None
    trace = system.explain(translation.source, derivation)
    if system.features is None:
        return trace
    fired = FiredFeatures(system).of(derivation)
    return "\n".join([trace, *_strongest(translation.source, derivation.steps, fired, top)])


def fired_title(fired: Sequence[StepFeatures], places: int) -> str:
    """How many features fired in the steps of a derivation, and what those with a weight add up to."""
    total = sum(feature.score for one in fired for feature in one.weighted)
    count = sum(len(one.weighted) for one in fired)
    silent = sum(one.without_weight for one in fired)
    return f"sparse features that fired: {count:,} with a weight, {total:+.{places}f} in all; {silent:,} without"


def phrase_text(source: Sequence[str], step: Step) -> str:
    """The source and the target words of a step."""
    if step.is_end:
        return "end of sentence"
    own = " … ".join(" ".join(source[a:b]) for a, b in step.source_spans)
    return f"{own} → {' '.join(step.target_words)}"


def _strongest(source: Sequence[str], steps: Sequence[Step], fired: list[StepFeatures], top: int) -> list[str]:
    held = [
        (phrase_text(source, step), one) for step, found in zip(steps, fired, strict=True) for one in found.weighted
    ]
    if not held:
        return []
    shown = sorted(held, key=lambda pair: -abs(pair[1].score))[:top]
    places = decimals(one.weight for _, one in held)
    rows = [
        (f"{one.weight:+.{places}f}" + (f" ×{one.times}" if one.times > 1 else ""), f"{one.name}  in {phrase}")
        for phrase, one in shown
    ]
    wide = max(len(weight) for weight, _ in rows)
    more = "; the strongest:" if len(held) > len(shown) else ":"
    return [fired_title(fired, places) + more, *(f"  {weight:<{wide}}  {words}" for weight, words in rows)]

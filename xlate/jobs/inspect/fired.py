"""The sparse features that fired in a derivation, step by step, with their weights and in words."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

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

    def text(self, places: int) -> str:
        """Its weight, and how often it fired where that is more than once."""
        return f"{self.weight:+.{places}f}" + (f" ×{self.times}" if self.times > 1 else "")


class StepFeatures(NamedTuple):
    """The features that fired in a step and have a weight, strongest first, and how many have none."""

    weighted: list[Fired]
    without_weight: int


class FiredFeatures:
    """Says which features of a system fire; what is the same for all sentences is computed once."""

    def __init__(self, system: AnySystem) -> None:
        self.system = system
        self.index = system.features
        self._weights_F = system.weights.sparse_F
        ranges = [] if self.index is None else list(self.index.ranges)
        self._families, self._ends = [name for name, _ in ranges], [ids.stop for _, ids in ranges]

    def of(self, derivation: AnyDerivation) -> list[StepFeatures]:
        """The features of each step of a derivation, all without features where a system has none."""
        offsets_N1, ids_A = self.system.step_features(derivation)
        found = []
        for start, end in pairwise(offsets_N1.tolist()):
            counted = Counter(ids_A[start:end].tolist())
            kept = [feature for feature in counted if self._weights_F[feature]]
            names = [] if self.index is None else self.index.names(np.array(kept, np.int64), MEMBERS)
            fired = [
                Fired(
                    self._families[bisect_right(self._ends, feature)],
                    name,
                    float(self._weights_F[feature]),
                    counted[feature],
                )
                for feature, name in zip(kept, names, strict=True)
            ]
            fired.sort(key=lambda one: -abs(one.score))
            found.append(StepFeatures(fired, len(counted) - len(kept)))
        return found


# How many features stand behind the trace of a translation.
SHOWN = 5


def full_explanation(translation: Translation, top: int = SHOWN) -> str:
    """The trace of a translation, and behind it the strongest sparse features that fired, where there are any."""
    system, derivation = translation.system, translation.derivations[0]
    assert system is not None
    trace = system.explain(translation.source, derivation)
    fired = [] if system.features is None else FiredFeatures(system).of(derivation)
    held = [
        (phrase_text(translation.source, step), one)
        for step, found in zip(derivation.steps, fired, strict=False)
        for one in found.weighted
    ]
    if not held:
        return trace
    shown = sorted(held, key=lambda pair: -abs(pair[1].score))[:top]
    places = decimals(one.weight for _, one in held)
    rows = [(one.text(places), f"{one.name}  in {phrase}") for phrase, one in shown]
    wide = max(len(weight) for weight, _ in rows)
    more = "; the strongest:" if len(held) > len(shown) else ":"
    lines = [f"  {weight:<{wide}}  {words}" for weight, words in rows]
    return "\n".join([trace, fired_title(fired, places) + more, *lines])


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
    return f"{source_text(source, step)} → {' '.join(step.target_words)}"


def source_text(source: Sequence[str], step: Step) -> str:
    """The source words of a step, with … for gaps."""
    return " … ".join(" ".join(source[a:b]) for a, b in step.source_spans)

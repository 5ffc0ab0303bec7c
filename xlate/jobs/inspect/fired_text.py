"""The sparse features that fired in a derivation, in lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from xlate.jobs.inspect.fired import FiredFeatures, StepFeatures
from xlate.jobs.inspect.tables import decimals
from xlate.jobs.translate import Translation
from xlate.models.derivation import Step

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

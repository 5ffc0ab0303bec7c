"""A translation as JSON says it: words, the steps of its derivation, and what decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xlate.jobs.inspect.fired import Fired, FiredFeatures, StepFeatures
from xlate.jobs.inspect.legend import legend
from xlate.jobs.translate import Translation
from xlate.kernels.orientation import LEFT, RIGHT
from xlate.models.derivation import COPIED, Span, Step
from xlate.models.system import AnyDerivation, AnySystem

Json = dict[str, Any]
ORIENTATIONS = {RIGHT: "goes on", LEFT: "swaps"}
JUMPS = "jumps"
# How many features are shown of a step; of the others, their number and their sum.
SHOWN = 12


def explained(translation: Translation, fired: FiredFeatures) -> Json:
    """How a translation came about: tokens, steps with spans and features, float features, word links, the trace.

    Works for every `System`: `steps` are those of the derivation that cover source words, in target order.
    """
    system, derivation = fired.system, translation.derivations[0]
    links = system.word_links(derivation)
    steps = _steps(translation.source, derivation, fired)
    return {
        "source": translation.source,
        "target": derivation.words,
        "steps": steps,
        "legend": dict(legend(feature["name"] for step in steps for feature in step["features"])),
        "features": _floats(system, derivation),
        "links": None if links is None else [list(link) for link in links],
        "trace": system.explain(translation.source, derivation),
    }


def number(value: float) -> float | None:
    """A number as JSON can say it: None for one that is not finite."""
    return value if math.isfinite(value) else None


def _steps(source: Sequence[str], derivation: AnyDerivation, fired: FiredFeatures) -> list[Json]:
    features = [found for step, found in zip(derivation.steps, fired.of(derivation), strict=True) if not step.is_end]
    placed = zip(
        derivation.blocks, derivation.target_spans, fired.system.orientations(derivation), features, strict=False
    )
    steps = [
        {**_phrase(source, step, span), "orientation": ORIENTATIONS.get(turn, JUMPS), **_features(found)}
        for step, span, turn, found in placed
    ]
    if steps:
        # Some systems ask for no orientation where there is nothing before.
        steps[0]["orientation"] = JUMPS if steps[0]["source_spans"][0][0] else ORIENTATIONS[RIGHT]
    return steps


def _phrase(source: Sequence[str], step: Step, target_span: Span) -> Json:
    return {
        "source_spans": [list(span) for span in step.source_spans],
        "target_span": list(target_span),
        "source": " … ".join(" ".join(source[a:b]) for a, b in step.source_spans),
        "target": " ".join(step.target_words),
        "copied": step.unit == COPIED,
    }


def _features(found: StepFeatures) -> Json:
    shown, rest = found.weighted[:SHOWN], found.weighted[SHOWN:]
    return {
        "features": [_fired(feature) for feature in shown],
        "more": {"count": len(rest), "score": number(sum(feature.score for feature in rest))},
        "without_weight": found.without_weight,
    }


def _fired(feature: Fired) -> Json:
    return {**feature._asdict(), "weight": number(feature.weight), "score": number(feature.score)}


def _floats(system: AnySystem, derivation: AnyDerivation) -> list[Json]:
    """The float features that add something to the score, strongest first."""
    values = zip(system.feature_names, system.weights_D.tolist(), derivation.features_D.tolist(), strict=True)
    rows = [(name, weight, value, weight * value) for name, weight, value in values if weight * value]
    return [
        {"name": name, "weight": number(weight), "value": number(value), "score": number(score)}
        for name, weight, value, score in sorted(rows, key=lambda row: -abs(row[3]))
    ]

"""What a training says of itself when it will hardly have learned anything."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from xlate.scoring.weights import Weights
from xlate.train.loop import CHUNK, Phase

log = logging.getLogger(__name__)

# Fewer steps an epoch than this are seldom enough for weights that start at 0.
FEW_STEPS = 20


def steps_an_epoch(instances: int, batch: int, chunk: int = CHUNK) -> int:
    """The steps that mini-batches of so many instances make; none reaches from one chunk of an epoch into the next."""
    whole, rest = divmod(instances, chunk)
    return whole * -(-chunk // batch) + -(-rest // batch)


def warn_of_few_steps(phases: Sequence[Phase], batch: int) -> None:
    """Names the phases of a training with mini-batches that make few steps an epoch."""
    if not batch:
        return
    for phase in phases:
        settings = phase.settings
        instances = round(len(phase.store) * settings.subset)
        steps = steps_an_epoch(instances, batch)
        if settings.epochs and 0 < steps < FEW_STEPS:
            log.warning(
                "warning: phase %s makes %d step%s an epoch (%d instances, loss.batch=%d), online training one an "
                "instance or more: weights may stay far from where they would go; take loss.batch=0, a smaller one "
                "such as %d, or more epochs",
                settings.name, steps, "" if steps == 1 else "s", instances, batch, max(1, instances // 100),
            )  # fmt: skip


def warn_if_unmoved(
    before: Mapping[str, Weights],
    after: Mapping[str, Weights],
    seen: str,
    doing: str = "training",
    expected: bool = False,
) -> None:
    """Says so when training, or what else was done, left every weight of every set where it was.

    It is a warning unless it was to be `expected`.
    """
    if all(_same(before[name], after[name]) for name in before):
        if expected:
            log.info("%s changed no weight (%s)", doing, seen)
        else:
            log.warning("warning: %s changed no weight (%s)", doing, seen)


def warn_if_all_zero(weights_F: np.ndarray, seen: str) -> None:
    """Says so when no sparse weight is other than 0 though some were to be learned."""
    if not np.any(weights_F):
        log.warning("warning: all %d sparse weights are 0 after training (%s)", len(weights_F), seen)


def not_too_long(lengths: Sequence[int], most: int, text: str) -> list[int]:
    """The places of sentences that a search takes whole; says how many are left out, for lists have no pieces."""
    kept = [place for place, words in enumerate(lengths) if words <= most]
    if len(kept) < len(lengths):
        counts = len(lengths) - len(kept), len(lengths), most
        log.warning("%s: %d of %d sentences left out, of more than decoder.max_words=%d words", text, *counts)
    return kept


def _same(before: Weights, after: Weights) -> bool:
    """Whether weights are the same up to their scale, which tuners change at will."""
    one, other = (np.concatenate([w.dense_D, w.sparse_F]).astype(np.float64) for w in (before, after))
    if len(one) != len(other):
        # Features were met on the way.
        return False
    sizes = [float(np.abs(w).sum()) or 1.0 for w in (one, other)]
    return bool(np.allclose(one / sizes[0], other / sizes[1], rtol=1e-9, atol=1e-12))

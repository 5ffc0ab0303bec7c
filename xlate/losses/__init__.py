"""Losses over candidate scores, one file each; available by name as modules for any training loop.

`from xlate.losses import ExpectedBleu` gives a `torch.nn.Module` over lists, padded or flat (see `ListLoss`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xlate.losses.list_loss import (
        ConditionalLikelihood,
        ExpectedBleu,
        ExpectedCorpusBleu,
        Hinge,
        ListLoss,
        LocalSoftmax,
        Perceptron,
        Pro,
        Ramp,
        SoftmaxMargin,
    )
    from xlate.losses.loss import Loss, loss_of

__all__ = [
    "ConditionalLikelihood",
    "ExpectedBleu",
    "ExpectedCorpusBleu",
    "Hinge",
    "ListLoss",
    "LocalSoftmax",
    "Loss",
    "Perceptron",
    "Pro",
    "Ramp",
    "SoftmaxMargin",
    "loss_of",
]
_ELSEWHERE = {"Loss": "loss", "loss_of": "loss"}


def __getattr__(name: str) -> Any:
    """A public name; its module is imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'list_loss')}"), name)

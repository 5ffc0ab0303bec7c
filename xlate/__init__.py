"""xlate: a discriminative translation trainer with millions of sparse features.

`xlate.Translator` translates with a finished run, `xlate.Reranker` ranks n-best lists of any system, and `xlate.losses`
has losses for training loops of your own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xlate.candidates.batch import CandidateBatch, FeatureNames
    from xlate.errors import InputError
    from xlate.reranker import Reranker, gains, mbr
    from xlate.training import prepare, train
    from xlate.translator import Hypothesis, Translator, Unit

__version__ = "0.1.0"
__all__ = [
    "CandidateBatch",
    "FeatureNames",
    "Hypothesis",
    "InputError",
    "Reranker",
    "Translator",
    "Unit",
    "__version__",
    "gains",
    "mbr",
    "prepare",
    "train",
]
_MODULES = {
    "CandidateBatch": "xlate.candidates.batch",
    "FeatureNames": "xlate.candidates.batch",
    "Hypothesis": "xlate.translator",
    "InputError": "xlate.errors",
    "Reranker": "xlate.reranker",
    "Translator": "xlate.translator",
    "Unit": "xlate.translator",
    "gains": "xlate.reranker",
    "mbr": "xlate.reranker",
    "prepare": "xlate.training",
    "train": "xlate.training",
}


def __getattr__(name: str) -> Any:
    """Imports the module of a public name on first use: `import xlate` alone loads nothing else."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

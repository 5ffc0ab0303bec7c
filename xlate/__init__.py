"""xlate: a discriminative translation trainer with millions of sparse features.

`xlate.Translator` translates with a finished run, `xlate.Reranker` ranks n-best lists of any system, and `xlate.losses`
has losses for training loops of your own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xlate.candidates.batch import CandidateBatch as CandidateBatch
    from xlate.candidates.batch import FeatureNames as FeatureNames
    from xlate.errors import InputError as InputError
    from xlate.reranker import Reranker as Reranker
    from xlate.reranker import gains as gains
    from xlate.reranker import mbr as mbr
    from xlate.training import prepare as prepare
    from xlate.training import train as train
    from xlate.translator import Hypothesis as Hypothesis
    from xlate.translator import Translator as Translator
    from xlate.translator import Unit as Unit

__version__ = "0.1.0"
_MODULES = {
    "CandidateBatch": "candidates.batch",
    "FeatureNames": "candidates.batch",
    "Hypothesis": "translator",
    "InputError": "errors",
    "Reranker": "reranker",
    "Translator": "translator",
    "Unit": "translator",
    "gains": "reranker",
    "mbr": "reranker",
    "prepare": "training",
    "train": "training",
}
__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    """Imports the module of a public name on first use: `import xlate` alone loads nothing else."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"xlate.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

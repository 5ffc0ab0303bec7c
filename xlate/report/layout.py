"""What TensorBoard opens on: the charts of its custom scalars, and the columns of its table of runs.

Charts name their curves by patterns, so that runs of different methods share them; a run asks for those that it has a
curve for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

# By category and title, the patterns of tags whose curves a chart shows; what matters most comes first.
CHARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "quality": {
        "BLEU of the dev set": (r"^(tune|online|local)/BLEU$",),
        "what is tuned for, of the dev set": (r"^tune/objective$",),
        "what is tuned for, of sentences held out": (r"^tune/heldout_objective$",),
        "BLEU of sentences held out": (r"^(tune|sparse|rerank)/heldout_BLEU$",),
        "block prediction error P, held out": (r"^valid/P/",),
        "accuracy, held out": (r"^valid/accuracy",),
    },
    "loss": {
        "loss, training": (r"^train/loss/", r"^sparse/train_loss$", r"^online/loss$"),
        "loss, held out": (r"^valid/loss", r"^(sparse|rerank)/heldout_loss$"),
    },
    "model": {
        "sparse features with a weight": (r"^train/active_features/", r"^(sparse|online)/active$"),
        "float weights": (r"^weights/[^/]+$",),
        "length against the references": (r"^tune/length_ratio$",),
    },
}
# The figures of a finished run that the table of runs has, in their order; the others stand in its summary.
FIGURES = (
    "dev_bleu", "test_bleu", "dev_chrf", "dev_ter", "P", "valid_loss", "accuracy", "heldout_bleu",
    "heldout_ranked_BLEU", "heldout_first_BLEU", "training_ranked_BLEU", "active_features", "seconds",
)  # fmt: skip


def charts_of(tags: Iterable[str]) -> dict[str, dict[str, list[Any]]]:
    """The categories and charts that some tags have curves for, as `SummaryWriter.add_custom_scalars` takes them."""
    known = list(tags)
    chosen = {
        category: {
            title: ["Multiline", list(patterns)]
            for title, patterns in charts.items()
            if any(re.search(pattern, tag) for pattern in patterns for tag in known)
        }
        for category, charts in CHARTS.items()
    }
    return {category: charts for category, charts in chosen.items() if charts}


def figures_shown(figures: Mapping[str, float]) -> dict[str, float]:
    """The figures of the table of runs, in their order."""
    return {name: figures[name] for name in FIGURES if name in figures}

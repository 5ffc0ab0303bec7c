"""What all pictures share: figures without a window, fonts for many scripts, and files that are written whole."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from xlate.array_types import Bytes
from xlate.text.lines import atomic_write

# Fonts are tried in this order for every letter; those that are not installed are skipped.
FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Naskh Arabic",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Arial Unicode MS",
)
# The colours of Okabe and Ito, which people with any colour vision can tell apart.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#8A8A8A",
)
METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY)


@contextlib.contextmanager
def quiet_style() -> Iterator[None]:
    """Settings for drawing and saving: plain axes, and a box without a warning for letters that no font has."""
    style: dict[Any, Any] = {
        "font.family": list(_installed_fonts()),
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#666666",
        "axes.axisbelow": True,
        "grid.color": "#E4E4E4",
        "text.parse_math": False,
        # With a fixed salt the same drawing gives the same file.
        "svg.hashsalt": "xlate",
    }
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s).*[Gg]lyph.*missing from.*font")
        warnings.filterwarnings("ignore", message=r"(?s).*[Mm]atplotlib currently does not support.*")
        yield


def new_figure(width: float, height: float) -> Any:
    """An empty figure of some inches, without a window."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def pixels(figure: Any, dpi: float = 100) -> Bytes:
    """The figure as an image, (height, width, 3)."""
    figure.set_dpi(dpi)
    figure.canvas.draw()
    return np.ascontiguousarray(np.asarray(figure.canvas.buffer_rgba())[:, :, :3])


def save(figure: Any, stem: Path) -> list[Path]:
    """Writes a figure as PNG and SVG and returns the names of the files."""
    written = []
    for ending in METADATA:
        path = stem.with_name(f"{stem.name}.{ending}")
        with atomic_write(path) as stream:
            stream.write(encoded(figure, ending))
        written.append(path)
    return written


def encoded(figure: Any, ending: str) -> bytes:
    """A figure as the bytes of a `png` or `svg` file, which are the same each time."""
    held = io.BytesIO()
    figure.savefig(held, format=ending, dpi=150, bbox_inches="tight", metadata=METADATA[ending])
    return held.getvalue()


@cache
def _installed_fonts() -> tuple[str, ...]:
    names = {entry.name for entry in font_manager.fontManager.ttflist}
    return tuple(name for name in FONTS if name in names)

"""Draws a translation: its blocks in a grid of source and target words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Rectangle

from xlate.array_types import Bytes
from xlate.errors import InputError
from xlate.kernels.orientation import LEFT, LETTERS, NEUTRAL, RIGHT
from xlate.report.drawing import BLUE, GREY, RED, new_figure, pixels, quiet_style

Block = tuple[int, int, int, int, int]

COLOURS = {LEFT: RED, RIGHT: BLUE, NEUTRAL: GREY}
MEANINGS = {RIGHT: "right of its predecessor", LEFT: "left of its predecessor", NEUTRAL: "no predecessor beside it"}
CELL_INCHES, LETTER_INCHES, DPI = 0.42, 0.085, 100
MOST_PIXELS = 3000


def reordering_picture(source: Sequence[str], target: Sequence[str], blocks: Sequence[Block]) -> Bytes:
    """Draws a block translation as Figure 1 of Tillmann & Zhang (2007) does.

    Source words stand along x, target words along y from bottom to top. A block is a rectangle with its number in the
    order of generation and the letter of its orientation, in a colour for each orientation.

    Args:
        source, target: the words.
        blocks: rows (source_start, source_end, target_start, target_end, orientation) with half-open spans, in the
            order of generation; orientations are `kernels.orientation.LEFT`, `RIGHT`, `NEUTRAL`.

    Returns:
        The picture, (height, width, 3).

    Raises:
        InputError: a block lies outside the sentences, is empty, or has no known orientation.
    """
    for number, block in enumerate(blocks):
        _check(number, block, len(source), len(target))
    with quiet_style():
        figure = _drawn(source, target, blocks)
        inches = float(max(figure.get_size_inches()))
        return pixels(figure, min(DPI, MOST_PIXELS / inches))


def _drawn(source: Sequence[str], target: Sequence[str], blocks: Sequence[Block]) -> Any:
    left = 0.35 + LETTER_INCHES * max(map(len, target), default=0)
    bottom = 0.35 + LETTER_INCHES * max(map(len, source), default=0)
    across, up = CELL_INCHES * max(1, len(source)), CELL_INCHES * max(1, len(target))
    width, height = max(left + across + 0.2, 6.2), bottom + up + 0.55
    figure = new_figure(width, height)
    axes = figure.add_axes((left / width, bottom / height, across / width, up / height))
    _grid(axes, source, target)
    for number, block in enumerate(blocks, start=1):
        _block(axes, number, block)
    _legend(figure, [block[4] for block in blocks])
    return figure


def _grid(axes: Any, source: Sequence[str], target: Sequence[str]) -> None:
    axes.set_xlim(0, max(1, len(source)))
    axes.set_ylim(0, max(1, len(target)))
    axes.set_xticks([place + 0.5 for place in range(len(source))], source, rotation=90)
    axes.set_yticks([place + 0.5 for place in range(len(target))], target)
    axes.tick_params(length=0, labelsize=10)
    for place in range(len(source) + 1):
        axes.axvline(place, color="#DDDDDD", linewidth=0.7, zorder=0)
    for place in range(len(target) + 1):
        axes.axhline(place, color="#DDDDDD", linewidth=0.7, zorder=0)
    for spine in axes.spines.values():
        spine.set_visible(True)


def _block(axes: Any, number: int, block: Block) -> None:
    source_start, source_end, target_start, target_end, orientation = block
    wide, high = source_end - source_start, target_end - target_start
    axes.add_patch(
        Rectangle(
            (source_start + 0.06, target_start + 0.06),
            wide - 0.12,
            high - 0.12,
            facecolor=COLOURS[orientation],
            edgecolor=COLOURS[orientation],
            linewidth=1.2,
            alpha=0.85,
            zorder=2,
        )
    )
    middle = (source_start + wide / 2, target_start + high / 2)
    text = f"{number} {LETTERS[orientation]}" if wide > 1 or high > 1 else f"{number}{LETTERS[orientation]}"
    size = 11 if len(text) <= 3 else 9
    axes.text(*middle, text, ha="center", va="center", color="white", fontsize=size, fontweight="bold", zorder=3)


def _legend(figure: Any, orientations: Sequence[int]) -> None:
    shown = [orientation for orientation in MEANINGS if orientation in orientations]
    handles = [Rectangle((0, 0), 1, 1, facecolor=COLOURS[orientation], alpha=0.85) for orientation in shown]
    labels = [f"{LETTERS[orientation]}: {MEANINGS[orientation]}" for orientation in shown]
    if handles:
        figure.legend(
            handles,
            labels,
            loc="upper left",
            ncols=len(handles),
            frameon=False,
            fontsize=9,
            handlelength=1.0,
            columnspacing=1.4,
        )


def _check(number: int, block: Block, source_words: int, target_words: int) -> None:
    source_start, source_end, target_start, target_end, orientation = block
    inside = 0 <= source_start < source_end <= source_words and 0 <= target_start < target_end <= target_words
    if not inside or orientation not in COLOURS:
        raise InputError(
            f"block {number} does not fit its sentence pair",
            seen=tuple(block),
            expected=f"spans inside {source_words} source and {target_words} target words, orientation 0, 1 or 2",
        )

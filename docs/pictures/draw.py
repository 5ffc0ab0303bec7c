"""Small pictures as SVG: words, boxes, lines and arrows on white, legible without colours too."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

INK, FAINT, PAPER = "#1f2933", "#7b8794", "#ffffff"
BLUE, GREEN, AMBER, ROSE, GREY = "#cfe3f7", "#d3ecd4", "#fbe6bd", "#f6d0d6", "#e9edf1"
HEAD = "M0,0 L8,4 L0,8 Z"


class Drawing:
    """A picture that grows by what is drawn on it; lengths are pixels, places run from the upper left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: int = 15,
        anchor: str = "middle",
        fill: str = INK,
        bold: bool = False,
    ) -> None:
        """Writes words whose middle is at height y."""
        weight = ' font-weight="600"' if bold else ""
        place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{fill}"'
        self._parts.append(f'<text {place}{weight} dominant-baseline="central">{escape(words)}</text>')

    def box(
        self,
        corner: tuple[float, float],
        size: tuple[float, float],
        words: str | Sequence[str] = "",
        *,
        fill: str = GREY,
        bold: bool = False,
        dashed: bool = False,
    ) -> None:
        """A box with words in its middle, a line for each."""
        (x, y), (width, height) = corner, size
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        shape = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"'
        self._parts.append(f'<rect {shape} fill="{fill}" stroke="{INK}"{dash}/>')
        lines = [words] if isinstance(words, str) else list(words)
        for number, line in enumerate(lines):
            middle = y + height / 2 + (number - (len(lines) - 1) / 2) * 19
            self.text(x + width / 2, middle, line, bold=bold)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        arrow: bool = False,
        dashed: bool = False,
        fill: str = INK,
    ) -> None:
        """A straight line, with a head at its end if it is an arrow."""
        more = (' marker-end="url(#head)"' if arrow else "") + (' stroke-dasharray="5 4"' if dashed else "")
        ends = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}"'
        self._parts.append(f'<line {ends} stroke="{fill}" stroke-width="1.4"{more}/>')

    def curve(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        bend: float,
        *,
        arrow: bool = True,
        dashed: bool = False,
    ) -> None:
        """A curve that rises by `bend` (falls, below 0) between its ends."""
        more = (' marker-end="url(#head)"' if arrow else "") + (' stroke-dasharray="5 4"' if dashed else "")
        middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - bend
        path = f"M{start[0]:g},{start[1]:g} Q{middle[0]:g},{middle[1]:g} {end[0]:g},{end[1]:g}"
        self._parts.append(f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.4"{more}/>')

    def svg(self) -> str:
        """The picture as text."""
        marker = '<marker id="head" markerWidth="9" markerHeight="9" refX="7.5" refY="4" orient="auto">'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}" font-family="Helvetica, Arial, sans-serif" role="img">',
                f"<title>{escape(self.title)}</title>",
                f'<defs>{marker}<path d="{HEAD}" fill="{INK}"/></marker></defs>',
                f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>',
                *self._parts,
                "</svg>\n",
            ]
        )

    def write(self, path: Path) -> None:
        """Writes the picture into a file."""
        path.write_text(self.svg(), encoding="utf-8")

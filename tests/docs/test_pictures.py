"""The drawn pictures of docs/ are what their script draws, small, and shown on a page."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, links

FOLDER = DOCS / "pictures"


@pytest.fixture(scope="module")
def drawn() -> Iterator[dict[str, Any]]:
    """The pictures by the names of their files."""
    before = sys.path[:], set(sys.modules)
    pictures = runpy.run_path(str(FOLDER / "systems.py"))["PICTURES"]
    yield {picture.__name__: picture() for picture in pictures}
    sys.path[:] = before[0]
    for name in set(sys.modules) - before[1]:
        del sys.modules[name]


def test_pictures_are_those_of_the_script(drawn: dict[str, Any]) -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(drawn)
    for name, drawing in drawn.items():
        told = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert told == drawing.svg(), f"{name}.svg is old: python docs/pictures/systems.py"


def test_nothing_is_drawn_outside(drawn: dict[str, Any]) -> None:
    """Words are about as wide as they are in common fonts: a letter takes 0.55 of the size."""
    for name, drawing in drawn.items():
        for element in ElementTree.fromstring(drawing.svg()).iter():
            kind = element.tag.rpartition("}")[2]
            if kind not in ("text", "rect"):
                continue
            left, wide = float(element.get("x", "0")), float(element.get("width", "0"))
            if kind == "text":
                wide = 0.55 * float(element.attrib["font-size"]) * len(element.text or "")
                left -= wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[element.attrib["text-anchor"]]
            assert left >= -3, f"{name}: {element.text or kind}"
            assert left + wide <= drawing.width + 3, f"{name}: {element.text or kind}"


def test_every_picture_is_small_and_shown() -> None:
    shown = {
        (page.parent / link).resolve()
        for page in [*PAGES, ROOT / "README.md"]
        for link in links(page)
        if "://" not in link
    }
    for path in [*FOLDER.glob("*.svg"), *FOLDER.glob("*.png")]:
        assert path.stat().st_size < 150_000, f"{path.name} is too large for a picture in the tree"
        assert path.resolve() in shown, f"no page shows {path.name}"

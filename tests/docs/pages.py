"""The pages of docs/ as text: where they are, their links and headings, and the code that stands in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "reference" not in path.relative_to(DOCS).parts)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = ("bash", "python")


@dataclass(frozen=True)
class Block:
    """A block of code that is run, and the blocks ```text behind it, which show what it prints."""

    language: str
    text: str
    shown: list[str] = field(default_factory=list)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> list[Block]:
    """The blocks of a page that are run: those of bash and Python. A fence that names no language is for reading."""
    found: list[Block] = []
    for language, text in FENCE.findall(path.read_text(encoding="utf-8")):
        if language in RUN:
            found.append(Block(language, text))
        elif language == "text":
            assert found, f"{named(path)} shows what is printed before anything is run"
            found[-1].shown.append(text)
    return found


def links(path: Path) -> list[str]:
    """What a page links to or shows as a picture, code left out."""
    return re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", path.read_text(encoding="utf-8")))


def anchors(path: Path) -> set[str]:
    """What links to headings of a page and to anchors in HTML are called."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return named.union(re.findall(r'<a id="([^"]+)"', text))

"""Reads pages of HTML for tests: their structure, and whether they need anything from outside."""

from __future__ import annotations

from collections import defaultdict
from html.parser import HTMLParser

EMPTY = {"meta", "img", "br", "link", "wbr"}


class Page(HTMLParser):
    """The parts of a page; fails where a tag is closed that was not open.

    Attributes:
        texts: the words of each element by its tag. sources: what its pictures, scripts and links point to.
        ids: the names of its parts. cells: the attributes of the cells of its tables.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        # The tags that are open, each with its place among the elements that have its tag.
        self.open: list[tuple[str, int]] = []
        self.texts: dict[str, list[str]] = defaultdict(list)
        self.sources: list[str] = []
        self.ids: set[str] = set()
        self.cells: list[dict[str, str | None]] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        self.ids |= {value or "" for name, value in attrs if name == "id"}
        self.cells += [dict(attrs)] if tag == "td" else []
        self.texts[tag].append("")
        if tag not in EMPTY:
            self.open.append((tag, len(self.texts[tag]) - 1))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for tag, place in self.open:
            self.texts[tag][place] += data

    def check_whole(self) -> None:
        """Nothing is loaded from elsewhere, and every link leads to a part of the page."""
        assert all(source.startswith(("data:", "#")) for source in self.sources), self.sources
        assert {source[1:] for source in self.sources if source.startswith("#")} <= self.ids
        assert not {"link", "iframe"} & set(self.texts)
        for word in ("url(", "@import", "fetch(", "import(", "://"):
            assert word not in "".join(self.texts["style"] + self.texts["script"])

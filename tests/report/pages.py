"""Reads pages of HTML for tests: their structure, and whether they need anything from outside."""

from __future__ import annotations

from html.parser import HTMLParser

EMPTY = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """The parts of a page; fails where a tag is closed that was not open.

    Attributes:
        texts: the words of each element by its tag. sources: what its pictures, scripts and links point to.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, list[str]]] = []
        self.texts: dict[str, list[str]] = {}
        self.sources: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        self.texts.setdefault(tag, [])
        if tag not in EMPTY:
            self.open.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        last, words = self.open.pop()
        assert last == tag, (last, tag)
        text = "".join(words)
        self.texts[tag].append(text)
        if self.open:
            self.open[-1][1].append(text)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1][1].append(data)

    def check_whole(self) -> None:
        """Nothing is loaded from elsewhere."""
        assert all(source.startswith("data:") for source in self.sources), self.sources
        assert not {"script", "link", "iframe"} & set(self.texts)
        assert "url(" not in "".join(self.texts["style"])
        assert "@import" not in "".join(self.texts["style"])

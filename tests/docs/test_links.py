"""The pages of docs/ hang together: each is in the navigation of the site, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, FENCE, PAGES, ROOT, anchors, links, named
from xlate.config.choices import SCHEMAS, own_keys
from xlate.config.page import NAMES
from xlate.config.schema import COMMANDS
from xlate.settings import keys_in

LINKED = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("examples/*/README.md")]
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def in_navigation() -> list[Path]:
    """The pages that the trees of contents of index.md name; what a pattern finds is what its tree does not name."""
    found = []
    for tree in TREE.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        listed: list[Path] = []
        for entry in (line for line in tree.splitlines() if line and not line.startswith(":")):
            pages = sorted(DOCS.glob(f"{entry}.md")) if "*" in entry else [DOCS / f"{entry}.md"]
            listed += [page for page in pages if "*" not in entry or page not in (*listed, DOCS / "index.md")]
        found += listed
    return found


def test_every_page_is_in_the_navigation_once() -> None:
    listed = [path for path in in_navigation() if path != DOCS / "reference" / "modules.md"]
    assert sorted([*listed, DOCS / "index.md"]) == PAGES


def test_the_first_page_links_to_every_page_but_records() -> None:
    """Experiments and decisions are found in the navigation."""
    told = {(DOCS / link.partition("#")[0]).resolve() for link in links(DOCS / "index.md")}
    records = ("decisions", "experiments")
    assert {path for path in PAGES if path.parent.name not in records} - {DOCS / "index.md"} <= told


def test_every_page_has_one_title() -> None:
    for path in LINKED:
        text = FENCE.sub("", path.read_text(encoding="utf-8"))
        assert text.startswith("# "), named(path)
        assert len(re.findall(r"^# |^=+$|<h1", text, flags=re.MULTILINE)) == 1, named(path)


def test_long_commands_have_several_lines() -> None:
    """What others measured is recorded as it was run."""
    for path in PAGES:
        if path.parent.name not in ("decisions", "experiments"):
            code = "".join(text for _, text in FENCE.findall(path.read_text(encoding="utf-8")))
            long = [line for line in code.splitlines() if re.match(r" *xlate ", line) and len(line) > 110]
            assert not long, named(path)


def test_every_key_has_an_anchor_of_its_own() -> None:
    found = re.findall(r'<a id="([^"]+)" href="#([^"]+)">', (DOCS / "configuration.md").read_text(encoding="utf-8"))
    ids = [anchor for anchor, _ in found]
    assert all(anchor == link for anchor, link in found)
    assert len(set(ids)) == len(ids)
    for place, kinds in SCHEMAS.items():
        for key in {f"{place}.{one.name}" for kind in kinds for one in keys_in(kind)}.difference(NAMES):
            # A key that holds other keys is not in the table; they are.
            assert any(anchor == key or anchor.startswith(f"{key}.") for anchor in ids), key
    assert {f"{command}-{one.name}" for command, kind in COMMANDS.items() for one in own_keys(kind)} <= set(ids)


@pytest.mark.parametrize("path", LINKED, ids=named)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in links(path):
        if "://" in link:
            continue
        target, _, heading = link.partition("#")
        page = path.parent / target if target else path
        assert page.exists(), f"{path.name} links to {link}"
        assert not heading or heading in anchors(page), f"{path.name} links to {link}, which has no such heading"

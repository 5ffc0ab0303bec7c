"""Settings of the documentation site; `make docs` builds it with Sphinx."""

import re
from pathlib import Path
from typing import Any

import xlate

ROOT = Path(__file__).resolve().parents[1]

project = "xlate"
author = "xlate authors"
init = (ROOT / "xlate/__init__.py").read_text(encoding="utf-8")
(release,) = re.findall(r'^__version__ = "(.+)"$', init, re.MULTILINE)
version = release

extensions = ["myst_parser", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.apidoc"]
html_theme = "furo"
html_title = f"xlate {release}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]

# The reference: a page for each folder of the package, made from docstrings. Every page of the site shows the whole
# tree of contents, so a page for each module, its classes in the tree, takes minutes. Attributes stand in the docstring
# of their class, and need no entries of their own.
# api.md has the public names; of two classes with one name, such as ExpectedBleu, the one it documents is not repeated.
PUBLIC = ["../xlate/losses/list_loss.py"]
apidoc_modules = [
    {"path": "../xlate", "destination": "reference", "module_first": True, "exclude_patterns": PUBLIC},
]
apidoc_automodule_options = {"members", "show-inheritance"}
toc_object_entries = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# There are none, and looking for them takes a third of the time.
autodoc_use_type_comments = False
# A word between single backticks in a docstring is code.
default_role = "code"
napoleon_use_ivar = True
# Tables of papers stand one level deeper than their page has headings.
suppress_warnings = ["myst.header"]
# Links such as `page.md#heading` lead to headings of this depth.
myst_heading_anchors = 4
# Nothing to copy from what a command prints: tables drawn with lines, and blocks marked as text.
copybutton_selector = "div:not(.printed) > div.highlight > pre"


def outside_named(text: str, page: Path) -> str:
    """Links of a page that lead out of docs/ as words and the file's name: the site has pages, not sources."""

    def named(link: re.Match[str]) -> str:
        words, target = link.groups()
        path = (page.parent / target.partition("#")[0]).resolve()
        if "://" in target or path.is_relative_to(ROOT / "docs"):
            return link[0]
        name = path.relative_to(ROOT).as_posix()
        return f"`{name}`" if words.strip("`") == name else f"{words} (`{name}` of the sources)"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", named, text)


def marked(page: Any, metadata: dict[str, Any]) -> None:
    """Makes anchors written in HTML known to links, and marks what is printed, which keeps its lines."""
    for node in page.findall(lambda found: found.tagname == "raw"):
        for anchor in re.findall(r'<a id="([^"]+)"', node.astext()):
            metadata.setdefault("myst_slugs", {})[anchor] = (node.line, anchor, anchor)
    for node in page.findall(lambda found: found.tagname == "literal_block"):
        if node.get("language") == "text" or re.search("[│━]", node.astext()):
            node["classes"].append("printed")


def setup(app: Any) -> None:
    """Sphinx calls this."""

    def read(_: Any, page: str, source: list[str]) -> None:
        source[0] = outside_named(source[0], ROOT / "docs" / f"{page}.md")

    def named_in_full(_: Any, page: Any) -> None:
        """No class is looked for by the end of its name, among all: that takes three quarters of the writing."""
        for node in page.findall(lambda found: "refspecific" in getattr(found, "attributes", {})):
            del node["refspecific"]
            if node["reftarget"] == "InputError":
                node["reftarget"] = "xlate.errors.InputError"

    def public_once(app: Any, _: str, name: str, found: Any, *__: Any) -> bool | None:
        """A public name is on api.md, not on the generated pages."""
        generated = app.env.docname.startswith("reference/")
        return True if generated and name in xlate.__all__ and getattr(xlate, name) is found else None

    def read_to_the_end(app: Any, page: Any) -> None:
        marked(page, app.env.metadata[app.env.docname])

    app.connect("source-read", read)
    app.connect("autodoc-skip-member", public_once)
    app.connect("doctree-read", named_in_full)
    app.connect("doctree-read", read_to_the_end)

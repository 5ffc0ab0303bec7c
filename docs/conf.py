"""Settings of the documentation site; `make docs` builds it with Sphinx."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "xlate"
author = "xlate authors"
init = (ROOT / "xlate/__init__.py").read_text(encoding="utf-8")
(release,) = re.findall(r'^__version__ = "(.+)"$', init, re.MULTILINE)
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.apidoc", "sphinx.ext.viewcode"]
html_theme = "furo"
html_title = f"xlate {release}"

# The reference: a page for each module of the package, made from its docstrings.
apidoc_modules = [{"path": "../xlate", "destination": "reference", "separate_modules": True, "module_first": True}]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# A word between single backticks in a docstring is code.
default_role = "code"
napoleon_use_ivar = True
# Tables of papers stand one level deeper than their page has headings.
suppress_warnings = ["myst.header"]
# Links such as `page.md#heading` lead to headings of this depth.
myst_heading_anchors = 4

"""The settings of the documentation site, and what else tells strangers about this version."""

from __future__ import annotations

import re
import runpy

import yaml

import xlate
from tests.docs.pages import DOCS, ROOT


def test_the_site_is_configured_for_this_package() -> None:
    settings = runpy.run_path(str(DOCS / "conf.py"))
    assert settings["release"] == xlate.__version__
    (reference,) = settings["apidoc_modules"]
    assert (DOCS / reference["path"]).resolve() == ROOT / "xlate"
    assert reference["destination"] == "reference"
    assert "docs/reference/" in (ROOT / ".gitignore").read_text()


def test_links_out_of_the_site_become_names_of_files() -> None:
    outside_named = runpy.run_path(str(DOCS / "conf.py"))["outside_named"]
    kept = "[a](../python.md#losses) ![b](../pictures/serve.png) [c](https://example.org/x) [d](#here) f[0](x)"
    assert outside_named(kept, DOCS / "tutorials" / "gpu.md") == kept
    given = "see [the results](../../benchmarks/results) and [README.md](../../README.md#more)"
    wanted = "see the results (`benchmarks/results` of the sources) and `README.md`"
    assert outside_named(given, DOCS / "tutorials" / "gpu.md") == wanted


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == xlate.__version__
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= cited.keys()
    assert cited["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_image_is_built_from_what_it_is_given() -> None:
    """Everything that the Dockerfile copies is let in by .dockerignore, and is there."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    assert names == let_in
    assert all((ROOT / name).exists() for name in names)

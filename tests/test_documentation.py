"""The pages of docs/: each is in the navigation of the site, its links lead somewhere, and its code blocks run."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import xlate
from tests.test_end_to_end import work  # noqa: F401
from tests.test_phrase_system_end_to_end import phrase_run  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "reference" not in path.relative_to(DOCS).parts)
LINKED = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("examples/*/README.md")]
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> list[tuple[str, str]]:
    """The code blocks of a page that are run: language and text."""
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """What links to headings of a page are called."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


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


@pytest.mark.parametrize("path", LINKED, ids=named)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        target, _, heading = link.partition("#")
        page = path.parent / target if target else path
        assert page.exists(), f"{path.name} links to {link}"
        assert not heading or heading in anchors(page), f"{path.name} links to {link}, which has no such heading"


@pytest.mark.parametrize(
    "path", [path for path in PAGES if path.parent.name != "decisions" and blocks(path)], ids=named
)
def test_code_blocks_run_in_their_order(
    path: Path,
    phrase_run: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They find a finished run as `runs/mine`, and `xlate` on the path; decisions record what was thought of, too."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine").symlink_to(phrase_run)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "xlate"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m xlate.cli.main "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for language, text in blocks(path):
        if language == "python":
            exec(compile(text, str(path), "exec"), names)
        else:
            done = subprocess.run(["bash", "-e"], input=text, text=True, capture_output=True, check=False)
            assert done.returncode == 0, f"{text}\n{done.stderr}"


def test_the_site_is_configured_for_this_package() -> None:
    settings = runpy.run_path(str(DOCS / "conf.py"))
    assert settings["release"] == xlate.__version__
    (reference,) = settings["apidoc_modules"]
    assert (DOCS / reference["path"]).resolve() == ROOT / "xlate"
    assert reference["destination"] == "reference"
    assert "docs/reference/" in (ROOT / ".gitignore").read_text()


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

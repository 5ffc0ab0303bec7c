"""Pages of HTML that need no other file, and lines in which what differs is marked."""

from __future__ import annotations

import base64
import difflib
import html
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from xlate.report.tables import Table

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; margin-bottom: .3rem; }
table { border-collapse: collapse; font-size: .88rem; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e2e2e2; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { border-bottom: 2px solid #888; } td.best { font-weight: 700; }
.lines { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .1rem .9rem; margin-bottom: 1.1rem;
  border-left: 3px solid #ddd; padding-left: .8rem; }
.lines b { font-weight: 600; color: #666; font-size: .85rem; overflow-wrap: anywhere; max-width: 18rem; }
mark { background: #ffe08a; color: inherit; border-radius: 2px; padding: 0 1px; }
.right { color: #00694f; } .said { color: #555; white-space: pre-line; }
img { max-width: 100%; } pre { background: #f6f6f6; padding: .7rem; white-space: pre-wrap; font-size: .82rem; }
img[src^="data:image/png"] { max-width: min(100%, 44rem); } td:first-child { white-space: nowrap; }
td:not(.number):not(:first-child) { min-width: 6.5rem; }
"""


def differing(words: Sequence[str], other: Sequence[str]) -> list[bool]:
    """For each word whether it differs from another line when both are laid side by side as well as they can be."""
    marks = [True] * len(words)
    for block in difflib.SequenceMatcher(a=words, b=other, autojunk=False).get_matching_blocks():
        marks[block.a : block.a + block.size] = [False] * block.size
    return marks


def bracketed(line: str, other: str) -> str:
    """A line with the stretches that differ from another line in square brackets."""
    words, parts = line.split(), []
    for mark, stretch in groupby(zip(words, differing(words, other.split()), strict=True), key=itemgetter(1)):
        text = " ".join(word for word, _ in stretch)
        parts.append(f"[{text}]" if mark else text)
    return " ".join(parts)


def marked(line: str, other: str | None, reference: str | None = None) -> str:
    """A line as HTML: what differs from another line is marked, and words that the reference has there are green."""
    words = line.split()
    marks = differing(words, other.split()) if other is not None else [False] * len(words)
    wrong = differing(words, reference.split()) if reference is not None else [True] * len(words)
    parts = []
    for word, mark, bad in zip(words, marks, wrong, strict=True):
        shown = html.escape(word)
        shown = shown if bad else f'<span class="right">{shown}</span>'
        parts.append(f"<mark>{shown}</mark>" if mark else shown)
    return " ".join(parts)


def lines_html(rows: Sequence[tuple[str, str]]) -> str:
    """Lines below each other; a row is a name, as text, and a line, as HTML."""
    return '<div class="lines">' + "".join(f"<b>{html.escape(n)}</b><span>{line}</span>" for n, line in rows) + "</div>"


def table_html(table: Table) -> str:
    """A table with the best values in bold."""
    rows: list[str] = []
    for row in [[(column.title, False) for column in table.columns], *table.rows()]:
        tag, cells = "td" if rows else "th", ""
        for column, (text, best) in zip(table.columns, row, strict=True):
            names = " ".join(["number"] * (column.digits is not None) + ["best"] * best)
            marks = f' class="{names}"' if names else ""
            cells += f"<{tag}{marks}>{html.escape(text)}</{tag}>"
        rows.append(f"<tr>{cells}</tr>")
    return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def picture_html(data: bytes, words: str, kind: str = "png") -> str:
    """A picture inside the page; `words` say what it shows."""
    coded = base64.b64encode(data).decode("ascii")
    return f'<p><img alt="{html.escape(words, quote=True)}" src="data:image/{kind};base64,{coded}"></p>'


def said(text: str) -> str:
    """A paragraph of explanation."""
    return f'<p class="said">{html.escape(text)}</p>'


def page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """A whole page: a heading, and sections of a heading and HTML each."""
    body = "".join(f"<section><h2>{html.escape(heading)}</h2>{inside}</section>\n" for heading, inside in sections)
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n'
        f"<body><h1>{html.escape(title)}</h1>\n{body}</body></html>\n"
    )

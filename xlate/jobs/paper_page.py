"""Writes the tables of a paper, with our figures beside those of the paper, into a page."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from xlate.jobs.prepare.work import WorkDirectory
from xlate.metrics.significance import paired
from xlate.report.runs import Run, collect_runs
from xlate.text.lines import atomic_write, read_lines

Rows = dict[int, Run]
NONE = "–"
# These columns are written even when they are empty.
ALWAYS = ("row", "what", "paper BLEU", "dev BLEU", "test BLEU")
CHEATING = " **(cheating: trained on the test set)**"


def write_pages(folder: Path) -> list[Path]:
    """Writes the finished rows of all tables, found among the runs of a folder, into their pages; returns the pages.

    A page has a part for each table and work directory, between two comment lines. A new part goes to the end of the
    page, under the heading that the paper has. Whatever stands outside the comment lines is kept.
    """
    tables: dict[tuple[str, str, str], Rows] = defaultdict(dict)
    for run in collect_runs([folder]):
        if run.finished and run.settings.get("row.table"):
            key = run.settings["row.page"], run.settings["row.table"], run.settings["work"]
            tables[key][int(run.settings["row.number"])] = run
    pages = []
    for (page, table, work), rows in sorted(tables.items()):
        _put(Path(page), table, Path(work).name, table_text(WorkDirectory(Path(work)), rows))
        pages.append(Path(page))
    return list(dict.fromkeys(pages))


def table_text(work: WorkDirectory, rows: Rows) -> str:
    """A table in Markdown: one line for each row, with the paired test against the row that it is compared with.

    Columns that are empty in every row are left out.
    """
    table = [_cells(work, rows, number, run) for number, run in sorted(rows.items())]
    shown = [name for name in table[0] if name in ALWAYS or any(cells[name] not in ("", NONE) for cells in table)]
    lines = ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    rows_shown = ([cells[name].replace("|", "&#124;") for name in shown] for cells in table)
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows_shown)])


def _cells(work: WorkDirectory, rows: Rows, number: int, run: Run) -> dict[str, str]:
    settings = run.settings
    return {
        "row": str(number),
        "what": str(settings["row.label"]) + (CHEATING if settings["row.cheating"] else ""),
        "paper BLEU": str(settings["row.paper"]),
        "dev BLEU": _figure(run, "dev_bleu"),
        "test BLEU": _figure(run, "test_bleu"),
        "paper LexAcc": str(settings.get("row.paper_lexacc") or ""),
        "dev LexAcc": _figure(run, "dev_lexacc") if _shows_lexacc(rows) else "",
        "test LexAcc": _figure(run, "test_lexacc") if _shows_lexacc(rows) else "",
        "paper P": str(settings.get("row.paper_P") or ""),
        "P": _plain(run, "P", 4),
        "features": _plain(run, "active_features", 0),
        "seconds": _plain(run, "seconds", 0),
        "test BLEU against": _against(work, rows, run),
    }


def _shows_lexacc(rows: Rows) -> bool:
    """Whether the paper has this measure in the table."""
    return any(run.settings.get("row.paper_lexacc") for run in rows.values())


def _figure(run: Run, name: str) -> str:
    value, width = run.figure(name), run.figure(f"{name}_interval")
    return NONE if value is None else f"{value:.2f} ± {width or 0:.2f}"


def _plain(run: Run, name: str, digits: int) -> str:
    value = run.figure(name)
    return NONE if value is None else f"{value:,.{digits}f}"


def _against(work: WorkDirectory, rows: Rows, run: Run) -> str:
    other = rows.get(int(run.settings.get("row.against") or 0))
    outputs = [r.path / "test.out" for r in (run, other) if r is not None]
    if len(outputs) < 2 or not all(path.exists() for path in outputs):
        return ""
    ours, theirs = (read_lines(path) for path in outputs)
    references = work.references("test")
    test = paired(ours, theirs, references, lowercase=work.lowercased, measures=["bleu"])["bleu"]
    return f"row {run.settings['row.against']}: {test.difference:+.2f} (p = {test.p_randomisation:.4f})"


def _put(page: Path, table: str, work: str, text: str) -> None:
    """Replaces a part of a page, or adds it."""
    begin, end = f"<!-- {table}, {work} -->", f"<!-- end of {table}, {work} -->"
    part = f"{begin}\n### {table}, {work}\n\n{text}\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else f"# {page.stem}\n"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    new = pattern.sub(lambda _: part, old) if pattern.search(old) else f"{old.rstrip()}\n\n{part}\n"
    with atomic_write(page) as stream:
        stream.write(new.encode("utf-8"))

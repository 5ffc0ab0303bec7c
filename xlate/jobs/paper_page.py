"""Writes the tables of a paper, with our figures beside those of the paper, into a page."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain
from pathlib import Path

import yaml

from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.metrics.significance import paired_runs, sentence_statistics
from xlate.metrics.statistics import Stats
from xlate.report.run_directory import CONFIG_FILE
from xlate.report.runs import Run, Setting, by_seed, collect_runs, of_common_seeds, settings_besides_seed
from xlate.report.tables import Column, Table
from xlate.text.lines import read_lines, write_file
from xlate.text.opening import plain_file
from xlate.work.directory import WorkDirectory

# The runs of each row, which differ in their seed.
Rows = dict[int, list[Run]]
NONE = "–"
# These columns are written even when they are empty.
ALWAYS = ("row", "what", "paper BLEU", "dev BLEU", "test BLEU")
# Measures with columns of their own in some tables.
BESIDE_BLEU = {"nist": "NIST", "lexacc": "LexAcc"}
ALL_MEASURES = set(TrainConfig().measures)
CHEATING = " **(cheating: trained on the test set)**"
OVER_SEEDS = (
    "A figure with (n) is the mean over n seeds ± its standard deviation; one without is of one run, and ± is half its "
    "95 % bootstrap interval. Seconds and features are means. p is by approximate randomisation over the test "
    "sentences of each pair of runs (Clark et al. 2011), and by sentence if all runs of a sentence are swapped at once."
)


def write_pages(folder: Path) -> list[Path]:
    """Writes the finished rows of all tables, found among the runs of a folder, into their pages; returns the pages.

    A page has a part for each table and work directory, between two comment lines. A new part goes to the end of the
    page, under the heading that the paper has. Whatever stands outside the comment lines is kept. Runs of a row that
    differ in their seed are one line, with mean and deviation.

    Raises:
        InputError: two runs of a row differ in more than their seed.
    """
    tables: dict[tuple[str, str, str], dict[int, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in collect_runs([folder]):
        if run.finished and run.settings.get("row.table"):
            key = run.settings["row.page"], run.settings["row.table"], run.settings["work"]
            tables[key][int(run.settings["row.number"])].append(run)
    for runs in chain(*(rows.values() for rows in tables.values())):
        keys = [key for key in settings_besides_seed(runs) if not key.startswith("row.")]
        if keys:
            raise InputError(
                "runs of one row of a table differ in more than their seed",
                file=runs[-1].path,
                seen=", ".join(keys),
                expected=f"the settings of {runs[0].path}, with another seed",
                remedy="keep the runs of other settings in another folder",
            )
    for (page, table, work), rows in sorted(tables.items()):
        _put(Path(page), table, Path(work).name, table_text(WorkDirectory(Path(work)), rows))
    return list(dict.fromkeys(Path(page) for page, _, _ in sorted(tables)))


def table_text(work: WorkDirectory, rows: Rows) -> str:
    """A table in Markdown: one line for each row, with the paired test against the row that it is compared with.

    Columns that are empty in every row are left out. Where a row has several seeds, a line below says what is shown.
    """
    measures = _shown_measures(rows)
    seeds = {number: list(by_seed(runs).values()) for number, runs in sorted(rows.items())}
    table = [_cells(work, rows, measures, number, runs) for number, runs in seeds.items()]
    shown = [name for name in table[0] if name in ALWAYS or any(cells[name] not in ("", NONE) for cells in table)]
    columns = [Column(name, [cells[name].replace("|", "&#124;") for cells in table]) for name in shown]
    return Table(columns).markdown() + (f"\n{OVER_SEEDS}" if max(map(len, seeds.values())) > 1 else "")


def _cells(work: WorkDirectory, rows: Rows, shown: set[str], number: int, runs: list[Run]) -> dict[str, str]:
    settings = runs[-1].settings
    return {
        "row": str(number),
        "what": str(settings["row.label"]) + (CHEATING if settings["row.cheating"] else ""),
        "paper BLEU": str(settings["row.paper"]),
        "dev BLEU": _figure(runs, "dev_bleu"),
        "test BLEU": _figure(runs, "test_bleu"),
        "paper LexAcc": str(settings.get("row.paper_lexacc") or ""),
        **{
            f"{split} {name}": _figure(runs, f"{split}_{measure}") if measure in shown else ""
            for measure, name in BESIDE_BLEU.items()
            for split in ("dev", "test")
        },
        "paper P": str(settings.get("row.paper_P") or ""),
        "P": _spread(runs, "P", 4),
        "features": _mean(runs, "active_features"),
        "seconds": _mean(runs, "seconds"),
        "test BLEU against": _against(work, rows, runs),
    }


def _shown_measures(rows: Rows) -> set[str]:
    """The measures with columns beside BLEU: those that rows name, and LexAcc where the paper has it in the table."""
    named: set[str] = set()
    for run in chain(*rows.values()):
        # What a run was asked to measure does not belong to its identity.
        held = yaml.safe_load(plain_file(run.path / CONFIG_FILE).read_text(encoding="utf-8")) or {}
        asked = set(held.get("measures") or [])
        if asked != ALL_MEASURES:
            named |= asked
        if run.settings.get("row.paper_lexacc"):
            named.add("lexacc")
    return named


def _figure(runs: list[Run], name: str) -> str:
    """A measure: over seeds with its deviation, of one run with its interval."""
    value = runs[0].figure(name)
    if len(runs) > 1 or value is None:
        return _spread(runs, name, 2)
    return f"{value:.2f} ± {runs[0].figure(f'{name}_interval') or 0:.2f}"


def _spread(runs: list[Run], name: str, digits: int) -> str:
    spread = Setting("", runs).figure(name)
    return spread.text(digits) if spread is not None else NONE


def _mean(runs: list[Run], name: str) -> str:
    spread = Setting("", runs).figure(name)
    return f"{spread.mean:,.0f}" if spread is not None else NONE


def _against(work: WorkDirectory, rows: Rows, runs: list[Run]) -> str:
    """The paired test against another row, over the seeds that both have."""
    number = int(runs[-1].settings.get("row.against") or 0)
    ours, theirs = ([run for run in some if (run.path / "test.out").exists()] for some in (runs, rows.get(number, [])))
    ours, theirs = of_common_seeds(ours, theirs)
    if not ours or not theirs:
        return ""
    test = paired_runs(_statistics(work, ours), _statistics(work, theirs))
    bleu = test["bleu"]
    by_sentence = f"; by sentence {bleu.p_by_sentence:.4f}" if test.runs > 1 else ""
    seeds = f" over {test.runs} seeds" if 1 < test.runs < len(runs) else ""
    return f"row {number}: {bleu.difference:+.2f}{seeds} (p = {bleu.p_randomisation:.4f}{by_sentence})"


def _statistics(work: WorkDirectory, runs: list[Run]) -> list[dict[str, Stats]]:
    references = work.references("test")
    return [
        sentence_statistics(
            read_lines(plain_file(run.path / "test.out")), references, lowercase=work.lowercased, measures=["bleu"]
        )
        for run in runs
    ]


def _put(page: Path, table: str, work: str, text: str) -> None:
    """Replaces a part of a page, or adds it."""
    begin, end = f"<!-- {table}, {work} -->", f"<!-- end of {table}, {work} -->"
    part = f"{begin}\n### {table}, {work}\n\n{text.rstrip()}\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else f"# {page.stem}\n"
    new, found = re.subn(f"(?s){re.escape(begin)}.*?{re.escape(end)}", lambda _: part, old)
    new = new if found else f"{old.rstrip()}\n\n{part}\n"
    write_file(page, new)

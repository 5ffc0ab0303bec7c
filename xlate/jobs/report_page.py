"""report.html: the table of a sweep, tests, curves, sentences side by side, and what decided in them."""

from __future__ import annotations

import html
import logging
from collections.abc import Sequence

from xlate.config.schema import ReportConfig
from xlate.errors import InputError
from xlate.jobs.explained import explained_sentences, strongest_features
from xlate.jobs.outputs import work_of_run
from xlate.metrics.significance import paired_runs, sentence_statistics
from xlate.metrics.statistics import Stats
from xlate.report.drawing import encoded, quiet_style
from xlate.report.html_page import lines_html, marked, page, picture_html, said, table_html
from xlate.report.plots import drawn
from xlate.report.runs import Run
from xlate.report.seeds import Setting, of_common_seeds
from xlate.report.sweep_table import SweepTable
from xlate.report.tables import Column, Table
from xlate.text.lines import read_lines
from xlate.text.opening import plain_file

log = logging.getLogger(__name__)

# So many systems stand side by side.
MOST_SYSTEMS = 4
# The kind of model that ranks lists, and translates nothing.
RERANK = "rerank"


def report_html(found: SweepTable, config: ReportConfig) -> str:
    """The page; what runs do not hold, such as outputs or weights, it does without, and says so."""
    first, *rest = (table_html(part) for part in found.parts())
    split = config.split or _translated(found.settings)
    sections = [("Runs", first + said(_legend(found)) + "".join(rest))]
    sections.append((f"Significance on {split}", _significance(found.settings, split)))
    with quiet_style():
        pictures = [picture_html(encoded(plot.figure, "svg"), plot.words, "svg+xml") for plot in drawn(found.settings)]
    sections.append(("Curves", "".join(pictures) or said("The runs reported no curves.")))
    sections.append(("Sentences side by side", _side_by_side(found.settings, split, config.sentences)))
    sections += _explained(found.settings, split, config.explained)
    runs, settings = sum(len(setting.runs) for setting in found.settings), len(found.settings)
    return page(f"{runs} runs of {settings} settings" if runs > settings else f"{runs} runs", sections)


def _translated(settings: Sequence[Setting]) -> str:
    """The test set if a run has translated it, else the dev set."""
    return "test" if any(_written(setting, "test") for setting in settings) else "dev"


def _legend(found: SweepTable) -> str:
    words = "Best first by BLEU on dev. Only settings that differ have a column."
    return f"{words} A figure of several seeds is their mean. {found.around}." if found.around else words


def _written(setting: Setting, split: str) -> list[Run]:
    """The runs of a setting with an output and with the references to measure it."""
    return [run for run in setting.runs if (run.path / f"{split}.out").exists() and work_of_run(run.path) is not None]


def _significance(settings: Sequence[Setting], split: str) -> str:
    """Each setting against the best one of the same work directory."""
    held = [(setting, runs) for setting in settings if (runs := _written(setting, split))]
    rows = []
    try:
        if len(held) < 2:
            return said(
                f"No two settings have an output of {split} and their work directory; split= names another set."
            )
        first, best = held[0]
        known = {run.path: _statistics(run, split) for run in best}
        for setting, runs in held[1:]:
            ours, theirs = of_common_seeds(runs, best)
            if not ours or not theirs or runs[0].settings.get("work") != best[0].settings.get("work"):
                continue
            tests = paired_runs([_statistics(run, split) for run in ours], [known[run.path] for run in theirs])
            rows.append((setting.name, tests.runs, tests["bleu"]))
    except InputError as error:
        log.warning("no tests in the page: %s", error)
        return said(str(error))
    table = Table(
        [
            Column("run", [name for name, _, _ in rows]),
            Column("pairs", [runs for _, runs, _ in rows], 0),
            Column("BLEU", [test.score for _, _, test in rows], 2),
            Column("difference", [f"{test.difference:+.2f} ± {test.interval.half_width:.2f}" for _, _, test in rows]),
            Column("p (randomisation)", [test.p_randomisation for _, _, test in rows], 4),
            Column("p (by sentence)", [test.p_by_sentence for _, _, test in rows], 4),
        ]
    )
    words = (
        f"Each against {first.name}, in pairs of runs. The interval of a difference is from the paired bootstrap; p is "
        "by approximate randomisation over the sentences of each pair, and by sentence if all seeds swap at once."
    )
    return table_html(table) + said(words)


def _statistics(run: Run, split: str) -> dict[str, Stats]:
    work, lines = work_of_run(run.path), read_lines(plain_file(run.path / f"{split}.out"))
    assert work is not None
    references = [stream[: len(lines)] for stream in work.references(split)]
    return sentence_statistics(lines, references, lowercase=work.lowercased, measures=["bleu"])


def _side_by_side(settings: Sequence[Setting], split: str, most: int) -> str:
    """Source, reference and the outputs of the best settings, of the first seed each."""
    held = [(setting, runs[0]) for setting in settings if (runs := _written(setting, split))]
    if not held:
        return said(f"No run has an output of {split} and its work directory; split= names another set.")
    work = held[0][1].settings.get("work")
    held = [pair for pair in held if pair[1].settings.get("work") == work]
    shown = held[: MOST_SYSTEMS - 1] + held[-1:] if len(held) > MOST_SYSTEMS else held
    directory = work_of_run(held[0][1].path)
    assert directory is not None
    outputs = [read_lines(plain_file(run.path / f"{split}.out")) for _, run in shown]
    sources, references = directory.source_lines(split), directory.references(split)
    parts = [
        said(
            "The best settings and the last one. What the first one has otherwise is marked; words that the reference "
            "has there are green."
        )
    ]
    for number in range(min(most, *(len(lines) for lines in [*outputs, sources]))):
        reference = references[0][number] if references else None
        rows = [(f"{number + 1} source", html.escape(sources[number]))]
        rows += [("reference", html.escape(reference))] if reference is not None else []
        for place, ((setting, _), lines) in enumerate(zip(shown, outputs, strict=True)):
            other = outputs[0][number] if place else None
            rows.append((setting.name, marked(lines[number], other, reference)))
        parts.append(lines_html(rows))
    return "".join(parts)


def _explained(settings: Sequence[Setting], split: str, wanted: int) -> list[tuple[str, str]]:
    """What the best run learned, and some sentences translated again by it, unless it ranks lists."""
    best = next((setting.first for setting in settings if setting.finished), None)
    if best is None or not wanted:
        return []
    sections = []
    try:
        learned = "".join(f"<h3>{html.escape(name)}</h3>{table_html(t)}" for name, t in strongest_features(best.path))
        sections.append((f"What {best.name} learned", learned))
        if best.settings.get("model.kind") == RERANK:
            return sections
        parts = []
        for sentence in explained_sentences(best.path, split, wanted):
            parts.append(f"<h3>{html.escape(sentence.source)}</h3>")
            if sentence.picture is not None:
                parts.append(picture_html(sentence.picture, "blocks in a grid of source and target words"))
            parts.append(f"<pre>{html.escape(sentence.explanation)}</pre>")
        sections.append((f"What decided in {best.name}", "".join(parts)))
    except InputError as error:
        log.warning("no features in the page: %s", error)
        sections.append((f"What {best.name} learned", said(str(error))))
    return sections

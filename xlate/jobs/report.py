"""xlate report: the table, the plots and the page of one or many runs."""

from __future__ import annotations

import html
import io
import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from matplotlib import image

from xlate.config.schema import ReportConfig
from xlate.config.stored import config_of_run, defaults_of_training
from xlate.errors import InputError
from xlate.jobs.evaluate import most_reordered
from xlate.jobs.inspect.features import Learned, full_explanation, learned_features
from xlate.jobs.inspect.job import InspectedRun
from xlate.jobs.score import read_output, references_for, work_of_run
from xlate.jobs.translate import Translator
from xlate.metrics.significance import paired_runs, sentence_statistics
from xlate.metrics.statistics import Stats
from xlate.report.pictures import drawn, encoded, plot_runs, quiet_style, reordering_picture
from xlate.report.run_directory import flat
from xlate.report.runs import Run, Setting, collect_runs, of_common_seeds
from xlate.report.tables import (
    Column,
    SweepTable,
    Table,
    lines_html,
    marked,
    page,
    picture_html,
    said,
    sweep_table,
    table_html,
)
from xlate.settings import plain
from xlate.text.lines import write_file

log = logging.getLogger(__name__)


# Sentences to show are looked for among so many, which have at most so many words.
LOOKED_AT, MOST_WORDS = 100, 20
# So many features of a family are shown.
TOP = 10
# So many systems stand side by side.
MOST_SYSTEMS = 4


def report(config: ReportConfig, printed: bool = True) -> list[Path]:
    """Prints and writes the table of all trained runs found under some folders, with plots and a page if they are asked
    for; returns the files.

    Imported systems have neither settings nor figures to compare: a line says that they are left out.

    Raises:
        InputError: there are no runs or only imported ones, or the folder for the report is inside one of them.
    """
    runs = collect_runs(config.runs)
    trained = [run for run in runs if "imported" not in run.settings]
    imported = ", ".join(f"{run.name} ({run.settings['imported']})" for run in runs if run not in trained)
    if not trained:
        raise InputError(
            "imported systems alone: nothing was trained or measured of them here",
            file=runs[0].path,
            seen=imported,
            expected="a run of xlate train",
            remedy="translate with them, then xlate score or xlate compare",
        )
    if imported:
        log.info("imported, so without figures of a training, and left out: %s", imported)
    found = sweep_table(trained, chosen={run.path: chosen_settings(run.path) for run in trained})
    folder = _folder(config, runs)
    if printed:
        found.print()
    written = found.table.write(folder)
    if config.plots:
        written += plot_runs(found.settings, folder)
    if config.html:
        written.append(folder / "report.html")
        write_file(written[-1], _page(found, config))
    return written


def chosen_settings(run: Path) -> dict[str, Any]:
    """The settings of a run that are not their defaults, by dotted key; none where its configuration cannot be read."""
    try:
        config = config_of_run(run)
    except InputError:
        return {}
    defaults = defaults_of_training(config)
    return {key: value for key, value in flat(plain(config)).items() if key not in defaults or value != defaults[key]}


def _folder(config: ReportConfig, runs: Sequence[Run]) -> Path:
    """Where the report is written, which is never inside a run: as `out` says, or beside the run that it is of."""
    held = {run.path.resolve() for run in runs}
    first = Path(config.runs[0])
    if config.out:
        folder = Path(config.out)
    elif first.resolve() in held:
        # `.`, `..` and links have another name than the folder that they lead to.
        plain = first if first.name and first.name != ".." and not first.is_symlink() else first.resolve()
        folder = plain.with_name(f"{plain.name}-report")
    else:
        folder = first
    within = next((path for path in (folder.resolve(), *folder.resolve().parents) if path in held), None)
    if within is not None:
        raise InputError(
            "a report is not written into a run", file=folder, seen=f"inside {within}", expected="a folder beside it"
        )
    return folder


def _page(found: SweepTable, config: ReportConfig) -> str:
    """report.html; what runs do not hold, such as outputs or weights, it does without, and says so."""
    tested = any(_written(setting, "test") for setting in found.settings)
    split = config.split or ("test" if tested else "dev")
    first, *rest = map(table_html, found.parts())
    legend = "Best first by BLEU on dev. Only settings that differ have a column."
    if found.around:
        legend += f" A figure of several seeds is their mean. {found.around}."
    with quiet_style():
        pictures = [picture_html(encoded(plot.figure, "svg"), plot.words, "svg+xml") for plot in drawn(found.settings)]
    sections = [
        ("Runs", first + said(legend) + "".join(rest)),
        (f"Significance on {split}", _significance(found.settings, split)),
        ("Curves", "".join(pictures) or said("The runs reported no curves.")),
        ("Sentences side by side", _side_by_side(found.settings, split, config.sentences)),
        *_explained(found.settings, split, config.explained),
    ]
    runs, settings = sum(len(setting.runs) for setting in found.settings), len(found.settings)
    return page(f"{runs} runs of {settings} settings" if runs > settings else f"{runs} runs", sections)


def _written(setting: Setting, split: str) -> list[Run]:
    """The runs of a setting with an output and with the references to measure it."""
    return [run for run in setting.runs if (run.path / f"{split}.out").exists() and work_of_run(run.path) is not None]


def _significance(settings: Sequence[Setting], split: str) -> str:
    """Each setting against the best one of the same work directory."""
    held = [(setting, runs) for setting in settings if (runs := _written(setting, split))]
    if len(held) < 2:
        return said(f"No two settings have an output of {split} and their work directory; split= names another set.")
    (first, best), *others = held
    rows: list[tuple[str | float, ...]] = []
    try:
        known = {run.path: _statistics(run, split) for run in best}
        for setting, runs in others:
            ours, theirs = of_common_seeds(runs, best)
            if ours and theirs and runs[0].settings.get("work") == best[0].settings.get("work"):
                statistics = [_statistics(run, split) for run in ours]
                found = paired_runs(statistics, [known[run.path] for run in theirs])
                test = found["bleu"]
                difference = f"{test.difference:+.2f} ± {test.interval.half_width:.2f}"
                p = test.p_randomisation, test.p_by_sentence
                rows.append((setting.name, found.runs, test.score, difference, *p))
    except InputError as error:
        log.warning("no tests in the page: %s", error)
        return said(str(error))
    titles = {"run": None, "pairs": 0, "BLEU": 2, "difference": None, "p (randomisation)": 4, "p (by sentence)": 4}
    table = Table.of(titles, rows)
    words = (
        f"Each against {first.name}, in pairs of runs. The interval of a difference is from the paired bootstrap; p is "
        "by approximate randomisation over the sentences of each pair, and by sentence if all seeds swap at once."
    )
    return table_html(table) + said(words)


def _statistics(run: Run, split: str) -> dict[str, Stats]:
    output = read_output(run.path, split)
    assert output.work is not None
    references = references_for([output], [], split)
    return sentence_statistics(output.lines, references, lowercase=output.work.lowercased, measures=["bleu"])


def _side_by_side(settings: Sequence[Setting], split: str, most: int) -> str:
    """Source, reference and the outputs of the best settings, of the first seed each."""
    held = [(setting, runs[0]) for setting in settings if (runs := _written(setting, split))]
    if not held:
        return said(f"No run has an output of {split} and its work directory; split= names another set.")
    work = held[0][1].settings.get("work")
    held = [pair for pair in held if pair[1].settings.get("work") == work]
    shown = held[: MOST_SYSTEMS - 1] + held[-1:] if len(held) > MOST_SYSTEMS else held
    read = [read_output(run.path, split) for _, run in shown]
    directory, outputs = read[0].work, [output.lines for output in read]
    assert directory is not None
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
        learned = "".join(f"<h3>{html.escape(name)}</h3>{table_html(t)}" for name, t in _strongest_features(best.path))
        sections.append((f"What {best.name} learned", learned))
        # A run that ranks lists translates nothing.
        if best.settings.get("model.kind") != "rerank":
            sections.append((f"What decided in {best.name}", "".join(explained_sentences(best.path, split, wanted))))
    except InputError as error:
        log.warning("no features in the page: %s", error)
        sections.append((f"What {best.name} learned", said(str(error))))
    return sections


def _strongest_features(run: Path) -> Iterator[tuple[str, Table]]:
    """The float weights of a run, and of each family of sparse features those of the largest weights."""
    inspected = InspectedRun(run)
    sets = inspected.weights.sets
    columns = [Column("float", next(iter(sets.values())).dense_names)]
    columns += [Column(name, held.dense_D.tolist(), 4) for name, held in sets.items()]
    yield "float weights", Table(columns)
    families: dict[str, list[Learned]] = {}
    for feature in sorted(learned_features(inspected.weights), key=lambda feature: -abs(feature.weight)):
        families.setdefault(feature.family, []).append(feature)
    for family, features in families.items():
        top = features[:TOP]
        shown = [Column("feature", inspected.names(top)), Column("weight", [feature.weight for feature in top], 3)]
        yield f"{family}: the largest of {len(features):,} weights", Table(shown)


def explained_sentences(run: Path, split: str, wanted: int) -> Iterator[str]:
    """The sentences with most reordering among the first short ones of a set, translated again by a run, as HTML: the
    sentence, the picture of its blocks, if it has any, and what spoke for its translation.

    Raises:
        InputError: the run cannot translate, or its work directory is gone.
    """
    translator = Translator.of_run(config_of_run(run), run)
    work = work_of_run(run)
    lines = work.source_lines(split) if work is not None and work.has_split(split) else []
    short = islice((line for line in lines if 0 < len(line.split()) <= MOST_WORDS), LOOKED_AT)
    for translation, phrases in most_reordered(translator.translate(list(short)))[:wanted]:
        words = f"{' '.join(translation.source)} → {translation.text}"
        yield f"<h3>{html.escape(words)}</h3>"
        if phrases:
            held = io.BytesIO()
            pixels = reordering_picture(translation.source, list(translation.derivations[0].words), phrases)
            image.imsave(held, pixels, format="png")
            yield picture_html(held.getvalue(), "blocks in a grid of source and target words")
        yield f"<pre>{html.escape(full_explanation(translation))}</pre>"

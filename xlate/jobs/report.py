"""xlate report: the table, the plots and the page of one or many runs; and the tables of a paper, with our figures."""

from __future__ import annotations

import io
import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup
from matplotlib import image

from xlate.config.schema import ReportConfig, TrainConfig
from xlate.config.stored import config_of_run, defaults_of_training
from xlate.errors import InputError
from xlate.jobs.inspect import InspectedRun
from xlate.jobs.score import paired_columns, read_output, references_for, work_of_run
from xlate.jobs.sparse_features import Learned, full_explanation, learned_features, most_reordered
from xlate.jobs.translate import Translator
from xlate.metrics.score import evaluate
from xlate.metrics.significance import PairedTests, holm, paired_runs
from xlate.metrics.statistics import Stats
from xlate.report.pages import blocks, marked
from xlate.report.pictures import drawn, encoded, plot_runs, quiet_style, reordering_picture
from xlate.report.run_directory import CONFIG_FILE, flat
from xlate.report.runs import Run, Setting, by_seed, collect_runs, of_common_seeds, settings_besides_seed
from xlate.report.tables import Column, SweepTable, Table, sweep_table
from xlate.settings import Json, plain
from xlate.text.lines import write_file
from xlate.text.opening import plain_file

log = logging.getLogger(__name__)
# Sentences to show are among the first LOOKED_AT with at most MOST_WORDS words.
LOOKED_AT, MOST_WORDS = 100, 20
# The number of features shown per family.
TOP = 10
# The most systems shown side by side.
MOST_SYSTEMS = 4
HEADED = Markup("<h3>{}</h3>")


def report(config: ReportConfig, printed: bool = True) -> list[Path]:
    """Prints and writes the table of all trained runs found under some folders, with plots and a page if requested;
    returns the files.

    Imported systems have neither settings nor figures to compare, so they are left out, and a line says so.

    Raises:
        InputError: there are no runs or only imported ones, or the folder for the report is inside one of them.
    """
    runs = collect_runs(config.runs)
    trained = [run for run in runs if "imported" not in run.settings]
    imported = ", ".join(f"{run.name} ({run.settings['imported']})" for run in runs if run not in trained)
    if not trained:
        raise InputError(
            "only imported systems, which were not trained or measured here",
            imported,
            "a run of xlate train",
            "translate with them, then xlate score or xlate compare",
            file=runs[0].path,
        )
    if imported:
        log.info("imported systems have no training figures and are left out: %s", imported)
    found = sweep_table(trained, chosen={run.path: chosen_settings(run.path) for run in trained})
    folder = Path(config.out)
    held = {run.path.resolve() for run in runs}
    if within := next((path for path in (folder.resolve(), *folder.resolve().parents) if path in held), None):
        raise InputError(
            "a report cannot be written into a run", f"inside {within}", "another folder: out=", file=folder
        )
    if warning := differing_dev_sets(found.settings):
        log.warning("%s", warning)
    if printed:
        found.print()
    written = found.table.write(folder)
    if config.plots:
        written += plot_runs(found.settings, folder)
    if config.html:
        written.append(folder / "report.html")
        write_file(written[-1], _page(found, config, warning))
    return written


def chosen_settings(run: Path) -> Json:
    """The settings of a run that are not defaults, by dotted key; none if its configuration cannot be read."""
    try:
        config = config_of_run(run)
    except InputError:
        return {}
    defaults = defaults_of_training(config)
    return {key: value for key, value in flat(plain(config)).items() if key not in defaults or value != defaults[key]}


def differing_dev_sets(settings: Sequence[Setting]) -> str:
    """A warning that names the settings whose BLEU on dev is of other sentences than that of the first; empty if there
    are none. Where a work directory is gone, its name counts as its dev set.
    """
    known: dict[Any, Any] = {}

    def dev_set(run: Run) -> tuple[Any, Any]:
        name = run.settings.get("work")
        if name not in known:
            work = work_of_run(run.path)
            known[name] = name
            if work is not None and work.has_split("dev"):
                known[name] = work.source_lines("dev"), work.references("dev")
        return known[name], run.settings.get("dev_sentences")

    measured = [setting for setting in settings if setting.figure("dev_bleu") is not None]
    others = [one.name for one in measured[1:] if any(dev_set(run) != dev_set(measured[0].first) for run in one.runs)]
    if not others:
        return ""
    return f"do not compare BLEU on dev: the dev set of {measured[0].name} is not that of {', '.join(others)}"


def _page(found: SweepTable, config: ReportConfig, warning: str) -> str:
    """report.html; it leaves out what the runs lack, such as outputs or weights, and says so."""
    tested = any(_written(setting, "test") for setting in found.settings)
    split = config.split or ("test" if tested else "dev")
    figures, usual, others = found.parts()
    legend = "Best first by BLEU on dev. Only settings that differ are shown."
    if found.around:
        legend += f" A figure of several seeds is their mean. {found.around}."
    with quiet_style():
        plots = [blocks.picture(encoded(figure, "svg"), words, "svg") for _, words, figure in drawn(found.settings)]
    words = "\n".join(part for part in (f"Warning: {warning}." if warning else "", legend) if part)
    sections = [
        ("Runs", blocks.table(figures) + blocks.said(words)),
        *([("Settings", blocks.table(others) + blocks.said(usual))] if others else []),
        (f"Significance on {split}", _significance(found.settings, split)),
        ("Curves", Markup().join(plots) or blocks.said("The runs reported no curves.")),
        ("Sentences side by side", _side_by_side(found.settings, split, config.sentences)),
        *_explained(found.settings, split, config.explained),
    ]
    runs, settings = sum(len(setting.runs) for setting in found.settings), len(found.settings)
    title = f"{runs} runs of {settings} settings" if runs > settings else f"{runs} runs"
    return str(blocks.page(title, sections))


def _written(setting: Setting, split: str) -> list[Run]:
    """The runs of a setting that have an output and references to measure it with."""
    return [run for run in setting.runs if (run.path / f"{split}.out").exists() and work_of_run(run.path) is not None]


def _significance(settings: Sequence[Setting], split: str) -> Markup:
    """Tests of each setting against the best one of the same work directory."""
    held = [(setting, runs) for setting in settings if (runs := _written(setting, split))]
    if len(held) < 2:
        words = f"No two settings have an output of {split} and their work directory; split= names another set."
        return Markup(blocks.said(words))
    (first, best), *others = held
    found: dict[str, PairedTests] = {}
    try:
        known = {run.path: _statistics(run, split) for run in best}
        for setting, runs in others:
            ours, theirs = of_common_seeds(runs, best)
            if ours and theirs and runs[0].settings.get("work") == best[0].settings.get("work"):
                pairs = [_statistics(run, split) for run in ours], [known[run.path] for run in theirs]
                found[setting.name] = paired_runs(*pairs)
    except InputError as error:
        log.warning("no tests in the page: %s", error)
        return Markup(blocks.said(str(error)))
    tests = [paired["bleu"] for paired in found.values()]
    columns = [
        Column("run", list(found)),
        Column("pairs", [paired.runs for paired in found.values()], 0),
        *paired_columns(tests),
        Column("p adjusted", holm([test.p_by_sentence for test in tests]), 4),
    ]
    words = (
        f"Each is tested against {first.name}, in pairs of runs. ± is half the 95 % interval of the difference, by the "
        "paired bootstrap. p is by approximate randomisation, which swaps a sentence in all pairs at once. p adjusted "
        f"allows for the number of comparisons, {len(found)} (Holm 1979)."
    )
    return Markup(blocks.table(Table(columns)) + blocks.said(words))


def _statistics(run: Run, split: str) -> dict[str, Stats]:
    output = read_output(run.path, split)
    assert output.work is not None
    references = references_for([output], [], split)
    lowercase = output.work.lowercased
    return evaluate(output.lines, references, lowercase=lowercase, bootstrap=0, measures=["bleu"]).stats


def _side_by_side(settings: Sequence[Setting], split: str, most: int) -> Markup:
    """Source, reference and the outputs of the best settings, with the first seed of each."""
    held = [(setting, runs[0]) for setting in settings if (runs := _written(setting, split))]
    if not held:
        words = f"No run has an output of {split} and its work directory; split= names another set."
        return Markup(blocks.said(words))
    work = held[0][1].settings.get("work")
    held = [pair for pair in held if pair[1].settings.get("work") == work]
    shown = held[: MOST_SYSTEMS - 1] + held[-1:] if len(held) > MOST_SYSTEMS else held
    read = [read_output(run.path, split) for _, run in shown]
    directory, outputs = read[0].work, [output.lines for output in read]
    assert directory is not None
    sources, references = directory.source_lines(split), directory.references(split)
    words = "The best settings and the last one. Words that differ from the first one's are marked; words that the "
    parts = [blocks.said(words + "reference also has there are green.")]
    for number in range(min(most, *(len(lines) for lines in [*outputs, sources]))):
        reference = references[0][number] if references else None
        rows = [(f"{number + 1} source", sources[number])]
        rows += [("reference", reference)] if reference is not None else []
        for place, ((setting, _), lines) in enumerate(zip(shown, outputs, strict=True)):
            rows.append((setting.name, marked(lines[number], outputs[0][number] if place else None, reference)))
        parts.append(blocks.lines(rows))
    return Markup().join(parts)


def _explained(settings: Sequence[Setting], split: str, wanted: int) -> list[tuple[str, Markup]]:
    """What the best run learned, and some sentences it translates again, unless it ranks lists."""
    best = next((setting.first for setting in settings if setting.finished), None)
    if best is None or not wanted:
        return []
    sections = []
    try:
        learned = (HEADED.format(name) + blocks.table(table) for name, table in _strongest_features(best.path))
        sections.append((f"What {best.name} learned", Markup().join(learned)))
        # A run that ranks lists translates nothing.
        if best.settings.get("model.kind") != "rerank":
            decided = Markup().join(explained_sentences(best.path, split, wanted))
            sections.append((f"What decided in {best.name}", decided))
    except InputError as error:
        log.warning("no features in the page: %s", error)
        sections.append((f"What {best.name} learned", blocks.said(str(error))))
    return sections


def _strongest_features(run: Path) -> Iterator[tuple[str, Table]]:
    """The float weights of a run, and the features with the largest weights of each sparse family."""
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


def explained_sentences(run: Path, split: str, wanted: int) -> Iterator[Markup]:
    """Translates again the sentences with most reordering among the first short ones of a set; yields HTML: the
    sentence, the picture of its blocks, if it has any, and what spoke for its translation.

    Raises:
        InputError: the run cannot translate, or its work directory is gone.
    """
    translator = Translator.of_run(config_of_run(run), run)
    work = work_of_run(run)
    lines = work.source_lines(split) if work is not None and work.has_split(split) else []
    short = islice((line for line in lines if 0 < len(line.split()) <= MOST_WORDS), LOOKED_AT)
    for translation, phrases in most_reordered(translator.translate(list(short)))[:wanted]:
        yield HEADED.format(f"{' '.join(translation.source)} → {translation.text}")
        if phrases:
            held = io.BytesIO()
            pixels = reordering_picture(translation.source, list(translation.derivations[0].words), phrases)
            image.imsave(held, pixels, format="png")
            yield blocks.picture(held.getvalue(), "blocks in a grid of source and target words")
        yield Markup("<pre>{}</pre>").format(full_explanation(translation))


# The runs of each row; they differ only in their seed.
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
    page, under the paper's heading. Text outside the comment lines is kept. Runs of a row that differ in their seed
    share one line, with mean and deviation.

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
                "runs of the same table row differ in more than their seed",
                ", ".join(keys),
                f"the settings of {runs[0].path}, with another seed",
                "keep the runs of other settings in another folder",
                file=runs[-1].path,
            )
    for (file, table, work), rows in sorted(tables.items()):
        _put(Path(file), table, Path(work).name, table_text(rows))
    return list(dict.fromkeys(Path(file) for file, _, _ in sorted(tables)))


def table_text(rows: Rows) -> str:
    """A table in Markdown: one line per row, with the paired test against the row it is compared with.

    Columns that are empty in every row are left out. If a row has several seeds, a line below explains the figures.
    """
    # Measures besides BLEU get columns if rows name them, and LexAcc if the paper's table has it.
    measures: set[str] = set()
    for run in chain(*rows.values()):
        # The requested measures are not part of a run's identity.
        held = yaml.safe_load(plain_file(run.path / CONFIG_FILE).read_text(encoding="utf-8")) or {}
        asked = set(held.get("measures") or [])
        measures |= asked if asked != ALL_MEASURES else set()
        measures |= {"lexacc"} if run.settings.get("row.paper_lexacc") else set()
    seeds = {number: list(by_seed(runs).values()) for number, runs in sorted(rows.items())}
    table: list[dict[str, str]] = []
    for number, runs in seeds.items():
        settings = runs[-1].settings
        beside = {
            f"{split} {name}": _figure(runs, f"{split}_{measure}") if measure in measures else ""
            for measure, name in BESIDE_BLEU.items()
            for split in ("dev", "test")
        }
        cells = {
            "row": str(number),
            "what": str(settings["row.label"]) + (CHEATING if settings["row.cheating"] else ""),
            "paper BLEU": str(settings["row.paper"]),
            "dev BLEU": _figure(runs, "dev_bleu"),
            "test BLEU": _figure(runs, "test_bleu"),
            "paper LexAcc": str(settings.get("row.paper_lexacc") or ""),
            **beside,
            "paper P": str(settings.get("row.paper_P") or ""),
            "P": _spread(runs, "P", 4),
            "features": _spread(runs, "active_features", 0),
            "seconds": _spread(runs, "seconds", 0),
            "test BLEU against": _against(rows, runs),
        }
        table.append(cells)
    shown = [name for name in table[0] if name in ALWAYS or any(cells[name] not in ("", NONE) for cells in table)]
    columns = [Column(name, [cells[name].replace("|", "&#124;") for cells in table]) for name in shown]
    return Table(columns).markdown() + (f"\n{OVER_SEEDS}" if max(map(len, seeds.values())) > 1 else "")


def _figure(runs: list[Run], name: str) -> str:
    """A measure: the mean over seeds with its deviation, or the figure of one run with its interval."""
    value = runs[0].figure(name)
    if len(runs) > 1 or value is None:
        return _spread(runs, name, 2)
    return f"{value:.2f} ± {runs[0].figure(f'{name}_interval') or 0:.2f}"


def _spread(runs: list[Run], name: str, digits: int) -> str:
    """The mean over seeds with its deviation; without digits the mean alone."""
    spread = Setting("", runs).figure(name)
    if spread is None:
        return NONE
    return spread.text(digits) if digits else f"{spread.mean:,.0f}"


def _against(rows: Rows, runs: list[Run]) -> str:
    """The paired test against another row, over the seeds that both have."""
    number = int(runs[-1].settings.get("row.against") or 0)
    ours, theirs = of_common_seeds(*(_written(Setting("", some), "test") for some in (runs, rows.get(number, []))))
    if not ours or not theirs:
        return ""
    test = paired_runs([_statistics(run, "test") for run in ours], [_statistics(run, "test") for run in theirs])
    bleu = test["bleu"]
    by_sentence = f"; by sentence {bleu.p_by_sentence:.4f}" if test.runs > 1 else ""
    seeds = f" over {test.runs} seeds" if 1 < test.runs < len(runs) else ""
    return f"row {number}: {bleu.difference:+.2f}{seeds} (p = {bleu.p_randomisation:.4f}{by_sentence})"


def _put(page: Path, table: str, work: str, text: str) -> None:
    """Replaces a part of a page, or adds it."""
    begin, end = f"<!-- {table}, {work} -->", f"<!-- end of {table}, {work} -->"
    part = f"{begin}\n### {table}, {work}\n\n{text.rstrip()}\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else f"# {page.stem}\n"
    new, found = re.subn(f"(?s){re.escape(begin)}.*?{re.escape(end)}", lambda _: part, old)
    new = new if found else f"{old.rstrip()}\n\n{part}\n"
    write_file(page, new)

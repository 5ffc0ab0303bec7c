"""A trained run measured on the dev or test set, with samples and a picture to look at."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.jobs.inspect.features import full_explanation
from xlate.jobs.translate import Translation, Translator
from xlate.kernels.pairs import LEFT
from xlate.metrics.score import evaluate
from xlate.models.system import AnySystem
from xlate.report.pictures import Block, reordering_picture
from xlate.report.run_directory import Reporter
from xlate.report.tables import Column, Table
from xlate.text.lines import write_lines
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)
# So many translations are drawn and explained.
PICTURES = 4


def measure(
    config: TrainConfig,
    work: WorkDirectory,
    run: Path,
    split: str,
    reporter: Reporter,
    step: int,
    system: AnySystem | None = None,
) -> dict[str, Any]:
    """Translates `dev` or `test` with a run's weights into SPLIT.out and measures it; nothing without such a set.

    The figures are those of a run's summary, each key beginning with the split's name: measures, the number of
    sentences, how fast they were translated, and source words per block.

    Samples and picture are shown of the dev set only. Case counts unless the work directory was prepared lowercased.
    With `system` it translates in place of the run's own, of a run that translates nothing by itself.
    """
    if not work.has_split(split):
        return {}
    lines, references = dev_set(config, work) if split == "dev" else (work.source_lines(split), work.references(split))
    translator = Translator.of_run(config, run) if system is None else Translator(work, system)
    start = time.perf_counter()
    translations = list(translator.translate(lines))
    seconds = time.perf_counter() - start
    write_lines(run / f"{split}.out", (t.text for t in translations))
    if split == "dev":
        _show(config, translations, lines, references, reporter, step)
    if not references:
        return {}
    texts = [t.text for t in translations]
    evaluation = evaluate(texts, references, lowercase=work.lowercased, measures=config.measures)
    words = sum(len(t.source) for t in translations)
    log.info("%s set, %s sentences:\n%s", split, f"{len(lines):,}", evaluation.summary())
    blocks = sum(len(t.derivations[0].blocks) for t in translations)
    figures = {
        **evaluation.to_json(),
        "sentences": len(lines),
        "words_per_s": round(words / max(seconds, 1e-9), 1),
        "words_per_block": round(words / max(blocks, 1), 3),
    }
    return {f"{split}_{key}": value for key, value in figures.items()}


def dev_set(config: TrainConfig, work: WorkDirectory) -> tuple[list[str], list[list[str]]]:
    """The source lines of the dev set that are translated, and their references."""
    lines = work.source_lines("dev")[: config.dev_sentences]
    return lines, [reference[: len(lines)] for reference in work.references("dev")]


def _show(
    config: TrainConfig,
    translations: list[Translation],
    lines: list[str],
    references: list[list[str]],
    reporter: Reporter,
    step: int,
) -> None:
    """Sends sample translations to the reporter, and pictures and explanations of those with most reordering."""
    columns = {"source": lines, "translation": [t.text for t in translations]}
    columns |= {"reference": references[0]} if references else {}
    table = Table([Column(title, texts[: config.samples]) for title, texts in columns.items()])
    reporter.text("samples/dev", table.markdown(), step)
    shown = [t for t in translations if 0 < len(t.source) <= 20] or translations[:1]
    for number, (drawn, phrases) in enumerate(most_reordered(shown)[:PICTURES], start=1):
        picture = reordering_picture(drawn.source, list(drawn.derivations[0].words), phrases)
        reporter.image(f"samples/reordering/{number}", picture, step)
        explained = full_explanation(drawn).splitlines()
        # Four spaces make it code, so that a tree keeps its form.
        words = "\n".join(f"    {line}" for line in [" ".join(drawn.source), *explained])
        reporter.text(f"samples/derivation/{number}", f"Line {drawn.number + 1} of the dev set\n\n{words}", step)


def most_reordered(translations: Iterable[Translation]) -> list[tuple[Translation, list[Block]]]:
    """Translations, those with most phrases that swap first, and the blocks of each: its phrases in target order."""
    found = []
    for translation in translations:
        best = translation.derivations[0]
        assert translation.system is not None
        rows = zip(best.blocks, best.target_spans, translation.system.orientations(best), strict=True)
        # A word that is left out has no place among the target words.
        blocks = [(*step.source_span, *target, side) for step, target, side in rows if step.target_words]
        found.append((translation, blocks))
    return sorted(found, key=lambda row: (-sum(block[4] == LEFT for block in row[1]), -len(row[0].source)))

"""A trained run measured on the dev or test set, with samples and a picture to look at."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlate.config.schema import TrainConfig
from xlate.jobs.inspect.fired_text import full_explanation
from xlate.jobs.translate import Translation, Translator
from xlate.kernels.orientation import LEFT
from xlate.metrics.score import Evaluation, evaluate
from xlate.models.system import AnySystem
from xlate.report.pictures import reordering_picture
from xlate.report.tables import Column, Table
from xlate.text.lines import write_lines
from xlate.train.reporter import Reporter
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)
# So many translations are drawn and explained.
PICTURES = 4


@dataclass(frozen=True)
class Measured:
    """Figures of a split, how fast it was translated, and source words a block."""

    split: str
    evaluation: Evaluation
    words_per_second: float
    words_per_block: float
    sentences: int

    def figures(self) -> dict[str, Any]:
        """What goes into a run's summary, each key beginning with the split's name."""
        figures = {f"{self.split}_{key}": value for key, value in self.evaluation.to_json().items()}
        return {
            **figures,
            f"{self.split}_sentences": self.sentences,
            f"{self.split}_words_per_s": round(self.words_per_second, 1),
            f"{self.split}_words_per_block": round(self.words_per_block, 3),
        }


def measure(
    config: TrainConfig,
    work: WorkDirectory,
    run: Path,
    split: str,
    reporter: Reporter,
    step: int,
    system: AnySystem | None = None,
) -> Measured | None:
    """Translates `dev` or `test` with a run's weights into SPLIT.out and measures it; None when there is no such set.

    Samples and picture are shown of the dev set only. Case counts unless the work directory was prepared lowercased.
    With `system` it translates in place of the run's own, of a run that translates nothing by itself.
    """
    if not work.has_split(split):
        return None
    lines, references = dev_set(config, work) if split == "dev" else (work.source_lines(split), work.references(split))
    translator = Translator.of_run(config, run) if system is None else Translator(work, system)
    start = time.perf_counter()
    translations = list(translator.translate(lines))
    seconds = time.perf_counter() - start
    write_lines(run / f"{split}.out", (t.text for t in translations))
    if split == "dev":
        _show(config, translations, lines, references, reporter, step)
    if not references:
        return None
    texts, lowercase, measures = [t.text for t in translations], work.lowercased, config.measures
    evaluation = evaluate(texts, references, lowercase=lowercase, bootstrap=1000, measures=measures)
    words = sum(len(t.source) for t in translations)
    log.info("%s set, %s sentences:\n%s", split, f"{len(lines):,}", evaluation.summary())
    blocks = sum(len(t.derivations[0].blocks) for t in translations)
    return Measured(split, evaluation, words / max(seconds, 1e-9), words / max(blocks, 1), len(lines))


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
    shown = sorted(shown, key=lambda t: (-sum(p[4] == LEFT for p in phrase_rows(t)), -len(t.source), t.number))
    for number, drawn in enumerate(shown[:PICTURES], start=1):
        picture = reordering_picture(drawn.source, list(drawn.derivations[0].words), phrase_rows(drawn))
        reporter.image(f"samples/reordering/{number}", picture, step)
        explained = full_explanation(drawn).splitlines()
        # Four spaces make it code, so that a tree keeps its form.
        words = "\n".join(f"    {line}" for line in [" ".join(drawn.source), *explained])
        reporter.text(f"samples/derivation/{number}", f"Line {drawn.number + 1} of the dev set\n\n{words}", step)


def phrase_rows(translation: Translation) -> list[tuple[int, int, int, int, int]]:
    """Source start and end, target start and end, and orientation of each phrase, in target order."""
    best = translation.derivations[0]
    assert translation.system is not None
    rows = zip(best.blocks, best.target_spans, translation.system.orientations(best), strict=True)
    # A word that is left out has no place among the target words.
    return [(*step.source_span, *target, side) for step, target, side in rows if step.target_words]

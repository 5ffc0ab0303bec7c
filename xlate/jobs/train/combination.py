"""Training of several systems together: each lists its translations of the dev set, and a ranker learns to choose."""

from __future__ import annotations

import io
import logging
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.config.stored import sums_of_run
from xlate.errors import refuse_if
from xlate.formats.moses_table import unescape_bars
from xlate.formats.nbest_file import NbestFile, named_files
from xlate.formats.nbest_list import Hypothesis, write_nbest
from xlate.jobs.score import paired_columns
from xlate.jobs.train.recipe import dev_set, measured_splits, refuse_base
from xlate.jobs.train.rerank import RankTraining
from xlate.jobs.train.tuning import tuning_text
from xlate.learning.run import Run
from xlate.learning.settings import LossConfig
from xlate.machine import until_stopped
from xlate.metrics.score import evaluate
from xlate.metrics.significance import paired_runs
from xlate.models.kind import made_of
from xlate.models.rerank.combination import (
    SYSTEMS,
    ScoringRuns,
    combined_runs,
    is_training,
    listing,
    system_folders,
)
from xlate.models.rerank.lists import SentenceLines, given_list
from xlate.models.rerank.ranker import Ranker
from xlate.models.run_files import weights_path
from xlate.progress import track
from xlate.report.run_directory import RunDirectory
from xlate.report.tables import Column, Table
from xlate.scoring.feature_weights import rescored
from xlate.search.processes import each_arriving
from xlate.settings import Json
from xlate.text.batches import Batches
from xlate.text.lines import read_lines, write_lines
from xlate.text.tokens import split_tokens
from xlate.tuners.settings import TuneConfig

log = logging.getLogger(__name__)


class CombinationTraining(RankTraining):
    """Trains the systems that do not exist yet, lists what they make of the dev set, and learns to rank the lists."""

    over_ranks = False

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self.work = config.work_directory
        self.text = tuning_text(TuneConfig("mira"), self.work)

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_base(config, "no base; its systems may have one")
        refuse_if(not config.model.systems, "no systems to combine", "model.systems=[]", "model.systems=[NAME=RUN,…]")
        for part, _ in parts_of(config, Path(SYSTEMS)):
            refuse_if(part.work != config.work, "systems of different texts", part.work, f"work={config.work}")
        super().check(replace(config, nbest="given", references=["given"]))

    def made_from(self) -> Json:
        named = named_files(self.config.model.systems, "model.systems")
        finished = {name: weights_path(Path(given)).parent for name, given in named.items() if not is_training(given)}
        runs = {name: sums_of_run(folder) for name, folder in finished.items()}
        return {"work_identity": self.work.identity, "runs": runs}

    def made_with(self, run: Run) -> Json:
        translating, scoring = combined_runs(self.config.model.systems, run.path)
        sums = {name: sums_of_run(folder) for name, folder in {**translating, **scoring}.items()}
        return {**made_of(self.config, self.work), SYSTEMS: sums}

    def learn(self, run: Run) -> Json:
        """Trains, lists and learns; what is complete is not made again when a stopped run resumes."""
        config = self.config
        for part, folder in parts_of(config, run.path):
            log.info("training %s", folder)
            self.train_part(part, folder, run.stop)
        start = time.perf_counter()
        self.config = replace(config, **self._given(run))
        figures = {**super().learn(run), "work": config.work}
        figures |= measured_splits(config, self.work, run, 0, known=self._chosen(run))
        folders = system_folders(config.model.systems, run.path)
        systems = {name: RunDirectory.open(folder).summary or {} for name, folder in folders.items()}
        seconds = [*(held.get("seconds") for held in systems.values()), time.perf_counter() - start]
        table = self.gains([*folders, "together"], [*folders.values(), run.path], seconds)
        shown = io.StringIO()
        table.print(Console(file=shown))
        log.info("each system and all together, on the dev set, which all were tuned on:\n%s", shown.getvalue())
        run.reporter.text("systems", table.markdown(), 0)
        each = {name: {key: held.get(key) for key in ("dev_bleu", "seconds")} for name, held in systems.items()}
        return {**figures, "systems": each}

    def gains(self, names: list[str], runs: list[Path], seconds: list[float | None]) -> Table:
        """BLEU of runs on the dev set, the difference from the first one that has translated it, and minutes."""
        lines, references = dev_set(self.config, self.work)
        files = {name: run / "dev.out" for name, run in zip(names, runs, strict=True)}
        texts = {name: read_lines(file) for name, file in files.items() if file.exists()}
        stats = {
            name: evaluate(found, references, lowercase=self.work.lowercased, bootstrap=0, measures=["bleu"]).stats
            for name, found in texts.items()
            if len(found) == len(lines)
        }
        first = next(iter(stats.values()))
        tests = [paired_runs([stats[name]], [first])["bleu"] if name in stats else None for name in names]
        minutes = Column("minutes", [s and s / 60 for s in seconds], 1)
        return Table([Column("system", names), *paired_columns(tests), minutes])

    def _given(self, run: Run) -> Json:
        """The keys of the lists to learn from, once their files are written into the run."""
        folders, scoring = combined_runs(self.config.model.systems, run.path)
        files = {name: run.path / f"{name}.nbest" for name in folders}
        for name, folder in folders.items():
            if not files[name].exists():
                write_lines(files[name], until_stopped(self._lines(folder, name), run.stop.__bool__))
        streams = [self.text.sources, *zip(*self.text.references, strict=True)]
        source, *references = texts = [run.path / f"dev.{number}" for number in range(len(streams))]
        for file, stream in zip(texts, streams, strict=True):
            write_lines(file, map(" ".join, stream))
        first, *others = files
        lists = NbestFile(files[first], others=tuple(f"{name}={files[name]}" for name in others))
        if scoring:
            file = run.path / "scored.nbest"
            if not file.exists():
                write_nbest(file, until_stopped(self._scored(lists, ScoringRuns(scoring)), run.stop.__bool__))
            lists = NbestFile(file)
        return {
            "nbest": str(lists.path),
            "merge": [*lists.others],
            "references": [*map(str, references)],
            "nbest_source": str(source),
        }

    def _chosen(self, run: Run) -> dict[tuple[str, ...], str]:
        """The translations that the ranker chooses from the lists, by the tokens of their sentences."""
        nbest, lines = given_list(self.config), enumerate(map(" ".join, self.text.sources))
        sources = SentenceLines("dev", {number: (number + 1, line) for number, line in lines})
        ranked = Ranker.open(run.path).scored(nbest.lists(), nbest.path, sources)
        best = [group[0].text for lists, score_C, _ in ranked for group in rescored(lists, score_C)]
        texts = (self.work.target_text([*map(unescape_bars, split_tokens(text))]) for text in best)
        return dict(zip(map(tuple, self.text.sources), texts, strict=True))

    def _scored(self, lists: NbestFile, scoring: ScoringRuns) -> Iterator[Hypothesis]:
        """The hypotheses of merged lists, with the scores of some runs."""
        # One by one, because the lists of a dev set take gigabytes.
        given = Batches([pair] for pair in zip(self.text.sources, lists.lists(), strict=True))
        found = each_arriving(scoring, ScoringRuns.scored, given, _processes(self.config))
        yield from chain.from_iterable(track(found, "scoring", total=len(self.text)))

    def _lines(self, folder: Path, name: str) -> Iterator[str]:
        """The lines of the list of a system."""
        system = listing(folder, self.config.model.size, self.config.work)
        found = system.translate_many(self.text.sources, _processes(self.config))
        for number, derivations in enumerate(track(found, f"listing: {name}", total=len(self.text))):
            yield from (system.nbest_line(number, one) for one in derivations)


def parts_of(config: TrainConfig, run: Path) -> Iterator[tuple[TrainConfig, Path]]:
    """The trainings that a combination in the folder `run` begins with, each with its folder.

    Raises:
        InputError: an entry that is not NAME=RUN or NAME=KEYS, or keys that do not exist.
    """
    folders = system_folders(config.model.systems, run)
    shared = [f"work={config.work}", f"seed={config.seed}", f"device={config.device}"]
    for name, keys in named_files(config.model.systems, "model.systems").items():
        if is_training(keys):
            given = shlex.split(keys.replace("=@", f"={(run / SYSTEMS).absolute()}/"))
            part = load(TrainConfig, "train", [*shared, *given])
            yield replace(part, loss=_with_processes(part.loss, _processes(config))), folders[name]


def _processes(config: TrainConfig) -> int:
    tune = config.loss.tune
    return 1 if tune is None else tune.processes


def _with_processes(loss: LossConfig, processes: int) -> LossConfig:
    """A loss that decodes in this many processes where its own keys ask for one."""
    parts: dict[str, Any] = {"tune": loss.tune, "lists": loss.lists}
    alone = {key: part for key, part in parts.items() if getattr(part, "processes", None) == 1}
    return replace(loss, **{key: replace(part, processes=processes) for key, part in alone.items()})

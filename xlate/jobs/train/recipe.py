"""Shared parts of the training recipes: settings, writing weights, measures for the summary, and warnings.

A recipe learns from events (`events`, `contexts`), from lists (`lists`, `contexts`, `rerank`), or with the decoder
in the loop (`tuning`, `online`, `global_model`).
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xlate.array_types import Uints
from xlate.config.schema import TrainConfig
from xlate.errors import refuse_if
from xlate.jobs.sparse_features import full_explanation, most_reordered
from xlate.jobs.translate import Translation, Translator
from xlate.learning.learner import DeviceLearner, InstanceLearner, LearnerOf, PhaseSettings
from xlate.learning.loop import CHUNK, Phase, Standing, Training, TrainState
from xlate.learning.run import Run
from xlate.losses.loss import Needs, losses
from xlate.machine import StopFlag
from xlate.metrics.score import checked_references, evaluate, measure_sentences
from xlate.models.block.kind import KEYS
from xlate.models.kind import ToTune, event_kind
from xlate.models.system import AnySystem
from xlate.report.pictures import reordering_picture
from xlate.report.run_directory import Reporter
from xlate.report.tables import Column, Table
from xlate.scoring.weights import Weights, WeightsFile, save_weights
from xlate.settings import Json
from xlate.text.lines import write_lines
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)
# Trains, in its folder, a run that another one needs.
TrainPart = Callable[[TrainConfig, Path, StopFlag], Json]
# Fewer steps per epoch than this are rarely enough for weights that start at 0.
FEW_STEPS = 20


class Recipe(ABC):
    """One way to train a configuration. Its constructor checks whatever does not need a folder, and writes nothing.

    Args:
        config: of the run.

    Raises:
        InputError: something that the training needs is missing.
    """

    # Trains a run that this one needs.
    train_part: TrainPart
    # What is computed on the device that `device` names, the CPU or a GPU; None: everything is compiled for the CPU.
    on_device: str | None = None
    # Whether several ranks can learn it together.
    over_ranks: bool = False

    def __init__(self, config: TrainConfig) -> None:
        self.config = config

    @classmethod
    @abstractmethod
    def check(cls, config: TrainConfig) -> None:
        """Checks the settings against each other; their ranges have already been checked.

        Raises:
            InputError: names the setting, its value and the allowed values.
        """

    @abstractmethod
    def made_from(self) -> Json:
        """What defines the run besides its settings, such as checksums of its data; JSON values.

        Raises:
            InputError: something that the training needs is missing.
        """

    @abstractmethod
    def learn(self, run: Run) -> Json:
        """Trains, writes the weights and returns the figures of the summary; see `conduct`."""


class WorkRecipe(Recipe):
    """A recipe that needs only a work directory.

    Raises:
        InputError: no prepared work directory.
    """

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self.work = config.work_directory

    def made_from(self) -> Json:
        return {"work_identity": self.work.identity}


class EventRecipe(WorkRecipe):
    """A recipe of the first kind, from stored events."""

    over_ranks = True

    @property
    def on_device(self) -> str | None:  # type: ignore[override]
        return "mini-batches run" if self.config.loss.batch and self.config.loss.name != "uniform" else None

    def trained(
        self, run: Run, todo: Sequence[Phase], stores: str, initial: Mapping[str, Weights], **more: Any
    ) -> Standing:
        """The result of the phases, by the online kernel or with mini-batches on the device, for the first rank.

        Args:
            run: the run to train.
            todo: the phases.
            stores: the identity of what they learn from.
            initial: the initial weights.
            more: for `Training`.

        Raises:
            InputError: several ranks are to measure the bound of Theorem A.1.
            Stopped: see `Training.run` and `Ranks.leave`.
        """
        bound, ranks = any(phase.settings.check_bound for phase in todo), run.ranks
        seen = f"loss.check_bound=true, {ranks.size} ranks"
        refuse_if(bound and ranks.size > 1, "the bound of Theorem A.1 is about one process", seen, "one rank")
        learner: LearnerOf = InstanceLearner
        if batch := self.config.loss.batch:
            learner = partial(DeviceLearner, device=device_of(self.config.device), batch=batch)
        made_from = {"phases": [asdict(phase.settings) for phase in todo], "stores": stores}
        checkpoint = run.checkpoint(identity_of(made_from))
        held = Training(todo, checkpoint, run.reporter, learner=learner, ranks=ranks, **more).run(initial, run.stop)
        ranks.leave()
        return held


def refuse_base(config: TrainConfig, expected: str) -> None:
    """Refuses a run to start from, for trainings that do not use one.

    Raises:
        InputError: there is one.
    """
    refuse_if(config.base is not None, "this training does not start from a run", f"base={config.base}", expected)


def losses_of_events() -> list[str]:
    """The losses for training on instances with true candidates."""
    return [name for name, kind in losses().items() if kind.needs in (Needs.TRUTH, Needs.GAINS)]


def phase_of(config: TrainConfig, **more: Any) -> PhaseSettings:
    """The settings of a phase: the keys of the loss with the same names, and `more`."""
    loss, names = config.loss, [each.name for each in fields(PhaseSettings)]
    own = {name: getattr(loss, name) for name in names if hasattr(loss, name)}
    return PhaseSettings(**own | {"seed": config.seed, "loss": loss.name} | more)


def with_tuned(
    config: TrainConfig, work: WorkDirectory | None, run: Run, tuned: ToTune, weights: Weights, step: int
) -> Json:
    """Writes the tuned weights of a run and translates with them; returns the figures of both."""
    save_weights(run.weights, **tuned.saved(weights)._asdict(), metadata=tuned.metadata)
    active = {"active_features": weights.active} if len(weights.sparse_F) else {}
    measured = measured_splits(config, work, run, step)
    return {"work": config.work, **active, "weights": {"dense": rounded(weights)}, **measured}


def rounded(weights: Weights) -> dict[str, float]:
    """The dense weights by name, rounded for a summary."""
    return dict(zip(weights.dense_names, np.round(weights.dense_D, 6).tolist(), strict=True))


@dataclass
class DevBleu:
    """BLEU of the dev set after epochs of a training on events, as long as measuring takes no longer than training.

    Called with the weights after an epoch. It is measured once learning of all sets of weights has begun, and only for
    display: what is learned does not depend on it.

    Attributes:
        config: of the training.
        work: its work directory.
        keys_F: the pairs behind the binary features.
        phases: of the training.
        run: takes the figures, and says when to stop.
    """

    config: TrainConfig
    work: WorkDirectory
    keys_F: Uints
    phases: Sequence[PhaseSettings]
    run: Run
    _begun: float = field(default_factory=lambda: time.monotonic())
    _spent: float = 0.0

    def __call__(self, weights: Mapping[str, Weights], state: TrainState) -> None:
        """Measures if it is time."""
        start = time.monotonic()
        begun = {phase.weights for phase in self.phases[: state.phase + 1]}
        is_due = state.epoch % self.config.dev_every == 0 and begun >= set(event_kind(self.config.model).sets)
        if self.run.stop or not is_due or 2 * self._spent > start - self._begun:
            return
        bleu = self.measured(weights)
        if bleu is None:
            return
        self.run.reporter.scalar("local/BLEU", bleu, state.seen)
        log.info("%s, epoch %d: dev BLEU %.2f", self.phases[state.phase].name, state.epoch, bleu)
        self._spent += time.monotonic() - start

    def measured(self, weights: Mapping[str, Weights]) -> float | None:
        """The BLEU of the dev set under some weights, measured as for a finished run; None if stopped."""
        kind = event_kind(self.config.model)
        file = WeightsFile(dict(weights), {}, {KEYS: self.keys_F}, {})
        system = kind.system(Estimates(self.work), file, self.config.model, self.config.decoder)
        translator = Translator(self.work, system)
        lines, references = dev_set(self.config, self.work)
        found: list[str] = []
        for translation in translator.translate(lines):
            if self.run.stop:
                return None
            found.append(translation.text)
        streams = checked_references(found, references)
        return measure_sentences("bleu", found, streams, lowercase=self.work.lowercased).score


def steps_an_epoch(instances: int, batch: int, chunk: int = CHUNK) -> int:
    """The number of mini-batch steps for some instances; no batch extends from one chunk of an epoch into the next."""
    whole, rest = divmod(instances, chunk)
    return whole * -(-chunk // batch) + -(-rest // batch)


def warn_of_few_steps(phases: Sequence[Phase], batch: int) -> None:
    """Warns of the phases of a training with mini-batches that have few steps per epoch."""
    if not batch:
        return
    for phase in phases:
        settings = phase.settings
        instances = round(len(phase.store) * settings.subset)
        steps = steps_an_epoch(instances, batch)
        if settings.epochs and 0 < steps < FEW_STEPS:
            log.warning(
                "warning: phase %s takes %d step%s per epoch (%d instances, loss.batch=%d), but online training at "
                "least one per instance: weights may not get far enough; use loss.batch=0, a smaller batch such as %d, "
                "or more epochs",
                settings.name, steps, "" if steps == 1 else "s", instances, batch, max(1, instances // 100),
            )  # fmt: skip


def warn_if_unmoved(
    before: Mapping[str, Weights],
    after: Mapping[str, Weights],
    seen: str,
    doing: str = "training",
    expected: bool = False,
) -> None:
    """Logs a message if training, or whatever else was done, left every weight of every set unchanged.

    It is a warning unless this was `expected`.
    """
    if all(_same(before[name], after[name]) for name in before):
        if expected:
            log.info("%s changed no weight (%s)", doing, seen)
        else:
            log.warning("warning: %s changed no weight (%s)", doing, seen)


def warn_if_all_zero(weights_F: np.ndarray, seen: str) -> None:
    """Warns if all sparse weights are 0 although some were to be learned."""
    if not np.any(weights_F):
        log.warning("warning: all %d sparse weights are 0 after training (%s)", len(weights_F), seen)


def not_too_long(lengths: Sequence[int], most: int, text: str) -> list[int]:
    """The places of sentences that a search takes in one piece, as lists need; logs how many are left out."""
    kept = [place for place, words in enumerate(lengths) if words <= most]
    if len(kept) < len(lengths):
        counts = len(lengths) - len(kept), len(lengths), most
        log.warning("%s: %d of %d sentences left out: more than decoder.max_words=%d words", text, *counts)
    return kept


def _same(before: Weights, after: Weights) -> bool:
    """Whether weights are the same up to their scale, which tuners may change."""
    one, other = (np.concatenate([w.dense_D, w.sparse_F]).astype(np.float64) for w in (before, after))
    if len(one) != len(other):
        # Features were added during learning.
        return False
    sizes = [float(np.abs(w).sum()) or 1.0 for w in (one, other)]
    return bool(np.allclose(one / sizes[0], other / sizes[1], rtol=1e-9, atol=1e-12))


# How many translations are drawn and explained; where most are known, these are chosen from the first `DRAWN`.
PICTURES, DRAWN = 4, 20


def measured_splits(
    config: TrainConfig,
    work: WorkDirectory | None,
    run: Run,
    step: int,
    system: AnySystem | None = None,
    known: Mapping[tuple[str, ...], str] | None = None,
) -> Json:
    """Translates `dev` and, with `measure_test`, `test`, if there are such sets, into SPLIT.out and measures them.

    The figures are those of a run's summary, each key beginning with the split's name: measures, the number of
    sentences, how fast they were translated, and source words per block.

    Samples and pictures are shown only for the dev set. Case counts unless the work directory was prepared lowercased.
    `system`, if given, translates in place of the run's own, for runs that cannot translate on their own. `known` has
    the translations of some sentences, by their tokens. Of these only the first `DRAWN` lines are translated again, to
    be drawn and timed.
    """
    figures: Json = {}
    for split in ("dev", "test") if config.measure_test else ("dev",):
        if work is None or not work.has_split(split):
            continue
        lines, references = (
            dev_set(config, work) if split == "dev" else (work.source_lines(split), work.references(split))
        )
        translator = Translator.of_run(config, run.path) if system is None else Translator(work, system)
        texts = [known.get(tuple(work.source_tokens(line)), "") if known else "" for line in lines]
        made = [number for number, text in enumerate(texts) if not text or number < DRAWN]
        start = time.perf_counter()
        translations = list(translator.translate([lines[number] for number in made]))
        seconds = time.perf_counter() - start
        for number, translation in zip(made, translations, strict=True):
            texts[number] = translation.text
        write_lines(run.path / f"{split}.out", texts)
        if split == "dev":
            _show(config, translations, texts, lines, references, run.reporter, step)
        if not references:
            continue
        evaluation = evaluate(texts, references, lowercase=work.lowercased, measures=config.measures)
        words = sum(len(t.source) for t in translations)
        log.info("%s set, %s sentences:\n%s", split, f"{len(lines):,}", evaluation.summary())
        measured = {
            **evaluation.to_json(),
            "sentences": len(lines),
            "words_per_s": round(words / max(seconds, 1e-9), 1),
            "words_per_block": round(words / max(sum(len(t.derivations[0].blocks) for t in translations), 1), 3),
        }
        figures |= {f"{split}_{key}": value for key, value in measured.items()}
    return figures


def dev_set(config: TrainConfig, work: WorkDirectory) -> tuple[list[str], list[list[str]]]:
    """The source lines of the dev set to translate, and their references."""
    lines = work.source_lines("dev")[: config.dev_sentences]
    return lines, [reference[: len(lines)] for reference in work.references("dev")]


def _show(
    config: TrainConfig,
    translations: list[Translation],
    texts: list[str],
    lines: list[str],
    references: list[list[str]],
    reporter: Reporter,
    step: int,
) -> None:
    """Sends the reporter sample translations, and pictures and explanations of those with most reordering."""
    columns = {"source": lines, "translation": texts}
    columns |= {"reference": references[0]} if references else {}
    table = Table([Column(title, texts[: config.samples]) for title, texts in columns.items()])
    reporter.text("samples/dev", table.markdown(), step)
    shown = [t for t in translations if 0 < len(t.source) <= 20] or translations[:1]
    for number, (drawn, phrases) in enumerate(most_reordered(shown)[:PICTURES], start=1):
        picture = reordering_picture(drawn.source, list(drawn.derivations[0].words), phrases)
        reporter.image(f"samples/reordering/{number}", picture, step)
        explained = full_explanation(drawn).splitlines()
        # Four spaces make it a code block, so that a tree keeps its layout.
        words = "\n".join(f"    {line}" for line in [" ".join(drawn.source), *explained])
        reporter.text(f"samples/derivation/{number}", f"Line {drawn.number + 1} of the dev set\n\n{words}", step)


def device_of(name: str) -> torch.device:
    """The device a configuration names; `auto` is CUDA if available, else the CPU.

    Raises:
        InputError: `cuda` without CUDA.
    """
    there = name != "cpu" and torch.cuda.is_available()
    refuse_if(
        name == "cuda" and not there,
        "no GPU that PyTorch can use",
        "device=cuda, and torch.cuda.is_available() is false",
        "an NVIDIA GPU, its driver, and PyTorch with CUDA",
        "device=auto uses the CPU if there is no GPU",
    )
    return torch.device("cuda" if there else "cpu")

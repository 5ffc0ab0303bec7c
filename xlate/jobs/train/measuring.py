"""What every method puts into the summary of a run, measures of its splits and its dense weights; and dev BLEU on the
way there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xlate.array_types import Uints
from xlate.config.schema import TrainConfig
from xlate.jobs.evaluate import dev_set, measure
from xlate.jobs.systems.registry import event_kind
from xlate.jobs.translate import Translator
from xlate.metrics.measures import checked_references, measure_sentences
from xlate.models.system import AnySystem
from xlate.scoring.weights import Weights, WeightsFile
from xlate.train import tags
from xlate.train.run import Run
from xlate.train.state import PhaseSettings, TrainState
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates

log = logging.getLogger(__name__)


def measured_splits(
    config: TrainConfig, work: WorkDirectory | None, run: Run, step: int, system: AnySystem | None = None
) -> dict[str, Any]:
    """The measures of the dev set, and with `measure_test` of the test set, as far as there are such sets.

    With `system` it translates, in place of the run's own.
    """
    figures: dict[str, Any] = {}
    for split in ("dev", "test") if config.measure_test else ("dev",):
        figures |= measure(config, work, run.path, split, run.reporter, step, system) if work is not None else {}
    return figures


def rounded(weights: Weights) -> dict[str, float]:
    """The dense weights by name, as a summary has them."""
    return dict(zip(weights.dense_names, np.round(weights.dense_D, 6).tolist(), strict=True))


@dataclass
class DevBleu:
    """BLEU of the dev set after epochs of a training on events, as far as that takes no longer than the training.

    Called with the weights after an epoch. It is measured once all sets of weights have begun to be learned, and is for
    the eye alone: what is learned does not depend on it.

    Attributes:
        config: of the training.
        work: its work directory.
        keys_F: the pairs that binary features are of.
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

    @classmethod
    def of(
        cls, config: TrainConfig, work: WorkDirectory, keys_F: Uints, phases: Sequence[PhaseSettings], run: Run
    ) -> DevBleu | None:
        """What measures a training; None when it is not asked for, or there is no dev set."""
        if not config.dev_every or not work.has_split("dev") or not work.references("dev"):
            return None
        return cls(config, work, keys_F, phases, run)

    def __call__(self, weights: Mapping[str, Weights], state: TrainState) -> None:
        """Measures, if it is time."""
        start = time.monotonic()
        if self.run.stopped or not self._is_due(state) or 2 * self._spent > start - self._begun:
            return
        bleu = self.measured(weights)
        if bleu is None:
            return
        self.run.reporter.scalar(tags.DEV_BLEU, bleu, state.seen)
        log.info("%s, epoch %d: BLEU %.2f of the dev set", self.phases[state.phase].name, state.epoch, bleu)
        self._spent += time.monotonic() - start

    def measured(self, weights: Mapping[str, Weights]) -> float | None:
        """The BLEU of the dev set under some weights, as it is measured of a finished run; None when stopped."""
        kind = event_kind(self.config.model.kind)
        file = WeightsFile(dict(weights), {}, {f"{kind.sets[0]}.keys": self.keys_F}, {})
        system = kind.system(Estimates(self.work), file, self.config.model, self.config.decoder)
        translator = Translator(self.work, system)
        lines, references = dev_set(self.config, self.work)
        found: list[str] = []
        for translation in translator.translate(lines):
            if self.run.stopped:
                return None
            found.append(translation.text)
        streams = checked_references(found, references)
        return measure_sentences("bleu", found, streams, lowercase=self.work.lowercased).score

    def _is_due(self, state: TrainState) -> bool:
        begun = {phase.weights for phase in self.phases[: state.phase + 1]}
        return state.epoch % self.config.dev_every == 0 and begun >= set(event_kind(self.config.model.kind).sets)

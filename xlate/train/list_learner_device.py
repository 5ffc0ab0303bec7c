"""The same losses over lists that share parts, on a device: all lists resident, in mini-batches.

Lists are put into mini-batches once, by lot, and batches are gone through in a new order each epoch; the compiled
pass on the CPU draws lists anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyArray, AnyFloats, Bools, Floats
from xlate.arrays.ragged import places_of
from xlate.kernels.learning.candidates import CandidateArrays
from xlate.kernels.learning.updates import Learned
from xlate.losses.lists import segment_argmax
from xlate.losses.loss import slopes
from xlate.metrics.bleu import bleu_scores
from xlate.scoring.resident import Resident
from xlate.train.list_checkpoint import Arrays, ListCheckpoint
from xlate.train.list_learner import EpochFigures, ListSettings, divided, until_it_stops, with_truth
from xlate.updates.tensors import TensorSteps


class DeviceListLearner:
    """As `ListLearner`, but on a device, in single precision; `settings.batch` lists a step.

    Args:
        lists, statistics_CK, heldout_I, size, settings, dense_D: see `ListLearner`.
        device: where everything is kept.

    Raises:
        InputError: too few lists.
    """

    def __init__(
        self,
        lists: CandidateArrays,
        statistics_CK: AnyFloats,
        heldout_I: Bools,
        size: int,
        settings: ListSettings,
        dense_D: Floats | None = None,
        device: torch.device | None = None,
    ) -> None:
        lists = with_truth(lists, settings.module)
        self.lists, self.statistics_CK, self.settings = lists, statistics_CK, settings
        train, self.held = divided(heldout_I)
        device = device or torch.device("cpu")
        self.loss, rule = settings.module, settings.rule
        dense = lists.dense_CD.shape[1]
        floats_D = np.zeros(dense) if dense_D is None else dense_D
        self.steps = TensorSteps(
            rule,
            torch.tensor(floats_D, dtype=torch.float32, device=device),
            torch.zeros(size, dtype=torch.float32, device=device),
            rule.memory(dense, size),
        )
        self.eta_D = torch.full((dense,), settings.dense_rate, dtype=torch.float32, device=device)
        resident = Resident.load(lists, device)
        mixed = np.random.default_rng(settings.seed).permutation(train)
        cuts = [mixed[start : start + settings.batch] for start in range(0, len(mixed), settings.batch)]
        self.train = [resident.gather(torch.as_tensor(rows, device=device)) for rows in cuts]
        self.heldout = resident.gather(torch.as_tensor(self.held, device=device))

    @property
    def weights(self) -> Learned:
        """What was learned, on the CPU."""
        dense_D = self.steps.dense_D.cpu().numpy().astype(np.float64)
        return self.settings.rule.learned(dense_D, self.steps.sparse_F.cpu().numpy().copy(), {})

    def epochs(
        self, stop: Callable[[], bool] = lambda: False, checkpoint: ListCheckpoint | None = None
    ) -> Iterator[EpochFigures]:
        """Learns; see `ListLearner.epochs`."""
        return until_it_stops(self, self.settings, stop, checkpoint)

    def epoch(self, number: int) -> float:
        """Steps through all batches once, in an order drawn for the epoch; the mean loss met."""
        order = np.random.default_rng([self.settings.seed, number]).permutation(len(self.train))
        met = sum(self._step(self.train[place]) for place in order.tolist())
        return met / sum(len(batch) for batch in self.train)

    def copy(self) -> dict[str, AnyArray]:
        """Weights, and what the rule remembers of steps, as they are."""
        return self.steps.arrays()

    def restore(self, kept: Arrays) -> None:
        """Takes back what was copied."""
        self.steps.restore(kept)

    @property
    def active(self) -> int:
        """How many sparse weights are not 0."""
        return int(torch.count_nonzero(self.steps.sparse_F))

    def scores(self, batch: Resident) -> Tensor:
        """The scores of all candidates of a batch, (C,)."""
        return batch.scores(self.steps.dense_D, self.steps.sparse_F)

    def measure(self) -> tuple[float, float]:
        """The mean loss of the held-out lists, and BLEU of the candidates of the highest scores."""
        scores_C = self.scores(self.heldout)
        loss, _ = slopes(self.loss, self.heldout, scores_C, truth=False)
        best_I = segment_argmax(scores_C, self.heldout.candidate_offsets_I1).cpu().numpy()
        candidates = places_of(self.lists.candidate_offsets_I1, self.held)
        sums_K = self.statistics_CK[candidates[best_I[best_I >= 0]]].sum(axis=0, dtype=np.float64)
        return float(loss) / len(self.held), float(bleu_scores(sums_K[None])[0])

    def _step(self, batch: Resident) -> float:
        self.steps.begin(self.settings.rate)
        loss, slope_C = slopes(self.loss, batch, self.scores(batch), truth=False)
        self.steps.step(self.eta_D, self.settings.rate, *batch.gradient(slope_C / len(batch)))
        return float(loss)

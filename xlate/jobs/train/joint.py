"""Training of the joint model on the words and links of a work directory, by noise-contrastive estimation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.arrays.ragged import gathered, places_in_rows, row_numbers
from xlate.config.model_schema import JointModelConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError, refuse_if
from xlate.jobs.train.recipe import WorkRecipe, device_of, refuse_base
from xlate.learning.run import STATE, Checkpoint, Run
from xlate.learning.settings import NoiseLossConfig
from xlate.machine import Stopped
from xlate.models.joint.kind import SHARES, SOURCE_WORDS, TARGET_WORDS, affiliations, padded, stored_words
from xlate.models.joint.network import JointNetwork
from xlate.models.kind import made_of
from xlate.progress import tell, track
from xlate.scoring.weights import save_weights
from xlate.settings import plain
from xlate.text.vocabulary import EncodedText, Vocabulary
from xlate.work.directory import WorkDirectory, word_counts
from xlate.work.stages import identity_of

# One of this many sentence pairs is held out, or fewer, so that no more than MOST are.
HELD_OUT, MOST = 50, 1000


@dataclass(frozen=True)
class WordEvents:
    """The N words of a text that are predicted, the ends of sentences among them.

    Attributes:
        source_P, target_P: the words of both sides, with what stands before and after each sentence.
        center_N, place_N: where the affiliated source word and the predicted word are.
        history, window: how many words before the predicted one are considered, and around the affiliated one.
    """

    source_P: Ints32
    target_P: Ints32
    center_N: Ints
    place_N: Ints
    history: int
    window: int

    @classmethod
    def of(cls, work: WorkDirectory, settings: JointModelConfig, words: tuple[Vocabulary, Vocabulary]) -> WordEvents:
        """Those of the training text, sentence by sentence."""
        numbers = words[0].ids(work.source_vocabulary.words), words[1].ids(work.target_vocabulary.words)
        source, target = (
            EncodedText(known[text.ids_T], text.offsets_S1) for known, text in zip(numbers, work.encoded, strict=True)
        )
        source_P, source_S = padded(source, settings.window, settings.window + 1)
        target_P, target_S = padded(target, settings.order - 1, 1)
        # The end of the target belongs to the end of the source.
        ends_S1, lengths_S = target.offsets_S1 + np.arange(len(target) + 1), np.diff(source.offsets_S1)
        center_N = np.insert(affiliations(target.offsets_S1, work.links), target.offsets_S1[1:], lengths_S)
        row_N = row_numbers(ends_S1)
        place_N = target_S[row_N] + places_in_rows(ends_S1)
        return cls(source_P, target_P, source_S[row_N] + center_N, place_N, settings.order - 1, settings.window)

    def batch(self, rows_B: Ints, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Windows, histories (the nearest word first) and words."""
        around = np.arange(-self.window, self.window + 1)
        source_BW = self.source_P[self.center_N[rows_B, None] + around]
        history_BM = self.target_P[self.place_N[rows_B, None] - np.arange(1, self.history + 1)]
        arrays = source_BW, history_BM, self.target_P[self.place_N[rows_B]]
        window, history, word = (torch.from_numpy(array.astype(np.int64)).to(device) for array in arrays)
        return window, history, word


class JointTraining(WorkRecipe):
    """Epochs over the words of the training text; the epoch with the lowest held-out perplexity is kept."""

    on_device = "mini-batches run"

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_base(config, "no base")
        wrong = not isinstance(config.loss, NoiseLossConfig)
        refuse_if(wrong, "this loss does not train a joint model", f"loss={config.loss.name}", "loss=nce")

    def learn(self, run: Run) -> dict[str, Any]:
        """Trains and writes the weights."""
        config, work = self.config, self.work
        kept = [word_counts(work, side) >= config.model.least_count for side in ("source", "target")]
        vocabularies = work.source_vocabulary, work.target_vocabulary
        source, target = (
            Vocabulary(words.words[number] for number in np.flatnonzero(mask).tolist())
            for words, mask in zip(vocabularies, kept, strict=True)
        )
        events = WordEvents.of(work, config.model, (source, target))
        held_N = self._held_out()
        count_V = np.bincount(events.target_P[events.place_N[~held_N]], minlength=len(target)) + 1
        learning = NoiseLearning(config, events, held_N, count_V / count_V.sum(), len(source))
        best, history = learning.run(run, run.checkpoint(identity_of({**plain(config.model), "on": work.identity})))
        words = {SOURCE_WORDS: stored_words(source), TARGET_WORDS: stored_words(target)}
        extra = {**best, **words, SHARES: learning.share_V}
        save_weights(run.weights, {}, extra=extra, metadata=made_of(config, work))
        figures = {"words": int((~held_N).sum()), "heldout_words": int(held_N.sum())}
        return {"work": config.work, **figures, **min(history, key=lambda epoch: epoch["perplexity"]), "history": history}

    def _held_out(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which predicted words are held out; all copies of a sentence pair are, or none."""
        group_S, lengths_S = self.work.copies, np.diff(self.work.encoded[1].offsets_S1)
        every = max(HELD_OUT, len(group_S) // MOST)
        return np.repeat(group_S % every == every - 1, lengths_S + 1)


class NoiseLearning:
    """One training, which may be stopped after any step and resumed.

    The order of an epoch and the noise of a step depend on the seed and their numbers alone.
    """

    def __init__(
        self, config: TrainConfig, events: WordEvents, held_N: AnyArray, share_V: Floats, source_words: int
    ) -> None:
        self.config, self.events, self.share_V = config, events, share_V
        self.device = device_of(config.device)
        self.sums_V, self.noise_V = np.cumsum(share_V), torch.from_numpy(share_V).to(self.device, torch.float32)
        self.rows, self.held = np.flatnonzero(~held_N), events.batch(np.flatnonzero(held_N), self.device)
        torch.manual_seed(config.seed)
        words = source_words, len(share_V)
        self.network = JointNetwork(words, config.model, torch.from_numpy(share_V), config.loss.dropout).to(self.device)
        self.optimizer = torch.optim.Adagrad(self.network.parameters(), lr=config.loss.rate)

    def run(self, run: Run, checkpoint: Checkpoint) -> tuple[dict[str, AnyArray], list[dict[str, Any]]]:
        """The parameters of the best epoch, and the figures of all.

        Raises:
            InputError: the loss became infinite.
            Stopped: a signal asked for it; what was learned is saved.
        """
        loss = self.config.loss
        steps = -(-len(self.rows) // loss.batch)
        state, best = self._resumed(checkpoint)
        for epoch in track(range(state["epoch"], loss.epochs), "epochs"):
            order = np.random.default_rng((self.config.seed, epoch)).permutation(self.rows)
            for step in track(range(state["step"], steps), "steps"):
                state["loss"] += self._step(order[step * loss.batch : (step + 1) * loss.batch], epoch, step)
                state["step"] = step + 1
                tell(loss=state["loss"] / (step + 1))
                if run.stop or checkpoint.due:
                    self._save(checkpoint, state, best)
                if run.stop:
                    raise Stopped
            perplexity, norm = self.network.measures(*self.held)
            figures = {"loss": state["loss"] / steps, "perplexity": perplexity, "abs_log_z": norm}
            for name, value in figures.items():
                run.reporter.scalar(f"{'train' if name == 'loss' else 'valid'}/{name}", value, (epoch + 1) * len(self.rows))
            if all(perplexity < earlier["perplexity"] for earlier in state["history"]):
                best = {name: value.cpu().numpy().copy() for name, value in self.network.state_dict().items()}
            state = {"epoch": epoch + 1, "step": 0, "loss": 0.0, "history": [*state["history"], figures]}
            self._save(checkpoint, state, best)
        return best, state["history"]

    def _step(self, rows_B: Ints, epoch: int, step: int) -> float:
        draw = np.random.default_rng((self.config.seed, epoch, step))
        draws_K = draw.random(self.config.loss.noise)
        torch.manual_seed(int(draw.integers(1 << 62)))
        noise_K = torch.from_numpy(np.searchsorted(self.sums_V[:-1], draws_K, side="right")).to(self.device)
        loss = self.network.contrast(*self.events.batch(rows_B, self.device), noise_K, self.noise_V)
        self.optimizer.zero_grad()
        loss.backward()
        # AdaGrad makes its sparse sums itself; without this PyTorch warns that it does not check them.
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            self.optimizer.step()
        value = float(loss.detach())
        if not np.isfinite(value):
            raise InputError(
                "the loss is not a finite number",
                f"{value} in epoch {epoch}",
                "finite numbers",
                f"a smaller step size than loss.rate={self.config.loss.rate}",
            )
        return value

    def _tensors(self) -> dict[str, Tensor]:
        """The parameters, and what AdaGrad remembers of each."""
        held = dict(self.network.named_parameters())
        return {**held, **{f"sum.{name}": self.optimizer.state[one]["sum"] for name, one in held.items()}}

    def _save(self, checkpoint: Checkpoint, state: Mapping[str, Any], best: Mapping[str, AnyArray]) -> None:
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self._tensors().items()}
        checkpoint.save(state, {**arrays, **{f"best.{name}": array for name, array in best.items()}})

    def _resumed(self, checkpoint: Checkpoint) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """How far the training has got, and the parameters of the best epoch."""
        file = checkpoint.load()
        if file is None:
            return {"epoch": 0, "step": 0, "loss": 0.0, "history": []}, {}
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(torch.from_numpy(file.extra[name]))
        best = {name.removeprefix("best."): array for name, array in file.extra.items() if name.startswith("best.")}
        return dict(file.metadata[STATE]), best

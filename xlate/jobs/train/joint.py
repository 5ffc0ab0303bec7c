"""Training of the joint model on the words and links of a work directory, by noise-contrastive estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyInts, Bools, Ints
from xlate.arrays.ragged import row_numbers
from xlate.config.model_schema import JointModelConfig
from xlate.config.schema import TrainConfig
from xlate.errors import refuse_if
from xlate.jobs.train.recipe import WorkRecipe, device_of, refuse_base
from xlate.learning.run import STATE, Run
from xlate.learning.settings import NoiseLossConfig
from xlate.machine import Stopped
from xlate.models.joint.kind import SOURCE_WORDS, TARGET_WORDS, affiliations
from xlate.models.joint.network import JointNetwork
from xlate.models.kind import made_of
from xlate.progress import tell, track
from xlate.scoring.weights import WEIGHTS_FILE, save_weights
from xlate.settings import Json
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText, Vocabulary
from xlate.work.corpus_files import SIDES
from xlate.work.directory import WorkDirectory, word_counts

# One of this many sentence pairs is held out, or fewer, so that no more than MOST are.
HELD_OUT, MOST = 50, 1000


class JointTraining(WorkRecipe):
    """Epochs over the words of the training text; the weights are those of the lowest held-out perplexity."""

    on_device = "mini-batches run"

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_base(config, "no base")
        wrong = not isinstance(config.loss, NoiseLossConfig)
        refuse_if(wrong, "this loss does not train a joint model", f"loss={config.loss.name}", "loss=nce")

    def learn(self, run: Run) -> Json:
        """Trains all epochs, from where a checkpoint says, and writes the weights of the best one.

        Raises:
            InputError: too few sentence pairs, or the loss became infinite.
            Stopped: a signal asked for it; what was learned is saved.
        """
        config, loss = self.config, self.config.loss
        events = WordEvents.of(self.work, config.model)
        refuse_if(
            not events.held_N.any(),
            "too few sentence pairs to hold some out",
            f"{len(events.source)} pairs",
            f"more than {HELD_OUT}, of which one in {HELD_OUT} is held out",
        )
        learning, best_so_far = NoiseLearning(config, events), run.directory.checkpoint / WEIGHTS_FILE
        checkpoint = run.checkpoint(self.work.identity)
        state: Json = {"epoch": 0, "step": 0, "loss": 0.0, "history": []}
        if (file := checkpoint.load()) is not None:
            state = file.metadata[STATE]
            learning.resume(file.extra)
        rows, steps = learning.rows, -(-len(learning.rows) // loss.batch)
        for epoch in track(range(state["epoch"], loss.epochs), "epochs"):
            order = np.random.default_rng((config.seed, epoch)).permutation(rows)
            for step in track(range(state["step"], steps), "steps"):
                state["loss"] += learning.step(order[step * loss.batch :][: loss.batch], (config.seed, epoch, step))
                state["step"] = step + 1
                tell(loss=state["loss"] / (step + 1))
                if run.stop or checkpoint.due:
                    checkpoint.save(state, learning.arrays)
                if run.stop:
                    raise Stopped
            perplexity, norm = learning.network.measures(*learning.held)
            if all(perplexity < earlier["perplexity"] for earlier in state["history"]):
                save_weights(best_so_far, {}, extra=learning.learned, metadata=made_of(config, self.work))
            figures = {"loss": state["loss"] / steps, "perplexity": perplexity, "abs_log_z": norm}
            for name, value in figures.items():
                run.reporter.scalar(f"joint/{name}", value, (epoch + 1) * len(rows))
            state = {"epoch": epoch + 1, "step": 0, "loss": 0.0, "history": [*state["history"], figures]}
            checkpoint.save(state, learning.arrays)
        # An unfinished run has no weights, so nothing can use it; a rerun may find them in place already.
        if best_so_far.exists():
            best_so_far.replace(run.weights)
        best = min(state["history"], key=lambda figures: figures["perplexity"])
        return {"work": config.work, **best, "history": state["history"]}


@dataclass(frozen=True)
class WordEvents:
    """The N words of a text that are predicted, the ends of sentences among them.

    Attributes:
        settings: how much around a word is considered.
        vocabularies: the source and the target words that are frequent enough.
        source, target: the sentences in these words.
        row_N, center_N, place_N: the sentence, and the places of the affiliated source word and the predicted word.
        held_N: whether a word is held out; all copies of a sentence pair are, or none.
    """

    settings: JointModelConfig
    vocabularies: tuple[Vocabulary, ...]
    source: EncodedText
    target: EncodedText
    row_N: Ints
    center_N: Ints
    place_N: Ints
    held_N: Bools

    @classmethod
    def of(cls, work: WorkDirectory, settings: JointModelConfig) -> WordEvents:
        """Those of the training text, sentence by sentence."""
        vocabularies, texts = [], []
        for side in SIDES:
            own = work.vocabularies[side]
            counts = zip(own.words, word_counts(work, side), strict=True)
            vocabularies.append(Vocabulary(word for word, count in counts if count >= settings.least_count))
            text = work.training_text(side)
            texts.append(EncodedText(vocabularies[-1].ids(own.words)[text.ids_T], text.offsets_S1))
        source, target = texts
        row_N = row_numbers(target.offsets_S1 + np.arange(len(target) + 1))
        # The end of the target belongs to the end of the source.
        ends_S = target.offsets_S1[1:], np.diff(source.offsets_S1)
        center_N = source.offsets_S1[row_N] + np.insert(affiliations(target.offsets_S1, work.links), *ends_S)
        every = max(HELD_OUT, len(source) // MOST)
        held_N = work.copies[row_N] % every == every - 1
        return cls(
            settings, tuple(vocabularies), source, target, row_N, center_N, np.arange(len(row_N)) - row_N, held_N
        )

    def batch(self, rows_B: Ints, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Windows, histories (the nearest word first) and words."""
        window, row_B = self.settings.window, self.row_N[rows_B]
        window_BW = words_at(self.source, row_B, self.center_N[rows_B, None] + np.arange(-window, window + 1))
        word_BM1 = words_at(self.target, row_B, self.place_N[rows_B, None] - np.arange(self.settings.order))
        source, target = (torch.from_numpy(ids).to(device, torch.int64) for ids in (window_BW, word_BM1))
        return source, target[:, 1:], target[:, 0]


def words_at(text: EncodedText, row_B: Ints, place_BN: AnyInts) -> AnyInts:
    """The words at places of a text; those outside of the sentences are `<s>` and `</s>`."""
    begin_B1, end_B1 = text.offsets_S1[row_B, None], text.offsets_S1[row_B + 1, None]
    word_BN = text.ids_T[np.clip(place_BN, 0, len(text.ids_T) - 1)]
    return np.where(place_BN < begin_B1, BEGIN_ID, np.where(place_BN < end_B1, word_BN, END_ID))


class NoiseLearning:
    """Takes the steps of a training; each depends only on the weights, its words and its seed.

    Attributes:
        rows: of the words to learn from.
        held: the words held out.
    """

    def __init__(self, config: TrainConfig, events: WordEvents) -> None:
        self.events, self.loss, self.device = events, config.loss, device_of(config.device)
        self.rows, self.held = np.flatnonzero(~events.held_N), events.batch(np.flatnonzero(events.held_N), self.device)
        source, target = map(len, events.vocabularies)
        words_N = events.batch(self.rows, torch.device("cpu"))[2].numpy()
        count_V = np.bincount(words_N, minlength=target) + 1.0
        self.share_V = count_V / count_V.sum()
        torch.manual_seed(config.seed)
        self.network = JointNetwork((source, target), config.model, torch.from_numpy(self.share_V).float())
        self.network.to(self.device)
        self.optimizer = torch.optim.Adagrad(self.network.parameters(), lr=self.loss.rate)
        held = dict(self.network.named_parameters())
        # The parameters, and what AdaGrad remembers of each.
        self.tensors = {**held, **{f"sum.{name}": self.optimizer.state[one]["sum"] for name, one in held.items()}}

    def step(self, rows_B: Ints, seed: tuple[int, ...]) -> float:
        """Learns from some words, and returns their loss; the seed draws the noise."""
        noise = np.random.default_rng(seed).choice(len(self.share_V), self.loss.noise, p=self.share_V)
        loss = self.network.contrast(*self.events.batch(rows_B, self.device), torch.from_numpy(noise).to(self.device))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        # AdaGrad makes its sparse sums itself; without this PyTorch warns that it does not check them.
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # type: ignore[no-untyped-call]
            self.optimizer.step()
        value = float(loss.detach())
        refuse_if(
            not np.isfinite(value),
            "the loss is not a finite number",
            value,
            "a number",
            f"a smaller step size than loss.rate={self.loss.rate}",
        )
        return value

    @property
    def arrays(self) -> dict[str, Any]:
        """What a training needs to continue."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.tensors.items()}

    @torch.no_grad()
    def resume(self, arrays: dict[str, Any]) -> None:
        """Continues from what `arrays` were."""
        for name, tensor in self.tensors.items():
            tensor.copy_(torch.from_numpy(arrays[name]))

    @property
    def learned(self) -> dict[str, Any]:
        """The model as `load_joint` reads it."""
        words = ("\n".join(side.words).encode() for side in self.events.vocabularies)
        stored = zip((SOURCE_WORDS, TARGET_WORDS), (np.frombuffer(text, np.uint8) for text in words), strict=True)
        return {**{name: tensor.cpu().numpy() for name, tensor in self.network.state_dict().items()}, **dict(stored)}

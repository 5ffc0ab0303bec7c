"""Training of the joint model on the words and links of a work directory, by noise-contrastive estimation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from xlate.array_types import AnyInts, Bools, Ints
from xlate.arrays.ragged import row_numbers
from xlate.arrays.ranges import pieces
from xlate.config.model_schema import JointModelConfig
from xlate.config.schema import TrainConfig
from xlate.jobs.train.networks import NetworkLearning, NetworkTraining, held_out_pairs
from xlate.jobs.train.recipe import device_of
from xlate.learning.settings import NoiseLossConfig
from xlate.models.joint.kind import SOURCE_WORDS, TARGET_WORDS, affiliations
from xlate.models.joint.network import JointNetwork
from xlate.text.vocabulary import BEGIN_ID, END_ID, EncodedText, Vocabulary
from xlate.work.corpus_files import SIDES
from xlate.work.directory import WorkDirectory, word_counts


class JointTraining(NetworkTraining):
    """Epochs over the words of the training text."""

    loss = NoiseLossConfig

    def learning(self) -> NetworkLearning:
        return NoiseLearning(self.config, WordEvents.of(self.work, self.config.model))


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
        held_N = held_out_pairs(work)[row_N]
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


class NoiseLearning(NetworkLearning):
    """Noise-contrastive estimation with AdaGrad."""

    network: JointNetwork

    def __init__(self, config: TrainConfig, events: WordEvents) -> None:
        self.events, self.loss, self.seed, self.device = events, config.loss, config.seed, device_of(config.device)
        self.rows, self.held = np.flatnonzero(~events.held_N), events.batch(np.flatnonzero(events.held_N), self.device)
        self.size = len(self.rows)
        texts = ("\n".join(side.words).encode() for side in events.vocabularies)
        self.words = dict(zip((SOURCE_WORDS, TARGET_WORDS), texts, strict=True))
        source, target = map(len, events.vocabularies)
        words_N = events.batch(self.rows, torch.device("cpu"))[2].numpy()
        count_V = np.bincount(words_N, minlength=target) + 1.0
        self.share_V = count_V / count_V.sum()
        torch.manual_seed(config.seed)
        self.network = JointNetwork((source, target), config.model, torch.from_numpy(self.share_V).float())
        self.network.to(self.device)
        self.optimizer = torch.optim.Adagrad(self.network.parameters(), lr=self.loss.rate)

    def batches(self, epoch: int) -> list[Ints]:
        order_N = np.random.default_rng((self.seed, epoch)).permutation(self.rows)
        return [order_N[at] for at in pieces(len(order_N), self.loss.batch)]

    def step(self, batch: Ints, epoch: int, step: int) -> float:
        draws = np.random.default_rng((self.seed, epoch, step))
        noise = draws.choice(len(self.share_V), self.loss.noise, p=self.share_V)
        loss = self.network.contrast(*self.events.batch(batch, self.device), torch.from_numpy(noise).to(self.device))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        # AdaGrad makes its sparse sums itself; without this PyTorch warns that it does not check them.
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # type: ignore[no-untyped-call]
            self.optimizer.step()
        return float(loss.detach())

    def measures(self) -> dict[str, float]:
        perplexity, norm = self.network.measures(*self.held)
        return {"perplexity": perplexity, "abs_log_z": norm}

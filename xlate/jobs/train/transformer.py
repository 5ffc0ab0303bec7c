"""Training of the transformer on the sentence pairs of a work directory, with Adam and smoothed labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from xlate.array_types import Ints
from xlate.config.model_schema import BACKWARD, REVERSE
from xlate.config.schema import TrainConfig
from xlate.jobs.train.networks import NetworkLearning, NetworkTraining, held_out_pairs
from xlate.jobs.train.recipe import device_of
from xlate.learning.settings import EntropyLossConfig
from xlate.models.transformer.kind import PIECES, learned_pieces, padded
from xlate.models.transformer.network import BEGIN, END, Transformer
from xlate.work.corpus_files import SIDES
from xlate.work.directory import WorkDirectory

# The largest norm of a gradient; larger ones are scaled down.
NORM = 1.0
# Both sides of a batch are padded to one length, a multiple of this: PyTorch compiles and keeps multiplications for
# each shape, so many shapes take much memory.
MULTIPLE = 2
# A source and its target, in pieces.
Pair = tuple[list[int], list[int]]


class TransformerTraining(NetworkTraining):
    """Epochs over the sentence pairs of the training text."""

    loss = EntropyLossConfig

    def learning(self) -> NetworkLearning:
        return EntropyLearning(self.config, self.work)


class EntropyLearning(NetworkLearning):
    """Cross-entropy with Adam; batches are pairs of similar length."""

    network: Transformer

    def __init__(self, config: TrainConfig, work: WorkDirectory) -> None:
        self.config, self.loss, self.device = config, config.loss, device_of(config.device)
        held_S, model = held_out_pairs(work), config.model
        pieces = learned_pieces(sentences(work), model.pieces)
        self.words = {PIECES: pieces}
        processor = SentencePieceProcessor(model_proto=pieces)
        sides = SIDES[::-1] if model.direction == BACKWARD else SIDES
        sources, targets = ([*split(work, side, processor)] for side in sides)
        if model.direction == REVERSE:
            targets = [target[::-1] for target in targets]
        pairs = [(source, [BEGIN, *target, END]) for source, target in zip(sources, targets, strict=True)]
        usable_S = np.array([len(source) > 0 and len(target) > 2 for source, target in pairs])
        self.pairs, self.held = ([pairs[s] for s in np.flatnonzero(usable_S & k)] for k in (~held_S, held_S))
        self.size = len(self.pairs)
        torch.manual_seed(config.seed)
        self.network = Transformer(len(processor), model).to(self.device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=self.loss.rate, betas=(0.9, 0.98))
        for parameter in self.network.parameters():
            zeros = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
            self.optimizer.state[parameter] = {"step": torch.zeros(()), **zeros}
        # Half precision where the processor multiplies it faster; not every PyTorch says whether a CPU does.
        can: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
        self.half = self.device.type == "cuda" or can.get("avx512_bf16", False)
        self.parts = batches_of(self.pairs, self.loss.batch)

    def batches(self, epoch: int) -> list[Ints]:
        """Pairs of similar length, with at most so many pieces on a side; their order is drawn for the epoch."""
        order = np.random.default_rng((self.config.seed, epoch)).permutation(len(self.parts))
        return [self.parts[place] for place in order]

    def step(self, batch: Ints, epoch: int, step: int) -> float:
        # Dropout depends on nothing else.
        torch.manual_seed(int(np.random.default_rng((self.config.seed, epoch, step)).integers(1 << 62)))
        done, every = epoch * len(self.parts) + step, self.loss.epochs * len(self.parts)
        rate = self.loss.rate * min((done + 1) / self.loss.warmup, 1.0) * (1.0 - done / every)
        self.optimizer.param_groups[0]["lr"] = rate
        self.network.train()
        self.optimizer.zero_grad()
        loss = self._loss([self.pairs[row] for row in batch], self.loss.smoothing)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), NORM)
        self.optimizer.step()
        return float(loss.detach())

    @torch.no_grad()
    def measures(self) -> dict[str, float]:
        self.network.eval()
        sums = total = 0.0
        for batch in batches_of(self.held, self.loss.batch):
            pairs = [self.held[row] for row in batch]
            count = sum(len(target) - 1 for _, target in pairs)
            sums += float(self._loss(pairs, 0.0)) * count
            total += count
        return {"perplexity": math.exp(sums / total)}

    def _loss(self, pairs: Sequence[Pair], smoothing: float) -> torch.Tensor:
        longest = max(map(padded_length, pairs))
        source, target = (padded(side, longest).to(self.device) for side in zip(*pairs, strict=True))
        # On a CPU, the gradient of fused attention takes nearly half of a step: it is made for longer sentences.
        attention = sdpa_kernel(SDPBackend.MATH) if self.device.type == "cpu" else nullcontext()
        with attention, torch.autocast(self.device.type, torch.bfloat16, self.half):
            return self.network.loss(source, target, smoothing)


def batches_of(pairs: Sequence[Pair], most: int) -> list[Ints]:
    """The places of pairs of similar length, in batches of at most so many pieces on a side, with what pads them."""
    order = sorted(range(len(pairs)), key=lambda n: (len(pairs[n][1]), len(pairs[n][0]), n))
    found, longest = list[list[int]]([[]]), 0
    for n in order:
        longest = max(longest, padded_length(pairs[n]))
        if found[-1] and (len(found[-1]) + 1) * longest > most:
            found.append([])
            longest = padded_length(pairs[n])
        found[-1].append(n)
    return [np.array(batch) for batch in found]


def padded_length(pair: Pair) -> int:
    """The least length to which both sides of a pair are padded."""
    return -(-max(map(len, pair)) // MULTIPLE) * MULTIPLE


def sentences(work: WorkDirectory) -> Iterator[str]:
    """The lines of both sides of the training text, in tokens."""
    for side in SIDES:
        yield from map(" ".join, work.training_tokens(side))


def split(work: WorkDirectory, side: str, processor: SentencePieceProcessor) -> Iterator[list[int]]:
    """The pieces of each sentence of a side of the training text; each word is split once."""
    pieces, text = processor.encode(list(work.vocabularies[side].words)), work.training_text(side)
    for number in range(len(text)):
        yield [piece for word in text[number] for piece in pieces[word]]

"""Trains the model for a given number of minutes; interrupted training resumes."""

from __future__ import annotations

import math
import os
import time
from argparse import Namespace as Settings
from pathlib import Path

import torch
from model import Translator
from pieces import BEGIN, END, PAD, Pairs, batches, padded
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xlate.progress import track


def loss_of(model: Translator, pairs: Pairs, device: str, smooth: float) -> Tensor:
    """The mean cross-entropy per piece of the targets."""
    target = padded([[BEGIN, *target, END] for _, target in pairs], device)
    scores = model(padded([source for source, _ in pairs], device), target[:, :-1])
    return cross_entropy(scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=smooth)


class Training:
    """A model, its optimiser, its progress, and the weights with the lowest dev loss."""

    def __init__(self, model: Translator, given: Settings) -> None:
        self.model, self.given = model, given
        self.adam = torch.optim.Adam(model.parameters(), lr=given.rate, betas=(0.9, 0.98))
        self.best, self.kept = math.inf, {}
        self.step, self.epoch, self.seconds, self.rises = 0, 0, 0.0, 0
        self.path: Path = given.out / "checkpoint.pt"
        if self.path.exists():
            self._go_on(torch.load(self.path, map_location=given.device))

    @property
    def done(self) -> float:
        """The share of the training that is done, by minutes or epochs, whichever is more."""
        return min(1.0, max(self.seconds / max(60 * self.given.minutes, 1e-9), self.epoch / self.given.epochs))

    def rate(self) -> float:
        """The learning rate: rises during warm-up, and falls to zero towards the end of training."""
        return float(self.given.rate * min(1.0, (self.step + 1) / self.given.warmup) * (1 - self.done))

    def run(self, data: dict[str, Pairs]) -> None:
        """Trains until time is up or the dev loss rises three times; then loads the weights with the lowest loss."""
        while self.done < 1 and self.rises < 3:
            loss = self._trained(data["train"])
            with torch.no_grad():
                rows = [self._loss([data["val"][i] for i in b], 0.0) for b in batches(data["val"], 4000, 0)]
            self._note(float(torch.stack(rows).mean()))
            print(
                f"epoch {self.epoch}, {self.step} steps, {self.seconds:.0f} s: training loss {loss:.3f}, "
                f"dev loss {self.last:.3f}",
                flush=True,
            )
        self.model.load_state_dict(self.kept)

    def _trained(self, pairs: Pairs) -> float:
        """Trains for an epoch, or as long as time allows, and returns the mean loss."""
        self.model.train()
        losses, began = [], time.monotonic() - self.seconds
        for batch in track(batches(pairs, self.given.tokens, self.epoch), f"batches of epoch {self.epoch + 1}"):
            self.adam.param_groups[0]["lr"] = self.rate()
            self.adam.zero_grad()
            loss = self._loss([pairs[i] for i in batch], 0.1)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.adam.step()
            losses.append(float(loss.detach()))
            self.step += 1
            self.seconds = time.monotonic() - began
            if self.done >= 1:
                break
        self.epoch += 1
        self.model.eval()
        return sum(losses) / len(losses)

    def _loss(self, pairs: Pairs, smooth: float) -> Tensor:
        with torch.autocast(torch.device(self.given.device).type, torch.bfloat16, enabled=bool(self.given.bf16)):
            return loss_of(self.model, pairs, self.given.device, smooth)

    def _note(self, loss: float) -> None:
        """Records a dev loss, and writes a checkpoint."""
        self.last = loss
        self.rises = self.rises + 1 if loss >= self.best else 0
        if not self.rises:
            self.best = loss
            self.kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        state = {name: getattr(self, name) for name in ("best", "kept", "step", "epoch", "seconds", "rises")}
        beside = self.path.with_suffix(".new")
        torch.save({**state, "model": self.model.state_dict(), "adam": self.adam.state_dict()}, beside)
        os.replace(beside, self.path)

    def _go_on(self, state: dict[str, object]) -> None:
        self.model.load_state_dict(state.pop("model"))
        self.adam.load_state_dict(state.pop("adam"))
        vars(self).update(state)

"""Trains a reranker of n-best lists in a plain PyTorch loop, with expected BLEU from `xlate.losses`.

    python torch_reranker.py --train=TRAIN.jsonl --test=TEST.jsonl [--score=log_prob]

Each line of the files is one hypothesis: {"id": 0, "src": "…", "hyp": "…", "gain": 0.31, "scores": {"log_prob": -4.2}},
those of a sentence in succession. `--score` names the score that the system ranked them by.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from zlib import crc32

import torch
from torch import Tensor, nn

from xlate.losses import ExpectedBleu


@dataclass(frozen=True)
class NBest:
    """A sentence and its hypotheses, with the system's score and the gain of each."""

    source: str
    hypotheses: list[str]
    log_probs: list[float]
    gains: list[float]


def read(path: str, score: str) -> list[NBest]:
    """The lists of a file, with one of their scores."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows, 1):
        if "gain" not in row:
            raise SystemExit(f"{path}:{number}: no gain; ../own_lists/add_gains.py adds it to any list")
        if score not in row.get("scores", {}):
            raise SystemExit(f"{path}:{number}: no score {score}; --score=NAME: {', '.join(row.get('scores', {}))}")
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row["id"])]
    return [
        NBest(
            group[0]["src"],
            [row["hyp"] for row in group],
            [row["scores"][score] for row in group],
            [row["gain"] for row in group],
        )
        for group in groups
    ]


class Reranker(nn.Module):
    """Scores hypotheses of lists. Put your own model here: training only needs scores (B, N) and a mask.

    With Hugging Face's transformers, `encode` becomes a call of your tokenizer with the pairs of source and hypothesis,
    and `forward` one of `AutoModelForSequenceClassification(…, num_labels=1)(**batch).logits[:, 0]`.
    """

    def __init__(self, words: int = 4096, width: int = 16) -> None:
        super().__init__()
        self.words = words
        self.bag = nn.EmbeddingBag(words, width)
        self.score = nn.Sequential(nn.Linear(2 * width + 2, width), nn.ReLU(), nn.Linear(width, 1))
        self.of_system = nn.Parameter(torch.ones(()))

    def encode(self, texts: Sequence[str]) -> Tensor:
        """A vector per text: the mean of its words' vectors; words are numbered by a hash."""
        words = [[crc32(word.encode()) % self.words for word in text.split()] or [0] for text in texts]
        offsets = torch.tensor([0, *map(len, words[:-1])]).cumsum(0)
        return self.bag(torch.tensor([word for one in words for word in one]), offsets)

    def forward(self, lists: Sequence[NBest]) -> tuple[Tensor, Tensor]:
        """Scores (B, N) of B lists, and the mask of their hypotheses."""
        rows = [(one.source, hypothesis) for one in lists for hypothesis in one.hypotheses]
        log_probs = torch.tensor([log_prob for one in lists for log_prob in one.log_probs])
        lengths = torch.tensor([[len(source.split()), len(hyp.split())] for source, hyp in rows]) / 10
        told = torch.cat([self.encode([s for s, _ in rows]), self.encode([h for _, h in rows]), lengths], dim=1)
        flat = self.score(told)[:, 0] + self.of_system * log_probs
        mask = padded([torch.ones(len(one.hypotheses)) for one in lists]).bool()
        return torch.zeros(mask.shape).masked_scatter(mask, flat), mask


def padded(rows: Sequence[Tensor]) -> Tensor:
    """Rows of different lengths, padded with zeros."""
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def train(model: Reranker, lists: Sequence[NBest], epochs: int, gamma: float, batch: int = 16) -> None:
    """The loop: any optimiser, any schedule; only the loss comes from xlate."""
    loss = ExpectedBleu(gamma=gamma)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(lists)).split(batch):
            chosen = [lists[row] for row in rows.tolist()]
            scores, mask = model(chosen)
            value = loss(scores, padded([torch.tensor(one.gains) for one in chosen]), mask)
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            total += value.item() * len(chosen)
        print(f"epoch {epoch + 1}: expected gain {-total / len(lists):.4f}")


def figures(model: Reranker, lists: Sequence[NBest]) -> dict[str, float]:
    """The mean gain of the first hypotheses, of those that the model chooses, and of the best ones."""
    with torch.no_grad():
        scores, mask = model(lists)
    chosen = scores.masked_fill(~mask, -torch.inf).argmax(1).tolist()
    found = {
        "first": [one.gains[0] for one in lists],
        "reranked": [one.gains[place] for one, place in zip(lists, chosen, strict=True)],
        "oracle": [max(one.gains) for one in lists],
    }
    return {name: sum(gains) / len(gains) for name, gains in found.items()}


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Trains, and prints the figures of the test lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--score", default="log_prob", help="which score of the system to use (log_prob)")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--gamma", type=float, default=5.0)
    given = parser.parse_args(arguments)
    torch.manual_seed(1)
    model = Reranker()
    train(model, read(given.train, given.score), given.epochs, given.gamma)
    found = figures(model, read(given.test, given.score))
    print("  ".join(f"{name} {value:.4f}" for name, value in found.items()))
    return found


if __name__ == "__main__":
    main()

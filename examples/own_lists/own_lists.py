"""Learns sparse weights from your own n-best lists: `CandidateBatch.from_lists`, a linear scorer, and any loss.

    python own_lists.py TRAIN.jsonl TEST.jsonl [--loss=expected_bleu]

Each line is one hypothesis, {"id": 0, "hyp": "…", "gain": 0.31, "scores": {"log_prob": -4.2}}, those of a sentence in
succession. The features of a hypothesis are the scores of its system and its bigrams.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path

import torch
from torch import Tensor

from xlate import CandidateBatch, FeatureNames
from xlate.losses import ListLoss, Loss, loss_of
from xlate.losses.lists import Lists
from xlate.scoring.linear import LinearScorer


class ListNet(Loss):
    """A new loss: the cross entropy of the model's shares and those of exp gain / temperature (Cao et al. 2007).

    `lists` knows where each list is, padded or flat: `shares` is a softmax per list; `logsumexp`, `sum` and `argmax`
    are per list too; `spread` gives the value of a list to each of its candidates. Once this module is imported,
    `loss_of` knows the loss by its name.
    """

    name = "listnet"

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        self.temperature = temperature

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The cross entropy of every list, in nats."""
        wanted_C = lists.shares(gain_C / self.temperature)
        return lists.logsumexp(scores_C) - lists.sum(wanted_C * scores_C)


def features(row: dict) -> dict[str, float]:
    """The features of a hypothesis: the scores it came with, and the counts of its bigrams."""
    words = ["<s>", *row["hyp"].split(), "</s>"]
    return {**row["scores"], **Counter(f"bigram={a} {b}" for a, b in pairwise(words))}


def read(path: str, names: FeatureNames | None = None) -> tuple[CandidateBatch, FeatureNames]:
    """The lists of a file, and their feature names: the given ones, or their own."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows, 1):
        if "gain" not in row:
            raise SystemExit(f"{path}:{number}: no gain; add_gains.py adds it to any list")
    lists = [list(group) for _, group in groupby(rows, key=lambda row: row["id"])]
    told, gains = [[features(row) for row in one] for one in lists], [[row["gain"] for row in one] for one in lists]
    names = FeatureNames.of(told) if names is None else names
    return CandidateBatch.from_lists(told, gains, names), names


def train(lists: CandidateBatch, names: FeatureNames, loss: ListLoss, epochs: int, l2: float = 1e-3) -> LinearScorer:
    """The weights that minimise the loss plus a penalty on their squares."""
    scorer = LinearScorer(len(names.dense), len(names.sparse))
    with torch.no_grad():
        scorer.dense.fill_(1.0)
    gains = torch.tensor(lists.gain_CG[:, 0])
    offsets = torch.tensor(lists.candidate_offsets_I1)
    optimiser = torch.optim.Adam(scorer.parameters(), lr=0.05)
    for epoch in range(epochs):
        value = loss(scorer(lists), gains, offsets=offsets)
        optimiser.zero_grad()
        (value + l2 * sum(p.square().sum() for p in scorer.parameters())).backward()
        optimiser.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {value.item():.4f}")
    return scorer


def mean_gain(scorer: LinearScorer, batch: CandidateBatch) -> float:
    """The mean gain of the hypotheses with the highest scores."""
    ends = batch.candidate_offsets_I1.tolist()
    scores = scorer(batch).detach()
    best = [a + int(scores[a:b].argmax()) for a, b in pairwise(ends)]
    return float(batch.gain_CG[best, 0].mean())


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Trains, prints the mean gain of the first and the chosen hypotheses, and the strongest weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--loss", default="expected_bleu", help="a loss of xlate, or listnet")
    parser.add_argument("--epochs", type=int, default=50)
    given = parser.parse_args(arguments)
    lists, names = read(given.train)
    scorer = train(lists, names, ListLoss(loss_of(given.loss)), given.epochs)
    test, _ = read(given.test, names)
    first = float(test.gain_CG[test.candidate_offsets_I1[:-1], 0].mean())
    found = {"first": first, "reranked": mean_gain(scorer, test)}
    print("  ".join(f"{name} {value:.4f}" for name, value in found.items()))
    weights = names.weights(scorer.dense.detach(), scorer.bag.weight.detach()[: len(names.sparse), 0])
    for name, weight in sorted(weights.items(), key=lambda pair: -abs(pair[1]))[:5]:
        print(f"{weight:+.3f}  {name}")
    return found


if __name__ == "__main__":
    main()

"""Beam search and sampling for several sentences at once, which reuse what the decoder has computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from model import Translator
from pieces import BEGIN, END, PAD, UNKNOWN, padded
from torch import Tensor


@dataclass(frozen=True)
class Found:
    """A hypothesis: its pieces, including the end, and the log probability of each."""

    pieces: list[int]
    log_probs: list[float]

    @property
    def score(self) -> float:
        """The mean log probability, by which lists are ordered."""
        return sum(self.log_probs) / len(self.log_probs)


@torch.no_grad()
def beam_search(model: Translator, sources: list[list[int]], beam: int, device: str) -> list[list[Found]]:
    """The best translations of some sentences, at most `beam` each, best first."""
    source = padded(sources, device)
    memory, many = model.remember(source), len(sources)
    last = torch.full((many * beam, 1), BEGIN, device=device)
    # At first all hypotheses of a sentence are identical.
    score = torch.full((many, beam), -math.inf, device=device)
    score[:, 0] = 0.0
    rows: list[list[Found]] = [[Found([], []) for _ in range(beam)] for _ in sources]
    done: list[list[Found]] = [[] for _ in sources]
    before: list[Tensor] = []
    for _ in range(2 * source.shape[1] + 10):
        log_p, before = model.step(last, memory, before)
        log_p[:, [PAD, BEGIN, UNKNOWN]] = -math.inf
        step = log_p.view(many, beam, -1)
        score, place = (score[:, :, None] + step).flatten(1).topk(beam)
        held, piece = place // step.shape[2], place % step.shape[2]
        gained = step.flatten(1).gather(1, place)
        for s in range(many):
            grown = [
                Found([*rows[s][h].pieces, p], [*rows[s][h].log_probs, value])
                for h, p, value in zip(held[s].tolist(), piece[s].tolist(), gained[s].tolist(), strict=True)
            ]
            ended = (piece[s] == END) & score[s].isfinite()
            done[s] += [grown[b] for b in ended.nonzero().flatten().tolist()]
            score[s, ended], rows[s] = -math.inf, grown
        if all(len(found) >= beam for found in done) or not bool(score.isfinite().any()):
            break
        order = (held + beam * torch.arange(many, device=device)[:, None]).flatten()
        before, last = [layer[order] for layer in before], piece.reshape(-1, 1)
    # If a sentence has no finished translation, use its best unfinished one.
    lists = [found or [max(row, key=lambda f: f.score)] for found, row in zip(done, rows, strict=True)]
    return [sorted(found, key=lambda f: -f.score)[:beam] for found in lists]


@torch.no_grad()
def sampled(
    model: Translator, sources: list[list[int]], many: int, temperature: float, device: str
) -> list[list[Found]]:
    """`many` translations of each sentence, drawn piece by piece, best first; a low temperature prefers likely ones."""
    source = padded(sources, device)
    memory, before = model.remember(source), []
    last = torch.full((many * len(sources), 1), BEGIN, device=device)
    pieces, log_probs, ended = [], [], torch.zeros(len(last), dtype=torch.bool, device=device)
    for _ in range(2 * source.shape[1] + 10):
        log_p, before = model.step(last, memory, before)
        log_p[:, [PAD, BEGIN, UNKNOWN]] = -math.inf
        last = torch.multinomial((log_p / temperature).softmax(-1), 1)
        pieces.append(last)
        log_probs.append(log_p.gather(1, last))
        ended |= last[:, 0] == END
        if bool(ended.all()):
            break
    rows = zip(torch.cat(pieces, dim=1).tolist(), torch.cat(log_probs, dim=1).tolist(), strict=True)
    drawn = []
    for row, values in rows:
        end = row.index(END) + 1 if END in row else len(row)
        drawn.append(Found(row[:end], values[:end]))
    lists = [drawn[first : first + many] for first in range(0, len(drawn), many)]
    return [sorted(found, key=lambda f: -f.score) for found in lists]

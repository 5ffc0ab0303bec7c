"""A small transformer, its n-best lists as JSON lines, and xlate's reranker on top of them.

    python examples/neural_nbest/neural_nbest.py --data multi30k --pair de-en --out work/neural --minutes 20

`--data` is a folder with train, val and test_2016_flickr of two languages, one sentence a line, `.gz` or not. The model
is trained on train for so many minutes, lists of val and test are decoded with a beam, weights are learned on those of
val and measured on those of test. What was finished is not done again.
"""

from __future__ import annotations

import json
import math
import time
from argparse import ArgumentParser
from argparse import Namespace as Settings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pieces import BEGIN, END, PAD, UNKNOWN, Pairs, Pieces, batches, padded
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from xlate.cli.main import main as xlate
from xlate.text.lines import read_lines, write_lines
from xlate.text.tokens import Preprocessor, preprocess_lines

SPLITS = ("train", "val", "test_2016_flickr")


class Translator(nn.Module):
    """Encoder and decoder of torch's transformer layers, one embedding for both languages and the output."""

    def __init__(self, size: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Embedding(size, width, padding_idx=PAD)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        given = {"dropout": dropout, "batch_first": True, "norm_first": True}
        encoder = nn.TransformerEncoderLayer(width, 4, 4 * width, **given)
        decoder = nn.TransformerDecoderLayer(width, 4, 4 * width, **given)
        self.encoder = nn.TransformerEncoder(encoder, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder, layers, nn.LayerNorm(width))
        self.dropout = nn.Dropout(dropout)

    def embedded(self, ids: Tensor, start: int = 0) -> Tensor:
        """Embeddings with sines of their places, the first of which is `start`."""
        width = self.embed.embedding_dim
        place = torch.arange(start, start + ids.shape[1], device=ids.device)[:, None]
        angle = place * torch.exp(torch.arange(0, width, 2, device=ids.device) * (-math.log(1e4) / width))
        return self.dropout(self.embed(ids) * math.sqrt(width) + torch.cat([angle.sin(), angle.cos()], dim=1))

    def encode(self, source: Tensor) -> Tensor:
        """The source as the decoder sees it."""
        return self.encoder(self.embedded(source), src_key_padding_mask=source == PAD)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores of the piece behind each piece of the target."""
        mask = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device), 1)
        states = self.decoder(
            self.embedded(target),
            self.encode(source),
            tgt_mask=mask,
            tgt_is_causal=True,
            memory_key_padding_mask=source == PAD,
        )
        return states @ self.embed.weight.T

    def step(self, last: Tensor, memory: Tensor, absent: Tensor, before: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Log probabilities of the next piece of S · B hypotheses, and what each layer keeps of those so far.

        Args:
            last: the last piece of each, (S · B, 1). memory, absent: sources, and where they have ended, (S, …).
            before: what each layer keeps.
        """
        state, kept = self.embedded(last, before[0].shape[1] if before else 0), []
        for number, layer in enumerate(self.decoder.layers):
            new = layer.norm1(state)
            all_of_it = torch.cat([before[number], new], dim=1) if before else new
            kept.append(all_of_it)
            state = state + layer.self_attn(new, all_of_it, all_of_it, need_weights=False)[0]
            # The hypotheses of a sentence ask the same memory side by side.
            asking = layer.norm2(state).view(len(memory), -1, state.shape[2])
            told = layer.multihead_attn(asking, memory, memory, key_padding_mask=absent, need_weights=False)[0]
            state = state + told.reshape(state.shape)
            state = state + layer.linear2(layer.activation(layer.linear1(layer.norm3(state))))
        return log_softmax(self.decoder.norm(state[:, 0]) @ self.embed.weight.T, dim=-1), kept


def loss_of(model: Translator, pairs: Pairs, device: str, smooth: float) -> Tensor:
    """The mean cross-entropy of the pieces of some targets."""
    target = padded([[BEGIN, *target, END] for _, target in pairs], device)
    scores = model(padded([source for source, _ in pairs], device), target[:, :-1])
    return cross_entropy(scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=smooth)


def train(model: Translator, data: dict[str, Pairs], given: Settings) -> None:
    """Trains until time is up or the dev loss rises three times; the weights of the lowest dev loss are there then."""
    steps, best, rises, began = 0, math.inf, 0, time.monotonic()
    adam = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98))
    rate = torch.optim.lr_scheduler.LambdaLR(adam, lambda n: given.rate * min((n + 1) / 1000, (1000 / (n + 1)) ** 0.5))
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    for epoch in range(given.epochs):
        model.train()
        for batch in batches(data["train"], given.tokens, epoch):
            adam.zero_grad()
            loss_of(model, [data["train"][i] for i in batch], given.device, 0.1).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            rate.step()
            steps += 1
            if time.monotonic() - began > 60 * given.minutes:
                break
        model.eval()
        with torch.no_grad():
            rows = [
                loss_of(model, [data["val"][i] for i in b], given.device, 0.0) for b in batches(data["val"], 4000, 0)
            ]
        loss = float(torch.stack(rows).mean())
        rises = rises + 1 if loss >= best else 0
        if not rises:
            best, kept = loss, {name: value.clone() for name, value in model.state_dict().items()}
        print(f"epoch {epoch}, {steps} steps, {time.monotonic() - began:.0f} s: dev loss {loss:.3f}", flush=True)
        if rises == 3 or time.monotonic() - began > 60 * given.minutes:
            break
    model.load_state_dict(kept)


@dataclass(frozen=True)
class Found:
    """A hypothesis: its pieces, that of the end among them, and the log probability of each."""

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
    memory, absent, many = model.encode(source), source == PAD, len(sources)
    last = torch.full((many * beam, 1), BEGIN, device=device)
    # At first all hypotheses of a sentence are the same one.
    score = torch.full((many, beam), -math.inf, device=device)
    score[:, 0] = 0.0
    rows: list[list[Found]] = [[Found([], []) for _ in range(beam)] for _ in sources]
    done: list[list[Found]] = [[] for _ in sources]
    before: list[Tensor] = []
    for _ in range(2 * source.shape[1] + 10):
        log_p, before = model.step(last, memory, absent, before)
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
    # A sentence without a finished translation has the best of the others.
    lists = [found or [max(row, key=lambda f: f.score)] for found, row in zip(done, rows, strict=True)]
    return [sorted(found, key=lambda f: -f.score)[:beam] for found in lists]


def write_list(path: Path, model: Translator, pieces: Pieces, sources: list[list[str]], given: Settings) -> None:
    """Writes the lists of some sentences as JSON lines, those of like lengths decoded together."""
    ids = [pieces.ids(words) or [UNKNOWN] for words in sources]
    order, lists = sorted(range(len(ids)), key=lambda i: len(ids[i])), {}
    for start in range(0, len(order), given.sentences):
        some = order[start : start + given.sentences]
        lists |= zip(some, beam_search(model, [ids[i] for i in some], given.beam, given.device), strict=True)
    write_lines(path, (json_line(i, sources[i], found, pieces) for i in range(len(ids)) for found in lists[i]))


def json_line(number: int, source: list[str], found: Found, pieces: Pieces) -> str:
    """A hypothesis as xlate reads it."""
    scores = {"log_prob": sum(found.log_probs), "least_log_prob": min(found.log_probs), "pieces": len(found.log_probs)}
    row = {"id": number, "src": " ".join(source), "hyp": pieces.words(found.pieces), "scores": scores}
    return json.dumps({**row, "score": found.score}, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, writes lists, learns to rank them, and prints what that is worth."""
    given = parsed(arguments)
    torch.manual_seed(given.seed)
    source, target = given.pair.split("-")
    text: dict[str, tuple[list[list[str]], list[list[str]]]] = {}
    for split in SPLITS:
        sides = [next(iter(sorted(given.data.glob(f"{split}.{language}*")))) for language in (source, target)]
        read = (read_lines(side)[: given.most or None] for side in sides)
        text[split] = tuple(preprocess_lines(r, Preprocessor(g)) for r, g in zip(read, (source, target), strict=True))
    words = Counter(word for side in text["train"] for row in side for word in row)
    pieces = Pieces.learn(words, given.merges)
    model = Translator(len(pieces.pieces) + UNKNOWN + 1, given.width, given.layers, given.dropout).to(given.device)
    weights = given.out / "model.pt"
    if not weights.exists():
        pairs = {s: [(a, b) for a, b in zip(*text[s], strict=True) if a and b] for s in SPLITS[:2]}
        train(model, {s: [(pieces.ids(a), pieces.ids(b)) for a, b in pairs[s]] for s in pairs}, given)
        given.out.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), weights)
    model.load_state_dict(torch.load(weights, map_location=given.device))
    model.eval()
    for split in SPLITS[1:]:
        write_lines(given.out / f"{split}.ref", (" ".join(row) for row in text[split][1]))
        if not (given.out / f"{split}.jsonl").exists():
            write_list(given.out / f"{split}.jsonl", model, pieces, text[split][0], given)
    rerank(given.out)


def rerank(out: Path) -> None:
    """Learns weights on the lists of val, ranks those of test with them, and prints the report."""
    run, drop = f"run={out / 'rerank'}", "nbest_duplicates=drop"
    dev, test = (out / f"{split}.jsonl" for split in SPLITS[1:])
    learning = ["loss=xbleu", "loss.lists.gamma=10", "loss.lists.heldout_every=4", "model.rerank.mbr=bleu"]
    xlate(["train", "model=rerank", *learning, f"nbest={dev}", f"references={out / 'val.ref'}", drop, run])
    ranked = [f"out={out / 'test.nbest'}", f"best_out={out / 'test.best'}", f"ref={out / f'{SPLITS[2]}.ref'}"]
    xlate(["nbest", "rescore", str(test), run, drop, *ranked])


def parsed(arguments: Sequence[str] | None) -> Settings:
    """The settings."""
    parser = ArgumentParser(description=__doc__)
    for name in ("--data", "--out"):
        parser.add_argument(name, type=Path, required=True)
    numbers = {"minutes": 20.0, "epochs": 40, "beam": 50, "merges": 6000, "width": 256, "layers": 3, "dropout": 0.2}
    for name, value in {**numbers, "rate": 1e-3, "tokens": 2500, "sentences": 8, "most": 0, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    for name, default in (("--pair", "de-en"), ("--device", "cpu")):
        parser.add_argument(name, default=default)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()

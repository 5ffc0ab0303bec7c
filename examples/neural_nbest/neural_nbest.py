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
from model import Translator, opened
from pieces import BEGIN, END, PAD, UNKNOWN, Pairs, Pieces, batches, padded
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from xlate.cli.main import main as xlate
from xlate.text.lines import read_lines, write_lines
from xlate.text.tokens import Preprocessor, preprocess_lines

SPLITS = ("train", "val", "test_2016_flickr")


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
    text = {split: [read_side(given, split, language) for language in given.pair.split("-")] for split in SPLITS}
    if not (given.out / "model.pt").exists():
        given.out.mkdir(parents=True, exist_ok=True)
        pieces = Pieces.learn(Counter(word for side in text["train"] for row in side for word in row), given.merges)
        pieces.save(given.out / "pieces.json")
        model = Translator(len(pieces), given.width, given.layers, given.dropout).to(given.device)
        pairs = {s: [(a, b) for a, b in zip(*text[s], strict=True) if a and b] for s in SPLITS[:2]}
        train(model, {s: [(pieces.ids(a), pieces.ids(b)) for a, b in pairs[s]] for s in pairs}, given)
        torch.save(model.state_dict(), given.out / "model.pt")
    model, pieces = opened(given.out, given.device)
    for split in SPLITS[1:]:
        write_lines(given.out / f"{split}.ref", (" ".join(row) for row in text[split][1]))
        if not (given.out / f"{split}.jsonl").exists():
            write_list(given.out / f"{split}.jsonl", model, pieces, text[split][0], given)
    rerank(given.out, given.keys)


def read_side(given: Settings, split: str, language: str) -> list[list[str]]:
    """The words of a split in one language; text that is tokenised already is cut at blanks."""
    name = given.names.format(split=split, language=language)
    lines = read_lines(min(given.data.glob(f"{name}*")))[: given.most or None]
    return preprocess_lines(lines, Preprocessor(language, tokenize=not given.tokenized, normalize=not given.tokenized))


def rerank(out: Path, keys: Sequence[str]) -> None:
    """Learns weights on the lists of val with some more keys, ranks those of test, and prints the report."""
    run, drop = f"run={out / 'rerank'}", "nbest_duplicates=drop"
    dev, test = (out / f"{split}.jsonl" for split in SPLITS[1:])
    learning = ["loss=xbleu", "loss.lists.heldout_every=4", "model.rerank.mbr=chrf", *keys]
    given = [*learning, f"nbest={dev}", f"references={out / 'val.ref'}", drop, run]
    ranked = [f"out={out / 'test.nbest'}", f"best_out={out / 'test.best'}", f"ref={out / f'{SPLITS[2]}.ref'}"]
    if xlate(["train", "model=rerank", *given]) or xlate(["nbest", "rescore", str(test), run, drop, *ranked]):
        raise SystemExit(2)


def parsed(arguments: Sequence[str] | None) -> Settings:
    """The settings."""
    parser = ArgumentParser(description=__doc__)
    for name in ("--data", "--out"):
        parser.add_argument(name, type=Path, required=True)
    numbers = {"minutes": 20.0, "epochs": 40, "beam": 50, "merges": 6000, "width": 256, "layers": 3, "dropout": 0.2}
    numbers |= {"rate": 1e-3, "tokens": 2500, "sentences": 8, "most": 0, "seed": 1, "tokenized": 0}
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    for name, default in (("--pair", "de-en"), ("--device", "cpu"), ("--names", "{split}.{language}")):
        parser.add_argument(name, default=default)
    parser.add_argument("keys", nargs="*", help="of xlate train, such as loss.lists.gain=add-1")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()

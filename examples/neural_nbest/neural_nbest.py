"""A small transformer, its n-best lists as JSON lines, and xlate's reranker on top of them.

    python examples/neural_nbest/neural_nbest.py --data multi30k --pair de-en --out work/neural --minutes 20

`--data` is a folder with train, val and test_2016_flickr in two languages, one sentence per line, `.gz` or not. The
model is trained on train for `--minutes`, lists of val and test are decoded with a beam, weights are learned on those
of val and measured on those of test. With `--held 3000` the last 3000 pairs of train are not trained on; weights are
learned from their lists too. Finished steps are not repeated, and interrupted training resumes after its last epoch. To
continue a finished training, remove `model.pt` and raise `--minutes`.
"""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser
from argparse import Namespace as Settings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from model import Translator, opened
from pieces import UNKNOWN, Pieces
from search import Found, beam_search, sampled
from training import Training

from xlate.cli.main import main as xlate
from xlate.progress import track
from xlate.text.lines import read_lines, write_lines
from xlate.text.tokens import Preprocessor

SPLITS = ("train", "val", "test_2016_flickr")
# The pairs of train that are not trained on, and all lists that weights are learned from.
HELD, LEARNED = "held", "learned"
SETTINGS: dict[str, tuple[int | float | str, str]] = {
    "pair": ("de-en", "source and target language"),
    "names": ("{split}.{language}", "the names of the files"),
    "tokenized": (0, "1: split the text on whitespace"),
    "most": (0, "use the first N sentences of each split; 0: all"),
    "held": (0, "leave the last N pairs out of training, and learn weights from their lists"),
    "minutes": (20.0, "the longest training time"),
    "epochs": (40, "the most passes over the text"),
    "merges": (6000, "merges that make the pieces of words"),
    "width": (256, "the width of the model"),
    "layers": (3, "the layers of the encoder, and of the decoder"),
    "dropout": (0.2, "the share of units that dropout leaves out"),
    "rate": (1e-3, "the highest learning rate"),
    "warmup": (500, "the steps up to that rate"),
    "tokens": (2500, "tokens per batch"),
    "beam": (50, "hypotheses per list"),
    "temperature": (0.0, "above 0: draw that many hypotheses instead; likelier ones if below 1"),
    "sentences": (8, "sentences decoded together"),
    "lists": (1, "0: only train"),
    "bf16": (0, "1: train in half precision where the processor can"),
    "threads": (0, "1 if several trainings run side by side; 0: PyTorch's default"),
    "device": ("cpu", "cpu or cuda"),
    "seed": (1, "seed of the initial weights and of the order"),
}


def write_list(path: Path, model: Translator, pieces: Pieces, sources: list[list[str]], given: Settings) -> None:
    """Writes the lists of some sentences as JSON lines, decoding those of similar length together."""

    def translated(some: list[list[int]]) -> list[list[Found]]:
        if given.temperature:
            return sampled(model, some, given.beam, given.temperature, given.device)
        return beam_search(model, some, given.beam, given.device)

    ids = [pieces.ids(words) or [UNKNOWN] for words in sources]
    order, lists = sorted(range(len(ids)), key=lambda i: len(ids[i])), {}
    starts = range(0, len(order), given.sentences)
    for start in track(starts, f"batches of {path.name}"):
        some = order[start : start + given.sentences]
        lists |= zip(some, translated([ids[i] for i in some]), strict=True)
    write_lines(path, (json_line(i, sources[i], found, pieces) for i in range(len(ids)) for found in lists[i]))


def json_line(number: int, source: list[str], found: Found, pieces: Pieces) -> str:
    """A hypothesis in the form that xlate reads."""
    scores = {"log_prob": sum(found.log_probs), "least_log_prob": min(found.log_probs), "pieces": len(found.log_probs)}
    row = {"id": number, "src": " ".join(source), "hyp": pieces.words(found.pieces), "scores": scores}
    return json.dumps({**row, "score": found.score}, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains, writes lists, learns to rank them, and prints what that gains."""
    given = parsed(arguments)
    torch.manual_seed(given.seed)
    if given.threads:
        torch.set_num_threads(given.threads)
    text = {split: [read_side(given, split, language) for language in given.pair.split("-")] for split in SPLITS}
    if given.held:
        text[HELD] = [side[-given.held :] for side in text["train"]]
        text["train"] = [side[: -given.held] for side in text["train"]]
    if (given.out / "model.pt").exists():
        print(f"{given.out / 'model.pt'} exists: skipping the training", flush=True)
    else:
        train(text, given)
    if not given.lists:
        return
    model, pieces = opened(given.out, given.device)
    listed = [split for split in text if split != "train"]
    for split in listed:
        write_lines(given.out / f"{split}.ref", (" ".join(row) for row in text[split][1]))
        if not (given.out / f"{split}.jsonl").exists():
            write_list(given.out / f"{split}.jsonl", model, pieces, text[split][0], given)
    join(given.out, [split for split in listed if split != SPLITS[2]])
    rerank(given.out, given.keys)


def train(text: dict[str, list[list[list[str]]]], given: Settings) -> None:
    """Learns the pieces and the model."""
    given.out.mkdir(parents=True, exist_ok=True)
    known = given.out / "pieces.json"
    if not known.exists():
        Pieces.learn(Counter(word for side in text["train"] for row in side for word in row), given.merges).save(known)
    pieces = Pieces.load(known)
    model = Translator(len(pieces), given.width, given.layers, given.dropout).to(given.device)
    pairs = {s: [(a, b) for a, b in zip(*text[s], strict=True) if a and b] for s in SPLITS[:2]}
    Training(model, given).run({s: [(pieces.ids(a), pieces.ids(b)) for a, b in pairs[s]] for s in pairs})
    torch.save(model.state_dict(), given.out / "model.pt")


def read_side(given: Settings, split: str, language: str) -> list[list[str]]:
    """The words of a split in one language; text that is already tokenised is split on whitespace."""
    name = given.names.format(split=split, language=language)
    lines = read_lines(min(given.data.glob(f"{name}*")))[: given.most or None]
    preprocessor = Preprocessor(language, tokenize=not given.tokenized, normalize=not given.tokenized)
    return [preprocessor.tokens(line) for line in track(lines, f"tokenising {language}")]


def join(out: Path, splits: Sequence[str]) -> None:
    """Merges the lists of some splits, and their references, into one file each."""
    rows, references = [], []
    for split in splits:
        for line in read_lines(out / f"{split}.jsonl"):
            row = json.loads(line)
            rows.append(json.dumps({**row, "id": row["id"] + len(references)}, ensure_ascii=False))
        references += read_lines(out / f"{split}.ref")
    write_lines(out / f"{LEARNED}.jsonl", rows)
    write_lines(out / f"{LEARNED}.ref", references)


def rerank(out: Path, keys: Sequence[str]) -> None:
    """Learns weights with these additional keys, ranks the lists of test, and prints the report."""
    run, drop = f"run={out / 'rerank'}", "nbest_duplicates=drop"
    dev, test = (out / f"{split}.jsonl" for split in (LEARNED, SPLITS[2]))
    learning = ["loss=mira", "loss.tune.heldout_every=4", "model.rerank.mbr=chrf", "model.rerank.min_lists=5", *keys]
    given = [*learning, f"nbest={dev}", f"references={out / f'{LEARNED}.ref'}", drop, run]
    ranked = [f"out={out / 'test.nbest'}", f"best_out={out / 'test.best'}", f"ref={out / f'{SPLITS[2]}.ref'}"]
    if xlate(["train", "model=rerank", *given]) or xlate(["nbest", "rescore", str(test), run, drop, *ranked]):
        raise SystemExit(2)


def parsed(arguments: Sequence[str] | None) -> Settings:
    """The settings."""
    parser = ArgumentParser(description=__doc__)
    for name in ("--data", "--out"):
        parser.add_argument(name, type=Path, required=True)
    for name, (value, words) in SETTINGS.items():
        parser.add_argument(f"--{name}", type=type(value), default=value, help=f"{words} ({value})")
    parser.add_argument("keys", nargs="*", help="keys of xlate train, such as model.rerank.metric=chrf")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()

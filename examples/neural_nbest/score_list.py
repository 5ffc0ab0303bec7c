"""Scores the hypotheses of any system's list with a trained model, as a column for `add_scores`.

    python examples/neural_nbest/score_list.py --model work/neural --list dev.nbest --source dev.de --out dev.neural
    xlate train model=rerank nbest=dev.nbest add_scores=[neural=dev.neural] …

List and source are split on whitespace, and must be tokenised like the model's training text. With `--backward 1` the
model translates in the other direction, and scores the source given each hypothesis.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from model import Translator, opened
from pieces import BEGIN, END, PAD, UNKNOWN, padded

from xlate.formats.nbest_file import NbestFile
from xlate.progress import track
from xlate.text.lines import read_lines, write_lines


@torch.no_grad()
def log_probs(model: Translator, sources: list[list[int]], targets: list[list[int]], device: str) -> list[float]:
    """The log probability of each target given its source; a single source applies to all."""
    source, target = padded(sources, device), padded([[BEGIN, *row, END] for row in targets], device)
    # Compute what all have in common only once.
    memory, absent = (part.expand(len(targets), *part.shape[1:]) for part in (model.encode(source), source == PAD))
    scores = model.decode(memory, absent, target[:, :-1]).log_softmax(-1)
    told = scores.gather(2, target[:, 1:, None])[..., 0]
    return told.masked_fill(target[:, 1:] == PAD, 0.0).sum(1).tolist()


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes a number for each hypothesis of the list, in its order; sentence N of the list is line N of the source."""
    parser = ArgumentParser(description=__doc__)
    for name in ("--model", "--list", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--backward", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.threads:
        torch.set_num_threads(given.threads)
    model, pieces = opened(given.model, given.device)
    lines = [] if given.source is None else read_lines(given.source)

    def column() -> Iterator[str]:
        for group in track(NbestFile(given.list).lists(), "scoring"):
            line = lines[group[0].sentence] if lines else group[0].source or ""
            known = [pieces.ids(line.split()) or [UNKNOWN]]
            # Identical hypotheses are scored once.
            texts = list(dict.fromkeys(hypothesis.text for hypothesis in group))
            made = [pieces.ids(text.split()) or [UNKNOWN] for text in texts]
            sides = (made, known * len(made)) if given.backward else (known, made)
            told = dict(zip(texts, log_probs(model, *sides, given.device), strict=True))
            yield from (f"{told[hypothesis.text]:.6g}" for hypothesis in group)

    write_lines(given.out, column())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()

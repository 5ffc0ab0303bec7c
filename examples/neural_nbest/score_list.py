"""Scores of a trained model for the hypotheses of any system's list, as a column for `add_scores`.

    python examples/neural_nbest/score_list.py --model work/neural --list dev.nbest --source dev.de --out dev.neural
    xlate train model=rerank nbest=dev.nbest add_scores=[neural=dev.neural] …

Words of list and source are between blanks, cut as those that the model was trained on.
"""

from __future__ import annotations

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
def log_probs(model: Translator, source: list[int], targets: list[list[int]], device: str) -> list[float]:
    """The log probability of each translation of a source."""
    target = padded([[BEGIN, *row, END] for row in targets], device)
    scores = model(torch.tensor([source] * len(targets), device=device), target[:, :-1]).log_softmax(-1)
    told = scores.gather(2, target[:, 1:, None])[..., 0]
    return told.masked_fill(target[:, 1:] == PAD, 0.0).sum(1).tolist()


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes a number for each hypothesis of the list, in its order; sentence N of the list is line N of the source."""
    parser = ArgumentParser(description=__doc__)
    for name in ("--model", "--list", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args(arguments)
    model, pieces = opened(given.model, given.device)
    sources = [] if given.source is None else read_lines(given.source)

    def column() -> Iterator[str]:
        for group in track(NbestFile(given.list).lists(), "scoring"):
            source = sources[group[0].sentence] if sources else group[0].source or ""
            targets = [pieces.ids(hypothesis.text.split()) for hypothesis in group]
            for value in log_probs(model, pieces.ids(source.split()) or [UNKNOWN], targets, given.device):
                yield f"{value:.6g}"

    write_lines(given.out, column())


if __name__ == "__main__":
    main()

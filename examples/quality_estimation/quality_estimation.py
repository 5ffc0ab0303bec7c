"""Columns of COMET or COMET-Kiwi for n-best lists: one number per hypothesis, for `add_scores` of xlate.

    python quality_estimation.py texts dev.nbest dev.texts --source dev.de        # where xlate is installed
    python quality_estimation.py column dev.texts dev.qe                          # where unbabel-comet is installed

The first command writes a JSON line per hypothesis, `{"src": …, "mt": …}`, with `ref` too if references are given; the
second scores them. They are apart because unbabel-comet needs other versions of numpy and protobuf than xlate.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

Text = dict[str, str]
# Texts to their scores.
Model = Callable[[list[Text]], Sequence[float]]
KIWI = "Unbabel/wmt22-cometkiwi-da"


def write_texts(nbest: Path, out: Path, source: str | None = None, references: str | None = None) -> int:
    """Writes the texts of every hypothesis, in the order of the list and with duplicates; returns their number."""
    from xlate.candidates.nbest import read_references
    from xlate.errors import InputError
    from xlate.formats.nbest_file import NbestFile, nbest_arrays
    from xlate.models.rerank.lists import SentenceLines, source_lines

    lists = list(NbestFile(nbest).lists())
    sentence_I = nbest_arrays(lists, nbest).sentence_I
    sources = source_lines(lists, nbest, SentenceLines.read(source, "sources", sentence_I, None))
    if sources is None:
        raise InputError("the sources are not known", expected="--source FILE, or src in JSON lines", file=nbest)
    lines = [""] * len(lists)
    if references is not None:
        lines = [first for first, *_ in read_references([references], sentence_I)]
    rows = []
    for hypotheses, line, reference in zip(lists, sources, lines, strict=True):
        known = {"src": line} | ({} if references is None else {"ref": reference})
        rows += [json.dumps({**known, "mt": one.text}, ensure_ascii=False) + "\n" for one in hypotheses]
    out.write_text("".join(rows), encoding="utf-8")
    return len(rows)


def write_column(texts: Path, out: Path, model: Model) -> int:
    """Writes one number per text; equal texts are scored once. Returns how many numbers there are."""
    lines = texts.read_text(encoding="utf-8").split("\n")[:-1]
    distinct = list(dict.fromkeys(lines))
    scores = dict(zip(distinct, model([json.loads(line) for line in distinct]), strict=True))
    out.write_text("".join(f"{float(scores[line]):.9g}\n" for line in lines), encoding="utf-8")
    return len(lines)


def comet(name: str, batch: int, gpus: int) -> Model:
    """A model of unbabel-comet by its name on the Hugging Face hub; it is downloaded on first use."""
    from comet import download_model, load_from_checkpoint

    loaded = load_from_checkpoint(download_model(name))
    return lambda texts: loaded.predict(texts, batch_size=batch, gpus=gpus).scores


def arguments(given: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(description="Columns of COMET or COMET-Kiwi for n-best lists.")
    actions = parser.add_subparsers(dest="action", required=True)
    texts = actions.add_parser("texts", help="write the texts of a list, where xlate is installed")
    texts.add_argument("nbest", type=Path)
    texts.add_argument("--source", help="the sources, if the list does not hold them")
    texts.add_argument("--references", help="for models that need a reference")
    column = actions.add_parser("column", help="score them, where unbabel-comet is installed")
    column.add_argument("texts", type=Path)
    column.add_argument("--model", default=KIWI)
    column.add_argument("--batch", type=int, default=16)
    column.add_argument("--gpus", type=int, default=0)
    for each in (texts, column):
        each.add_argument("out", type=Path)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(given)
    if asked.action == "texts":
        count = write_texts(asked.nbest, asked.out, asked.source, asked.references)
    else:
        count = write_column(asked.texts, asked.out, comet(asked.model, asked.batch, asked.gpus))
    print(f"{asked.out}: {count} hypotheses")


if __name__ == "__main__":
    main()

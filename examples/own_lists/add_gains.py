"""Writes an n-best list of any system as JSON lines with gains: sentence BLEU against a reference, from 0 to 1.

    python add_gains.py LIST REFERENCE OUT.jsonl [--source=FILE]

LIST has any format that `xlate nbest check` reads. List and reference are split on whitespace; line N of reference and
source belongs to sentence N of the list, counted from 0.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from sacrebleu.metrics import BLEU

from xlate.formats.nbest_file import NbestFile
from xlate.formats.nbest_list import Hypothesis
from xlate.progress import track
from xlate.text.lines import read_lines, write_lines


def scores(hypothesis: Hypothesis) -> dict[str, float]:
    """The features by name, those with several values as NAME_0, NAME_1 …, and the total if the list has one."""
    told = [name if count == 1 else f"{name}_{i}" for name, count in hypothesis.layout for i in range(count)]
    total = {} if hypothesis.total is None else {"total": hypothesis.total}
    return dict(zip(told, hypothesis.values, strict=True)) | total


def rows(path: Path, references: list[str], sources: list[str] | None) -> Iterator[str]:
    """One line per hypothesis."""
    bleu = BLEU(effective_order=True, tokenize="none", force=True)
    for group in track(NbestFile(path).lists(), "gains", len(references)):
        for name, lines in (("reference", references), ("source", sources)):
            if lines is not None and group[0].sentence >= len(lines):
                raise SystemExit(f"{path}:{group[0].line}: sentence {group[0].sentence}, but {len(lines)} {name} lines")
        for one in group:
            gain = bleu.sentence_score(one.text, [references[one.sentence]]).score / 100
            source = one.source if sources is None else sources[one.sentence]
            row = {"id": one.sentence, "src": source or "", "hyp": one.text, "gain": gain, "scores": scores(one)}
            yield json.dumps(row, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("list", "reference", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--source", type=Path)
    given = parser.parse_args(arguments)
    sources = None if given.source is None else read_lines(given.source)
    write_lines(given.out, rows(given.list, read_lines(given.reference), sources))


if __name__ == "__main__":
    main()

"""Which choice from n-best lists is best: by one column, by agreement, by learned weights, or by all of it?

    python examples/columns/columns.py --dev s1/dev.jsonl s2/dev.jsonl --test s1/test.jsonl s2/test.jsonl \
        --dev-ref dev.en --test-ref test.en --columns lm back forward --out work/columns

The lists are those of one system with several seeds. The column `lm` of `s1/dev.jsonl` is the file `s1/dev.lm`, one
number per hypothesis. All choices are made, and all weights learned, for BLEU on dev. The table compares the results on
test: means over the seeds, and one paired test over all of them against the best column.
"""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from xlate.candidates.nbest import nbest_statistics, read_references
from xlate.cli.main import main as xlate
from xlate.formats.nbest_file import NbestFile, nbest_arrays
from xlate.kernels.memory import best_of_each
from xlate.scoring.feature_weights import write_feature_weights
from xlate.search.oracle import choice

ALONE = ["model.rerank.ngrams=0", "model.rerank.pairs=false", "model.rerank.length=false"]
MEASURES = {"chrf": "chrF", "ter": "TER", "bleu": "BLEU"}
FIRST, COLUMN, MBR, LEARNED, ALL = "first of the list", "best column", "MBR", "learned", "learned, MBR and words"


def added(path: Path, columns: Sequence[str]) -> tuple[str, ...]:
    """NAME=FILE of each column; a file is called like the list, with the name of the column at its end."""
    stem = path.name.partition(".jsonl")[0]
    return tuple(f"{name}={path.with_name(f'{stem}.{name}')}" for name in columns)


def best_column(path: Path, references: str, columns: Sequence[str]) -> str:
    """The column, of the list or added, whose highest values choose the translations with the best BLEU."""
    arrays = nbest_arrays(NbestFile(path, duplicates="drop", added=added(path, columns)).lists(), path)
    statistics_CK = nbest_statistics(arrays, read_references([references], arrays.sentence_I))
    bleu = {}
    for name in arrays.names:
        score_C = arrays.scores({name: 1.0})
        bleu[name] = choice(statistics_CK, best_of_each(score_C, arrays.candidate_offsets_I1)).bleu
    print(f"{path}: BLEU of the choice by each column:", {name: round(value, 2) for name, value in bleu.items()})
    return max(bleu, key=lambda name: bleu[name])


def chosen(given: Namespace, number: int) -> dict[str, Path]:
    """The files of translations of the test lists of one seed, by the way they were chosen."""
    dev, test, out = given.dev[number], given.test[number], given.out / str(number + 1)
    out.mkdir(parents=True, exist_ok=True)
    single = best_column(dev, given.dev_ref, given.columns)
    write_feature_weights(out / "column.weights", {single: 1.0})
    drop = "nbest_duplicates=drop"
    ways = {COLUMN: [f"weights={out / 'column.weights'}", drop], MBR: ["mbr=bleu"]}
    learning = ["model=rerank", "loss=mira", f"nbest={dev}", f"references=[{given.dev_ref}]"]
    learning += [f"add_scores=[{','.join(added(dev, given.columns))}]", drop]
    for way, keys in ((LEARNED, ALONE), (ALL, ["model.rerank.mbr=bleu", "model.rerank.min_lists=5"])):
        ways[way] = [f"run={out / way.split()[-1]}", drop]
        run(["train", *learning, *keys, ways[way][0]])
    files = {FIRST: out / "first.txt"}
    lists = NbestFile(test).lists()
    files[FIRST].write_text("".join(f"{group[0].text}\n" for group in lists), encoding="utf-8")
    for way, keys in ways.items():
        files[way] = out / f"{way.split()[-1]}.txt"
        with_columns = f"add_scores=[{','.join(added(test, given.columns))}]"
        written = [f"out={out / 'ranked.nbest'}", f"best_out={files[way]}"]
        run(["nbest", "rescore", str(test), *keys, with_columns, *written])
    return files


def run(words: list[str]) -> None:
    """Runs a command of xlate."""
    if xlate(words):
        raise SystemExit(2)


def row(given: Namespace, way: str, files: Sequence[dict[str, Path]]) -> str:
    """A line of the table: means of the measures over the seeds, and how they differ from those of the best column."""
    ours, theirs = (",".join(str(one[name]) for one in files) for name in (way, COLUMN))
    out = given.out / "figures.json"
    measured = [f"ref=[{given.test_ref}]", f"measures=[{','.join(MEASURES)}]", "tokenize=none", f"out={out}"]
    run(["score", f"hyp=[{ours}]", f"against=[{theirs}]", *measured])
    found, cells = json.loads(out.read_text(encoding="utf-8")), [way]
    for name in MEASURES:
        spread, test = f" ± {found[f'{name}_deviation']:.2f}" if len(files) > 1 else "", found["paired"][name]
        p = test["p_by_sentence"] if len(files) > 1 else test["p_randomisation"]
        versus = "" if way == COLUMN else f" ({test['difference']:+.2f}, p = {p:.4f})"
        cells.append(f"{found[name]:.2f}{spread}{versus}")
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Ranks, and prints the table in Markdown."""
    parser = ArgumentParser(description=__doc__)
    for name in ("--dev", "--test"):
        parser.add_argument(name, type=Path, nargs="+", required=True)
    for name in ("--dev-ref", "--test-ref", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--columns", nargs="*", default=[])
    given = parser.parse_args(arguments)
    files = [chosen(given, number) for number in range(len(given.dev))]
    rows = [row(given, way, files) for way in files[0]]
    print(f"| choice | {' | '.join(MEASURES.values())} |", "|---" * 4 + "|", *rows, sep="\n")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()

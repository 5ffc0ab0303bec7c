"""Extracting and scoring hierarchical rules: rules per second and peak memory, compared with phrase pairs.

Uses Multi30k with Moses's links under XLATE_DATA (or ../shared/data); without them, and with --quick, a made-up text.
Each row is a separate process, which reads the text, extracts and scores; the peak is that of the whole process, the
megabytes before are those after reading the text. Rates are distinct rules per CPU second. Rules with non-terminals
anywhere are only counted: they show what the target normal form costs.

    python benchmarks/bench_rules.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_events import made_up_text
from rule_forms import rule_forms

from xlate.align.lexical import lexical_table
from xlate.align.links import Links, read_links
from xlate.machine import peak_megabytes
from xlate.phrases.extract import extract_phrases
from xlate.phrases.rule_extraction import extract_rules, score_rules
from xlate.phrases.runs import Runs
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import gaps_of, score_phrases
from xlate.text.lines import read_lines
from xlate.text.vocabulary import EncodedText, Vocabulary

Text = tuple[EncodedText, EncodedText, Links]
SMALL_MB = 64


class Row(NamedTuple):
    """What one job took: distinct rules, CPU and wall seconds, megabytes before and at the most, and what it says."""

    rules: int
    seconds: float
    wall: float
    before_mb: float
    peak_mb: float
    said: str


def phrases(text: Text) -> tuple[int, str]:
    """Phrase pairs of up to 7 words."""
    return len(score_phrases(extract_phrases(*text), lexical_table(*text))), ""


def rules(text: Text, settings: RuleSettings) -> tuple[int, str]:
    """Rules in target normal form."""
    with Runs(settings.memory_mb) as runs:
        table = score_rules(extract_rules(*text, settings, runs), lexical_table(*text), settings)
    by_gaps = np.bincount(gaps_of(table.source_sides)[table.source_B], minlength=3)
    return len(table), f"{by_gaps.tolist()} by non-terminals, {table.swapped_B.sum()} swapped"


def anywhere(text: Text) -> tuple[int, str]:
    """Rules with non-terminals anywhere in the target."""
    forms = rule_forms(*text)
    return int(forms.types_G.sum()), (
        f"{forms.share_of_types:.1%} of types and {forms.share_of_tokens:.1%} of tokens in normal form; "
        f"types {forms.types_G.tolist()}, normal {forms.normal_types_G.tolist()}; "
        f"tokens {forms.tokens_G.tolist()}, normal {forms.normal_tokens_G.tolist()}"
    )


def by_default(text: Text) -> tuple[int, str]:
    """Rules in target normal form, of phrase pairs with unaligned words at their edges too."""
    return rules(text, RuleSettings())


def in_little_memory(text: Text) -> tuple[int, str]:
    """The same, with sorted runs in files."""
    return rules(text, RuleSettings(memory_mb=SMALL_MB))


def chiang(text: Text) -> tuple[int, str]:
    """Rules as Chiang extracts them: no phrase pair begins or ends with an unaligned word."""
    return rules(text, RuleSettings(loose_phrases=False))


JOBS: dict[str, Callable[[Text], tuple[int, str]]] = {
    "phrase pairs": phrases,
    "rules": by_default,
    f"rules, {SMALL_MB} MB": in_little_memory,
    "rules, aligned edges": chiang,
    "rules anywhere, counted": anywhere,
}


def read_text(sentences: int) -> Text:
    """Multi30k with Moses's links, or so many made-up sentence pairs."""
    folder = data_folder()
    if sentences or folder is None:
        return made_up_text(sentences or 29000)
    sides = [
        [[word for word in line.split(" ") if word] for line in read_lines(folder / "corpus" / f"train.tok.{side}.gz")]
        for side in ("de", "en")
    ]
    source, target = (EncodedText.encode(side, Vocabulary.build(side)) for side in sides)
    lengths = [np.diff(text.offsets_S1) for text in (source, target)]
    return source, target, read_links(folder / "align" / "train.grow-diag-final-and.de-en.gz", *lengths)


def data_folder() -> Path | None:
    """Where Moses's files are, if they are."""
    named = os.environ.get("XLATE_DATA")
    folder = (Path(named) if named else Path(__file__).resolve().parents[1].parent / "shared" / "data") / "moses"
    return folder if (folder / "align").exists() else None


def measured(name: str, sentences: int) -> Row:
    """One job, after a first time on little text that compiles its loops."""
    JOBS[name](made_up_text(30))
    text = read_text(sentences)
    before, wall, start = peak_megabytes(), time.perf_counter(), time.process_time()
    count, said = JOBS[name](text)
    return Row(count, time.process_time() - start, time.perf_counter() - wall, before, peak_megabytes(), said)


def alone(name: str, sentences: int) -> Row:
    """One job in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, name, sentences).result()


def main() -> None:
    """Prints the table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small made-up text")
    sentences = 2000 if parser.parse_args().quick else 0
    print(f"{'':24} {'distinct':>9} {'CPU s':>7} {'wall s':>7} {'a second':>9} {'MB before':>9} {'MB peak':>8}")
    rows = {}
    for name in JOBS:
        row = rows[name] = alone(name, sentences)
        print(
            f"{name:24} {row.rules:9} {row.seconds:7.2f} {row.wall:7.2f} {row.rules / row.seconds:9.0f}"
            f" {row.before_mb:9.0f} {row.peak_mb:8.0f}  {row.said}"
        )
    if rows["rules"].rules != rows[f"rules, {SMALL_MB} MB"].rules:
        raise SystemExit("rules extracted in little memory differ")
    ours, theirs = (rows[name].rules / rows[name].seconds for name in ("rules", "phrase pairs"))
    result = {"name": "rules", "ours": round(ours), "peer": round(theirs), "unit": "rules/s, phrase pairs/s"}
    print(json.dumps({**result, "ratio": round(ours / theirs, 2), "peak_mb": round(rows["rules"].peak_mb)}))


if __name__ == "__main__":
    main()

"""Does a phrase system with 100 million pairs and 500 million n-grams open at once, in little memory?

Makes a phrase table with reordering scores and a language model of the shape of real ones (three translations per
source phrase, many for short phrases; five-grams), in the stored formats, and opens them in new processes: CPU and wall
seconds until the first line is translated, and anonymous and mapped memory then and after 200 lines. Pages of mapped
files can be dropped at any time. The first opening on a machine checks everything that is stored; its row is `checked`.
By default a twelfth of the pairs, and a quarter of those for the straight line through both. The ratio is the CPU
seconds for the first line of the larger system to those of the smaller one.

Run: python benchmarks/bench_large_system.py [--quick] [--pairs N] [--ngrams M] [--folder FOLDER]
     --quick: 400,000 pairs and a million n-grams; by default 8 and 20 million, with 5 GB of disk in FOLDER
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import AnyArray, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.arrays.ranges import pieces
from xlate.arrays.scratch import Scratch
from xlate.lm.arpa import ArpaModel, NgramTable
from xlate.lm.model import NgramModel
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import PhraseModel, Reordering, load_phrase_model, save_phrase_model
from xlate.phrases.table import PhraseTable
from xlate.search.settings import PhraseSearch
from xlate.text.vocabulary import EncodedText, Vocabulary

PAIRS, NGRAMS = 100_000_000, 500_000_000
# A phrase is a frequent word for each of its last places, after one of many first words.
DEPTH, LEVEL, FIRST = 4, 4, 3 + 4 * 4
LONG, SHORT = 1, 512
SHARES = (0.06, 0.2, 0.33, 0.4)
LINES = 200


def phrase_parts(count: int) -> Iterator[tuple[Ints32, Ints]]:
    """The words and lengths of sorted phrases of one to five words, some at a time."""
    for piece in pieces(count):
        number_P = np.arange(piece.start, piece.stop)
        words_P5 = np.empty((len(number_P), DEPTH + 1), np.int32)
        words_P5[:, 0] = FIRST + number_P // LEVEL**DEPTH
        lengths_P = np.ones(len(number_P), np.int64)
        for level in range(1, DEPTH + 1):
            digit_P = number_P // LEVEL ** (DEPTH - level) % LEVEL
            words_P5[:, level] = 3 + LEVEL * (level - 1) + digit_P
            # Digits of 0 at the end make a phrase shorter.
            lengths_P[digit_P > 0] = level + 1
        yield words_P5[np.arange(DEPTH + 1) < lengths_P[:, None]], lengths_P


def phrases(scratch: Scratch, count: int) -> EncodedText:
    """Sorted phrases."""
    ids_T, lengths_P = scratch.stored(phrase_parts(count))
    (offsets_P1,) = scratch.stored([(offsets_of(lengths_P),)])
    return EncodedText(ids_T, offsets_P1)


def pair_parts(source: EncodedText, target: EncodedText, sizes_P: Ints) -> Iterator[tuple[AnyArray, ...]]:
    """The columns of the pairs of some source phrases at a time."""
    end, lengths_P, lengths_Q = 0, np.diff(source.offsets_S1), np.diff(target.offsets_S1)
    for piece in pieces(len(sizes_P), 1 << 18):
        number_P = np.arange(piece.start, piece.stop)
        source_B = np.repeat(number_P, sizes_P[piece])
        place_B = np.arange(len(source_B)) - np.repeat(offsets_of(sizes_P[piece])[:-1], sizes_P[piece])
        target_B = source_B * 7919 % (len(target) // 2) + place_B * (len(target) // (2 * SHORT))
        rng = np.random.default_rng(piece.start)
        links_B = np.minimum(lengths_P[source_B], lengths_Q[target_B])
        ends_B1 = offsets_of(links_B)
        link_K = (np.arange(ends_B1[-1]) - np.repeat(ends_B1[:-1], links_B)).astype(np.int16)
        oriented_B6 = rng.random((len(source_B), 6)) / 3 + 0.1
        yield (
            source_B.astype(np.int32),
            target_B.astype(np.int32),
            np.ones(len(source_B)),
            rng.random((len(source_B), 4)) * 0.9 + 0.05,
            end + ends_B1[min(piece.start, 1) :],
            link_K,
            oriented_B6,
        )
        end += ends_B1[-1]


def phrase_table(scratch: Scratch, pairs: int) -> tuple[PhraseTable, Floats]:
    """About so many pairs, and their reordering scores."""
    sides = pairs // 3
    source, target = phrases(scratch, sides), phrases(scratch, sides)
    sizes_P = np.where(np.arange(sides) % LEVEL**DEPTH == 0, SHORT, LONG)
    source_B, target_B, count_B, scores_B4, offsets_B1, link_K, oriented_B6 = scratch.stored(
        pair_parts(source, target, sizes_P)
    )
    made = PhraseTable(
        source_phrases=source,
        target_phrases=target,
        source_B=source_B,
        target_B=target_B,
        count_B=count_B,
        scores_B4=scores_B4,
        link_offsets_B1=offsets_B1,
        link_source_K=link_K,
        link_target_K=link_K,
        source_count_P=np.ones(sides),
        target_count_Q=np.ones(sides),
    )
    return made, oriented_B6


def ngram_model(scratch: Scratch, vocabulary: Vocabulary, ngrams: int) -> NgramModel:
    """A five-gram model with so many n-grams: the first n-grams of each order are continued by the same number."""
    words = len(vocabulary)
    (words_Kn,) = scratch.stored([(np.arange(words, dtype=np.int32)[:, None],)])
    tables = [NgramTable(words_Kn, np.full(words, -5.0), np.full(words, -0.3))]
    for share in SHARES:
        size, before_Kn = int(ngrams * share), words_Kn
        each = -(-size // len(before_Kn))

        def parts(size: int = size, before_Kn: Ints32 = before_Kn, each: int = each) -> Iterator[tuple[AnyArray]]:
            for piece in pieces(size):
                row_K = np.arange(piece.start, piece.stop)
                first_K = row_K // each
                last_K = (first_K * 7919 + row_K % each * 104_729) % (words - 3) + 3
                yield (np.concatenate([before_Kn[first_K], last_K[:, None].astype(np.int32)], axis=1),)

        (words_Kn,) = scratch.stored(parts())
        backoff = 0.0 if share == SHARES[-1] else -0.3
        tables.append(NgramTable(words_Kn, scratch.filled(size, -2.0), scratch.filled(size, backoff)))
    return NgramModel.from_arpa(ArpaModel(vocabulary, tables), scratch)


def make(folder: Path, pairs: int, ngrams: int) -> dict[str, Any]:
    """Stores a system; its sizes."""
    with Scratch(1, folder) as scratch:
        table, oriented_B6 = phrase_table(scratch, pairs)
        words = FIRST + len(table.source_phrases) // LEVEL**DEPTH + 1
        source, target = (Vocabulary(f"{letter}{number}" for number in range(words - 3)) for letter in "st")
        lm = ngram_model(scratch, target, ngrams)
        model = PhraseModel(table, source, target, lm, Reordering("hier", oriented_B6))
        save_phrase_model(folder / "model", model)
    files = [path for path in (folder / "model").rglob("*") if path.is_file()]
    lm_bytes = sum(path.stat().st_size for path in files if path.parent.name == "lm")
    return {
        "pairs": len(table),
        "ngrams": sum(int(ngrams * share) for share in SHARES) + words,
        "lm_bytes": lm_bytes,
        "table_bytes": sum(path.stat().st_size for path in files) - lm_bytes,
    }


def memory_mb(kind: str) -> float:
    """Resident memory of this process."""
    found = re.search(rf"{kind}:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024 / 1e6


def measured(folder: Path, cache: Path, lines: int, begun: float) -> dict[str, float]:
    """Opens a system and translates; seconds and memory, from the beginning of the process."""
    os.environ["XDG_CACHE_HOME"] = str(cache)
    model = load_phrase_model(folder / "model")
    opened = time.process_time()
    decoder = PhraseDecoder(model, np.linspace(0.1, 0.5, model.size), PhraseSearch())
    rng, texts = np.random.default_rng(1), list[list[str]]()
    for _ in range(lines):
        rows = [model.table.source_phrases[row] for row in rng.integers(len(model.table.source_phrases), size=5)]
        texts.append([model.source_vocabulary.words[word] for row in rows for word in row.tolist()])
    for words in texts:
        decoder.translate(words)
    return {
        "open_cpu": opened,
        "cpu": time.process_time(),
        "wall": time.time() - begun,
        "anonymous_mb": memory_mb("RssAnon"),
        "mapped_mb": memory_mb("RssFile"),
    }


def alone(folder: Path, cache: Path, lines: int) -> dict[str, float]:
    """The same in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (folder, cache, lines, time.time()))


def main() -> None:
    """Prints a table, and a JSON line last."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--ngrams", type=int)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    pairs = asked.pairs or (400_000 if asked.quick else 8_000_000)
    ngrams = asked.ngrams or (1_000_000 if asked.quick else 20_000_000)
    titles = ("pairs", "n-grams", "lines", "open, CPU s", "CPU s", "wall s", "anonymous MB", "mapped MB")
    print("".join(f"{title:>14}" for title in titles))
    rows = []
    for divisor in (4, 1):
        with tempfile.TemporaryDirectory(dir=asked.folder) as made:
            folder, cache = Path(made), Path(made) / "cache"
            sizes = make(folder, pairs // divisor, ngrams // divisor)
            # Files written just now are not remembered as checked.
            time.sleep(1)
            if divisor > 1:
                # Compiles what is measured.
                alone(folder, folder / "other", 1)
            for title, lines in (("checked", 1), ("1", 1), (str(LINES), LINES)):
                row = alone(folder, cache, lines)
                rows.append({**sizes, "lines": title, **row})
                numbers = "".join(f"{number:>14,.1f}" for number in row.values())
                print(f"{sizes['pairs']:>14,}{sizes['ngrams']:>14,}{title:>14}{numbers}", flush=True)
    few, many = rows[1], rows[4]
    lines_mb = rows[5]["anonymous_mb"] + rows[5]["mapped_mb"]
    table_bytes, ngram_bytes = many["table_bytes"] / many["pairs"], many["lm_bytes"] / many["ngrams"]

    def at_full(name: str, row: int) -> float:
        less, more = rows[row][name], rows[row + 3][name]
        full: float = more + (more - less) / (many["pairs"] - few["pairs"]) * (PAIRS - many["pairs"])
        return full

    disk_gb = (PAIRS * table_bytes + NGRAMS * ngram_bytes) / 1e9
    print(
        f"{table_bytes:.0f} bytes per pair, {ngram_bytes:.0f} per n-gram; {PAIRS:,} pairs and {NGRAMS:,} n-grams on "
        f"the straight line: {disk_gb:.0f} GB on disk, {at_full('cpu', 0):.0f} CPU s to check them once, and "
        f"{at_full('anonymous_mb', 1):.0f} MB of anonymous memory for one line, {at_full('anonymous_mb', 2):.0f} MB "
        f"for {LINES}"
    )
    record = {"name": "large_system", "ours": round(many["cpu"], 2), "peer": round(few["cpu"], 2), "unit": "CPU s"}
    record |= {"ratio": round(many["cpu"] / few["cpu"], 2), "peak_mb": lines_mb}
    print(json.dumps(record | {"rows": rows}))


if __name__ == "__main__":
    main()

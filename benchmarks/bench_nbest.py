"""How fast are n-best lists read, and how many hypotheses per second get their BLEU statistics, on one core?

The statistics of `candidates.lists.ngram_statistics`, over numbered words, against those of sacrebleu over the same
texts, alternately; medians. The two must be equal. Also the seconds for reading a list, for making its candidates, for
writing them as a store, and for opening that.

The lists are Moses's of multi30k val with 14 features, and one with sparse features, if the corpora are there
(XLATE_DATA, or ../shared/data); otherwise, and with --quick, a generated list.

Run: python benchmarks/bench_nbest.py [--quick]
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from sacrebleu.metrics.bleu import BLEU

from xlate.candidates.lists import ngram_statistics
from xlate.candidates.nbest import NbestArrays, nbest_candidates, write_nbest_store
from xlate.candidates.store import CandidateStore
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.text.lines import read_lines, write_lines

ROUNDS, QUICK_ROUNDS = 9, 5
SENTENCES, HYPOTHESES, LENGTH, WORDS = 300, 100, 13, 2_000


def generated_list(folder: Path) -> tuple[Path, Path]:
    """A list of hypotheses that differ from their reference in some words, with 14 features, and the references."""
    random = np.random.default_rng(1)
    references = random.integers(WORDS, size=(SENTENCES, LENGTH))
    lines = []
    for number, reference in enumerate(references):
        for _ in range(HYPOTHESES):
            other = np.where(random.random(LENGTH) < 0.2, random.integers(WORDS, size=LENGTH), reference)
            text = " ".join(f"w{word}" for word in other)
            values = " ".join(f"{value:.6g}" for value in random.normal(scale=10, size=13))
            lines.append(f"{number} ||| {text} ||| LM0= {random.normal():.6g} TM0= {values} ||| {random.normal():.6g}")
    write_lines(folder / "list.gz", lines)
    write_lines(folder / "ref", (" ".join(f"w{word}" for word in reference) for reference in references))
    return folder / "list.gz", folder / "ref"


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long a run took, and what it gave."""
    start = time.perf_counter()
    given = run()
    return time.perf_counter() - start, given


def measure_path(path: Path, reference: list[str], folder: Path, rounds: int) -> NbestArrays:
    """Prints the seconds of each step from the list to an opened store, medians; gives the list."""
    arrays: NbestArrays
    taken: dict[str, list[float]] = {"read": [], "candidates": [], "write store": [], "open store": []}
    for _ in range(rounds):
        spent, arrays = seconds(lambda: nbest_arrays(by_sentence(iterate_hypotheses(path), path), path))
        taken["read"].append(spent)
        references = [[reference[number]] for number in arrays.sentence_I]
        spent, candidates = seconds(partial(nbest_candidates, arrays, references))
        taken["candidates"].append(spent)
        taken["write store"].append(seconds(partial(write_nbest_store, folder / "store", candidates))[0])
        taken["open store"].append(seconds(lambda: CandidateStore.open(folder / "store"))[0])
    print(
        f"{path.name}: {len(arrays.total_C):,} hypotheses, {len(arrays.values_V):,} values, {len(arrays.names)} names"
    )
    for step, times in taken.items():
        print(f"  {step:12}{statistics.median(times):10.4f} s   {min(times):.4f} to {max(times):.4f}")
    return arrays


def measure_statistics(arrays: NbestArrays, reference: list[str], rounds: int) -> tuple[float, float]:
    """Prints the hypotheses per second of the kernel and of sacrebleu, medians; gives both."""
    text = arrays.numbers.encode(reference[sentence].split() for sentence in arrays.sentence_I.tolist())
    row_C = np.repeat(arrays.sentence_I, np.diff(arrays.candidate_offsets_I1)).tolist()
    lines, wanted = arrays.texts(np.arange(len(row_C))), [reference[row] for row in row_C]
    bleu = BLEU(tokenize="none", force=True)
    ends = np.arange(len(text) + 1)

    def ours() -> Any:
        return ngram_statistics(arrays.text, arrays.candidate_offsets_I1, text, ends)

    def peer() -> Any:
        return bleu._extract_corpus_statistics(lines, [wanted])

    # Compiles as well.
    if not np.array_equal(ours(), peer()):
        sys.exit("the statistics differ")
    rates: dict[str, list[float]] = {"kernel": [], "sacrebleu": []}
    for _ in range(rounds):
        rates["kernel"].append(len(lines) / seconds(ours)[0])
        rates["sacrebleu"].append(len(lines) / seconds(peer)[0])
    print(f"{'statistics, equal':24}{'median /s':>14}{'lowest':>14}{'highest':>14}")
    for title, each in rates.items():
        print(f"{title:24}{statistics.median(each):14,.0f}{min(each):14,.0f}{max(each):14,.0f}")
    return statistics.median(rates["kernel"]), statistics.median(rates["sacrebleu"])


def main() -> None:
    """Chooses the lists and measures."""
    quick = "--quick" in sys.argv
    rounds = QUICK_ROUNDS if quick else ROUNDS
    moses = Path(os.environ.get("XLATE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "moses"
    print(f"python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}, {rounds} rounds")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if moses.is_dir() and not quick:
            path, reference = moses / "nbest" / "val.100best.gz", read_lines(moses / "corpus" / "val.tok.en.gz")
            measure_path(moses / "nbest" / "val.sparse.run9.100best.gz", reference, folder, 3)
        else:
            path, references = generated_list(folder)
            reference = read_lines(references)
        arrays = measure_path(path, reference, folder, rounds)
        ours, peer = measure_statistics(arrays, reference, rounds)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    report = {
        "name": "nbest",
        "ours": round(ours),
        "peer": round(peer),
        "unit": "hypotheses/s",
        "ratio": round(ours / peer, 2),
        "peak_mb": round(used),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()

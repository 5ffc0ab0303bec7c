"""How many hypotheses per second get their edits for TER, on one core, and how long do 50-best lists of a dev set take?

The kernel over complete lists against sacrebleu over the first hypotheses of some of them, alternately; medians. Both
must be equal.

The lists are Moses's of multi30k val, 50 hypotheses of each sentence, if the corpora are there (XLATE_DATA, or
../shared/data); otherwise, and with --quick, they are generated: references with words replaced and groups moved.

Run: python benchmarks/bench_ter.py [--quick]
"""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from sacrebleu.metrics.ter import TER

from xlate.arrays.ragged import offsets_of
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.metrics.score import edit_rows
from xlate.text.lines import read_lines

ROUNDS, HYPOTHESES, OF_SACREBLEU = 5, 50, 200
SENTENCES, LENGTH, WORDS = 100, 20, 2_000


def generated_lists() -> tuple[list[list[str]], list[str]]:
    """Lists of hypotheses that differ from their reference, and the references."""
    drawn = random.Random(1)
    references = [[f"w{drawn.randrange(WORDS)}" for _ in range(LENGTH)] for _ in range(SENTENCES)]
    lists = []
    for reference in references:
        hypotheses = []
        for _ in range(HYPOTHESES):
            words = [word if drawn.random() < 0.8 else f"w{drawn.randrange(WORDS)}" for word in reference]
            start, to = drawn.randrange(LENGTH - 4), drawn.randrange(LENGTH - 4)
            group, rest = words[start : start + 3], words[:start] + words[start + 3 :]
            hypotheses.append(" ".join(rest[:to] + group + rest[to:]))
        lists.append(hypotheses)
    return lists, [" ".join(reference) for reference in references]


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long a run took, and what it gave."""
    start = time.perf_counter()
    given = run()
    return time.perf_counter() - start, given


def main() -> None:
    """Chooses the lists and measures."""
    moses = Path(os.environ.get("XLATE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "moses"
    lists, references = generated_lists()
    if moses.is_dir() and "--quick" not in sys.argv:
        path = moses / "nbest" / "val.100best.gz"
        read = list(by_sentence(iterate_hypotheses(path), path))
        lines = read_lines(moses / "corpus" / "val.tok.en.gz")
        lists = [[one.text for one in hypotheses[:HYPOTHESES]] for hypotheses in read]
        references = [lines[hypotheses[0].sentence] for hypotheses in read]
    texts, offsets_I1 = [text for some in lists for text in some], offsets_of([len(some) for some in lists])
    firsts = offsets_I1[:-1][:OF_SACREBLEU]

    def ours() -> Any:
        return edit_rows(texts, offsets_I1, [[line] for line in references])

    def peer() -> Any:
        return TER()._extract_corpus_statistics([texts[c] for c in firsts], [references[:OF_SACREBLEU]])

    # Compiles as well.
    if not np.array_equal(ours()[firsts], peer()):
        sys.exit("the edits differ")
    taken: dict[str, list[float]] = {"kernel": [], "sacrebleu": []}
    for _ in range(ROUNDS):
        taken["kernel"].append(seconds(ours)[0])
        taken["sacrebleu"].append(seconds(peer)[0])
    print(f"python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}, {ROUNDS} rounds")
    print(f"{len(lists):,} lists, {len(texts):,} hypotheses: {statistics.median(taken['kernel']):.3f} s")
    rates = {}
    print(f"{'hypotheses/s':24}{'median':>14}{'lowest':>14}{'highest':>14}")
    for title, count in (("kernel", len(texts)), ("sacrebleu", len(firsts))):
        each = [count / spent for spent in taken[title]]
        rates[title] = statistics.median(each)
        print(f"{title:24}{rates[title]:14,.0f}{min(each):14,.0f}{max(each):14,.0f}")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    report = {
        "name": "ter",
        "ours": round(rates["kernel"]),
        "peer": round(rates["sacrebleu"]),
        "unit": "hypotheses/s",
        "ratio": round(rates["kernel"] / rates["sacrebleu"], 2),
        "peak_mb": round(used),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()

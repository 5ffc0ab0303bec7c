"""How many CPU seconds does one optimiser step of each tuner take on the n-best lists of a dev set?

Lists of a Moses system under XLATE_DATA (or ../shared/data): 72,216 hypotheses with 14 floats and 87,660 with sparse
features too; each next to Moses's own optimiser on a machine of the same kind (README of the data). BLEU is that of the
model-best hypotheses of the list under the weights found. Medians of three seeds.

Run: python benchmarks/bench_tuners.py [--quick]      (a generated list, a fifth of the size)
"""

from __future__ import annotations

import json
import os

# Idle threads of a linear algebra library would count as CPU seconds.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.nbest import nbest_candidates, read_references
from xlate.formats.nbest_file import nbest_arrays
from xlate.formats.nbest_list import by_sentence, iterate_hypotheses
from xlate.kernels.learning.envelope import corpus_bleu
from xlate.kernels.memory import best_of_each
from xlate.losses.expected_bleu import ExpectedCorpusBleu
from xlate.losses.ramp import Ramp
from xlate.losses.softmax_margin import SoftmaxMargin
from xlate.metrics.objective import BLEU, Objective
from xlate.scoring.linear import CompiledScorer
from xlate.scoring.weights import Weights
from xlate.tuners.gradient import descend, pro
from xlate.tuners.mert import mert
from xlate.tuners.mira import checked_lists, mira
from xlate.tuners.settings import MertConfig, MiraConfig, PenaltyConfig, ProConfig

SEEDS = (1, 2, 3)
LONG = PenaltyConfig(step_penalty=0.0)
Step = Callable[[CandidateBatch, Weights, int, Objective, Bools], Weights]
# Moses's CPU seconds for the dense list and the sparse one.
STEPS: dict[str, tuple[Step, str, str]] = {
    "MIRA, 60 epochs": (lambda b, w, *m: mira(b, w, MiraConfig(), *m), "0.20", "1.84"),
    "MERT, 20 restarts": (lambda b, w, *m: mert(b, w, MertConfig(), *m), "17.6", ""),
    "PRO": (lambda b, w, *m: pro(b, w, ProConfig(), *m), "0.86", ""),
    "expected BLEU": (lambda b, w, _, *m: descend(b, w, ExpectedCorpusBleu(), LONG, *m), "", ""),
    "softmax-margin": (lambda b, w, _, *m: descend(b, w, SoftmaxMargin(), LONG, *m), "", ""),
    "ramp": (lambda b, w, _, *m: descend(b, w, Ramp(), LONG, *m), "", ""),
}  # fmt: skip


def given_lists() -> dict[str, tuple[CandidateBatch, Weights]]:
    """Moses's lists by name, with equal weights to begin at."""
    named = os.environ.get("XLATE_DATA")
    folder = (Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data") / "moses"
    if not folder.exists() or "--quick" in sys.argv:
        return {"generated": generated()}
    reference = str(folder / "corpus" / "val.tok.en.gz")
    lists = {}
    for name, file in (("dense", "val.100best.gz"), ("sparse", "val.sparse.run9.100best.gz")):
        path = folder / "nbest" / file
        arrays = nbest_arrays(by_sentence(iterate_hypotheses(path), path), path)
        found = nbest_candidates(arrays, read_references([reference], arrays.sentence_I))
        floats = len(found.dense_names)
        begin = Weights(np.full(floats, 1 / floats), np.zeros(len(found.sparse_names)), found.dense_names)
        lists[name] = (found.batch, begin)
    return lists


def generated(sentences: int = 200, size: int = 75, floats: int = 14) -> tuple[CandidateBatch, Weights]:
    """Hypotheses whose floats tell a little of how good they are."""
    random = np.random.default_rng(1)
    count = sentences * size
    length = random.integers(8, 20, count)
    totals = np.stack([length - n for n in range(4)], 1)
    correct = np.minimum.accumulate(random.binomial(totals, 0.6), axis=1)
    gain = np.concatenate([length[:, None], np.repeat(length[::size], size)[:, None], correct, totals], 1)
    dense = random.normal(size=(count, floats)) + 0.3 * correct[:, :1]
    names = tuple(f"f{d}" for d in range(floats))
    batch = CandidateBatch(
        np.arange(sentences + 1) * size,
        dense.astype(np.float32),
        gain.astype(np.float32),
        np.zeros(count + 1, np.int64),
        np.zeros(0, np.int32),
    )
    return batch, Weights(np.full(floats, 1 / floats), np.zeros(0), names)


def main() -> None:
    """Prints a table, and a JSON line last."""
    small = generated(5, 10)
    for step, _, _ in STEPS.values():
        step(*small, 1, BLEU, np.ones(len(small[1].dense_D), np.bool_))
    figures: dict[str, float] = {}
    print(f"{'list':12}{'hypotheses':>12}  {'tuner':20}{'CPU s':>8}{'BLEU':>8}{'Moses s':>10}")
    for name, (batch, begin) in given_lists().items():
        for title, (step, dense, sparse) in STEPS.items():
            # Line search through each of thousands of weights is not what MERT is for.
            if name == "sparse" and title.startswith("MERT"):
                continue
            spent, scores = [], []
            for seed in SEEDS:
                start = time.process_time()
                found = step(batch, begin, seed, BLEU, np.ones(len(begin.dense_D), np.bool_))
                spent.append(time.process_time() - start)
                given = batch.dense_CD.astype(np.float64), found.dense_D, found.sparse_F
                score_C = CompiledScorer(checked_lists(batch, found), *given)().detach().numpy()
                best_I = best_of_each(score_C, batch.candidate_offsets_I1)
                sums_K = batch.gain_CG[best_I].sum(axis=0, dtype=np.float64)
                scores.append(float(corpus_bleu(sums_K[None])[0]))
            theirs = sparse if name == "sparse" else dense
            figures.setdefault(title, statistics.median(spent))
            row = f"{statistics.median(spent):8.2f}{statistics.median(scores):8.2f}{theirs:>10}"
            print(f"{name:12}{batch.candidates:12,}  {title:20}{row}")
    ours = figures["MERT, 20 restarts"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    told = {"ours": round(ours, 2), "peer": 17.6, "unit": "CPU s, MERT", "ratio": round(17.6 / ours, 2)}
    print(json.dumps({"name": "tuners", **told, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

"""How fast are expected-BLEU steps on lists that share parts, against the same lists written out, autograd, and a loop?

Made-up lists of 100 hypotheses of 9 parts, 30 ids per part, 3 million weights, ids skewed like words. CPU seconds of
one thread, medians of five. The paper's full size (136,000 sentences, 100 epochs) is extrapolated from a straight line
through three sizes.

Run: python benchmarks/bench_part_lists.py [--quick] [--full]
--quick: one size instead of three; --full: all 136,000 lists on the GPU, made with 20 GB of memory.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.kernels.learning.lists import list_pass, list_room
from xlate.kernels.learning.slopes import Steps
from xlate.learning.list_learner import DeviceListLearner, loss_of_lists, rule_of_lists
from xlate.learning.settings import ListsConfig
from xlate.losses.expected_bleu import ExpectedBleu
from xlate.scoring.linear import LinearScorer

ROUNDS = 5
WEIGHTS, LIST, PARTS, IDS, SHARED = 3_000_000, 100, 9, 30, 150
MOSES = 250_000


def made_up(lists: int, seed: int = 1) -> CandidateBatch:
    """Two-level lists; the 900 parts of a list's hypotheses are drawn from 150."""
    rng = np.random.default_rng(seed)
    ids = np.minimum(rng.pareto(0.6, size=lists * SHARED * IDS) * 50, WEIGHTS - 1).astype(np.int32)
    return CandidateBatch(
        offsets_of(np.full(lists, LIST)),
        np.zeros((lists * LIST, 0), np.float32),
        rng.random((lists * LIST, 1), dtype=np.float32),
        offsets_of(np.full(lists * SHARED, IDS)),
        ids,
        offsets_of(np.full(lists, SHARED)),
        offsets_of(np.full(lists * LIST, PARTS)),
        rng.integers(0, SHARED, size=lists * LIST * PARTS).astype(np.int32),
        base_C=rng.normal(size=lists * LIST).astype(np.float32),
    )


def flat(batch: CandidateBatch) -> CandidateBatch:
    """The same lists with the ids of every hypothesis written out."""
    ids, offsets, _ = batch.flat_ids()
    return CandidateBatch(batch.candidate_offsets_I1, batch.dense_CD, batch.gain_CG, offsets, ids, base_C=batch.base_C)


def timed(run: Callable[[], Any]) -> float:
    """The median CPU time of a run."""
    run()
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def kernel(batch: CandidateBatch, *, adagrad: bool = False) -> float:
    """Seconds of an epoch of the compiled steps."""
    lists, settings = batch.arrays(parts=True), ListsConfig(gamma=1.0, rate=0.1, adagrad=adagrad)
    loss, rule = loss_of_lists(settings), rule_of_lists(settings)
    weights = rule.learned(np.zeros(0), np.zeros(WEIGHTS, np.float32))
    steps = Steps(loss.numbers_array, rule.compiled(np.zeros(0), settings.rate))
    room = list_room(lists, 1)
    order = np.random.default_rng(1).permutation(len(batch))
    assert loss.slope is not None
    slope = loss.slope.pointer
    return timed(lambda: list_pass(order, lists, weights, steps, room, slope, None))


def autograd(batch: CandidateBatch, size: int = 8) -> float:
    """Seconds of an epoch of mini-batches through the scorer and the autograd loss, with sparse gradients."""
    scorer, loss = LinearScorer(0, WEIGHTS), ExpectedBleu()
    rule = torch.optim.SGD([scorer.bag.weight], lr=0.1)

    def epoch() -> None:
        for start in range(0, len(batch), size):
            some = batch.select(np.arange(start, min(start + size, len(batch))))
            rule.zero_grad()
            scores = scorer(some)
            value = loss(scores, torch.as_tensor(some.gain_CG[:, 0]), torch.as_tensor(some.candidate_offsets_I1))
            value.backward()
            rule.step()

    return timed(epoch)


def on_device(lists: int = 16_000, batch: int = 512) -> None:
    """Seconds of an epoch with everything on a GPU, where there is one."""
    if not torch.cuda.is_available():
        print("no GPU: the device is not measured")
        return
    made = made_up(lists)
    settings = ListsConfig(gamma=1.0, rate=0.1, batch=batch, epochs=7, tolerance=0.0)
    given = made.arrays(parts=True), np.ones((made.candidates, 10), np.float32)
    learner = DeviceListLearner(*given, np.arange(lists) < batch, WEIGHTS, settings, None, torch.device("cuda"))
    ends = []
    for _ in learner.epochs():
        torch.cuda.synchronize()
        ends.append(time.perf_counter())
    # The steps of the first two epochs are run one by one and recorded.
    spent = statistics.median(np.diff(ends[2:]).tolist())
    name, held = torch.cuda.get_device_name(), torch.cuda.max_memory_allocated() / 1e9
    rate = lists * LIST / spent / 1e6
    print(f"{name}, {lists} lists, {batch} per step: {spent:.3f} s per epoch, {rate:.1f} M/s, {held:.1f} GB")


def loop(batch: CandidateBatch, lists: int = 20) -> float:
    """Seconds of an epoch, a hypothesis at a time in NumPy, measured on a few lists."""
    ids, offsets, _ = batch.flat_ids()
    weights = np.zeros(WEIGHTS, np.float32)
    base_C = batch.base_C
    assert base_C is not None

    def epoch() -> None:
        for i in range(lists):
            rows = range(batch.candidate_offsets_I1[i], batch.candidate_offsets_I1[i + 1])
            scores = np.array([weights[ids[offsets[c] : offsets[c + 1]]].sum() + base_C[c] for c in rows])
            p = np.exp(scores - scores.max())
            p /= p.sum()
            gain = batch.gain_CG[rows.start : rows.stop, 0]
            slopes = p * (gain - p @ gain)
            for c, slope in zip(rows, slopes, strict=True):
                np.add.at(weights, ids[offsets[c] : offsets[c + 1]], 0.1 * slope)

    return timed(epoch) * len(batch) / lists


def main() -> None:
    """Prints a table, and a JSON line last."""
    torch.set_num_threads(1)
    sizes = [400] if "--quick" in sys.argv else [400, 800, 1600]
    seconds = {size: kernel(made_up(size)) for size in sizes}
    for size, spent in seconds.items():
        print(f"{size:6} lists: {spent:.3f} s per epoch, {size * LIST / spent / 1e6:.2f} M hypotheses/s")
    size = sizes[-1]
    batch, rate = made_up(size), size * LIST / seconds[size]
    written = flat(batch)
    bytes_of = {name: sum(a.nbytes for a in vars(b).values() if a is not None) for name, b in
                (("shared", batch), ("flat", written))}  # fmt: skip
    peers = {
        "AdaGrad": kernel(batch, adagrad=True),
        "flat kernel": kernel(written),
        "autograd, 8 lists per step": autograd(batch),
        "loop over hypotheses": loop(batch),
    }
    for name, spent in peers.items():
        print(f"{name:26}{size * LIST / spent / 1e6:8.3f} M hypotheses/s, ratio {spent / seconds[size]:.1f}")
    on_device(136_000 if "--full" in sys.argv else 16_000)
    print(f"Moses's trainer (README of the data, not in this run): {MOSES / 1e6} M/s, ratio {rate / MOSES:.1f}")
    print(f"bytes/hypothesis: {bytes_of['shared'] / size / LIST:.0f}, written out {bytes_of['flat'] / size / LIST:.0f}")
    slope, start = (
        np.polyfit(list(seconds), list(seconds.values()), 1) if len(sizes) > 1 else (seconds[size] / size, 0.0)
    )
    print(f"136,000 sentences, 100 epochs: {100 * (start + slope * 136_000) / 60:.1f} minutes (straight line)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    other = size * LIST / peers["flat kernel"]
    figures = {"ours": round(rate), "peer": round(other), "unit": "hypotheses/s", "ratio": round(rate / other, 2)}
    print(json.dumps({"name": "part_lists", **figures, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

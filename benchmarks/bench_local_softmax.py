"""How many instances per second does the online kernel train on, against batched EmbeddingBag autograd?

Both use the same synthetic store: one positive and 8 negatives per instance, 7 floats and 2 sparse ids per candidate,
1 M sparse weights. The kernel takes one step per positive (Tillmann & Zhang 2007, Table II); the peer is the reference
in PyTorch, `LinearScorer` and `LocalSoftmax`, with one plain step down the sparse gradient per mini-batch of 256, so it
takes 256 times fewer steps for the same instances. One thread each, alternately; medians.

Times are CPU seconds of the process, which equal wall seconds on a free core and depend less on neighbours on a shared
one.

Run: python benchmarks/bench_local_softmax.py [--quick]
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numba
import numpy as np
import torch

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import epoch_order
from xlate.kernels.learning.instances import instance_pass, prediction_errors
from xlate.kernels.learning.slopes import Steps
from xlate.losses.local_softmax import LocalSoftmax
from xlate.scoring.linear import LinearScorer
from xlate.updates.rule import UpdateRule

NEGATIVES, FLOATS, IDS, SPARSE = 8, 7, 2, 1_000_000
BATCH, ETA, SINK = 256, 0.01, -4.0
KERNEL_INSTANCES, PEER_INSTANCES, ROUNDS = 400_000, 60_000, 7
QUICK = (100_000, 15_000, 3)


def synthetic(instances: int, seed: int = 1) -> CandidateBatch:
    """Random candidates whose ids are spread as words are: few of them often, most of them rarely."""
    random = np.random.default_rng(seed)
    count = instances * (1 + NEGATIVES)
    dense_CD = random.exponential(size=(count, FLOATS)).astype(np.float32)
    true_C = np.arange(count) % (1 + NEGATIVES) == 0
    dense_CD[true_C, 0] *= 0.5
    return CandidateBatch(
        candidate_offsets_I1=np.arange(instances + 1, dtype=np.int64) * (1 + NEGATIVES),
        dense_CD=dense_CD,
        gain_CG=np.where(true_C, 1, -1).astype(np.float32)[:, None],
        part_id_offsets_P1=np.arange(count + 1, dtype=np.int64) * IDS,
        part_ids_N=(SPARSE * random.random(count * IDS) ** 3).astype(np.int32),
    ).validate()


def kernel_run(batch: CandidateBatch, order: np.ndarray, dense_D: np.ndarray, sparse_F: np.ndarray) -> None:
    """One pass of the kernel over the instances in `order`."""
    loss, rule = LocalSoftmax(SINK), UpdateRule()
    steps = Steps(loss.numbers_array, rule.compiled(np.full(FLOATS, ETA), ETA))
    state = np.ones(1, np.uint64)
    assert loss.slope is not None
    instance_pass(order, batch.arrays(), rule.learned(dense_D, sparse_F), steps, loss.slope.pointer, state)


def peer_run(batch: CandidateBatch, order: np.ndarray, scorer: LinearScorer) -> None:
    """One pass of batched autograd, gathering of the mini-batches included, as a training would have it."""
    loss = LocalSoftmax(SINK)
    weights = [scorer.dense, scorer.bag.weight]
    for start in range(0, len(order), BATCH):
        part = batch.select(order[start : start + BATCH])
        value = loss(scorer(part), torch.as_tensor(part.gain_CG[:, 0]), torch.as_tensor(part.candidate_offsets_I1))
        gradients = torch.autograd.grad(value, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.add_(gradient, alpha=-ETA)


def held_out_error(batch: CandidateBatch, dense_D: np.ndarray, sparse_F: np.ndarray) -> float:
    """P of weights on a batch, to see that both have learnt."""
    loss = LocalSoftmax(SINK)
    assert loss.slope is not None
    given = dense_D, sparse_F, True, loss.numbers_array, loss.slope.pointer
    errors, _, _ = prediction_errors(np.arange(len(batch)), batch.arrays(), *given)
    return errors / len(batch)


def rate(instances: int, run: Callable[[], None]) -> float:
    """Instances a CPU second of one run."""
    start = time.process_time()
    run()
    return instances / (time.process_time() - start)


def main() -> None:
    """Prints a table, and a JSON line last."""
    kernel_count, peer_count, rounds = QUICK if "--quick" in sys.argv else (KERNEL_INSTANCES, PEER_INSTANCES, ROUNDS)
    torch.set_num_threads(1)
    batch, fresh = synthetic(kernel_count), synthetic(5_000, seed=2)
    dense_D, sparse_F = np.zeros(FLOATS), np.zeros(SPARSE)
    scorer = LinearScorer(FLOATS, SPARSE, sparse_gradient=True)
    # Compiles, and lets torch load what it loads late.
    kernel_run(batch, np.arange(10), dense_D, sparse_F)
    peer_run(batch, np.arange(10), scorer)
    ours, peer = [], []
    for one in range(rounds):
        order = epoch_order(len(batch), 1, one)
        ours.append(rate(kernel_count, partial(kernel_run, batch, order, dense_D, sparse_F)))
        peer.append(rate(peer_count, partial(peer_run, batch, order[:peer_count], scorer)))
    peer_P = held_out_error(fresh, scorer.dense.detach().numpy(), scorer.bag.weight.detach().numpy()[:, 0].copy())
    print(f"python {platform.python_version()}, torch {torch.__version__}")
    print(f"numpy {np.__version__}, numba {numba.__version__}")
    print(f"{rounds} rounds; {kernel_count:,} and {peer_count:,} instances per round; one thread; CPU seconds")
    print(f"{'':24}{'median /s':>12}{'lowest':>12}{'highest':>12}{'P':>8}")
    rows = [("online kernel", ours, held_out_error(fresh, dense_D, sparse_F)), ("batched autograd", peer, peer_P)]
    for name, rates, error in rows:
        print(f"{name:24}{statistics.median(rates):12,.0f}{min(rates):12,.0f}{max(rates):12,.0f}{error:8.3f}")
    report = {
        "name": "local_softmax",
        "ours": round(statistics.median(ours)),
        "peer": round(statistics.median(peer)),
        "unit": "instances/s",
        "ratio": round(statistics.median(ours) / statistics.median(peer), 2),
        "peak_mb": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
        ),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()

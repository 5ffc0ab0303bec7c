"""How many instances per second does the online kernel train on, against Vowpal Wabbit's `--csoaa_ldf mc`?

The instances are like the paper's (Tillmann & Zhang 2007, section 5.3): 1.98 positives and 7.45 negatives per
datapoint on average, 7 floats, binary features on nine tenths of the positives and a third of the negatives. With
`--store=FOLDER` they come from a real candidate store instead. Vowpal Wabbit reads a binary cache of the same
instances, written by an earlier pass, so no text is parsed while the clock runs; its passes are in file order, ours in
random order. One thread each, alternately; CPU seconds, medians.

Table II takes one step per positive; Vowpal Wabbit takes one per example. With `--steps` each positive is exported as a
separate example, along with all negatives, so both take the same steps, and steps are counted instead of instances.

A store of a classifier in context (model=context) has contexts, which are crossed with the ids of candidates: Vowpal
Wabbit gets `-q st`, and both sides have 2^24 weights.

Run: python benchmarks/bench_vw.py [--quick] [--steps] [--store=FOLDER]   (vowpalwabbit is in the extra `bench`)
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import CandidateStore, epoch_order
from xlate.kernels.learning.instances import instance_pass
from xlate.kernels.learning.slopes import Steps
from xlate.losses.local_softmax import LocalSoftmax
from xlate.updates.rule import UpdateRule

POSITIVES, NEGATIVES, FLOATS = 1.98, 7.45, 7
COUNT, FEATURES, ROUNDS = 50_000, 1_000_000, 5
QUICK = (20_000, 3)
ETA = 0.01
MORE_PASSES = 4


def synthetic(count: int, features: int, seed: int = 1) -> CandidateBatch:
    """Datapoints of the paper's shape; ids are spread as words are."""
    random = np.random.default_rng(seed)
    positive_I, negative_I = 1 + random.poisson(POSITIVES - 1, count), random.poisson(NEGATIVES, count)
    size_I = positive_I + negative_I
    offsets_I1 = np.concatenate([[0], np.cumsum(size_I)]).astype(np.int64)
    total = int(offsets_I1[-1])
    true_C = np.arange(total) - np.repeat(offsets_I1[:-1], size_I) < np.repeat(positive_I, size_I)
    dense_CD = random.exponential(size=(total, FLOATS)).astype(np.float32)
    dense_CD[true_C, 0] *= 0.5
    has_C = random.random(total) < np.where(true_C, 0.9, 0.35)
    id_offsets_C1 = np.concatenate([[0], np.cumsum(has_C)]).astype(np.int64)
    ids_N = (features * random.random(int(id_offsets_C1[-1])) ** 2).astype(np.int32)
    gain_C1 = np.where(true_C, 1, -1).astype(np.float32)[:, None]
    return CandidateBatch(offsets_I1, dense_CD, gain_C1, id_offsets_C1, ids_N)


def write_vw(instances: CandidateBatch, path: Path, by_step: bool) -> int:
    """The datapoints as cost-sensitive multi-line examples: cost 0 for true candidates, 1 for alternatives.

    Returns the number of examples: datapoints, or with `by_step` positives, each with the alternatives.
    """
    examples = 0
    with path.open("w") as stream:
        for i in range(len(instances.candidate_offsets_I1) - 1):
            all_C = np.arange(*instances.candidate_offsets_I1[i : i + 2])
            true_C = instances.gain_CG[all_C, 0] > 0
            shared = _shared(instances, i)
            for one in ([[c], all_C[~true_C]] for c in all_C[true_C]) if by_step else [[all_C[true_C], all_C[~true_C]]]:
                stream.write(shared)
                labelled = [(int(c), cost) for cost, part in enumerate(one) for c in part]
                for place, (c, cost) in enumerate(labelled, start=1):
                    stream.write(f"{place}:{cost} {'|t' if shared else '|'} {_features(instances, c)}\n")
                stream.write("\n")
                examples += 1
    return examples


def _shared(instances: CandidateBatch, i: int) -> str:
    """The line of an instance's context; empty without contexts."""
    if instances.context_offsets_I1 is None or instances.contexts_X is None:
        return ""
    contexts = instances.contexts_X[instances.context_offsets_I1[i] : instances.context_offsets_I1[i + 1]]
    return "shared |s " + " ".join(f"c{x}" for x in contexts.tolist()) + "\n"


def _features(instances: CandidateBatch, c: int) -> str:
    floats = " ".join(f"f{d}:{v:.6g}" for d, v in enumerate(instances.dense_CD[c]))
    ids = instances.part_ids_N[instances.part_id_offsets_P1[c] : instances.part_id_offsets_P1[c + 1]]
    return floats + "".join(f" b{n}" for n in ids.tolist())


def kernel_rate(instances: CandidateBatch, features: int, epoch: int) -> float:
    """Instances a CPU second of one pass of the kernel."""
    count = len(instances.candidate_offsets_I1) - 1
    loss, rule = LocalSoftmax(-4.0), UpdateRule()
    # Memory is handed out when it is first written, which Vowpal Wabbit's earlier passes have done.
    learned = rule.learned(np.zeros(floats_of(instances)), np.full(features, 0.0))
    eta_D = np.full(floats_of(instances), ETA)
    steps = Steps(loss.numbers_array, rule.compiled(eta_D, ETA))
    arrays, state = instances.arrays(), np.ones(1, np.uint64)
    assert loss.slope is not None
    order = epoch_order(count, 1, epoch)
    start = time.process_time()
    instance_pass(order, arrays, learned, steps, loss.slope.pointer, state)
    return count / (time.process_time() - start)


def floats_of(instances: CandidateBatch) -> int:
    """The number of float features."""
    return int(instances.dense_CD.shape[1])


def vw_seconds(path: Path, passes: int) -> float:
    """CPU seconds of so many passes over the cache, reading the cache included."""
    with path.open() as stream:
        crossed = " -q st" if stream.readline().startswith("shared") else ""
    from vowpalwabbit import Workspace

    arguments = f"--csoaa_ldf mc --quiet -b 24 -d {path} --cache_file {path}.cache --passes {passes} --holdout_off"
    arguments += crossed
    start = time.process_time()
    workspace = Workspace(arguments)
    workspace.finish()
    return time.process_time() - start


def vw_rate(path: Path, count: int) -> float:
    """Instances a CPU second: what further passes take beside the first."""
    return MORE_PASSES * count / (vw_seconds(path, 1 + MORE_PASSES) - vw_seconds(path, 1))


def main() -> None:
    """Prints a table, and a JSON line last."""
    count, rounds = QUICK if "--quick" in sys.argv else (COUNT, ROUNDS)
    named = [a.removeprefix("--store=") for a in sys.argv if a.startswith("--store=")]
    if named:
        store = CandidateStore.open(named[0])
        part = store.batch(np.arange(min(count, len(store))))
        instances = part
        count, features = len(part), store.sparse_size if part.contexts_X is None else 1 << 24
    else:
        instances, features = synthetic(count, FEATURES), FEATURES
    kernel_rate(synthetic(100, 1000), 1000, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.vw"
        examples = write_vw(instances, path, "--steps" in sys.argv)
        vw_seconds(path, 1)  # writes the cache
        ours, peer = [], []
        for one in range(rounds):
            ours.append(kernel_rate(instances, features, one) * examples / count)
            peer.append(vw_rate(path, examples))
    print(
        f"python {platform.python_version()}; {count:,} instances, {examples:,} examples of Vowpal Wabbit's, "
        f"{features:,} features; {rounds} rounds; CPU seconds"
    )
    print(f"{'':24}{'median /s':>12}{'lowest':>12}{'highest':>12}")
    for name, rates in (("online kernel", ours), ("vw --csoaa_ldf mc", peer)):
        print(f"{name:24}{statistics.median(rates):12,.0f}{min(rates):12,.0f}{max(rates):12,.0f}")
    ratio = statistics.median(ours) / statistics.median(peer)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    figures: dict[str, float] = {"ours": round(statistics.median(ours)), "peer": round(statistics.median(peer))}
    print(json.dumps({"name": "vw", **figures, "unit": "examples/s", "ratio": round(ratio, 2), "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

"""What does the joint model cost the phrase decoder?

A phrase system of the built-in corpus, or of a given work directory, translates its dev set with and without a joint
model under the same weights and the default search. One process, one thread, CPU seconds, medians of three.

Run: OMP_NUM_THREADS=1 python benchmarks/bench_joint.py [--quick] [WORK JOINT_RUN]
     --quick: 50 sentences instead of 500; WORK and JOINT_RUN: a work directory and a run of model=joint on it
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from xlate.cli.main import main as command
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.models.joint.feature import NAME
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.kind import open_phrase_model
from xlate.work.directory import WorkDirectory

ROUNDS = 3
# Weights of tuned systems, about.
WEIGHTS = {
    "LexicalReordering0": 0.1, "Distortion0": 0.05, "LM0": 0.15, "WordPenalty0": -0.25, "PhrasePenalty0": 0.1,
    "TranslationModel0": 0.05, "UnknownWordPenalty0": 1.0, NAME: 0.15,
}  # fmt: skip


def decoder(work: str, *settings: str) -> PhraseDecoder:
    """The decoder of a work directory with fixed weights."""
    config = load(TrainConfig, "train", ["model=phrase", f"work={work}", *settings])
    model = open_phrase_model(Path("none"), config)
    weights_D = np.zeros(model.size)
    for name, weight in WEIGHTS.items():
        if name in model.slots:
            weights_D[model.slots[name]] = weight
    return PhraseDecoder(model, weights_D, config.decoder)


def rate(system: PhraseDecoder, sentences: list[list[str]]) -> float:
    """Sentences per CPU second."""
    start = time.process_time()
    for words in sentences:
        system.translate(words)
    return len(sentences) / (time.process_time() - start)


def main() -> None:
    """Prints a table, and a JSON line last."""
    given = [argument for argument in sys.argv[1:] if argument != "--quick"]
    with tempfile.TemporaryDirectory() as folder:
        if not given:
            given = [f"{folder}/work", f"{folder}/joint"]
            command(["prepare", "data=demo", "data.generated.train=1000", "align=fast_align", f"work={given[0]}"])
            command(["train", "model=joint", "loss.epochs=1", f"work={given[0]}", f"run={given[1]}"])
        work = WorkDirectory(Path(given[0]))
        lines = work.source_lines("dev")[: 50 if "--quick" in sys.argv else 500]
        sentences = [work.source_tokens(line) for line in lines]
        systems = [decoder(given[0]), decoder(given[0], f"model.joint={given[1]}")]
        for system in systems:
            rate(system, sentences[:5])
        rates = [[rate(system, sentences) for system in systems] for _ in range(ROUNDS)]
    without, joined = (statistics.median(column) for column in zip(*rates, strict=True))
    print(f"{'without':>10} {'with':>10}   sentences per second, {len(sentences)} sentences")
    print(f"{without:10.1f} {joined:10.1f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    line = {"name": "joint", "ours": round(joined, 1), "peer": round(without, 1), "unit": "sentences/s"}
    print(json.dumps({**line, "ratio": round(joined / without, 3), "peak_mb": peak}))


if __name__ == "__main__":
    main()

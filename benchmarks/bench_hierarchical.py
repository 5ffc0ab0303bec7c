"""How many sentences per second does the hierarchical decoder translate, and what does pruning cost in model score?

One process, 1-best, a test set with the weights of a finished run of model=hierarchical; alongside it the phrase
decoder with a run of model=phrase of the same work directory, if one is given. For each pop limit: sentences per CPU
second (median of three, both decoders taking turns) and the mean model score of the best derivations next to that of
the largest pop limit. Scores of the two models cannot be compared, but their distances can.

Run: python benchmarks/bench_hierarchical.py [RUN [PHRASE_RUN]] [--quick]   (--quick: 100 sentences; without RUN one is
     made from the built-in corpus)
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

from rules_run import named_runs

from xlate.config.stored import config_of_run
from xlate.models.kind import open_system
from xlate.models.system import AnySystem

ROUNDS = 3
POP_LIMITS = (20, 50, 100, 200, 500, 1000, 5000)
BEAM = 200
# The pop limit is good enough where the mean score is as near as this to that of the largest.
NEAR = 0.05


def opened(run: Path) -> tuple[AnySystem, list[list[str]]]:
    """The system of a run with cube pruning, and the test set as tokens."""
    system, work = open_system(run, config_of_run(run))
    if work is None:
        sys.exit(f"{run} has no work directory")
    return system, [words for line in work.source_lines("test") if (words := work.source_tokens(line))]


def measured(system: AnySystem, sentences: list[list[str]]) -> tuple[float, float]:
    """Sentences a CPU second, and the mean score of the best derivations."""
    start = time.process_time()
    scores = [system.translate(words)[0].score for words in sentences]
    return len(sentences) / (time.process_time() - start), statistics.fmean(scores)


def main() -> None:
    """Prints a table, and a JSON line last."""
    runs = named_runs()
    systems = [opened(run) for run in runs[:2]]
    sentences = systems[0][1][: 100 if "--quick" in sys.argv else None]
    table: dict[int, list[tuple[float, float]]] = {}
    for pops in POP_LIMITS:
        limited = [system.with_search(algorithm="cube", pop_limit=pops, stack=BEAM) for system, _ in systems]
        for one in limited:
            one.translate(sentences[0])
        rounds = [[measured(one, sentences) for one in limited] for _ in range(ROUNDS)]
        table[pops] = [
            (statistics.median(row[place][0] for row in rounds), rounds[0][place][1]) for place in range(len(limited))
        ]
    best = [score for _, score in table[POP_LIMITS[-1]]]
    print("pop limit | " + " | ".join(f"{run.name}: sentences/s, below the best score" for run in runs[:2]))
    for pops, row in table.items():
        cells = (f"{rate:8.1f}  {best[place] - score:8.4f}" for place, (rate, score) in enumerate(row))
        print(f"{pops:9d} | " + " | ".join(cells))
    enough = next(pops for pops in POP_LIMITS if best[0] - table[pops][0][1] <= NEAR)
    ours, peer = table[enough][0][0], table[enough][1][0] if len(best) > 1 else None
    print(
        json.dumps(
            {
                "name": "hierarchical",
                "pop_limit": enough,
                "ours": round(ours, 1),
                "peer": None if peer is None else round(peer, 1),
                "unit": "sentences/s",
                "ratio": None if peer is None else round(ours / peer, 2),
                "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            }
        )
    )


if __name__ == "__main__":
    main()

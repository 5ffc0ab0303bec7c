"""What do sparse features cost the phrase decoder, and its n-best lists?

Two runs of one work directory, one without and one with sparse features, translate its test set with the same search
settings.
CPU seconds of one process, medians of three.

Run: python benchmarks/bench_sparse_decoding.py RUN_WITHOUT RUN_WITH
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from xlate.config.schema import TrainConfig
from xlate.config.stored import read_config
from xlate.jobs.translate import Translator
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.work.directory import WorkDirectory

ROUNDS = 3
SEARCHES = {"cube, pop 200, stack 100": ("cube", 200, 100), "stack 100": ("stack", 200, 100)}


def rate(decoder: PhraseDecoder, sentences: list[list[str]]) -> float:
    """Words a CPU second, the median."""
    decoder.translate(sentences[0])
    rates = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for words in sentences:
            decoder.translate(words)
        rates.append(sum(map(len, sentences)) / (time.process_time() - start))
    return statistics.median(rates)


def main() -> None:
    """Prints a table, and a JSON line last."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    without, with_sparse = (Path(name) for name in sys.argv[1:])
    work = WorkDirectory(Path(read_config(without / "config.yaml", TrainConfig).work))
    sentences = [work.source_tokens(line) for line in work.source_lines("test")][:300]
    ratio = ours = peer = 0.0
    for title, (algorithm, pop_limit, stack) in SEARCHES.items():
        for nbest in (1, 100):
            rates = []
            for run in (without, with_sparse):
                config = read_config(run / "config.yaml", TrainConfig)
                search = replace(config.decoder, algorithm=algorithm, pop_limit=pop_limit, stack=stack)
                decoder = Translator.of_run(replace(config, decoder=search), run).system.with_search(nbest=nbest)
                assert isinstance(decoder, PhraseDecoder)
                rates.append(rate(decoder, sentences))
            ratio, ours, peer = max(ratio, rates[0] / rates[1]), rates[1], rates[0]
            print(f"{title:26} {nbest:4}-best: {rates[0]:8,.0f} words/s without, {rates[1]:8,.0f} with, "
                  f"{rates[0] / rates[1]:.2f} times")  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    figures = {"ours": round(ours), "peer": round(peer), "unit": "words/s", "ratio": round(1 / ratio, 2)}
    print(json.dumps({"name": "sparse_decoding", **figures, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

"""xlate score hyp=OUT ref=[REF,…]: how good a translation is, and whether it is better than another."""

from __future__ import annotations

import json
import sys
from functools import partial

from xlate.config.schema import ScoreConfig

CONFIG = ScoreConfig


def run(config: ScoreConfig) -> None:
    """Prints the figures as JSON on standard output and a short table on standard error; `out=` writes the JSON."""
    from xlate.metrics.score import evaluate
    from xlate.metrics.significance import Resampling, paired
    from xlate.text.lines import atomic_write, read_lines
    from xlate.text.parallel import read_references

    hypotheses = read_lines(config.hyp)
    references = read_references(config.ref, len(hypotheses))
    measure = partial(
        evaluate,
        references=references,
        lowercase=config.lowercase,
        tokenize=config.tokenize,
        bootstrap=config.bootstrap,
        seed=config.seed,
    )
    result = measure(hypotheses)
    figures = result.to_json()
    if config.against is not None:
        other = read_lines(config.against)
        figures["against"] = measure(other).to_json()
        figures["paired"] = paired(
            hypotheses,
            other,
            references,
            lowercase=config.lowercase,
            tokenize=config.tokenize,
            resampling=Resampling(seed=config.seed),
        ).to_json()
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    print(text)
    print(result.summary(), file=sys.stderr)
    if config.out not in (None, "-"):
        with atomic_write(config.out) as stream:
            stream.write(text.encode("utf-8") + b"\n")

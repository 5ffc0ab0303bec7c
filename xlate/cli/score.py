"""xlate score hyp=[OUT,…] ref=[REF,…]: how good a translation is, and whether it is better than another."""

from __future__ import annotations

import json
import sys

from xlate.config.schema import ScoreConfig

CONFIG = ScoreConfig


def run(config: ScoreConfig) -> None:
    """Prints the figures as JSON on standard output and a short table on standard error; `out=` writes the JSON."""
    from xlate.jobs.score import score
    from xlate.text.lines import atomic_write

    figures, words = score(config)
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    if config.out not in (None, "-"):
        with atomic_write(config.out) as stream:
            stream.write(text.encode("utf-8") + b"\n")
    # Nothing is lost when nobody reads the table.
    print(text, flush=True)
    print(words, file=sys.stderr)

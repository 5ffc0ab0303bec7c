"""Translates the lines of a file with a finished run, and explains the translations.

python translate_and_explain.py RUN TEXT [--nbest=3] [--processes=2]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import xlate


def show(hypothesis: xlate.Hypothesis, weights: dict[str, float]) -> str:
    """A translation with its phrases and the three features that count most."""
    phrases = " | ".join(f"{' '.join(unit.source)} → {' '.join(unit.target)}" for unit in hypothesis.units)
    adds = {name: weights[name] * value for name, value in hypothesis.features.items()}
    most = sorted(adds, key=lambda name: -abs(adds[name]))[:3]
    decided = ", ".join(f"{name} {adds[name]:+.2f}" for name in most)
    return f"{hypothesis.score:9.3f}  {hypothesis.text}\n           {phrases}\n           {decided}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the n-best list of each line, and explains the best translation of the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("text")
    parser.add_argument("--nbest", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    lines = Path(given.text).read_text(encoding="utf-8").splitlines()
    with xlate.Translator.load(given.run, processes=given.processes) as translator:
        for line, found in zip(lines, translator.nbest(lines, given.nbest), strict=True):
            print(line)
            for hypothesis in found:
                print(show(hypothesis, translator.weights))
        print(f"\n{lines[0]}\n{translator.explain(lines[0])}")


if __name__ == "__main__":
    main()

"""xlate score: figures of a system, and of another one, with the tests between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xlate.config.schema import ScoreConfig
from xlate.errors import InputError
from xlate.jobs.outputs import Output, count_of_lines, read_output, references_for
from xlate.metrics.score import SystemEvaluation, evaluate, with_column
from xlate.metrics.significance import Resampling, paired_runs


def score(config: ScoreConfig) -> tuple[dict[str, Any], str]:
    """The figures as plain values, and the table for people.

    Raises:
        InputError: outputs, references or columns that cannot be read or do not fit together.
    """
    ours = [read_output(path, config.split) for path in config.hyp]
    theirs = [read_output(path, config.split) for path in config.against]
    references = _references(config, [*ours, *theirs]) if ours else []
    found = _evaluated(config, ours, references, config.columns, "columns")
    figures, words = found.to_json(), found.summary()
    if theirs:
        other = _evaluated(config, theirs, references, config.against_columns, "against_columns")
        if found.stats_R[0].keys().isdisjoint(other.stats_R[0]):
            raise InputError(
                "nothing to compare",
                seen=f"columns={list(config.columns)} against_columns={list(config.against_columns)}",
                expected="a measure, or a column of the same name for both systems",
                remedy="against_columns=[NAME=FILE,…] with the names of columns, or leave measures=[] out",
            )
        tests = paired_runs(found.stats_R, other.stats_R, Resampling(seed=config.seed))
        figures |= {"against": other.to_json(), "paired": tests.to_json()}
        words = f"{words}\n{tests.summary()}"
    elif config.against_columns:
        raise InputError("columns of no output", seen="against_columns without against", expected="against=[OUT,…]")
    return figures, words


def _references(config: ScoreConfig, outputs: Sequence[Output]) -> list[list[str]]:
    """What the outputs are measured against; nothing where only columns made elsewhere are asked for."""
    if config.measures:
        return references_for(outputs, config.ref, config.split)
    if not config.columns:
        raise InputError(
            "nothing to measure",
            seen="measures=[] and no columns",
            expected="measures, or columns made elsewhere, or both",
            remedy="leave measures=[] out, or columns=[NAME=FILE,…]",
        )
    count_of_lines(outputs)
    return []


def _evaluated(
    config: ScoreConfig, outputs: Sequence[Output], references: list[list[str]], columns: Sequence[str], key: str
) -> SystemEvaluation:
    named = _columns(columns, len(outputs), key)
    runs = []
    for number, output in enumerate(outputs):
        run = evaluate(
            output.lines,
            references,
            lowercase=config.lowercase,
            tokenize=config.tokenize,
            bootstrap=config.bootstrap,
            seed=config.seed,
            measures=config.measures,
        )
        for name, files in named.items():
            run = with_column(run, name, files[number], config.bootstrap, config.seed)
        runs.append(run)
    return SystemEvaluation(runs)


def _columns(pairs: Sequence[str], outputs: int, key: str) -> dict[str, list[str]]:
    """The files of each name, one for each output."""
    named: dict[str, list[str]] = {}
    for pair in pairs:
        name, sign, file = pair.partition("=")
        if not (name and sign and file):
            raise InputError(f"{key} names a column and its file", seen=pair, expected=f"{key}=[NAME=FILE,…]")
        named.setdefault(name, []).append(file)
    for name, files in named.items():
        if len(files) != outputs:
            seen = f"{name}: {len(files)} files for {outputs} outputs"
            raise InputError(f"{key} has a file for each output", seen=seen, expected="as many files as outputs")
    return named

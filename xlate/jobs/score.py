"""xlate score: outputs of systems, the figures of one, and of another one, with the tests between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlate.config.schema import ScoreConfig
from xlate.errors import InputError
from xlate.metrics.score import Evaluation, evaluate, system_figures, with_column
from xlate.metrics.significance import Resampling, paired_runs
from xlate.models.run_files import located_config
from xlate.report.run_directory import MARK, RunDirectory
from xlate.text.lines import read_lines, read_references
from xlate.text.opening import plain_file
from xlate.work.directory import WorkDirectory


@dataclass(frozen=True)
class Output:
    """The lines of one output, its name, and the work directory of the run that wrote it, if there is one."""

    name: str
    lines: list[str]
    work: WorkDirectory | None = None


# What helps where a run has not translated a set; those that stand on no work directory know of none.
UNTRANSLATED = {
    "test": "train with measure_test=true, or say split=dev",
    "dev": "name the file that xlate translate wrote in place of the run",
}


def read_output(path: str | Path, split: str) -> Output:
    """The lines of a text file, or those that a run wrote for `dev` or `test`.

    Raises:
        InputError: the folder is no run or the run has not translated this set, or the file cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(
            "no such run or file",
            file=path,
            seen="nothing of this name",
            expected="the folder of a run, or a text file with a translation a line",
            remedy="check the name; xlate train run=RUN makes a run, xlate translate run=RUN output=FILE a text file",
        )
    if not path.is_dir():
        return Output(path.name, read_lines(path))
    if not (path / MARK).exists():
        raise InputError("a folder that is no run", file=path, seen=f"no {MARK}", expected="a run or a text file")
    written = path / f"{split}.out"
    if not written.exists():
        raise InputError(
            f"the run has not translated the {split} set",
            file=written,
            seen="no such file",
            expected=f"the output of {split}",
            remedy=UNTRANSLATED[split],
        )
    return Output(path.resolve().name, read_lines(plain_file(written)), work_of_run(path))


def work_of_run(run: Path) -> WorkDirectory | None:
    """The work directory of a run; None when it is no longer there."""
    name = RunDirectory.open(run).identity.get("work")
    if not name or not Path(name).is_dir():
        try:
            name = located_config(run).work
        except InputError:
            return None
    return WorkDirectory(Path(name)) if name and Path(name).is_dir() else None


def work_of(outputs: Sequence[Output]) -> WorkDirectory | None:
    """The first work directory of a run among some outputs."""
    return next((output.work for output in outputs if output.work is not None), None)


def count_of_lines(outputs: Sequence[Output]) -> int:
    """How many lines each of one output or more has.

    Raises:
        InputError: they differ, with the names; there are none.
    """
    count = len(outputs[0].lines)
    if any(len(output.lines) != count for output in outputs):
        raise InputError(
            "outputs of different length",
            seen=", ".join(f"{output.name}: {len(output.lines)} lines" for output in outputs),
            expected="translations of the same sentences",
            remedy="translate the same source again, and check that no line was lost",
        )
    if not count:
        raise InputError(
            "nothing to score",
            seen=f"no line in {', '.join(output.name for output in outputs)}",
            expected="one sentence or more",
            remedy="check that it was written to its end",
        )
    return count


def references_for(outputs: Sequence[Output], given: Sequence[str], split: str) -> list[list[str]]:
    """The references given, or those of the work directory of a run, cut to the number of lines.

    Raises:
        InputError: neither is there, or what `count_of_lines` refuses.
    """
    count = count_of_lines(outputs)
    if given:
        return read_references(given, count)
    work = work_of(outputs)
    if work is None:
        raise InputError(
            "nothing to score against", seen="no ref", expected="ref=[FILE,…], or a run", remedy="ref=FILE"
        )
    return [stream[:count] for stream in work.references(split)]


def score(config: ScoreConfig) -> tuple[dict[str, Any], str]:
    """The figures as plain values, and the table for people.

    Raises:
        InputError: outputs, references or columns that cannot be read or do not fit together.
    """
    if not config.hyp:
        raise InputError("nothing to score", "no output", "one file or run, or more")
    ours = [read_output(path, config.split) for path in config.hyp]
    theirs = [read_output(path, config.split) for path in config.against]
    # Where only columns made elsewhere are asked for, outputs are measured against nothing.
    references: list[list[str]] = []
    if config.measures:
        references = references_for([*ours, *theirs], config.ref, config.split)
    elif config.columns:
        count_of_lines([*ours, *theirs])
    else:
        raise InputError(
            "nothing to measure",
            seen="measures=[] and no columns",
            expected="measures, or columns made elsewhere, or both",
            remedy="leave measures=[] out, or columns=[NAME=FILE,…]",
        )
    found = _evaluated(config, ours, references, config.columns, "columns")
    figures, words = system_figures(found)
    if theirs:
        other = _evaluated(config, theirs, references, config.against_columns, "against_columns")
        others = system_figures(other)[0]
        if found[0].figures.keys().isdisjoint(other[0].figures):
            raise InputError(
                "nothing to compare",
                seen=f"columns={list(config.columns)} against_columns={list(config.against_columns)}",
                expected="a measure, or a column of the same name for both systems",
                remedy="against_columns=[NAME=FILE,…] with the names of columns, or leave measures=[] out",
            )
        tests = paired_runs([run.stats for run in found], [run.stats for run in other], Resampling(seed=config.seed))
        figures |= {"against": others, "paired": tests.to_json()}
        words = f"{words}\n{tests.summary()}"
    elif config.against_columns:
        raise InputError("columns of no output", seen="against_columns without against", expected="against=[OUT,…]")
    return figures, words


def _evaluated(
    config: ScoreConfig, outputs: Sequence[Output], references: list[list[str]], columns: Sequence[str], key: str
) -> list[Evaluation]:
    # The files of each name, one for each output.
    named: dict[str, list[str]] = {}
    for pair in columns:
        name, sign, file = pair.partition("=")
        if not (name and sign and file):
            raise InputError(f"{key} names a column and its file", seen=pair, expected=f"{key}=[NAME=FILE,…]")
        named.setdefault(name, []).append(file)
    for name, files in named.items():
        if len(files) != len(outputs):
            seen = f"{name}: {len(files)} files for {len(outputs)} outputs"
            raise InputError(f"{key} has a file for each output", seen=seen, expected="as many files as outputs")
    settings = {key: getattr(config, key) for key in ("lowercase", "tokenize", "bootstrap", "seed", "measures")}
    runs = []
    for number, output in enumerate(outputs):
        run = evaluate(output.lines, references, **settings)
        for name, files in named.items():
            run = with_column(run, name, files[number], config.bootstrap, config.seed)
        runs.append(run)
    return runs

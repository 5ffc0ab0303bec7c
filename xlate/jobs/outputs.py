"""Outputs of systems that are measured: text files of any system, and what runs wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xlate.errors import InputError
from xlate.jobs.run_places import located_config
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
    if name and Path(name).is_dir():
        return WorkDirectory(Path(name))
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

"""xlate translate run=RUN < in > out."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xlate.cli.shell.streams import STANDARD, arriving_lines, write_answers
from xlate.config.schema import TranslateConfig
from xlate.errors import InputError

if TYPE_CHECKING:
    from xlate.jobs.translate import LatticeFiles, Translation, Translator

CONFIG = TranslateConfig


def run(config: TranslateConfig) -> None:
    """Translates standard input (or `input=`) line by line to standard output (or `output=`); at a terminal it asks."""
    from xlate.cli.shell.prompt import converse, is_conversation
    from xlate.jobs.translate import LatticeFiles, Translator

    if config.nbest > 1 and config.nbest_out is None:
        raise InputError("nowhere to write the n-best list", seen=f"nbest={config.nbest}", expected="nbest_out=FILE")
    _check_together(config)
    translator = Translator.open(config)
    if is_conversation(config):
        converse(translator, config.trace)
        return
    lattices = (
        LatticeFiles(config.lattice_out, config.lattice_format, translator.system) if config.lattice_out else None
    )
    _write(config, _with_lattices(_translations(config, translator), lattices))
    translator.say_limited()
    translator.say_unknown()


def _translations(config: TranslateConfig, translator: Translator) -> Iterator[Translation]:
    from xlate.text.lines import read_lines

    batches = arriving_lines(config.input)
    if config.tables is None and config.target is None:
        return translator.translate_arriving(batches, config.processes)
    lines = [line for batch in batches for line in batch]
    targets = None if config.target is None else read_lines(config.target)
    if config.tables is not None:
        return translator.translate_with_tables(lines, Path(config.tables), targets)
    return translator.translate(lines, targets, config.processes)


def _write(config: TranslateConfig, results: Iterator[Translation]) -> None:
    """Writes translations and n-best lists as they come."""
    with contextlib.ExitStack() as stack:
        if config.nbest_out is not None:
            nbest = stack.enter_context(_nbest_file(config.nbest_out))
            results = _listed(results, nbest)
        explained = config.trace and config.output in STANDARD
        write_answers(_texts(results, explained), config.output, config.input)


def _texts(results: Iterator[Translation], explained: bool) -> Iterator[str]:
    """The translations; behind each, when asked, how it came about goes to standard error."""
    for result in results:
        yield result.text
        if explained:
            print(result.explanation, file=sys.stderr)


@contextlib.contextmanager
def _nbest_file(name: str) -> Iterator[BinaryIO]:
    from xlate.text.lines import atomic_write

    if name != "-":
        with atomic_write(name) as stream:
            yield stream
        return
    # On standard output it stands behind the translations.
    with tempfile.TemporaryFile() as held:
        yield held
        held.seek(0)
        with atomic_write(name) as stream:
            shutil.copyfileobj(held, stream)


def _listed(results: Iterator[Translation], nbest: BinaryIO) -> Iterator[Translation]:
    """The same translations; the n-best list of each is written when it comes by."""
    from xlate.jobs.translate import nbest_lines

    for result in results:
        for line in nbest_lines(result):
            nbest.write(line.encode("utf-8") + b"\n")
        yield result


def _check_together(config: TranslateConfig) -> None:
    if config.tables is not None and config.lattice_out is not None:
        seen = f"tables={config.tables}, lattice_out={config.lattice_out}"
        raise InputError("tables of sentences go without lattices", seen=seen, expected="one of the two")
    if config.processes > 1 and config.tables is not None:
        raise InputError(
            "tables of sentences go with one process",
            seen=f"processes={config.processes}",
            expected="processes=1",
        )


def _with_lattices(results: Iterator[Translation], lattices: LatticeFiles | None) -> Iterator[Translation]:
    """The same translations; writes the lattice of each as it passes."""
    for result in results:
        if lattices is not None:
            lattices.write(result.number, result.source)
        yield result
    if lattices is not None:
        lattices.close()

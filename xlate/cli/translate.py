"""xlate translate run=RUN < in > out."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xlate.config.schema import TranslateConfig
from xlate.errors import InputError

if TYPE_CHECKING:
    from xlate.jobs.lattice_files import LatticeFiles
    from xlate.jobs.translate import Translation, Translator

CONFIG = TranslateConfig
# Names of standard input and output.
STANDARD = (None, "", "-")


def run(config: TranslateConfig) -> None:
    """Translates standard input (or `input=`) line by line to standard output (or `output=`)."""
    from xlate.jobs.lattice_files import LatticeFiles
    from xlate.jobs.translate import Translator

    if config.nbest > 1 and config.nbest_out is None:
        raise InputError("nowhere to write the n-best list", seen=f"nbest={config.nbest}", expected="nbest_out=FILE")
    _check_together(config)
    translator = Translator.open(config)
    lattices = (
        LatticeFiles(config.lattice_out, config.lattice_format, translator.system) if config.lattice_out else None
    )
    _write(config, _with_lattices(_translations(config, translator), lattices))
    translator.say_unknown()


def _translations(config: TranslateConfig, translator: Translator) -> Iterator[Translation]:
    from xlate.text.arriving import KnownBatches, standard_input
    from xlate.text.lines import count_lines, iterate_lines, read_lines

    if config.input in STANDARD:
        batches = standard_input()
    else:
        assert config.input is not None
        # A file that cannot be read to its end is refused before anything is printed; a pipe can be read only once.
        if Path(config.input).is_file():
            count_lines(config.input)
        batches = KnownBatches.of(iterate_lines(config.input))
    if config.tables is None and config.target is None:
        return translator.translate_arriving(batches, config.processes)
    lines = [line for batch in batches for line in batch]
    targets = None if config.target is None else read_lines(config.target)
    if config.tables is not None:
        return translator.translate_with_tables(lines, Path(config.tables), targets)
    return translator.translate(lines, targets, config.processes)


def _write(config: TranslateConfig, results: Iterator[Translation]) -> None:
    """Writes translations and n-best lists as they come."""
    from xlate.text.lines import write_lines

    with contextlib.ExitStack() as stack:
        if config.nbest_out is not None:
            nbest = stack.enter_context(_nbest_file(config.nbest_out))
            results = _listed(results, nbest)
        if config.output not in STANDARD:
            assert config.output is not None
            write_lines(config.output, (result.text for result in results))
            return
        answered = sys.stdout.isatty() or _is_asked(config)
        for result in results:
            print(result.text, flush=answered)
            if config.trace:
                print(result.explanation, file=sys.stderr)


def _is_asked(config: TranslateConfig) -> bool:
    """Whether somebody may be waiting for the translation of a line before writing the next."""
    from xlate.text.arriving import is_at_hand

    return config.input in STANDARD and sys.stdin is not None and not is_at_hand(sys.stdin.buffer)


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

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
    from xlate.jobs.translate import Translation, Translator

CONFIG = TranslateConfig


def run(config: TranslateConfig) -> None:
    """Translates standard input (or `input=`) line by line to standard output (or `output=`); at a terminal it asks."""
    from xlate.cli.shell.prompt import converse, is_conversation
    from xlate.jobs.translate import Translator, with_lattices

    if config.nbest > 1 and config.nbest_out is None:
        raise InputError("nowhere to write the n-best list", seen=f"nbest={config.nbest}", expected="nbest_out=FILE")
    if config.tables is not None and config.lattice_out is not None:
        seen = f"tables={config.tables}, lattice_out={config.lattice_out}"
        raise InputError("tables of sentences go without lattices", seen=seen, expected="one of the two")
    if config.processes > 1 and config.tables is not None:
        seen = f"processes={config.processes}"
        raise InputError("tables of sentences go with one process", seen=seen, expected="processes=1")
    translator = Translator.open(config)
    if is_conversation(config):
        converse(translator, config.trace)
        return
    results = _translations(config, translator)
    if config.lattice_out is not None:
        results = with_lattices(results, Path(config.lattice_out), config.lattice_format, translator.system)
    with contextlib.ExitStack() as stack:
        nbest = None if config.nbest_out is None else stack.enter_context(_nbest_file(config.nbest_out))
        explained = config.trace and config.output in STANDARD
        write_answers(_texts(results, nbest, explained), config.output, config.input)
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


def _texts(results: Iterator[Translation], nbest: BinaryIO | None, explained: bool) -> Iterator[str]:
    """The translations; the n-best list of each is written when it comes by, and when asked, how it came about goes to
    standard error behind it.
    """
    for result in results:
        for derivation in result.derivations if nbest is not None else ():
            assert nbest is not None
            assert result.system is not None
            nbest.write(result.system.nbest_line(result.number, derivation).encode("utf-8") + b"\n")
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

"""xlate translate run=RUN < in > out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from xlate.config.schema import TranslateConfig
from xlate.errors import InputError

if TYPE_CHECKING:
    from xlate.recipes.lattice_files import LatticeFiles
    from xlate.recipes.translate import Translation

CONFIG = TranslateConfig


def run(config: TranslateConfig) -> None:
    """Translates standard input (or `input=`) line by line to standard output (or `output=`)."""
    from xlate.recipes.lattice_files import LatticeFiles
    from xlate.recipes.translate import Translator
    from xlate.text.lines import read_lines, standard_input, write_lines

    if config.nbest > 1 and config.nbest_out is None:
        raise InputError("nowhere to write the n-best list", seen=f"nbest={config.nbest}", expected="nbest_out=FILE")
    _check_together(config)
    translator = Translator.open(config)
    lines = list(standard_input()) if config.input in (None, "", "-") else read_lines(config.input)
    lattices = (
        LatticeFiles(config.lattice_out, config.lattice_format, translator.decoder) if config.lattice_out else None
    )
    targets = None if config.target is None else read_lines(config.target)
    if config.tables is not None:
        results = translator.translate_with_tables(lines, Path(config.tables), targets)
    elif config.processes > 1:
        results = translator.translate_side_by_side(lines, config.processes)
    else:
        results = translator.translate(lines, targets)
    results = _with_lattices(results, lattices)
    if config.output and config.output != "-":
        kept = list(results)
        write_lines(config.output, (r.text for r in kept))
    else:
        kept = []
        for result in results:
            print(result.text, flush=sys.stdout.isatty())
            if config.trace:
                print(result.explanation, file=sys.stderr)
            if config.nbest_out:
                kept.append(result)
    translator.say_unknown()
    if config.nbest_out:
        write_lines(config.nbest_out, (line for r in kept for line in translator.nbest_lines(r)))


def _check_together(config: TranslateConfig) -> None:
    if config.tables is not None and config.lattice_out is not None:
        seen = f"tables={config.tables}, lattice_out={config.lattice_out}"
        raise InputError("tables of sentences go without lattices", seen=seen, expected="one of the two")
    if config.processes > 1 and (config.tables is not None or config.target is not None):
        raise InputError(
            "tables of sentences and forced decoding go with one process",
            seen=f"processes={config.processes}",
            expected="processes=1",
        )


def _with_lattices(results: Iterator[Translation], lattices: LatticeFiles | None) -> Iterator[Translation]:
    """The same translations; the lattice of each is written when it comes by."""
    for result in results:
        if lattices is not None:
            lattices.write(result.number, result.source)
        yield result
    if lattices is not None:
        lattices.close()

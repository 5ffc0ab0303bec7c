"""xlate translate run=RUN < in > out."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from xlate.config.schema import TranslateConfig
from xlate.errors import InputError

CONFIG = TranslateConfig


def run(config: TranslateConfig) -> None:
    """Translates standard input (or `input=`) line by line to standard output (or `output=`)."""
    from xlate.recipes.translate import Translator, write_nbest
    from xlate.text.lines import read_lines, write_lines

    if config.nbest > 1 and config.nbest_out is None:
        raise InputError("nowhere to write the n-best list", seen=f"nbest={config.nbest}", expected="nbest_out=FILE")
    translator = Translator.open(config)
    lines = read_lines(config.input) if config.input else list(_standard_input())
    results = translator.translate(lines)
    if config.output:
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
    if config.nbest_out:
        write_nbest(config.nbest_out, kept)


def _standard_input() -> Iterator[str]:
    """The lines of standard input, split at LF alone."""
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            yield raw.removesuffix(b"\n").decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                "not UTF-8", file="standard input", line=number, seen=raw[:40], expected="UTF-8 text"
            ) from error

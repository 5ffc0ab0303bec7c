"""xlate translate run=RUN < in > out; on a terminal, a conversation: the translation follows each typed line."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from xlate.cli.streams import STANDARD, arriving_lines, write_answers
from xlate.cluster import uses_cluster
from xlate.errors import InputError
from xlate.machine import Terminated

if TYPE_CHECKING:
    from xlate.config.schema import TranslateConfig
    from xlate.jobs.translate import Translation, Translator

PROMPT = "> "
ASK = "?"
HELP = f"""Type a line to translate it. {ASK} and a line: also explain the translation. {ASK} alone: this help.
Arrow up: earlier lines. Ctrl-C: leave this line. Ctrl-D: end."""


def translate(config: TranslateConfig) -> None:
    """Translates standard input (or `input=`) line by line to standard output (or `output=`); at a terminal it asks."""
    from xlate.jobs.translate import Translator, say_counts, with_lattices

    if config.nbest > 1 and config.nbest_out is None:
        raise InputError("no file for the n-best lists", f"nbest={config.nbest}", "nbest_out=FILE")
    if config.tables is not None and config.lattice_out is not None:
        seen = f"tables={config.tables}, lattice_out={config.lattice_out}"
        raise InputError("tables= and lattice_out= cannot be combined", seen, "one of the two")
    if config.processes > 1 and config.tables is not None:
        raise InputError("tables= needs a single process", f"processes={config.processes}", "processes=1")
    if uses_cluster(config.cluster):
        _translate_parts(config)
        return
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
    say_counts(translator.counts)


def _translate_parts(config: TranslateConfig) -> None:
    from xlate.jobs.translation_parts import NBEST, translated_parts
    from xlate.text.lines import atomic_write, iterate_lines

    with translated_parts(config) as parts:
        if config.nbest_out is not None:
            with atomic_write(config.nbest_out) as stream:
                for part in parts:
                    stream.write(part.with_suffix(NBEST).read_bytes())
        write_answers(chain.from_iterable(map(iterate_lines, parts)), config.output, config.input)


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
    """The translations; writes the n-best list of each as it passes and, with `explained`, prints its explanation after
    it to standard error.
    """
    for result in results:
        if nbest is not None:
            for derivation in result.derivations:
                nbest.write(result.system.nbest_line(result.number, derivation).encode() + b"\n")
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
    # On standard output, it follows the translations.
    with tempfile.TemporaryFile() as held:
        yield held
        held.seek(0)
        with atomic_write(name) as stream:
            shutil.copyfileobj(held, stream)


def is_conversation(config: TranslateConfig) -> bool:
    """Whether a user types lines and reads translations at a terminal, and nothing is written into files."""
    files = config.nbest_out, config.lattice_out, config.target, config.tables
    plain = config.input in STANDARD and config.output in STANDARD and all(name is None for name in files)
    return plain and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def converse(translator: Translator, explained: bool) -> None:
    """Translates typed lines until the input ends; with `explained`, explains every translation.

    Ctrl-C cancels the line being typed or translated, not the conversation.

    Raises:
        KeyboardInterrupt: SIGTERM.
    """
    # Here Ctrl-C does not end the command, so an error after it is not taken for an interruption.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(HELP)
    for line in typed_lines():
        with _interruptible():
            _answer(translator, line, explained)


def typed_lines() -> Iterator[str]:
    """The typed lines that are not blank, without blanks around them; arrow keys bring them back."""
    # With this module, lines read at a terminal can be edited and are remembered.
    with contextlib.suppress(ImportError):
        import readline

        readline.set_auto_history(True)
    while True:
        line = ""
        try:
            with _interruptible():
                line = input(PROMPT).strip()
        except EOFError:
            print()
            return
        except UnicodeDecodeError:
            print("this line is not UTF-8: set the terminal to UTF-8", file=sys.stderr)
        if line:
            yield line


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends only the body of this context."""
    try:
        yield
    except Terminated:
        raise
    except KeyboardInterrupt:
        print()


def _answer(translator: Translator, line: str, explained: bool) -> None:
    from xlate.models.derivation import COPIED

    asked = line.startswith(ASK)
    line = line.removeprefix(ASK).strip()
    if not line:
        print(HELP)
        return
    translator.trace = explained or asked
    try:
        translation = translator.translate_line(line)
    except InputError as error:
        print(error, file=sys.stderr)
        return
    print(translation.text)
    if translation.explanation:
        print(translation.explanation)
        return
    steps = translation.derivations[0].blocks
    if unknown := [translation.source[step.source_span[0]] for step in steps if step.unit == COPIED]:
        print(f"  unknown words, copied: {' '.join(unknown)}")

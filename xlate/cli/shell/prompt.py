"""A conversation on a terminal: a line is typed, its translation stands below it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from xlate.cli.shell.streams import STANDARD
from xlate.errors import InputError
from xlate.train.signals import Terminated

if TYPE_CHECKING:
    from xlate.config.schema import TranslateConfig
    from xlate.jobs.translate import Translation, Translator

PROMPT = "> "
ASK = "?"
HELP = f"""A line is translated. {ASK} and a line: also how the translation came about. {ASK} alone: this help.
Arrow up: earlier lines. Ctrl-C: leave this line. Ctrl-D: end."""


def is_conversation(config: TranslateConfig) -> bool:
    """Whether somebody sits at a terminal, types lines and reads translations, and nothing is written into files."""
    files = config.nbest_out, config.lattice_out, config.target, config.tables
    plain = config.input in STANDARD and config.output in STANDARD and all(name is None for name in files)
    return plain and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def converse(translator: Translator, explained: bool) -> None:
    """Translates what is typed until the input ends; with `explained` every translation is explained.

    Ctrl-C ends a line that is being typed or translated, not the conversation.

    Raises:
        KeyboardInterrupt: SIGTERM.
    """
    print(HELP)
    for line in typed_lines():
        with _interruptible():
            _answer(translator, line, explained)


def typed_lines() -> Iterator[str]:
    """The lines that are typed, without blanks around them, those that hold something else; arrows bring them back."""
    # Reading a line on a terminal edits and remembers lines once this module is there.
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
    """Ctrl-C ends what is in here and nothing more."""
    try:
        yield
    except Terminated:
        raise
    except KeyboardInterrupt:
        print()


def _answer(translator: Translator, line: str, explained: bool) -> None:
    asked = line.startswith(ASK)
    line = line.removeprefix(ASK).strip()
    if not line:
        print(HELP)
        return
    try:
        translation = translator.with_output(translator.detokenize, explained or asked).translate_line(line)
    except InputError as error:
        print(error, file=sys.stderr)
        return
    print(translation.text)
    if translation.explanation:
        print(translation.explanation)
    elif unknown := _copied(translation):
        print(f"  unknown, copied as they stand: {' '.join(unknown)}")


def _copied(translation: Translation) -> list[str]:
    """The source words that stand for themselves."""
    from xlate.models.derivation import COPIED

    steps = translation.derivations[0].blocks
    return [translation.source[step.source_span[0]] for step in steps if step.unit == COPIED]

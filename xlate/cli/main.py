"""The xlate command: finds the subcommand, lets Hydra compose its configuration, runs it, and reports errors."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from collections.abc import Sequence
from functools import partial

from xlate import __version__
from xlate.cli.arguments import OURS, action_of, read_words
from xlate.cli.commands import COMMANDS
from xlate.cli.streams import begin_talk, drop, fails, in_words, open_streams
from xlate.errors import InputError, Interrupted, nearest
from xlate.machine import termination_raised

# The garbage collector runs after this many more objects were made than freed. The usual 700 makes it run hundreds of
# times while modules are imported, which all stay; this is more than a command begins with.
MANY_OBJECTS = 400_000
# Options that do not affect xlate's help and version.
LOUDNESS = ("--quiet", "--verbose")
USAGE_END = """
xlate SUBCOMMAND --help shows its keys; --cfg job shows what would run; -m sweeps over comma-separated
values; -q says less, -v more. xlate completion bash|zsh|fish prints a completion script. debug=true
shows tracebacks."""


def start() -> int:
    """The process of a command: `main`, with little garbage collection, as memory is freed at its end anyway."""
    gc.set_threshold(MANY_OBJECTS)
    try:
        return main()
    finally:
        # While Python ends, SIGINT ends the process without a traceback.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Existing objects are not searched again at the end.
        gc.freeze()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 0, 2 for bad input, 143 after SIGTERM, 130 after SIGINT."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    try:
        return _status(arguments)
    finally:
        # Otherwise Python would end with status 120.
        if fails(sys.stderr):
            drop(sys.stderr)


def _status(arguments: list[str]) -> int:
    arguments = _command_first(arguments)
    fail = partial(_fail, arguments)
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
        return status
    except InputError as error:
        return fail(error, error)
    except Interrupted as error:
        return fail(error, error, error.status)
    except KeyboardInterrupt as error:
        return fail(error, "stopped by a signal", 130)
    except BrokenPipeError:
        drop(sys.stdout)
        return 0
    except ValueError as error:
        # Python's error for a NUL character in a file name.
        if "embedded null" not in str(error):
            raise
        return fail(error, "a file name cannot contain a NUL character")
    except MemoryError as error:
        # Checks of memory before the work name the setting; here it is unknown.
        said = f"not enough memory: {error or 'an array could not be created'}"
        return fail(error, f"{said}\n  remedy:   lower the largest numbers you set, or use less text")
    except OSError as error:
        return fail(error, in_words(error, "standard output" if fails(sys.stdout) else None))


def _command_first(arguments: list[str]) -> list[str]:
    """The same words with the subcommand moved before the options that preceded it."""
    if not arguments or not arguments[0].startswith("-") or arguments[0] == "--complete":
        return arguments
    bare = [at for at, word in enumerate(arguments) if not word.startswith("-")]
    # A bare word before it may be the value of an option.
    place = next((at for at in bare if arguments[at] in COMMANDS), (*bare, 0)[0])
    return [arguments[place], *arguments[:place], *arguments[place + 1 :]]


def _dispatch(arguments: list[str]) -> int:
    bare = [word for word in arguments if OURS.get(word, word) not in LOUDNESS]
    if not bare or bare[0] in ("-h", "--help", "help"):
        if bare[1:] and bare[1] in COMMANDS:
            return _run(bare[1], ["--help"])
        print("usage: xlate SUBCOMMAND [key=value …] [options]\n")
        for name, command in COMMANDS.items():
            print(f"  {name:<10} {command.words}")
        print(USAGE_END)
        return 0
    if bare[0] in ("-V", "--version"):
        print(f"xlate {__version__}")
        return 0
    if arguments[0] == "completion" and not {"-V", "--version"}.isdisjoint(arguments):
        return _dispatch(["--version"])
    if arguments[0] in ("completion", "--complete"):
        from xlate.cli import completion

        return completion.main(bare if bare[0] == "completion" else arguments)
    return _run(arguments[0], arguments[1:])


@termination_raised()
def _run(command: str, arguments: list[str]) -> int:
    if command not in COMMANDS:
        raise InputError(
            "unknown subcommand", command, ", ".join(COMMANDS), nearest(command, COMMANDS, "xlate --help lists them")
        )
    from xlate.config import schema

    kind, actions = schema.COMMANDS[command], COMMANDS[command].actions
    words = read_words(arguments, kind.positional)
    if "--version" in words.flags:
        print(f"xlate {__version__}")
        return 0
    if "--help" in words.flags:
        from xlate.cli.help import help_of

        print(help_of(command, words.bracketed(kind)))
        return 0
    # A misspelt action is reported before anything that is missing.
    if actions and (asked := words.value("action")) is not None:
        action_of(actions, asked)
    elif actions and not words.showing:
        raise InputError(
            "nothing to do",
            "no action",
            f"xlate {command} {'|'.join(actions)} FILE",
            f"xlate {command} --help explains them",
        )
    from xlate.cli.compose import run_with_hydra

    if command == "train":
        from xlate.cli.train import expand

        words = expand(words)
    begin_talk(words.flags)
    return run_with_hydra(command, COMMANDS[command].run, words.bracketed(kind))


def _fail(arguments: list[str], error: BaseException, message: object, status: int = 2) -> int:
    if "debug=true" in arguments:
        import traceback

        traceback.print_exception(error)
    if fails(sys.stdout):
        drop(sys.stdout)
    with contextlib.suppress(OSError, ValueError):
        print(" ".join(["xlate", *arguments[:1]]) + f": {message}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(start())

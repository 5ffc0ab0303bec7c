"""The xlate command: finds the subcommand, lets Hydra compose its configuration, runs it, and puts errors in words."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from xlate import __version__
from xlate.cli.shell.failures import in_words
from xlate.cli.shell.streams import drop_output, open_streams, output_fails
from xlate.errors import InputError, Interrupted
from xlate.train.signals import termination_raised

# Keys whose values are NAME=FILE, which Hydra does not take without quotes.
NAMED_FILES = ("add_scores", "merge")
_NAMED_FILE = re.compile(r"[^\[\],=\s]+=[^\[\],]+")
COMMANDS = {
    "prepare": "corpus → work directory: tokens, alignments, language model, blocks, counts",
    "train": "work directory → run: weights, metrics, TensorBoard, checkpoints",
    "translate": "translates standard input with a run",
    "serve": "a run over HTTP: JSON, and a page that shows translations with their phrases",
    "score": "BLEU with interval and signature, chrF, TER, NIST, LexAcc; two outputs: paired tests",
    "import": "a Moses system → run that translates and can be tuned",
    "export": "a run of the phrase model → Moses tables, weights, moses.ini",
    "inspect": "what a run learned: the strongest features in words, one translation explained",
    "report": "the table and plots of one or many runs",
    "demo": "the whole path on the built-in corpus",
    "align": "word alignment of two plain files",
    "lm": "n-gram language model of a plain file",
    "phrases": "phrase table of two plain files and their links",
    "nbest": "n-best lists of any system: check, import, oracle, rescore",
    "events": "candidate stores: export as text, import from it",
    "aer": "alignment error rate against gold links",
    "tag": "plain lines → tokens with their parts of speech",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 0, 2 for bad input, 143 after SIGTERM, 130 after SIGINT."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    called = " ".join(["xlate", *arguments[:1]])
    debug = "debug=true" in arguments
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
        return status
    except InputError as error:
        return _fail(f"{called}: {error}", 2, error, debug)
    except Interrupted as error:
        return _fail(f"{called}: {error}", error.status, error, debug)
    except KeyboardInterrupt as error:
        return _fail(f"{called}: interrupted", 130, error, debug)
    except BrokenPipeError:
        drop_output()
        return 0
    except ValueError as error:
        # Python's error for a NUL character in the name of a file.
        if "embedded null" not in str(error):
            raise
        return _fail(f"{called}: no file has such a name: it holds a NUL character", 2, error, debug)
    except OSError as error:
        words = in_words(error, "standard output" if output_fails() else None)
        return _fail(f"{called}: {words}", 2, error, debug)


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    if arguments[0] == "--version":
        print(f"xlate {__version__}")
        return 0
    if arguments[0] in ("completion", "--complete"):
        from xlate.cli.shell import completion

        return completion.main(arguments)
    return _run(arguments[0], arguments[1:])


def _run(command: str, arguments: list[str]) -> int:
    if command not in COMMANDS:
        import difflib

        near = difflib.get_close_matches(command, COMMANDS, n=1)
        raise InputError(
            "unknown subcommand",
            seen=command,
            expected=", ".join(COMMANDS),
            remedy=f"did you mean {near[0]}?" if near else "xlate --help lists them",
        )
    with termination_raised():
        return _run_known(command, arguments)


def _run_known(command: str, arguments: list[str]) -> int:
    module = importlib.import_module(f"xlate.cli.{command}")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    from xlate.cli.shell.compose import run_with_hydra

    expand: Callable[[list[str]], list[str]] = getattr(module, "expand", list)
    positional: str | tuple[str, ...] | None = getattr(module, "POSITIONAL", None)
    body: Callable[[Any], None] = module.run
    return run_with_hydra(command, module.CONFIG, body, expand(_named([_quoted(a) for a in arguments], positional)))


def _quoted(argument: str) -> str:
    """The argument, in quotes if it is an existing path that Hydra would read as several values; folders of sweeps have
    such names. Each NAME=FILE of a list is put in quotes too.
    """
    key, sign, value = argument.partition("=")
    if key in NAMED_FILES and not set("'\"{") & set(value):
        return f"{key}={_NAMED_FILE.sub(lambda found: _in_quotes(found[0]), value)}"
    if not sign or os.path.exists(argument) or not set("=, ") & set(value) or not os.path.exists(value):
        return argument
    return f"{key}={_in_quotes(value)}"


def _in_quotes(word: str) -> str:
    return "'" + word.replace("'", "\\'") + "'"


def _named(arguments: list[str], positional: str | tuple[str, ...] | None) -> list[str]:
    """Turns words without a key into overrides of the positional keys of the command.

    A single positional key takes all words: `report a b` → `runs=[a,b]`. Several keys take one word each: `nbest check
    F` → `action=check nbest=F`.

    Raises:
        InputError: there are more words than keys.
    """
    if positional is None:
        return arguments
    bare = [a for a in arguments if not a.startswith("-") and ("=" not in a or os.path.exists(a))]
    rest = [a for a in arguments if a not in bare]
    if not bare:
        return rest
    words = [_in_quotes(word) for word in bare]
    if isinstance(positional, str):
        return [*rest, f"{positional}=[{','.join(words)}]"]
    if len(words) > len(positional):
        raise InputError("a word too many", seen=bare[len(positional)], expected="key=value")
    return [*rest, *(f"{key}={word}" for key, word in zip(positional, words, strict=False))]


def _fail(message: str, status: int, error: BaseException, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exception(error)
    if output_fails():
        drop_output()
    with contextlib.suppress(OSError, ValueError):
        print(message, file=sys.stderr, flush=True)
    return status


def _usage() -> str:
    lines = ["usage: xlate SUBCOMMAND [key=value …]", ""]
    lines += [f"  {name:<10} {words}" for name, words in COMMANDS.items()]
    lines += [
        "",
        "xlate SUBCOMMAND --help shows its keys; --cfg job what would run; -m sweeps over comma-separated values.",
        "xlate completion bash|zsh prints a completion script. debug=true shows tracebacks.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

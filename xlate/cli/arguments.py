"""The words of a command line: options in any place, key=value, and bare words that are values of a key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from xlate.errors import InputError, nearest

Action = TypeVar("Action")
# The key whose values are all bare words, or the keys that take one word each.
Positional = str | tuple[str, ...]
# Keys whose values are text, in which no character has a meaning.
TEXTS = ("sentence", "find")
# Keys whose values are NAME=FILE.
NAMED_FILES = ("add_scores", "merge", "columns", "against_columns")
# Values that Hydra always reads literally.
_PLAIN = re.compile(r"[\w/\\+.$%*@?|:-]*", re.ASCII)
# The words between the marks of mappings, lists and choices, of only lists and choices, or of only lists.
_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|"""
_WORDS = tuple(re.compile(_QUOTED + rf"[^{marks}]+") for marks in (r"\[\],(){}:", r"\[\],()", r"\[\],"))
# Options by all their names. Those of HYDRA are passed to it, before all overrides.
OURS = {"-h": "--help", "-q": "--quiet", "-v": "--verbose", "-V": "--version"}
HYDRA = {"-m": "--multirun", "-c": "--cfg", "-p": "--package", "-cd": "--config-dir", "-cp": "--config-path"}
HYDRA |= {"-cn": "--config-name", "-i": "--info", "-r": "--run"}
ALONE = ("--resolve",)
VALUED = ("--cfg", "--package", "--config-path", "--config-name", "--config-dir", "--info")
VALUES = {
    "--cfg": ("job", "hydra", "all"),
    "--info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}
HELP = "see the command's --help"
OPTIONS = {*OURS, *OURS.values(), *HYDRA, *HYDRA.values(), *ALONE, *VALUED}


@dataclass(frozen=True)
class Words:
    """A command line after the subcommand.

    Attributes:
        flags: our own options, by their long names.
        options: those of Hydra, by their long names; one with a value is `--cfg=job`.
        overrides: `key=value` and whatever else Hydra takes, such as `~key`.
        spare: keys that some jobs of a sweep do not use and leave out.
    """

    flags: frozenset[str]
    options: tuple[str, ...]
    overrides: tuple[str, ...]
    spare: frozenset[str] = frozenset()

    @property
    def multirun(self) -> bool:
        """Whether it is a sweep."""
        return "--multirun" in self.options

    @property
    def showing(self) -> bool:
        """Whether the command only shows something."""
        return any(option.startswith(("--cfg", "--info")) for option in self.options)

    @property
    def elsewhere(self) -> bool:
        """Whether configurations are also searched for in other folders."""
        folders = ("--config-dir", "--config-path", "hydra.searchpath", "+hydra.searchpath")
        return any(word.startswith(folders) for word in (*self.options, *self.overrides))

    def value(self, key: str) -> str | None:
        """The value of a key, without quotes; None if it is not set."""
        found = (word.partition("=")[2].strip("'") for word in self.overrides if word.startswith(f"{key}="))
        return next(found, None)

    def bracketed(self, schema: type[Any]) -> Words:
        """A copy with brackets around single values of keys that are lists."""
        from xlate.config.load import with_brackets

        return replace(self, overrides=tuple(with_brackets(self.overrides, schema, self.multirun)))


def read_words(arguments: Sequence[str], positional: Positional = ()) -> Words:
    """Parses a command line; bare words become values of the positional keys.

    Raises:
        InputError: an unknown option, one without its value, a word too many, or options that exclude each other.
    """
    flags = set()
    options = []
    others = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        name, sign, value = word.partition("=")
        if name not in OPTIONS:
            # Without the dashes, which all options have in common.
            known = [option.removeprefix("--") for option in OPTIONS if option.startswith("--")]
            remedy = nearest(word.lstrip("-").partition("=")[0], known, HELP, "--")
            expected = "-m, --cfg job, --config-dir FOLDER, -q, -v, --version, --help"
            raise InputError("unknown option", word, expected, remedy)
        name = OURS.get(name, HYDRA.get(name, name))
        if name in OURS.values():
            flags.add(name)
        elif name not in VALUED:
            options.append(name)
        else:
            options.append(f"{name}={value if sign else _value(name, left)}")
    words = Words(frozenset(flags), tuple(options), tuple(named(map(quoted, others), positional)))
    if "--resolve" in words.options and not any(option.startswith("--cfg") for option in words.options):
        raise InputError(
            "an option that needs another", "--resolve", "--cfg job", "add --cfg job, or leave out --resolve"
        )
    if words.multirun and words.showing:
        raise InputError("options that cannot be combined", "-m", "--cfg without -m, for one job")
    return words


def _value(name: str, left: list[str]) -> str:
    """Takes the value of an option from the words after it."""
    allowed = VALUES.get(name)
    if left and (left[0] in allowed if allowed else not left[0].startswith("-")):
        return left.pop(0)
    if name == "--info":
        return "all"
    expected = "|".join(allowed) if allowed else "a value after it"
    raise InputError("an option without its value", f"{name} {left[0]}" if left else name, f"{name} {expected}")


def key_of(override: str) -> str:
    """The key that an override sets, adds or removes.

    Example: `++loss.eta=0.1` sets `loss.eta`.
    """
    return override.partition("=")[0].lstrip("+~")


def action_of(actions: Mapping[str, Action], asked: str) -> Action:
    """The action that the first word after a command names.

    Raises:
        InputError: the command has no such action.
    """
    if asked in actions:
        return actions[asked]
    raise InputError("unknown action", asked, ", ".join(actions), nearest(asked, actions, HELP))


def quoted(argument: str) -> str:
    """The argument, with quotes around values and list items that Hydra would not read, such as non-ASCII letters, or
    would read as several values, such as existing paths with commas; folders of sweeps have such names.
    """
    if argument[:1] == argument[-1:] == "'" and os.path.exists(argument[1:-1]):
        # Quotes inside quotes, which a value with a key needs.
        return argument[1:-1]
    key, sign, value = argument.partition("=")
    if key in TEXTS and value not in ("", "null") and value[0] + value[-1] not in ("''", '""'):
        return f"{key}={in_quotes(value)}"
    if not sign or _PLAIN.fullmatch(value) or os.path.exists(argument):
        return argument
    if os.path.exists(value):
        return f"{key}={in_quotes(value)}"
    if value[0] + value[-1] == "[]" and (paths := _paths(value[1:-1].split(","))):
        return f"{key}=[{','.join(map(in_quotes, paths))}]"
    return f"{key}={_readable(key, value)}"


def _readable(key: str, value: str) -> str:
    """A value that Hydra reads, if there is one: with quotes around each word that Hydra would not read, or else around
    the whole value. A comma may be part of a folder name with `=`, or separate two: such a value is left unchanged.
    """
    from xlate.config.load import is_read

    def word(found: re.Match[str]) -> str:
        whole = is_read(f"key={found[0]}") or ("=" in found[0] and key not in NAMED_FILES)
        return found[0] if whole else in_quotes(found[0].strip())

    tried = (value, *(words.sub(word, value) for words in _WORDS))
    several = value[0] + value[-1] == "[]" or ("=" in value and "," in value)
    return next((made for made in tried if is_read(f"key={made}")), value if several else in_quotes(value))


def _paths(pieces: Sequence[str]) -> list[str]:
    """The existing paths that the pieces between commas form, shortest first; none if pieces are left over."""
    for end in range(1, len(pieces) + 1):
        path = ",".join(pieces[:end]).strip()
        if path and os.path.exists(path):
            rest = _paths(pieces[end:])
            if rest or end == len(pieces):
                return [path, *rest]
    return []


def in_quotes(word: str) -> str:
    """A value that Hydra takes literally."""
    # Backslashes are special only before a quote.
    return "'" + re.sub(r"(\\*)('|\Z)", lambda found: found[1] * 2 + found[2].replace("'", "\\'"), word) + "'"


def is_bare(word: str) -> bool:
    """Whether a word has no key: it is not `key=value`, or it is a path that looks like one."""
    return "=" not in word or os.path.exists(word)


def named(arguments: Iterable[str], positional: Positional) -> list[str]:
    """Turns words without a key into overrides of the positional keys of the command.

    A single positional key takes all words: `report a b` → `runs=[a,b]`. Several keys take one word each: `nbest check
    F` → `action=check nbest=F`.
    """
    arguments = list(arguments)
    bare = [word for word in arguments if not word.startswith("~") and is_bare(word)]
    rest = [word for word in arguments if word not in bare]
    if not bare:
        return rest
    words = [in_quotes(word) for word in bare]
    if isinstance(positional, str):
        return [*rest, f"{positional}=[{','.join(words)}]"]
    if len(words) > len(positional):
        raise InputError(
            "one word too many",
            bare[len(positional)],
            "KEY=VALUE",
            "see the command's --help for its keys; a file or folder must be the value of a key",
        )
    return [*rest, *(f"{key}={word}" for key, word in zip(positional, words, strict=False))]

"""Shell completion: the script for bash, zsh or fish, and the words that it asks for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from xlate.cli.shell.arguments import HYDRA, OURS, is_bare, read_words
from xlate.cli.shell.commands import COMMANDS
from xlate.cli.shell.values import CHOSEN, paths, with_paths, with_words, words_of_key
from xlate.config.keys.brackets import list_keys
from xlate.config.keys.described import COMMANDS as GROUPS
from xlate.config.location import conf_folder
from xlate.errors import InputError

# The command is called as it was typed: it need not be on the search path. Behind `=`, `.` and `/` no blank is put.
# Bash also ends words at `=` and other characters, and puts what it is told behind the last of them.
BASH = """_xlate_complete() {
    local IFS=$'\\n' line="${COMP_LINE:0:$COMP_POINT}"
    COMPREPLY=($("${1/#\\~/$HOME}" --complete "$line" 2>/dev/null))
    [[ ${COMPREPLY[0]} == *[=./] ]] && compopt -o nospace
    local word="${line##* }"
    local end="${word##*["$COMP_WORDBREAKS"]}"
    COMPREPLY=("${COMPREPLY[@]#"${word%"$end"}"}")
    return 0
}
complete -F _xlate_complete xlate
"""
ZSH = """(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_xlate() {
    local -a found
    found=("${(@f)$(${~words[1]} --complete "${(j. .)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    compadd -- ${found:#*[=./]}
    compadd -S '' -- ${(M)found:#*[=./]}
}
compdef _xlate xlate
"""
FISH = """complete -c xlate -f -a '(set -l typed (commandline -opc)
    $typed[1] --complete (commandline -cp) 2>/dev/null)'
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
FLAGS = ("--cfg", "--config-dir", "--help", "--multirun", "--quiet", "--verbose", "--version")


def main(arguments: Sequence[str]) -> int:
    """`completion SHELL` prints the script; `--complete LINE` prints the words that may follow, each on its line.

    Raises:
        InputError: an unknown shell.
    """
    if arguments[0] == "completion":
        shell = arguments[1] if len(arguments) > 1 else "bash"
        if shell not in SHELLS:
            raise InputError("no completion for this shell", seen=shell, expected=", ".join(SHELLS))
        print(SHELLS[shell], end="")
        return 0
    print("\n".join(candidates(" ".join(arguments[1:]))))
    return 0


def candidates(line: str) -> list[str]:
    """The words that may complete a command line such as `xlate train loss.e`."""
    # Blanks may stand before the command, and several between two words; what is behind the last one is begun.
    words = re.split(" +", line.lstrip())
    if len(words) <= 2:
        return _starting(words[1] if len(words) == 2 else "", COMMANDS)
    command, before, last = words[1], words[2:-1], words[-1]
    if command == "completion":
        return _starting(last, SHELLS)
    if command not in COMMANDS:
        return []
    if last.startswith("-"):
        return _starting(last, [flag for flag in (*OURS, *HYDRA, *FLAGS) if flag.startswith("--") or len(last) == 1])
    return _bare(command, before, last) or _of_key(command, before, last)


def _starting(start: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(start)]


def _bare(command: str, before: Sequence[str], last: str) -> list[str]:
    """What a word without a key may be: an action, or a path, whose name may hold `=`."""
    module = importlib.import_module(f"xlate.cli.{command}")
    positional: str | tuple[str, ...] = getattr(module, "POSITIONAL", ())
    if not positional:
        return []
    given = [word for word in before if word and is_bare(word) and not word.startswith("-")]
    if isinstance(positional, tuple) and len(given) >= len(positional):
        return []
    if not isinstance(positional, str) and positional[len(given)] == "action":
        return _starting(last, getattr(module, "ACTIONS", {}))
    # Keys may stand there too.
    return [*paths(last), *(_of_key(command, before, last) if last and "=" not in last else [])]


def _of_key(command: str, before: Sequence[str], last: str) -> list[str]:
    """Keys that begin so; behind `=`, what the key may be."""
    if "=" in last:
        return _of_value(command, before, last)
    found = _hydra_words(command, before, last)
    return [*found, *_starting(last, (f"{key}=" for key in CHOSEN))] if command == "train" else found


def _of_value(command: str, before: Sequence[str], last: str) -> list[str]:
    """The words that a key may be, paths where it may hold one, or else its default."""
    key = last.partition("=")[0]
    schema = _schema(command)
    words = CHOSEN[key]() if command == "train" and key in CHOSEN else words_of_key(schema, key)
    if words:
        return with_words(last, words)
    # Hydra goes on with a list or a mapping as if it held keys: `references=0=`.
    held = [] if key in list_keys(schema) else _hydra_words(command, before, f"{key}=")
    known = [word for word in held if word[-1] not in "=."]
    if len(known) > 1:
        return with_words(last, [word.partition("=")[2] for word in known]) or with_paths(last)
    default = _starting(last, known)
    # A key whose default is no path holds none.
    return default if default and "/" not in default[0].partition("=")[2] else with_paths(last) or default


def _schema(command: str) -> type[Any]:
    schema: type[Any] = importlib.import_module(f"xlate.cli.{command}").CONFIG
    return schema


def _known(command: str) -> set[str]:
    """The keys and groups of a command."""
    groups = {group.partition("/")[0] for group, of in GROUPS.items() if of.startswith(f"xlate {command}")}
    return (
        {field.name for field in fields(_schema(command))} | groups | ({"experiment"} if command == "train" else set())
    )


def _head(word: str) -> str:
    return re.split(r"[=./]", word, maxsplit=1)[0]


def _hydra_words(command: str, before: Sequence[str], last: str) -> list[str]:
    """The keys and choices of a command that Hydra knows, of what stands before."""
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.bash_completion import BashCompletion
    from hydra._internal.utils import create_config_search_path

    from xlate.config.choices import registered

    loader = ConfigLoaderImpl(config_search_path=create_config_search_path(str(conf_folder())))
    completion: Any = BashCompletion(loader)
    with registered(command):
        try:
            words = list(completion._query(config_name=command, line=" ".join([*_given(command, before), last])))
        except Exception:  # a line that does not compose as yet
            words = list(completion._query(config_name=command, line=last))
    known, lists = _known(command), list_keys(_schema(command))
    found = [word for word in words if _head(word) in known and not word.startswith("experiment/")]
    # With lists, too, it goes on as if they held keys: `references.` in place of `references=`.
    found = [f"{word[:-1]}=" if word[:-1] in lists else word for word in found if "/keys" not in word]
    # The name of a group alone says nothing: a choice of it follows.
    return [f"{word}=" if f"{word}." in found else word for word in found]


def _given(command: str, before: Sequence[str]) -> Sequence[str]:
    """The words before as Hydra is given them; as they were typed where they make no command line."""
    module = importlib.import_module(f"xlate.cli.{command}")
    try:
        words = read_words([word for word in before if word], getattr(module, "POSITIONAL", None))
    except InputError:
        return before
    words = words.bracketed(_schema(command))
    return [*words.options, *words.overrides]

"""Shell completion: the script for bash, zsh or fish, and the words that it requests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from xlate.cli.arguments import HYDRA, NAMED_FILES, OURS, is_bare, read_words
from xlate.cli.commands import COMMANDS as BODIES
from xlate.config.choices import keys_within, rows_of_tables
from xlate.config.page import choices_of, groups_of, plainly
from xlate.config.schema import COMMANDS
from xlate.errors import InputError, check_choice
from xlate.settings import MISSING, Json, Range, limit_of

# The command is called as it was typed, as it need not be on the search path. No blank is added after `=`, `.` and `/`.
# Bash also ends words at `=` and other characters, and inserts the completion after the last of them.
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
        check_choice("no completion for this shell", shell, SHELLS)
        print(SHELLS[shell], end="")
        return 0
    print("\n".join(candidates(" ".join(arguments[1:]))))
    return 0


def candidates(line: str) -> list[str]:
    """The words that may complete a command line such as `xlate train loss.e`."""
    # There may be blanks before the command and several between two words; the last word is incomplete.
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
    """Completions of a word without a key: an action, or a path, whose name may hold `=`."""
    positional = COMMANDS[command].positional
    if not positional:
        return []
    given = [word for word in before if word and is_bare(word) and not word.startswith("-")]
    if isinstance(positional, tuple) and len(given) >= len(positional):
        return []
    if not isinstance(positional, str) and positional[len(given)] == "action":
        return _starting(last, BODIES[command].actions)
    # Keys are also allowed there.
    return [*paths(last), *(_of_key(command, before, last) if last and "=" not in last else [])]


def _of_key(command: str, before: Sequence[str], last: str) -> list[str]:
    """Keys and groups that begin with the word, up to the next dot; after `=`, values of the key."""
    if "=" in last:
        return _of_value(command, before, last)
    groups = [f"{group}=" for group in groups_of(command) if group.startswith(last) and "/" not in group[len(last) :]]
    keys = set()
    for key in _values(command, before):
        if key.startswith(last):
            name, dot, _ = key[len(last) :].partition(".")
            keys.add(f"{last}{name}{dot or '='}")
    return [*groups, *sorted(keys), *_starting(last, ["experiment="] if command == "train" else [])]


def _of_value(command: str, before: Sequence[str], last: str) -> list[str]:
    """The words allowed as a key's value, paths if it may hold one, or else its default."""
    key = last.partition("=")[0]
    if command == "train" and key == "experiment":
        return with_words(last, [name for table, rows in rows_of_tables().items() for name in (table, *rows)])
    if words := list(choices_of(key)) if key in groups_of(command) else words_of_key(COMMANDS[command], key):
        return with_words(last, words) or with_paths(last)
    value = _values(command, before).get(key)
    if value in (None, MISSING) or isinstance(value, list | dict):
        return with_paths(last)
    default = _starting(last, [f"{key}={plainly(value)}"])
    # A key whose default is not a path holds no paths.
    return default if default and "/" not in default[0].partition("=")[2] else with_paths(last) or default


def _values(command: str, before: Sequence[str]) -> Json:
    """The value of each key under the choices of the previous words, or of no words if these do not fit yet."""
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    from xlate.config.load import composed
    from xlate.report.run_directory import flat

    try:
        words = read_words([word for word in before if word], COMMANDS[command].positional)
        config = composed(command, words.bracketed(COMMANDS[command]).overrides)
    except (InputError, HydraException):
        config = composed(command, [])
    held: Any = OmegaConf.to_container(config)
    return flat(held)


def words_of_key(schema: type[Any], key: str) -> list[str]:
    """The words that a key of a command may be; empty if it may hold anything else."""
    if key.rpartition(".")[2] == "metric":
        from xlate.metrics.objective import COLUMN, COLUMNS

        # A mixture of measures is allowed, too, so the schema has no words; a column of a list does not measure a text.
        return [word for word in COLUMNS if word != COLUMN]
    found: list[str] = []
    for held, hint, field in keys_within(schema):
        limit = limit_of(field) if held == key else None
        if isinstance(limit, tuple) and not isinstance(limit, Range):
            found += limit
        elif held == key and hint is bool:
            found += ["false", "true"]
    return list(dict.fromkeys(found))


def with_words(last: str, words: Sequence[str]) -> list[str]:
    """The typed word, completed with each known word that begins like its last value."""
    begun = re.split(r"[=\[,]", last)[-1]
    return [last[: len(last) - len(begun)] + word for word in words if word.startswith(begun)]


def with_paths(last: str) -> list[str]:
    """The typed `KEY=VALUE` with its last path completed; file names may hold `=` and `,`."""
    key, _, value = last.partition("=")
    between = "[,=" if key in NAMED_FILES else "[,"
    # The last path may begin at the start of the value, or after any character that separates paths.
    for start in [0, *(at for at, character in enumerate(value, 1) if character in between)]:
        if found := paths(value[start:]):
            return [f"{key}={value[:start]}{path}" for path in found]
    return []


def paths(start: str) -> list[str]:
    """Files and folders whose paths begin with `start`; folders end in a separator."""
    folder, _, begin = start.rpartition("/")
    place = Path(f"{folder}/" if start.startswith("/") else folder or ".")
    try:
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(place))
    except OSError:
        return []
    prefix = f"{folder}/" if "/" in start else ""
    return [prefix + name for name in names if name.startswith(begin) and (begin or not name.startswith("."))]

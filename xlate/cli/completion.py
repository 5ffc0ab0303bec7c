"""Shell completion: the script for bash, zsh or fish, and the words that it asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from xlate.cli.arguments import HYDRA, NAMED_FILES, OURS, is_bare, read_words
from xlate.cli.commands import COMMANDS as BODIES
from xlate.config.brackets import keys_within, list_keys
from xlate.config.choices import hints_of
from xlate.config.experiments import conf_folder, rows_of_tables
from xlate.config.page import GROUPS
from xlate.config.schema import COMMANDS
from xlate.errors import InputError
from xlate.settings import Range, limit_of

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
    positional = COMMANDS[command].positional
    if not positional:
        return []
    given = [word for word in before if word and is_bare(word) and not word.startswith("-")]
    if isinstance(positional, tuple) and len(given) >= len(positional):
        return []
    if not isinstance(positional, str) and positional[len(given)] == "action":
        return _starting(last, BODIES[command].actions)
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
    schema = COMMANDS[command]
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


def _known(command: str) -> set[str]:
    """The keys and groups of a command."""
    groups = {group.partition("/")[0] for group, of in GROUPS.items() if of.startswith(f"xlate {command}")}
    return (
        {field.name for field in fields(COMMANDS[command])} | groups | ({"experiment"} if command == "train" else set())
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
    known, lists = _known(command), list_keys(COMMANDS[command])
    found = [word for word in words if _head(word) in known and not word.startswith("experiment/")]
    # With lists, too, it goes on as if they held keys: `references.` in place of `references=`.
    found = [f"{word[:-1]}=" if word[:-1] in lists else word for word in found if "/keys" not in word]
    # The name of a group alone says nothing: a choice of it follows.
    return [f"{word}=" if f"{word}." in found else word for word in found]


def _given(command: str, before: Sequence[str]) -> Sequence[str]:
    """The words before as Hydra is given them; as they were typed where they make no command line."""
    try:
        words = read_words([word for word in before if word], COMMANDS[command].positional)
    except InputError:
        return before
    words = words.bracketed(COMMANDS[command])
    return [*words.options, *words.overrides]


def words_of_key(schema: type[Any], key: str) -> list[str]:
    """The words that a key of a command may be, where there are no others."""
    if key.rpartition(".")[2] in NAMED:
        return NAMED[key.rpartition(".")[2]]()
    found: list[str] = []
    for held in keys_within(schema):
        limit = limit_of(held.field) if held.key == key else None
        if isinstance(limit, tuple) and not isinstance(limit, Range):
            found += limit
        elif held.key == key and hints_of(held.kind)[held.field.name] is bool:
            found += ["false", "true"]
    return list(dict.fromkeys(found))


def _devices() -> list[str]:
    from xlate.scoring.device import DEVICES

    return list(DEVICES)


def _measures() -> list[str]:
    from xlate.metrics.score import MEASURES

    return list(MEASURES)


def _metrics() -> list[str]:
    from xlate.metrics.objective import COLUMN, COLUMNS

    return [name for name in COLUMNS if name != COLUMN]


# Keys, in whatever group, whose words no schema tells.
NAMED: dict[str, Callable[[], list[str]]] = {"device": _devices, "measures": _measures, "metric": _metrics}


def _experiments() -> list[str]:
    """All tables and rows."""
    return [name for table, rows in rows_of_tables().items() for name in (table, *rows)]


def _launchers() -> list[str]:
    """What launches the jobs of a sweep, as conf/ has it."""
    return sorted(path.stem for path in (conf_folder() / "hydra" / "launcher").glob("*.yaml"))


# Keys of a training whose choices Hydra does not tell, or not as they are called here.
CHOSEN: dict[str, Callable[[], list[str]]] = {"experiment": _experiments, "hydra/launcher": _launchers}


def with_words(last: str, words: Sequence[str]) -> list[str]:
    """What is typed, its value or the last one of several made whole by each word that begins so."""
    begun = re.split(r"[=\[,]", last)[-1]
    return [last[: len(last) - len(begun)] + word for word in words if word.startswith(begun)]


def with_paths(last: str) -> list[str]:
    """What is typed, `KEY=VALUE`, its path made whole: names may hold `=` and `,`, which stand between paths, too."""
    key, _, value = last.partition("=")
    for begun in _begun(value, "[,=" if key in NAMED_FILES else "[,"):
        if found := paths(begun):
            return [last[: len(last) - len(begun)] + path for path in found]
    return []


def _begun(value: str, between: str) -> Iterator[str]:
    """Where the last path of a value may begin: at its first character, then behind each that stands between paths."""
    yield value
    yield from (value[at + 1 :] for at, character in enumerate(value) if character in between)


def paths(start: str) -> list[str]:
    """Files and folders whose paths begin so; folders end in a separator."""
    folder, _, begin = start.rpartition("/")
    place = Path(f"{folder}/" if start.startswith("/") else folder or ".")
    try:
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(place))
    except OSError:
        return []
    prefix = f"{folder}/" if "/" in start else ""
    return [prefix + name for name in names if name.startswith(begin) and (begin or not name.startswith("."))]

"""Shell completion: the script for bash, zsh or fish, and the words that it asks for."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from xlate.cli.shell.arguments import HYDRA, OURS
from xlate.cli.shell.commands import COMMANDS
from xlate.cli.shell.experiments import rows_of_tables
from xlate.config.keys.described import COMMANDS as GROUPS
from xlate.config.location import conf_folder
from xlate.errors import InputError

# The command is called as it was typed: it need not be on the search path. Behind `=`, `.` and `/` no blank is put.
BASH = """_xlate_complete() {
    local IFS=$'\\n'
    COMPREPLY=($("${1/#\\~/$HOME}" --complete "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null))
    [[ ${COMPREPLY[0]} == *[=./] ]] && compopt -o nospace
    return 0
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
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
    chosen = next((key for key in CHOSEN if command == "train" and last.startswith(f"{key}=")), None)
    if chosen is not None:
        return _starting(last, (f"{chosen}={name}" for name in CHOSEN[chosen]()))
    return _bare(command, before, last) or _of_key(command, before, last)


def _starting(start: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(start)]


def _experiments() -> list[str]:
    """All tables and rows."""
    return [name for table, rows in rows_of_tables().items() for name in (*filter(None, [table]), *rows)]


def _launchers() -> list[str]:
    """What launches the jobs of a sweep, as conf/ has it."""
    return sorted(path.stem for path in (conf_folder() / "hydra" / "launcher").glob("*.yaml"))


# Keys of a training whose choices Hydra does not tell, or not as they are called here.
CHOSEN: dict[str, Callable[[], list[str]]] = {"experiment": _experiments, "hydra/launcher": _launchers}


def _bare(command: str, before: Sequence[str], last: str) -> list[str]:
    """What a word without a key may be: an action, or a path."""
    module = importlib.import_module(f"xlate.cli.{command}")
    positional: str | tuple[str, ...] = getattr(module, "POSITIONAL", ())
    if "=" in last or not positional:
        return []
    given = [word for word in before if word and "=" not in word and not word.startswith("-")]
    if isinstance(positional, tuple) and len(given) >= len(positional):
        return []
    if not isinstance(positional, str) and positional[len(given)] == "action":
        return _starting(last, getattr(module, "ACTIONS", {}))
    # Keys may stand there too.
    return [*_paths(last), *(_of_key(command, before, last) if last else [])]


def _of_key(command: str, before: Sequence[str], last: str) -> list[str]:
    """Keys and choices that Hydra knows, or paths where a key holds one."""
    _, sign, value = last.partition("=")
    opened = value.rpartition("[")[2].rpartition(",")[2]
    paths = [last[: len(last) - len(opened)] + path for path in _paths(opened)] if sign else []
    if "/" in opened and paths:
        return paths
    known = _known(command)
    found = [word for word in _hydra_words(command, " ".join([*before, last])) if _head(word) in known]
    if not sign and command == "train":
        found = [*found, *_starting(last, (f"{key}=" for key in CHOSEN))]
    return found if not sign or [word for word in found if word != last] else paths


def _known(command: str) -> set[str]:
    """The keys and groups of a command."""
    groups = {group.partition("/")[0] for group, of in GROUPS.items() if of.startswith(f"xlate {command}")}
    schema = importlib.import_module(f"xlate.cli.{command}").CONFIG
    return {field.name for field in fields(schema)} | groups | ({"experiment"} if command == "train" else set())


def _head(word: str) -> str:
    return re.split(r"[=./]", word, maxsplit=1)[0]


def _paths(start: str) -> list[str]:
    """Files and folders whose paths begin so; folders end in a separator."""
    folder, _, begin = start.rpartition("/")
    place = Path(f"{folder}/" if start.startswith("/") else folder or ".")
    try:
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(place))
    except OSError:
        return []
    prefix = f"{folder}/" if "/" in start else ""
    return [prefix + name for name in names if name.startswith(begin) and (begin or not name.startswith("."))]


def _hydra_words(command: str, rest: str) -> list[str]:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.bash_completion import BashCompletion
    from hydra._internal.utils import create_config_search_path

    from xlate.config.choices import registered

    loader = ConfigLoaderImpl(config_search_path=create_config_search_path(str(conf_folder())))
    completion: Any = BashCompletion(loader)
    with registered(command):
        try:
            words = list(completion._query(config_name=command, line=rest))
        except Exception:  # a line that does not compose as yet
            words = list(completion._query(config_name=command, line=rest.rpartition(" ")[2]))
    found = [word for word in words if not word.startswith(("hydra", "experiment/")) and "/keys" not in word]
    lists = _lists(command, rest) if any(word.endswith(".") for word in found) else ()
    return [f"{word[:-1]}=" if word[:-1] in lists else word for word in found]


def _lists(command: str, rest: str) -> set[str]:
    """The keys that hold lists, with which Hydra goes on as if they held keys: `references.` in place of `references=`.

    Those of the default choices where what is typed does not compose.
    """
    from omegaconf import OmegaConf

    from xlate.config.load import composed

    try:
        config = composed(command, [word for word in rest.split(" ")[:-1] if "=" in word])
    except Exception:
        config = composed(command, [])
    return set(_held_lists(OmegaConf.to_container(config)))


def _held_lists(values: Any, prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, list):
            yield f"{prefix}{name}"
        elif isinstance(value, dict):
            yield from _held_lists(value, f"{prefix}{name}.")

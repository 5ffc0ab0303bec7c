"""Shell completion: the script for bash or zsh, and the words that it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from xlate.config.location import conf_folder
from xlate.errors import InputError

BASH = """_xlate_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(xlate --complete "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null))
    [[ ${COMPREPLY[0]} == *= || ${COMPREPLY[0]} == *. ]] && compopt -o nospace
    return 0
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -F _xlate_complete xlate
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + BASH


def main(arguments: Sequence[str]) -> int:
    """`completion bash|zsh` prints the script; `--complete LINE` prints the words that may follow, each on its line.

    Raises:
        InputError: an unknown shell.
    """
    if arguments[0] == "completion":
        shell = arguments[1] if len(arguments) > 1 else "bash"
        if shell not in ("bash", "zsh"):
            raise InputError("no completion for this shell", seen=shell, expected="bash or zsh")
        print(BASH if shell == "bash" else ZSH, end="")
        return 0
    print("\n".join(candidates(" ".join(arguments[1:]))))
    return 0


def candidates(line: str) -> list[str]:
    """The words that may complete a command line such as `xlate train loss.e`."""
    from xlate.cli.main import COMMANDS

    words = line.split(" ")
    if len(words) <= 2:
        start = words[1] if len(words) == 2 else ""
        return [name for name in COMMANDS if name.startswith(start)]
    if words[1] not in COMMANDS:
        return []
    return _hydra_words(words[1], " ".join(words[2:]))


def _hydra_words(command: str, rest: str) -> list[str]:
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.core_plugins.bash_completion import BashCompletion
    from hydra._internal.utils import create_config_search_path

    from xlate.config.choices import register

    register(command)
    loader = ConfigLoaderImpl(config_search_path=create_config_search_path(str(conf_folder())))
    return list(BashCompletion(loader)._query(config_name=command, line=rest))

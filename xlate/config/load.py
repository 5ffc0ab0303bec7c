"""Composing a command's configuration, with brackets around lists and quotes around names that look like numbers.

Hydra's errors are reworded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from xlate.config.choices import PLACES, conf_folder, keys_within, registered
from xlate.config.page import choices_of
from xlate.config.typed import in_our_words, typed, unknown_key
from xlate.errors import InputError, nearest
from xlate.report.run_directory import flat

T = TypeVar("T")
# The prefix of Hydra's own keys.
HYDRA = "hydra."
SEVERAL = "-m sweeps over several values; nested quotes make them one value, KEY=\"'VALUE'\""
QUOTES = "values with commas or brackets need nested quotes, KEY=\"'VALUE'\""

# The text between commas outside brackets and quotes.
PART = re.compile(r"""(?:\[[^\]]*\]|'(?:\\.|[^'])*'|"(?:\\.|[^"])*"|\{[^}]*\}|\([^)]*\)|[^,])+""")
# Texts that would become numbers and be written differently, such as 1.50, 2024_11 and true.
_NUMBER = re.compile(r"(?i)[+-]?[\d_.]*\d[\d_.]*(e[+-]?\d+)?|[+-]?(inf|nan)|true|false")
# Not single values: lists, functions such as range(…), what Hydra fills in.
_AS_IT_IS = re.compile(r"\[|\$\{|\{|\w+\(|null$|\?\?\?$")


def with_brackets(overrides: Iterable[str], command: type[Any], sweep: bool = False) -> list[str]:
    """Overrides with lists in brackets, `key=[a,b]` for `key=a,b` and in a sweep `key=[a],[b]`, and with quotes around
    texts that look like numbers.
    """
    hints: dict[str, list[Any]] = {}
    for key, hint, _ in keys_within(command):
        hints.setdefault(key, []).append(hint)
    made = []
    for override in overrides:
        key, _, value = override.partition("=")
        kinds = hints.get(key.lstrip("+"), [None])
        # A key is a list, or a text, if it is in every schema that has it.
        if all(map(_is_list, kinds)):
            override = _bracketed(override, sweep)
        elif all(hint in (str, str | None) for hint in kinds) and _NUMBER.fullmatch(value) and not value.isdecimal():
            override = f"{key}='{value}'"
        made.append(override)
    return made


def _is_list(hint: Any) -> bool:
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return any(get_origin(kind) is list for kind in kinds)


def _bracketed(override: str, sweep: bool) -> str:
    key, sign, value = override.partition("=")
    parts: Sequence[str] = PART.findall(value)
    if not sign or not parts:
        return override
    if len(parts) > 1 and not sweep:
        return override if any(map(_AS_IT_IS.match, parts)) else f"{key}=[{value}]"
    return f"{key}={','.join(part if _AS_IT_IS.match(part) else f'[{part}]' for part in parts)}"


def load(schema: type[T], command: str, overrides: Sequence[str] = ()) -> T:
    """Composes conf/COMMAND.yaml with overrides such as `loss.eta=1e-2` and checks it against its schema.

    Raises:
        InputError: an unknown key, a value of the wrong type or a value not given.

    Example:
        >>> from xlate.config.schema import TrainConfig
        >>> load(TrainConfig, "train", ["loss.eta=0.01"]).loss.eta
        0.01
    """
    with hydra_reworded(command, overrides):
        return typed(composed(command, with_brackets(overrides, schema)), schema)


@contextmanager
def hydra_reworded(command: str, overrides: Sequence[str]) -> Iterator[None]:
    """Raises our errors for those of Hydra and OmegaConf while a command is composed with overrides."""
    try:
        yield
    except HydraException as error:
        raise _words_of_hydra(error, command, overrides) from error
    except OmegaConfBaseException as error:
        raise in_our_words(error) from error


def composed(command: str, overrides: Sequence[str], of_hydra: bool = False) -> DictConfig:
    """Hydra's configuration from conf/COMMAND.yaml and overrides, with its own settings if `of_hydra`.

    Raises:
        HydraException: they do not fit.
    """
    state = GlobalHydra.instance()
    # Inside a command Hydra is already running; its state is restored afterwards.
    running, state.hydra = state.hydra, None
    try:
        with registered(command), initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
            return compose(config_name=command, overrides=list(overrides), return_hydra_config=of_hydra)
    finally:
        state.hydra = running


def _words_of_hydra(error: Exception, command: str, overrides: Sequence[str]) -> InputError:
    text = str(error)
    found = re.search(r"[Cc]ould not (?:override|append|delete)[^']*'([^']+)'", text)
    if found is None and "ConfigKeyError" in text:
        found = re.search(r"full_key: (\S+)", text)
    if found:
        key = found[1]
        if (not_made := _choice_not_made(key, command, overrides)) is not None:
            return not_made
        others = [given for given in overrides if given.partition("=")[0].lstrip("+~") != key]
        return unknown_key(key, _keys_of(command, others, key.startswith(HYDRA)))
    if choice := re.search(r"Could not (?:find|load) '([^']+)'", text):
        available = re.search(r"Available options in '[^']+':\n((?:\t.*\n?)+)", text)
        return _no_choice(choice[1], available[1].split() if available else [], command)
    if isinstance(error.__cause__, OmegaConfBaseException):
        return in_our_words(error.__cause__)
    several = re.match("Ambiguous value for argument '(.+)'", text)
    unread = several[1] if several else next((given for given in overrides if not is_read(given)), None)
    remedy = f"{SEVERAL if several else QUOTES}; xlate {command} --help lists the keys"
    if unread is not None and "/" in unread.partition("=")[2]:
        remedy = f"if it is a path, check it: nothing with that name exists; {remedy}"
    seen = text.splitlines()[0] if unread is None else unread
    expected = "one value" if several else "key=value"
    return InputError("the command line cannot be read", seen, expected, remedy)


def _choice_not_made(key: str, command: str, overrides: Sequence[str]) -> InputError | None:
    """The error for a key within an optional group for which no choice was made."""
    place = key.rpartition(".")[0]
    choice = next((choice for choice, there in PLACES.items() if there == place), None)
    if choice is None or any(one.startswith(f"{place}.") for one in _keys_of(command, overrides, False)):
        return None
    return InputError(
        f"choose {choice}=…: without it the {key.partition('.')[0]} does not have this key",
        key,
        f"{' or '.join(f'{choice}={name}' for name in choices_of(choice) if name != 'none')} as well",
        f"add one of these to the command, or leave {key} out",
    )


def is_read(override: str) -> bool:
    """Whether Hydra can parse an override."""
    try:
        OverridesParser.create().parse_override(override)
    except HydraException:
        return False
    return True


def _no_choice(asked: str, there: list[str], command: str) -> InputError:
    """The error for a choice that a group does not have, such as loss/perceptrn."""
    group, _, wanted = asked.rpartition("/")
    if group == "hydra/sweeper":
        expected = (
            "no sweeper: write values between commas; docs/decisions/0021-no-sweepers.md explains the use of Optuna"
        )
        return InputError("no such sweeper", f"{group}={wanted}", expected)
    remedy = nearest(wanted, there, f"xlate {command} --help lists the choices", f"{group}=", cutoff=0.5)
    expected = ", ".join(there) or "a file in conf/"
    seen = f"{group}={wanted}" if group else wanted
    return InputError(f"unknown choice of {group}" if group else "unknown choice", seen, expected, remedy)


def _keys_of(command: str, overrides: Sequence[str], of_hydra: bool) -> list[str]:
    """The keys of a command, or of Hydra under it, with its choices as far as they can be composed."""
    choices = [given for given in overrides if re.match(r"[\w/]+=[\w/-]+$", given)]
    for some in (choices, []):
        try:
            held: Any = OmegaConf.to_container(composed(command, some, of_hydra))
            known = list(flat(held))
            # Keys like `_target_` are not for users.
            return [one for one in known if one.startswith(HYDRA) and "._" not in one] if of_hydra else known
        except HydraException:
            continue
    return []

"""The choices of every group, registered with Hydra, and the schema of each group of a configuration.

Choices that consist only of their schema have no file in conf/, and presets for parts of a model are in
conf/choices.yaml. Files that add something to a choice begin with it, or with `keys/NAME@_here_` if file and schema
would have the same name.

Recipes (conf/recipes.yaml) say what they choose and set, by command.

Experiments are tables of papers, one file each, and their rows, which Hydra knows as PAPER/TABLE-rowN. In a table's
file, `common` has what all rows share, and `rows` has, by number, what each row adds. `choices` names the choices of
groups. In a sweep, a table expands to its rows.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, fields, is_dataclass
from functools import cache
from inspect import get_annotations
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import yaml

from xlate.cluster import CLUSTERS
from xlate.config import model_schema, schema
from xlate.config.model_schema import MODELS
from xlate.errors import InputError, nearest
from xlate.learning import settings as train_settings
from xlate.learning.settings import LOSSES, SOURCES
from xlate.phrases.settings import RuleSettings
from xlate.search import settings as search_settings
from xlate.search.settings import DECODERS
from xlate.settings import keys_in, plain
from xlate.tuners.settings import TUNERS
from xlate.work import settings as work_settings

_EXPERIMENT = re.compile(r"((?:^|,)\+{0,2}experiment=\w[\w.-]*(?:/\w[\w.-]*)+(?=,|$))")
SEPARATOR = "+"
LONGEST = 200


def conf_folder() -> Path:
    """The folder of Hydra's configuration groups: inside the installed package, or next to it in a checkout.

    Raises:
        InputError: neither exists.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if folder.is_dir():
            return folder
    raise InputError(
        "the configuration folder is missing",
        file=package / "conf",
        expected="conf/ inside the installed package or next to it",
        remedy="install xlate again",
    )


@cache
def read_yaml(path: Path) -> Any:
    """The content of a file of conf/; do not modify it."""
    # The C loader, which some builds of the library lack, takes a tenth of the time.
    return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def rows_of_tables() -> dict[str, dict[str, Parts]]:
    """The rows of each table, PAPER/TABLE, by name and in order."""
    folder = conf_folder() / "experiment"
    tables: dict[str, dict[str, Parts]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        held = read_yaml(path)
        name = path.relative_to(folder).with_suffix("").as_posix()
        tables[name] = {
            f"{name}-row{number}": (held["common"], {"row": {"number": number}}, row)
            for number, row in held["rows"].items()
        }
    return tables


class _Group(dict[str, Any]):
    """The choices of a group, which Hydra does not copy until it reads one.

    Otherwise it would copy everything registered, for each configuration, which takes a third of the time.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> _Group:
        return self


class _Rows(_Group):
    """Makes the configuration of a row or recipe when Hydra reads it: making all rows would take half a second."""

    def __getitem__(self, name: str) -> Any:
        from hydra.core.config_store import ConfigNode
        from omegaconf import DictConfig, OmegaConf

        made = OmegaConf.merge(*super().__getitem__(name))
        assert isinstance(made, DictConfig)
        made.defaults = [{f"override /{group}": choice} for group, choice in made.pop("choices").items()]
        return ConfigNode(name, made, None, "_global_", None)


def all_rows(names: str) -> str:
    """Comma-separated names, with each table replaced by its rows."""
    tables = rows_of_tables()
    return ",".join(row for name in names.split(",") for row in tables.get(name, [name]))


def check_experiments(names: Iterable[str], swept_over: bool, elsewhere: bool) -> None:
    """Checks names of experiments, since Hydra would not suggest similar ones.

    Args:
        names: of rows and tables.
        swept_over: whether they may include tables.
        elsewhere: whether a user's folder may hold further ones.

    Raises:
        InputError: there is no such experiment, or it is a table outside a sweep.
    """
    tables = rows_of_tables()
    known = [*tables, *(row for rows in tables.values() for row in rows)]
    for name in names:
        if name in tables and not swept_over:
            raise InputError(
                "this experiment is a table",
                f"experiment={name}",
                f"-m to train its {len(tables[name])} rows, or one row, {name}-rowN",
                f"xlate train -m experiment={name}",
            )
        if elsewhere or name in ("", "null", *known):
            continue
        raise InputError(
            "no such experiment",
            f"experiment={name}",
            f"one of {', '.join(tables)}",
            nearest(name, sorted(known), "", "experiment=", cutoff=0.0),
        )


def folder_name(settings: str) -> str:
    """The folder name of a job from its settings, `key=value,key=value`.

    It is that text, except that `+` replaces each path separator in values, and names too long for a file system are
    shortened; a mark at the end then keeps the name distinct. The name of an experiment becomes a folder in a folder,
    as in conf/.

    Example:
        >>> folder_name("loss=pro,seed=1")
        'loss=pro,seed=1'
        >>> folder_name("base=../x")
        'base=..+x~e09b6dc0'
    """
    parts = _EXPERIMENT.split(settings)
    kept = [part if place % 2 else part.replace(os.sep, SEPARATOR) for place, part in enumerate(parts)]
    name = "".join(kept)
    longest = max(len(folder.encode()) for folder in name.split(os.sep))
    if longest > LONGEST:
        name = name.replace(os.sep, SEPARATOR).encode()[:LONGEST].decode(errors="ignore")
    mark = hashlib.sha256(settings.encode()).hexdigest()[:8]
    return name if name == settings else f"{name}~{mark}"


Plain = Mapping[str, Any]


class Choice(NamedTuple):
    """A choice that is not just the defaults of a schema: its description, and its settings (None if it has none)."""

    words: str
    settings: Any


def _of_file(group: str, kind: type[Any]) -> dict[str, Choice]:
    """The choices of a group in conf/choices.yaml."""
    held = read_yaml(conf_folder() / "choices.yaml")[group]
    return {
        name: Choice(one["words"], kind(**one["settings"]) if "settings" in one else None) for name, one in held.items()
    }


# By name, a description and the settings of each command.
RECIPES: dict[str, Any] = read_yaml(conf_folder() / "recipes.yaml")
# The name of each choice on the command line, and its schema with its defaults.
CHOICES: dict[str, dict[str, Any]] = {
    "model": {"block": model_schema.BlockModelConfig},
    "model/keys": {name: kind for name, kind in MODELS.items() if name not in ("orientation", "grammar")},
    "sparse": _of_file("sparse", model_schema.SparseConfig),
    "structure": _of_file("structure", model_schema.StructureConfig),
    "context": _of_file("context", model_schema.ContextUseConfig),
    "decoder": {
        "mon": Choice("Monotone search.", search_settings.BlockSearch(mode="mon")),
        "swap": Choice(
            "Neighbouring phrases may swap, without an orientation cost.",
            search_settings.BlockSearch(mode="swap"),
        ),
        "swap_or": search_settings.BlockSearch,
        "distortion": search_settings.DistortionSearch,
        "phrase": search_settings.PhraseSearch,
        "hierarchical": search_settings.RuleSearch,
        "cky": search_settings.RuleSearch(algorithm="cky", pop_limit=50),
        "lcs": search_settings.LcsSearch,
        "transformer": search_settings.TransformerSearch,
        "none": search_settings.DecoderSettings,
    },
    "loss": {**LOSSES, **{name: train_settings.TunedLossConfig(name, tuner()) for name, tuner in TUNERS.items()}},
    "loss/keys": {
        "local": train_settings.LocalLossConfig,
        "lists": train_settings.ListLossConfig,
        "context": train_settings.ContextLossConfig,
    },
    "loss/tune": TUNERS,
    "cluster": CLUSTERS,
    "source": SOURCES,
    "source/keys": {"online": train_settings.OnlineSourceConfig},
    "data": {"files": work_settings.DataConfig},
    "data/keys": {"demo": work_settings.DemoDataConfig},
    "align": {
        "eflomal": work_settings.ComputedLinksConfig,
        "fast_align": work_settings.ComputedLinksConfig("fast_align"),
        "given": work_settings.GivenLinksConfig,
    },
    "lm": {"trigram": work_settings.LmConfig, "fivegram": work_settings.LmConfig(5)},
    "phrases": {"default": work_settings.PhrasesConfig},
    "recipe": {name: Choice(held["words"], None) for name, held in RECIPES.items()},
}
# The place of a group's keys, if it is not the group's name.
PLACES = {
    "sparse": "model.sparse",
    "structure": "model.structure",
    "context": "model.context",
    "loss/tune": "loss.tune",
}
# All possible schemas of a group.
SCHEMAS: dict[str, tuple[type[Any], ...]] = {
    "model": tuple(MODELS.values()),
    "model.sparse": (model_schema.SparseConfig,),
    "model.rules": (RuleSettings,),
    "model.structure": (model_schema.StructureConfig,),
    "model.context": (model_schema.ContextUseConfig,),
    "decoder": tuple(DECODERS.values()),
    "loss": (
        *LOSSES.values(),
        train_settings.LocalLossConfig,
        train_settings.ContextLossConfig,
        train_settings.TunedLossConfig,
        train_settings.ListLossConfig,
        train_settings.RankingLossConfig,
        train_settings.ContextListLossConfig,
    ),
    "loss.tune": tuple(TUNERS.values()),
    "source": tuple(SOURCES.values()),
    "cluster": tuple(CLUSTERS.values()),
    "data": (work_settings.DataConfig, work_settings.DemoDataConfig),
    "align": (work_settings.ComputedLinksConfig, work_settings.GivenLinksConfig),
    "lm": (work_settings.LmConfig,),
    "phrases": (work_settings.PhrasesConfig,),
    "recipe": (),
}

# The losses of models with their own losses, without and with lists.
LOSSES_OF_MODELS: dict[tuple[Any, bool], type[Any]] = {
    ("context", False): train_settings.ContextLossConfig,
    ("context", True): train_settings.ContextListLossConfig,
    ("rerank", True): train_settings.RankingLossConfig,
    ("combination", True): train_settings.RankingLossConfig,
}

# The groups of each command and their default choices. A model may choose its decoder and loss: later groups choose for
# earlier ones.
DEFAULTS: dict[str, dict[str, str | None]] = {
    "prepare": {
        "data": "demo",
        "align": "eflomal",
        "lm": "trigram",
        "phrases": "default",
        "cluster": "none",
        "recipe": None,
    },
    "train": {
        "decoder": "swap_or",
        "loss": "local_softmax",
        "model": "block",
        "sparse": "none",
        "structure": "none",
        "context": "none",
        "source": "stored",
        "cluster": "none",
        "recipe": None,
        "experiment": None,
        "hydra": "train",
    },
    # Settings that replace those of a run or system; null leaves them.
    "translate": {"decoder/keys@decoder": "any", "cluster": "none"},
    "import": {"decoder/keys@decoder": "any"},
}
# Hydra's parts of every command.
HYDRA = ["hydra/xlate", {"override hydra/job_logging": "none"}, {"override hydra/hydra_logging": "none"}]
# Everything registered with Hydra, by Hydra's names.
OWN = (
    {group.partition("/")[0] for group in CHOICES} | {"experiment"} | {f"{command}.yaml" for command in schema.COMMANDS}
)
_HINTS: dict[type[Any], Mapping[str, Any]] = {}


@contextmanager
def registered(command: str) -> Iterator[None]:
    """Registers a command's choices with Hydra while the context lasts, and those of no other command.

    Hydra treats a key as a group wherever a group of that name exists: `lm=FILE` of one command would be refused if
    another command, which chooses an `lm`, had run in the same process.
    """
    from hydra.core.config_store import ConfigStore

    repo = ConfigStore.instance().repo
    before = {name: repo.pop(name) for name in OWN if name in repo}
    try:
        repo.update(_choices_of(command))
        yield
    finally:
        for name in OWN:
            repo.pop(name, None)
        repo.update(before)


@cache
def _choices_of(command: str) -> dict[str, Any]:
    """What a command registers with Hydra, which copies what it uses; nothing of it is registered before."""
    from hydra.core.config_store import ConfigStore

    store, defaults = ConfigStore.instance(), DEFAULTS.get(command, {})
    own = {one.name: default_of(one) for one in own_keys(schema.COMMANDS[command])}
    chosen = [{group: choice} for group, choice in defaults.items()]
    store.store(name=command, node={"defaults": ["_self_", *chosen, *HYDRA], **own})
    # This takes time, so a command registers only its own groups.
    mine = {name.partition("/")[0] for name in defaults}
    for group, choices in CHOICES.items():
        for name, node in choices.items() if group.partition("/")[0] in mine else ():
            made = node.settings if isinstance(node, Choice) else node() if isinstance(node, type) else node
            place = PLACES.get(group) if made is not None else "_global_"
            store.store(group=group, name=name, node=plain(made) if made is not None else {}, package=place)
    if "decoder" in mine:
        any_decoder = {field.name: None for kind in DECODERS.values() for field in keys_in(kind)}
        store.store(group="decoder/keys", name="any", node=any_decoder)
    if "recipe" in mine:
        store.repo["recipe"] = _Rows({f"{name}.yaml": (held[command],) for name, held in RECIPES.items()})
    if "source" in mine:
        # A choice that changes another one; as a file it would exist for every command.
        online = ["keys/online@source", "_self_", {"override /loss": "online"}]
        store.store(group="source", name="online", node={"defaults": online}, package="_global_")
        # All rows, by paper and then by file name.
        papers: dict[str, dict[str, Any]] = {}
        for rows in rows_of_tables().values():
            for name, parts in rows.items():
                paper, _, row = name.partition("/")
                papers.setdefault(paper, _Rows())[f"{row}.yaml"] = parts
        store.repo["experiment"] = papers
    made = {name: store.repo[name] for name in OWN if name in store.repo}
    return {name: _Group(one) if type(one) is dict else one for name, one in made.items()}


def schemas_of(held: Plain, command: type[Any]) -> dict[str, type[Any]]:
    """The schema of each group of a command's configuration, by dotted key; outer groups come first.

    Raises:
        InputError: an unknown model or tuner.
    """
    found: dict[str, type[Any]] = {}
    if command is schema.PrepareConfig:
        generated, given = _part(held, "data").get("generated"), _part(held, "align").get("method") == "given"
        found["data"] = work_settings.DataConfig if generated is None else work_settings.DemoDataConfig
        found["align"] = work_settings.GivenLinksConfig if given else work_settings.ComputedLinksConfig
    if "name" in (part := _part(held, "cluster")):
        found["cluster"] = _named(CLUSTERS, part["name"], "cluster.name")
    if command is not schema.TrainConfig:
        return found
    model, loss = _part(held, "model"), _part(held, "loss")
    if "kind" in model:
        found["model"] = _named(MODELS, model["kind"], "model.kind")
        found["decoder"] = DECODERS[model["kind"]]
    if "name" in (part := _part(held, "source")):
        found["source"] = _named(SOURCES, part["name"], "source.name")
    if "name" not in loss:
        return found
    tune, listed = loss.get("tune"), loss.get("lists") is not None
    usual = LOSSES.get(str(loss["name"]), train_settings.LocalLossConfig)
    if listed or tune is not None:
        usual = train_settings.ListLossConfig if listed else train_settings.TunedLossConfig
    found["loss"] = kind = LOSSES_OF_MODELS.get((model.get("kind"), listed), usual)
    if isinstance(tune, Mapping) and kind in (train_settings.ListLossConfig, train_settings.TunedLossConfig):
        alone = kind is train_settings.TunedLossConfig
        found["loss.tune"] = _named(TUNERS, loss["name"] if alone else tune.get("name"), "loss.name")
    return found


def _part(held: Plain, group: str) -> Plain:
    part = held.get(group)
    return part if isinstance(part, Mapping) else {}


def _named(choices: Mapping[str, type[Any]], name: Any, key: str) -> type[Any]:
    if name not in choices:
        raise InputError(f"unknown value of {key}", f"{key}={name}", ", ".join(choices))
    return choices[name]


def own_keys(command: type[Any]) -> list[Field[Any]]:
    """The keys of a command that are not groups: first its own, then those it shares with others."""
    names = dict.fromkeys(name for kind in command.__mro__[:-1] for name in get_annotations(kind))
    held = {field.name: field for field in fields(command)}
    return [held[name] for name in names if name in held and "words" in held[name].metadata]


def keys_within(kind: type[Any], prefix: str = "") -> Iterator[tuple[str, Any, Field[Any]]]:
    """The dotted keys of a schema and of all that it may hold, with their types and settings; once per schema that has
    the key.
    """
    for field in keys_in(kind):
        key, within = prefix + field.name, schema_within(kind, field)
        yield key, hints_of(kind)[field.name], field
        for held in dict.fromkeys([*SCHEMAS.get(key, ()), *([] if within is None else [within])]):
            yield from keys_within(held, f"{key}.")


@cache
def _settings() -> dict[str, list[Field[Any]]]:
    """The settings of every dotted key within a group."""
    found: dict[str, list[Field[Any]]] = {}
    for command in (schema.PrepareConfig, schema.TrainConfig):
        for key, _, field in keys_within(command):
            group, dot, _ = key.partition(".")
            if dot and group in SCHEMAS:
                found.setdefault(key, []).append(field)
    return found


def settings_at(key: str) -> list[Field[Any]]:
    """The settings of this dotted key within a group, from all dataclasses that have it."""
    return _settings().get(key, [])


def defaults_at(key: str) -> list[Any]:
    """The defaults of a dotted key within a group, from all schemas that have it; nested settings as mappings."""
    return [plain(value) for value in map(default_of, settings_at(key))]


def keys_of(kind: type[Any], prefix: str, chosen: Mapping[str, type[Any]]) -> Iterator[str]:
    """The innermost dotted keys of a dataclass of settings, including those of the `chosen` schemas within it."""
    for field in keys_in(kind):
        key = prefix + field.name
        within = chosen.get(key) or schema_within(kind, field)
        yield from [key] if within is None else keys_of(within, f"{key}.", chosen)


def default_of(field: Field[Any]) -> Any:
    """The default of a field; `???` where one must be given."""
    if callable(field.default_factory):
        return field.default_factory()
    return field.default


def schema_within(kind: type[Any], field: Field[Any]) -> type[Any] | None:
    """The schema that a field of a schema holds; None if it holds a value."""
    default = default_of(field)
    if is_dataclass(default):
        return type(default)
    hint = hints_of(kind)[field.name]
    kinds = [kind for kind in get_args(hint) or (hint,) if isinstance(kind, type) and is_dataclass(kind)]
    return kinds[0] if kinds else None


def hints_of(kind: type[Any]) -> Mapping[str, Any]:
    """The types of a schema's fields, cached: they are written as text, which is slow to evaluate."""
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


# The parts of a row; later ones override earlier ones.
Parts = tuple[dict[str, Any], ...]
# Rows of papers' tables keep their folders: PAPER/TABLE-rowN, where no part begins with a dot.

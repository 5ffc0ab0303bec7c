"""The weights of a run, and where its dependencies are: work directory, runs that it names, files of word classes.

A run stores the paths that it was trained with. If you use it from another directory, or have moved it together with
its dependencies, each path is searched for from the run's own folder upwards. A packed run says itself where
everything is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import reduce
from pathlib import Path
from typing import Any, cast

from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.models.pack_format import OUTSIDE, REMEDY, check_links, is_pack, leads_within
from xlate.report.run_directory import CONFIG_FILE, differing_keys
from xlate.scoring.weights import WEIGHTS_FILE, WeightsFile, load_weights
from xlate.settings import plain
from xlate.text.folders import read_json
from xlate.work.directory import STAGES, WorkDirectory
from xlate.work.stages import MARK

MADE_WITH = "made_with"
# The file of a packed run: paths from its folder, by their names in its configuration.
PLACES = "places.json"
WORK, WORDS = "work", "words"
# The configuration keys that name runs, by their names in places. This table alone decides which named runs are found
# and packed.
RUNS = {
    "base": ("base",),
    "context": ("model", "context", "run"),
    "distortion": ("model", "context", "distortion"),
    "joint": ("model", "joint"),
}
WORK_IDENTITY = "work_identity"


def made_with(model: ModelConfig) -> dict[str, Any]:
    """What a weights file says in its metadata about the model of its weights."""
    return {MADE_WITH: plain(model)}


def weights_of(run: Path, trained: TrainConfig | None = None) -> WeightsFile:
    """The weights of a run; `trained` is its configuration, read if not given.

    Raises:
        InputError: there are none yet, they cannot be read, or they were made with another model than the configuration
            names.
    """
    weights = load_weights(weights_path(run))
    config, held = trained or config_of_run(run), weights.metadata.get(MADE_WITH)
    if not isinstance(held, Mapping):
        raise InputError(
            "weights of an earlier version, which do not record how they were made",
            f"no {MADE_WITH}",
            "the settings of their model",
            "train or import the run again",
            file=run / WEIGHTS_FILE,
        )
    differences = differing_keys(held, plain(config.model))
    refuse_if(
        differences,
        "the configuration and the weights belong to different models",
        "; ".join(f"model.{key}={there}" for key, _, there in differences[:8]),
        "; ".join(f"model.{key}={here}" for key, here, _ in differences[:8]),
        "restore the configuration, or train a run with these settings under another name",
        file=run / CONFIG_FILE,
    )
    return weights


def weights_path(run: Path) -> Path:
    """The file of a run's weights.

    Raises:
        InputError: it is not there.
    """
    path = run / WEIGHTS_FILE
    refuse_if(
        not path.exists(),
        "the run has no weights yet",
        "no such file",
        "the weights of a finished run",
        f"let xlate train … run={run} finish",
        file=path,
    )
    return path


def located_config(run: Path, near: str | None = None, work: str | None = None) -> TrainConfig:
    """The configuration of a run with the paths where its dependencies are; the arguments are those of `located`.

    Raises:
        InputError: as `config_of_run` and `located`.
    """
    config, weights = config_of_run(run), run / WEIGHTS_FILE
    identity = load_weights(weights).metadata.get(WORK_IDENTITY) if weights.exists() else None
    return located(run, config, identity, near, work)


def located(
    run: Path, config: TrainConfig, identity: str | None, near: str | None = None, work: str | None = None
) -> TrainConfig:
    """A run's configuration with the paths where its dependencies are.

    A path that leads to the same place from the current directory is kept. The path of a run that is not found is kept
    too, because not every run that names one needs it.

    Args:
        run: the folder of the run.
        config: its configuration.
        identity: of the work directory that it was trained on, None if unknown.
        near: a work directory to try before others.
        work: the work directory, if the user has named it.

    Raises:
        InputError: the work directory is not found, or one is named for a run that has none.
    """
    found = with_located_words(run, config)
    found.work = _work(run, config.work, identity, near, work)
    return _with_runs(run, found)


def located_runs(run: Path) -> TrainConfig:
    """The configuration of a run with the paths where the runs it names are; raises as `config_of_run`."""
    return _with_runs(run, config_of_run(run))


def named_runs(config: TrainConfig) -> dict[str, str]:
    """The paths of the runs that a configuration names, by their names in `RUNS`."""
    found = {
        name: reduce(lambda held, key: getattr(held, key, None), keys, cast(Any, config)) for name, keys in RUNS.items()
    }
    return {name: path for name, path in found.items() if path}


def with_located_words(run: Path, config: TrainConfig) -> TrainConfig:
    """A run's configuration with the paths where its word class files are, which may be among the kinds of words."""
    placed, config = places_of(run).get(WORDS, {}), deepcopy(config)

    def file(stored: str) -> str:
        return _placed(run, placed, stored) or _found(run, stored, os.path.isfile)

    for settings in settings_with_words(config.model):
        settings.words = [",".join(map(file, kind.split(","))) if "," in kind else kind for kind in settings.words]
    return config


def settings_with_words(model: ModelConfig) -> list[Any]:
    """Those of a model's settings that name kinds of words, which may include files of word classes."""
    return [held for held in (model, model.sparse, model.structure) if held is not None and "words" in vars(held)]


def places_of(run: Path) -> dict[str, Any]:
    """Where a packed run says that things are; nothing for any other.

    Raises:
        InputError: the file is damaged, or names something outside of the packed run.
    """
    path, top = run / PLACES, _pack_of(run)
    if top is not None:
        check_links(top)
    if top is None or not path.exists():
        return {}
    held = read_json(path, "the places of a packed run", REMEDY, {WORDS: dict})
    for name, place in [*held.items(), *held[WORDS].items()]:
        if name != WORDS and not (isinstance(place, str) and leads_within(run / place, top)):
            raise InputError(OUTSIDE, f"{name}: {place}", f"the path of something in {top}", REMEDY, file=path)
    return held


def _pack_of(run: Path) -> Path | None:
    """The packed run that a run is or belongs to; None for any other run."""
    real = Path(os.path.realpath(run))
    marked = next((folder for folder in (real, real.parent) if is_pack(folder)), None)
    return real if marked is None and (real / PLACES).exists() else marked


def change_runs(config: TrainConfig, path: Callable[[str, str], str]) -> None:
    """Gives the runs that a configuration names other paths, by their names in `RUNS` and the paths before."""
    for name, stored in named_runs(config).items():
        *above, key = RUNS[name]
        setattr(reduce(getattr, above, cast(Any, config)), key, path(name, stored))


def _with_runs(run: Path, config: TrainConfig) -> TrainConfig:
    """The configuration with the paths of the runs that it names; those not found keep their stored paths."""
    places = places_of(run)

    def path(name: str, stored: str) -> str:
        return _placed(run, places, name) or _found(run, stored, lambda path: (Path(path) / CONFIG_FILE).is_file())

    change_runs(config, path)
    return config


def _work(run: Path, stored: str, identity: str | None, near: str | None, given: str | None) -> str:
    """The path of the work directory; one of another identity only if the right one is missing."""
    placed, packed = _placed(run, places_of(run), WORK), _pack_of(run) is not None
    refuse_if(
        given is not None and (packed or not stored),
        "this run does not use a work directory elsewhere",
        f"work={given}",
        "no work=: the run was packed or imported and has all it needs",
        file=run,
    )
    if given is not None:
        return given
    if placed is not None or not stored:
        return placed or stored
    if packed:
        message, expected = "the work directory of the run is not packed", f"{WORK}: its path"
        raise InputError(message, f"no {WORK}", expected, REMEDY, file=run / PLACES)
    tried = [*([near] if near else []), *_candidates(run, stored)]
    for folder in tried:
        if (held := _identity_at(folder)) is not None and identity in (None, held):
            return _as_stored(folder, stored)
    for folder in (stored, *tried):
        if any((Path(folder) / name / MARK).exists() for name in STAGES):
            return folder
    raise InputError(
        "the work directory of the run was not found",
        f"no prepared work directory {stored}, neither from {os.getcwd()} nor from {os.path.abspath(run)} upwards",
        "the one that the run was trained on" + (f", of identity {identity[:12]}" if identity else ""),
        f"set work=FOLDER, or pack the run where that folder is: xlate pack run={run} out=FILE.tar",
        file=run,
    )


def _identity_at(path: str) -> str | None:
    """The identity of a prepared work directory, None if there is no complete one."""
    try:
        return WorkDirectory(Path(path)).check().identity
    except InputError:
        return None


def _placed(run: Path, places: Mapping[str, Any], name: str) -> str | None:
    return os.path.join(run, str(places[name])) if name in places else None


def _found(run: Path, stored: str, fits: Callable[[str], bool]) -> str:
    """The first place that fits among those where a stored path may lead now, or else the stored path. What is missing
    from a packed run is not searched for elsewhere.
    """
    if _pack_of(run) is not None:
        return os.path.join(run, "not packed", os.path.basename(stored))
    path = next((path for path in _candidates(run, stored) if fits(path)), None)
    return stored if path is None else _as_stored(path, stored)


def _candidates(run: Path, stored: str) -> Iterator[str]:
    """Where a stored path may lead now.

    A relative path is searched for from the run's folder upwards, and then from the current directory. An absolute one
    is tried as it is; then its last parts are searched for from the run's folder upwards.
    """
    here = os.path.abspath(run)
    tops = list(dict.fromkeys(map(str, (here, *Path(here).parents, *Path(os.path.realpath(here)).parents))))
    if not os.path.isabs(stored):
        yield from (os.path.normpath(os.path.join(top, stored)) for top in tops)
        yield stored
        return
    yield stored
    parts = Path(stored).parts[1:]
    yield from (os.path.join(top, *parts[cut:]) for top in tops for cut in range(1, len(parts)))


def _as_stored(path: str, stored: str) -> str:
    """The path as it was stored, if that leads to the same place."""
    return stored if os.path.exists(stored) and os.path.samefile(path, stored) else path

"""The kinds of models by name, and the systems of runs and of whole grammars."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.models.kind import Kind
from xlate.models.run_files import WORK_IDENTITY, located, weights_of
from xlate.models.system import AnySystem
from xlate.work.directory import WorkDirectory

if TYPE_CHECKING:
    from xlate.models.block.kind import EventKind

# The kinds by name: module and class. Each is imported when it is asked for, since the systems of the others are many.
EVENT_KINDS = {
    "orientation": ("block.kind", "Block"),
    "distortion": ("distortion", "DistortionKind"),
}
KINDS = {
    **EVENT_KINDS,
    "phrase": ("phrase.kind", "Phrase"),
    "hierarchical": ("hierarchical.kind", "Hierarchical"),
    "grammar": ("grammar.kind", "Grammar"),
    "context": ("context.runs", "Context"),
    "lcs": ("lcs", "Lcs"),
    "rerank": ("kind", "Rerank"),
}

# What the names of configurations of whole grammars end with: joshua.config, cdec.ini and moses.ini.
GRAMMAR_SUFFIXES = (".config", ".ini")


def is_grammar(path: Path) -> bool:
    """Whether a path names the configuration of a whole grammar, and no run."""
    return path.suffix in GRAMMAR_SUFFIXES and not path.is_dir()


def kind_of(name: str) -> Kind:
    """The kind of a `model.kind`.

    Raises:
        InputError: it is none.
    """
    return cast(Kind, _named(KINDS, name))


def event_kind(name: str) -> EventKind:
    """The kind of a `model.kind` that learns from events.

    Raises:
        InputError: it is none.
    """
    return cast("EventKind", _named(EVENT_KINDS, name))


def _named(kinds: dict[str, tuple[str, str]], name: str) -> object:
    if name not in kinds:
        raise InputError("unknown value of model.kind", seen=name, expected=", ".join(kinds))
    module, kind = kinds[name]
    return getattr(import_module(f"{__package__}.{module}"), kind)()


def open_system(
    run: Path, config: TrainConfig, given: str | None = None, near: str | None = None
) -> tuple[AnySystem, WorkDirectory | None]:
    """The system of a finished run, and its work directory, which an imported one does not have.

    The work directory is the `given` one, or is looked for, `near` first; see `run_files.located`.

    Raises:
        InputError: no weights, those of another model, or a work directory that is gone or was made anew; a run that
            translates nothing.
    """
    weights, kind, work = weights_of(run, config), kind_of(config.model.kind), None
    # A kind that ranks lists refuses, and has no work directory to be looked for.
    if not kind.ranks_lists:
        expected = weights.metadata.get(WORK_IDENTITY)
        config = located(run, config, expected, near, given)
        work = WorkDirectory(Path(config.work)).check() if config.work else None
        if work is not None and expected != work.identity:
            raise InputError(
                "the work directory is not the one this run was trained on",
                file=work.path,
                seen=f"other data or settings, identity {work.identity[:12]}",
                expected=f"what {run} was trained on, identity {str(expected)[:12]}",
                remedy=f"work=FOLDER names the right one; prepare it as before, or train {run} anew under another name",
            )
    return kind.open(run, config, weights, work), work

"""The folders that a run stands on, and which of their files go into its pack under which names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from xlate.arrays.stored import HEADER
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.jobs.run_places import PLACES, WORDS, WORK, located_config, named_runs
from xlate.text.json_files import read_json, write_json
from xlate.work.directory import WorkDirectory, keep_word_counts

# The training text is not packed; where it is opened, it is for the counts of its words.
TEXTS = {"corpus/train.source.gz": "source", "corpus/train.target.gz": "target"}


@dataclass(frozen=True)
class Part:
    """A folder that a run stands on.

    Attributes:
        folder: where it lies.
        name: its place in the pack, `.` for the run itself.
        places: of a run, the parts and files of classes that it refers to, by what `run_places` calls them.
    """

    folder: Path
    name: PurePosixPath
    places: dict[str, Any] = field(default_factory=dict)

    @property
    def is_run(self) -> bool:
        """Whether it is a run, which says where other things lie."""
        return bool(self.places)


class Parts:
    """All folders and files of classes that a run stands on, directly or through other runs."""

    def __init__(self, run: Path, work: str | None = None) -> None:
        """Finds them; `work` is the work directory, if the user has named it.

        Raises:
            InputError: as `located_config`.
        """
        self.parts: dict[Path, Part] = {}
        self.classes: dict[Path, PurePosixPath] = {}
        self._add_run(run, PurePosixPath("."), work)

    @property
    def tops(self) -> list[Path]:
        """All folders and files of classes."""
        return [*self.parts, *self.classes]

    def copy(self, opened: Sequence[Path], into: Path) -> None:
        """Copies the files that were opened, with all that belongs to the same arrays, and says where parts lie."""
        used: set[PurePosixPath] = set()
        for path in sorted(set(_whole(opened))):
            name = self._name(path, used)
            side = TEXTS.get(self._below(path))
            if side is not None:
                keep_word_counts(WorkDirectory(self._part(path).folder), side, into / name.parent.parent)
                continue
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for part in self.parts.values():
            if part.name in used and part.is_run:
                write_json(into / part.name / PLACES, _relative(part, used))

    def _add_run(self, run: Path, name: PurePosixPath, work: str | None) -> PurePosixPath:
        folder = run.resolve()
        if folder in self.parts:
            return self.parts[folder].name
        stored, config = config_of_run(run), located_config(run, work=work)
        part = self.parts[folder] = Part(folder, name)
        if config.work:
            part.places[WORK] = self._add_folder(Path(config.work), WORK)
        part.places[WORDS] = self._add_classes(stored, config)
        for kind, other in named_runs(config).items():
            if Path(other).is_dir():
                part.places[kind] = self._add_run(Path(other), self._free(kind), None)
        return name

    def _add_folder(self, folder: Path, kind: str) -> PurePosixPath:
        path = folder.resolve()
        if path not in self.parts:
            self.parts[path] = Part(path, self._free(kind))
        return self.parts[path].name

    def _add_classes(self, stored: TrainConfig, config: TrainConfig) -> dict[str, PurePosixPath]:
        """The files of classes of a run, by what its configuration calls them."""
        found: dict[str, PurePosixPath] = {}
        for name, path in zip(_class_files(stored.model), _class_files(config.model), strict=True):
            file = Path(path).resolve()
            number = len(self.classes) + 1
            found[name] = self.classes.setdefault(file, PurePosixPath("classes") / str(number) / file.name)
        return found

    def _free(self, kind: str) -> PurePosixPath:
        taken = {part.name for part in self.parts.values()}
        names = [kind, *(f"{kind}{number}" for number in range(2, len(taken) + 3))]
        return next(PurePosixPath(name) for name in names if PurePosixPath(name) not in taken)

    def _part(self, path: Path) -> Part:
        """The innermost part that a file is in."""
        return max((p for p in self.parts.values() if p.folder in path.parents), key=lambda p: len(p.folder.parts))

    def _below(self, path: Path) -> str:
        return "" if path in self.classes else path.relative_to(self._part(path).folder).as_posix()

    def _name(self, path: Path, used: set[PurePosixPath]) -> PurePosixPath:
        """The name of a file in the pack; the part that it is of is noted as used."""
        if path in self.classes:
            used.add(self.classes[path])
            return self.classes[path]
        part = self._part(path)
        used.add(part.name)
        return part.name / self._below(path)


def _whole(opened: Sequence[Path]) -> Iterator[Path]:
    """The files, and of each folder of arrays with one of them all the others that its header names."""
    yield from opened
    for folder in {path.parent for path in opened}:
        if (folder / HEADER).is_file():
            header = read_json(folder / HEADER, "a header", f"make {folder} again")
            yield folder / HEADER
            yield from (folder / f"{name}.npy" for name in header.get("arrays", {}))
            yield from (folder / name for name in header.get("files", {}))


def _relative(part: Part, used: set[PurePosixPath]) -> dict[str, Any]:
    """The places of a run as paths from its own folder in the pack; what is not packed has none."""

    def path(place: PurePosixPath) -> str:
        return os.path.relpath(place, part.name)

    plain = {kind: path(place) for kind, place in part.places.items() if kind != WORDS and place in used}
    classes = {name: path(place) for name, place in part.places[WORDS].items() if place in used}
    return {**plain, WORDS: classes}


def _class_files(model: ModelConfig) -> list[str]:
    """The files of classes among the kinds of words of a model's settings."""
    settings = [model, model.sparse, model.structure]
    kinds = [kind for held in settings if held is not None for kind in vars(held).get("words", [])]
    return [file for kind in kinds if "," in kind for file in kind.split(",")]

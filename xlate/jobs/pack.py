"""xlate pack: a run with everything needed to translate, as one file or folder."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from xlate import __version__
from xlate.arrays.stored import HEADER
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import PackConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError, refuse_if
from xlate.jobs.translate import Translator
from xlate.models.pack_format import (
    ENDING,
    FORMAT,
    MARK,
    Pack,
    Sentence,
    check_sentences,
    is_pack,
    read_pack,
    unpacked,
    write_archive,
    write_pack,
)
from xlate.models.rerank.combination import is_training
from xlate.models.run_files import PLACES, WORDS, WORK, located_config, named_runs, settings_with_words
from xlate.report.run_directory import CONFIG_FILE
from xlate.scoring.weights import WEIGHTS_FILE
from xlate.settings import Json
from xlate.text.folders import (
    hidden_folder,
    read_json,
    refused_while_written,
    whole_folder,
    without_mark,
    write_json,
)
from xlate.text.lines import read_lines
from xlate.work.directory import WorkDirectory, keep_word_counts
from xlate.work.stages import MARK as STAGE_MARK

log = logging.getLogger(__name__)


_listening: list[set[str]] = []


@contextlib.contextmanager
def opened_files(folders: Sequence[Path]) -> Iterator[set[Path]]:
    """Yields a set that at the end gets the files under some folders, links followed, that were opened meanwhile."""
    _begin_to_listen()
    names: set[str] = set()
    found: set[Path] = set()
    _listening.append(names)
    try:
        yield found
    finally:
        # Not with `remove`, which could remove an equal set of another caller.
        _listening[:] = [other for other in _listening if other is not names]
    tops = [Path(folder).resolve() for folder in folders]
    for path in map(Path, map(os.path.realpath, names)):
        if any(path.is_relative_to(top) for top in tops) and path.is_file():
            found.add(path)


@cache
def _begin_to_listen() -> None:
    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _listening and isinstance(arguments[0], str | bytes):
            name = os.path.abspath(os.fsdecode(arguments[0]))
            for names in _listening:
                names.add(name)

    # A process cannot remove such a hook; it does nothing while nobody listens.
    sys.addaudithook(note)


# The training text is not packed: it is only opened for its word counts.
TEXTS = {"corpus/train.source": "source", "corpus/train.target": "target"}


class Parts:
    """Everything a run depends on, directly or through other runs: folders, and files of word classes.

    Attributes:
        names: the place of each folder and file in the pack, `.` for the run itself.
        places: for each run, the places of what it refers to, by the names that `run_files` uses.
    """

    def __init__(self, run: Path, work: str | None) -> None:
        """Finds the parts; `work` is the work directory, if the user has named it.

        Raises:
            InputError: as `located_config`.
        """
        self.names: dict[Path, PurePosixPath] = {}
        self.places: dict[Path, Json] = {}
        self._add_run(run, PurePosixPath("."), work)

    def copy(self, opened: Sequence[Path], into: Path) -> None:
        """Copies the opened files, with all files of the same arrays, and records where the parts are."""
        used: set[PurePosixPath] = set()
        for path in sorted(set(_whole(opened))):
            # A file of classes is a part itself; others belong to the innermost folder that contains them.
            top = next(part for part in (path, *path.parents) if part in self.names)
            used.add(self.names[top])
            below = path.relative_to(top).as_posix()
            target = into / self.names[top] / below
            if (side := TEXTS.get(os.path.dirname(below))) is not None:
                if path.name == HEADER:
                    keep_word_counts(WorkDirectory(top), side, into / self.names[top])
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for run, places in self.places.items():
            # Only a run records where other parts are, relative to its folder; parts that are not packed get no path.
            if self.names[run] in used:
                classes = places.pop(WORDS)
                packed, words = (
                    {name: os.path.relpath(place, self.names[run]) for name, place in held.items() if place in used}
                    for held in (places, classes)
                )
                write_json(into / self.names[run] / PLACES, {**packed, WORDS: words})

    def _add_run(self, run: Path, name: PurePosixPath, work: str | None) -> PurePosixPath:
        folder = run.resolve()
        if folder in self.names:
            return self.names[folder]
        stored, config = config_of_run(run), located_config(run, work=work)
        systems = getattr(config.model, "systems", ())
        outside = [given for given in systems if not is_training(given.partition("=")[2])]
        remedy = "let the combination train these systems itself: NAME=KEYS"
        refuse_if(outside, "a combination with a run from elsewhere cannot be packed", outside, "none", remedy, run)
        self.names[folder] = name
        places = self.places.setdefault(folder, {WORDS: {}})
        if config.work:
            places[WORK] = self.names.setdefault(Path(config.work).resolve(), self._free(WORK))
        for called, path in zip(_class_files(stored.model), _class_files(config.model), strict=True):
            file = Path(path).resolve()
            number = 1 + sum(name.parts[:1] == ("classes",) for name in self.names.values())
            places[WORDS][called] = self.names.setdefault(file, PurePosixPath("classes") / str(number) / file.name)
        for kind, other in named_runs(config).items():
            if Path(other).is_dir():
                places[kind] = self._add_run(Path(other), self._free(kind), None)
        return name

    def _free(self, kind: str) -> PurePosixPath:
        names = (PurePosixPath(kind if number == 1 else f"{kind}{number}") for number in count(1))
        return next(name for name in names if name not in self.names.values())


def _whole(opened: Sequence[Path]) -> Iterator[Path]:
    """The files and, for each folder of arrays with one of them, all others that its header names."""
    yield from opened
    for folder in {path.parent for path in opened}:
        if (folder / HEADER).is_file():
            header = read_json(folder / HEADER, "a header", f"make {folder} again")
            yield folder / HEADER
            yield from (folder / f"{name}.npy" for name in header.get("arrays", {}))
            yield from (folder / name for name in header.get("files", {}))


def _class_files(model: ModelConfig) -> list[str]:
    """The files of word classes that a model's settings name."""
    kinds = [kind for settings in settings_with_words(model) for kind in settings.words]
    return [file for kind in kinds if "," in kind for file in kind.split(",")]


# Files opened for every run, stage of a work directory or folder of arrays.
MARKS = (CONFIG_FILE, WEIGHTS_FILE, STAGE_MARK, HEADER)
COMPRESSED = (".tgz", ".gz", ".bz2", ".xz", ".zip")
SENTENCES = 5
# Longer sentences are no better at showing whether anything is missing.
MOST_WORDS = 30


def pack(config: PackConfig) -> Json:
    """Packs a run and returns the pack's name, the folder it unpacks to, and its contents.

    Translating some sentences shows which files are needed. The copy is then opened alone and must translate them in
    the same way without opening the original folders.

    Raises:
        InputError: no finished run that translates, no sentences to check it with, or `out` holds something else.
    """
    run, out = unpacked(Path(config.run)), Path(config.out)
    if out.name.endswith(COMPRESSED):
        made = out.with_name(out.with_suffix("").name.removesuffix(ENDING) + ENDING)
        raise InputError(
            "packed runs are not compressed",
            file=out,
            expected="FILE.tar, or a folder",
            remedy=f"out={made}, and gzip {made} later",
        )
    # The folder in an archive has the run's name.
    folder = run.resolve().name or "run" if out.suffix == ENDING else str(out)
    with refused_while_written(out, "packed run"), _folder(out) as aside:
        packed = _packed(run, config, aside)
        if out.suffix == ENDING:
            write_archive(aside, packed, folder, out)
    size = sum(size for size, _ in packed.files.values())
    counts = {"files": len(packed.files), "bytes": size, "sentences": len(packed.sentences)}
    return {"out": str(out), "folder": folder, **counts}


def _packed(run: Path, config: PackConfig, aside: Path) -> Pack:
    aside = aside.resolve()
    # A run that translates nothing is refused before its work directory is searched for.
    text = Translator.of_run(config_of_run(run), run, given=config.work).text
    lines: list[str] = []
    if config.input is not None:
        lines = read_lines(config.input)
    elif is_pack(run):
        lines = [sentence.source for sentence in read_pack(run).sentences]
    elif isinstance(text, WorkDirectory) and text.has_split("dev"):
        lines = text.source_lines("dev")
    parts = Parts(run, None if is_pack(run) else config.work)
    with opened_files(list(parts.names)) as opened:
        translator = Translator.of_run(config_of_run(run), run, given=config.work)
        sentences = [Sentence(line, *translator.scored(line)) for line in _chosen(run, translator, lines)]
        _use_all(translator, sentences)
    parts.copy(sorted(opened), aside)
    packed = write_pack(aside, __version__, sentences)
    with opened_files([Path(aside.anchor)]) as opened:
        alone = Translator.of_run(config_of_run(aside), aside)
        check_sentences(aside, packed, alone.scored)
        _use_all(alone, sentences)
    # The pack opens none of the original files, and nothing of any other run.
    outside = [path for path in opened if aside not in path.parents]
    strays = [path for path in outside if path.name in MARKS or any(map(path.is_relative_to, parts.names))]
    if strays:
        names = ", ".join(map(str, sorted(strays)[:3]))
        raise RuntimeError(f"the packed run uses files outside itself: {names}")
    return packed


def _use_all(translator: Translator, sentences: Sequence[Sentence]) -> None:
    """Uses a translator in all other ways, so that files it opens late are not missed."""
    traced = Translator(translator.text, translator.system, trace=True)
    for sentence in sentences:
        traced.translate_line(sentence.source)
        translator.text.target_tokens(sentence.output)


def _chosen(run: Path, translator: Translator, lines: Sequence[str]) -> list[str]:
    """Distinct lines spread over a text, none of them empty; long ones only if there are no others.

    Raises:
        InputError: there is none, or all are too long to be translated in one piece.
    """
    words = {line: len(translator.text.source_tokens(line)) for line in lines if line.strip()}
    most = translator.system.search.max_words
    held = [line for line in words if words[line] <= MOST_WORDS] or [line for line in words if words[line] <= most]
    if not held:
        seen = "a run without a dev set, and no input="
        if words:
            seen = f"lines of {min(words.values())} words or more; the decoder translates {most} at a time"
        raise InputError(
            "no sentences to check the packed run",
            seen,
            f"{SENTENCES} lines to translate, preferably with at most {MOST_WORDS} words",
            "input=FILE names a text in the source language, one sentence per line",
            file=run,
        )
    places = np.unique(np.linspace(0, len(held) - 1, min(SENTENCES, len(held))).astype(int))
    return [held[place] for place in places.tolist()]


def _folder(out: Path) -> contextlib.AbstractContextManager[Path]:
    """An empty folder for the pack: the requested one, or one next to the archive that is removed at the end."""
    if out.suffix == ENDING:
        return hidden_folder(out)
    return whole_folder(out, "a packed run", without_mark(MARK, FORMAT), "name another folder with out=…")

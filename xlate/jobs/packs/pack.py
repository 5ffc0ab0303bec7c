"""xlate pack: a run with all that translating needs, as one file or folder."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xlate import __version__
from xlate.arrays.stored import HEADER
from xlate.config.schema import PackConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.jobs.packs.archive import ENDING, unpacked, write_archive
from xlate.jobs.packs.form import FORMAT, MARK, Pack, Sentence, check_sentences, is_pack, read_pack, write_pack
from xlate.jobs.packs.opened_files import opened_files
from xlate.jobs.packs.parts import Parts
from xlate.jobs.run_text import TextSides
from xlate.jobs.translate import Translator
from xlate.report.run_directory import CONFIG_FILE
from xlate.scoring.weights import WEIGHTS_FILE
from xlate.text.folders import WholeFolder, refused_while_written, without_mark
from xlate.text.lines import clear_left, done_aside, name_aside, read_lines
from xlate.work.directory import WorkDirectory
from xlate.work.stages import MARK as STAGE_MARK

log = logging.getLogger(__name__)
# What is opened wherever a run, a stage of a work directory or a folder of arrays is.
MARKS = (CONFIG_FILE, WEIGHTS_FILE, STAGE_MARK, HEADER)
COMPRESSED = (".tgz", ".gz", ".bz2", ".xz", ".zip")
SENTENCES = 5
# Longer sentences say no more about whether all is there.
MOST_WORDS = 30


def pack(config: PackConfig) -> dict[str, Any]:
    """Packs a run and returns the pack's name, the folder that it lies in when unpacked, and what there is in it.

    Which files are needed is seen while sentences are translated. What was copied is then opened by itself, and must
    translate them in the same way without a look at the folders that it was copied from.

    Raises:
        InputError: no finished run that translates, no sentences to check it by, or `out` holds something else.
    """
    run, out = unpacked(Path(config.run)), Path(config.out)
    _check_name(out)
    with refused_while_written(out, "packed run"), _folder(out) as aside:
        packed = _packed(run, config, aside)
        if out.suffix == ENDING:
            write_archive(aside, packed, _name_of(run), out)
    size = sum(size for size, _ in packed.files.values())
    folder = _name_of(run) if out.suffix == ENDING else str(out)
    counts = {"files": len(packed.files), "bytes": size, "sentences": len(packed.sentences)}
    return {"out": str(out), "folder": folder, **counts}


def _packed(run: Path, config: PackConfig, aside: Path) -> Pack:
    aside = aside.resolve()
    # A run that translates nothing is refused here, before its work directory is looked for.
    lines = _lines(run, config, Translator.of_run(config_of_run(run), run, given=config.work).text)
    parts = Parts(run, None if is_pack(run) else config.work)
    with opened_files(parts.tops) as opened:
        translator = Translator.of_run(config_of_run(run), run, given=config.work)
        sentences = [Sentence(line, *translator.scored(line)) for line in _chosen(run, translator, lines)]
        _use_all(translator, sentences)
    parts.copy(sorted(opened), aside)
    packed = write_pack(aside, __version__, sentences)
    with opened_files([Path(aside.anchor)]) as opened:
        alone = Translator.of_run(config_of_run(aside), aside)
        check_sentences(aside, packed, alone.scored)
        _use_all(alone, sentences)
    _check_alone(opened, parts, aside)
    return packed


def _check_alone(opened: Iterable[Path], parts: Parts, aside: Path) -> None:
    """Looks whether a packed run opened no file of those it was packed from, and nothing of any other run."""
    outside = [path for path in opened if aside not in path.parents]
    strays = [path for path in outside if path.name in MARKS or any(top in (path, *path.parents) for top in parts.tops)]
    if strays:
        names = ", ".join(map(str, sorted(strays)[:3]))
        raise RuntimeError(f"the packed run looks at files outside of itself: {names}")


def _use_all(translator: Translator, sentences: Sequence[Sentence]) -> None:
    """Does what else is done with a translator, so that nothing that is opened late is missed."""
    traced = translator.with_output(detokenize=True, trace=True)
    for sentence in sentences:
        traced.translate_line(sentence.source)
        translator.text.target_tokens(sentence.output)


def _lines(run: Path, config: PackConfig, text: TextSides) -> list[str]:
    """Lines that sentences are chosen from: those given, those of a packed run, or the dev set's."""
    if config.input is not None:
        return read_lines(config.input)
    if is_pack(run):
        return [sentence.source for sentence in read_pack(run).sentences]
    return text.source_lines("dev") if isinstance(text, WorkDirectory) and text.has_split("dev") else []


def _chosen(run: Path, translator: Translator, lines: Sequence[str]) -> list[str]:
    """Lines spread over a text, none of them empty, long or twice; long ones where there are no others.

    Raises:
        InputError: there is none, or all are longer than what is translated in one piece.
    """
    words = {line: len(translator.text.source_tokens(line)) for line in lines if line.strip()}
    if not words:
        raise _no_sentences(run, "a run without a dev set, and no input=")
    most = translator.system.search.max_words
    held = [line for line in words if words[line] <= MOST_WORDS] or [line for line in words if words[line] <= most]
    if not held:
        raise _no_sentences(run, f"lines of {min(words.values())} words or more; the decoder takes {most} at a time")
    places = np.unique(np.linspace(0, len(held) - 1, min(SENTENCES, len(held))).astype(int))
    return [held[place] for place in places.tolist()]


@contextlib.contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """An empty folder for the pack: the one asked for, or one beside the archive that is removed in the end."""
    if out.suffix != ENDING:
        with WholeFolder(out, "a packed run", without_mark(MARK, FORMAT), "name another folder with out=…") as aside:
            yield aside
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    clear_left(out.parent)
    aside = name_aside(out)
    aside.mkdir()
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        done_aside(aside)


def _name_of(run: Path) -> str:
    """What the folder in an archive is called: as the run is."""
    return run.resolve().name or "run"


def _check_name(out: Path) -> None:
    if out.name.endswith(COMPRESSED):
        expected = "FILE.tar, or a folder"
        made = out.with_name(out.with_suffix("").name.removesuffix(ENDING) + ENDING)
        remedy = f"out={made}, and gzip {made} later"
        raise InputError("packed runs are not compressed", file=out, expected=expected, remedy=remedy)


def _no_sentences(run: Path, seen: str) -> InputError:
    return InputError(
        "no sentences to check the packed run by",
        file=run,
        seen=seen,
        expected=f"{SENTENCES} lines to translate, better of {MOST_WORDS} words at most",
        remedy="input=FILE names a text in the source language, a sentence per line",
    )

"""xlate translate with a cluster: a large file is cut into parts, and each task writes the translations of one."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from xlate.cluster import run_tasks
from xlate.config.schema import TranslateConfig
from xlate.config.stored import config_of_task
from xlate.errors import InputError
from xlate.jobs.translate import Translator, say_counts
from xlate.scoring.weights import WEIGHTS_FILE
from xlate.settings import Json, plain
from xlate.text.folders import awaited, read_json, write_json
from xlate.text.lines import check_sides, count_lines, iterate_lines, write_lines
from xlate.text.opening import plain_file
from xlate.work.stages import file_hash, identity_of

# The lines of a part: opening a system takes as long as translating some hundred lines.
PART = 2000
# The endings of the files of a part. The translations come last: if they are there, so is everything else.
TEXT, NBEST, COUNTS = ".txt", ".nbest", ".json"
# Settings that change no translation.
ELSEWHERE = ("output", "processes", "cluster")


@contextlib.contextmanager
def translated_parts(config: TranslateConfig) -> Iterator[list[Path]]:
    """The files with the translations of each part of the input, in order; lists beside them end in `NBEST`.

    They are removed at the end. After an interruption, the same command continues with the parts that are missing.

    Raises:
        InputError: input or output is no file, targets are fewer or more than lines, or the settings are for a single
            process; what `Translator` raises.
    """
    alone = {key: value for key in ("lattice_out", "tables", "trace") if (value := getattr(config, key))}
    files = {"input": config.input, "output": config.output}
    if alone or not all(files.values()) or "-" in (*files.values(), config.nbest_out):
        seen = " ".join(f"{key}={value}" for key, value in (alone or {**files, "nbest_out": config.nbest_out}).items())
        expected = "input=FILE output=FILE, and no lattice_out, tables or trace"
        raise InputError("cluster= translates files", seen, expected, "or leave out cluster=")
    assert config.input is not None
    lines = count_lines(plain_file(config.input))
    if config.target is not None:
        check_sides(config.input, lines, config.target, count_lines(plain_file(config.target)))
    used = [config.input, config.target, config.glossary, config.run, str(Path(config.run) / WEIGHTS_FILE)]
    hashes = [file_hash(name) for name in used if name is not None and Path(name).is_file()]
    settings = {key: value for key, value in plain(config).items() if key not in ELSEWHERE}
    identity = identity_of({"settings": settings, "files": hashes, "part": PART})
    folder = Path(f"{config.output}.parts-{identity[:8]}")
    with awaited(folder):
        parts = {folder / f"{first}{TEXT}": first for first in range(0, lines, PART)}
        tasks = [(plain(config), str(path), first, PART) for path, first in parts.items() if not path.exists()]
        run_tasks(config.cluster, folder / "jobs", translate_part, tasks, "translating: parts")
        counts = Counter[str]()
        for path in parts:
            counts.update(read_json(path.with_suffix(COUNTS), "counts of words", f"remove {folder}"))
        say_counts(counts)
        yield list(parts)
        shutil.rmtree(folder, ignore_errors=True)


def translate_part(given: Json, part: str, first: int, size: int) -> None:
    """Writes the translations of `size` lines that follow the `first` ones: a task of `translated_parts`."""
    config, path = config_of_task(given, TranslateConfig), Path(part)
    translator = Translator.open(config)
    translator.before = first
    source, target = (
        None if name is None else list(islice(iterate_lines(name), first, first + size))
        for name in (config.input, config.target)
    )
    lists, texts = list[str](), list[str]()
    for one in translator.translate(source or (), target, config.processes):
        texts.append(one.text)
        if config.nbest_out is not None:
            lists += [one.system.nbest_line(one.number, derivation) for derivation in one.derivations]
    write_lines(path.with_suffix(NBEST), lists)
    write_json(path.with_suffix(COUNTS), translator.counts)
    write_lines(path, texts)

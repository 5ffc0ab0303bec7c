"""xlate prepare: corpus → tokens → links → the requested stages; the others are made when they are first needed."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import numpy as np

from xlate.align.links import read_links, write_links
from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import arrays_of, save_arrays
from xlate.cluster import uses_cluster
from xlate.config.schema import PrepareConfig
from xlate.errors import refuse_if
from xlate.jobs.mixture import MixedDirectory
from xlate.machine import megabytes
from xlate.settings import Json
from xlate.text.folders import awaited, check_is_folder, write_json
from xlate.text.lines import count_lines
from xlate.work import align_parts
from xlate.work.corpus_files import check_dev_set, resolve_files, write_demo_corpus
from xlate.work.corpus_stage import make_corpus
from xlate.work.directory import LINKS, PLAN, PLANNED, STAGES, WorkDirectory
from xlate.work.stages import check_stage, cores, file_hash, identity_of, run_stage
from xlate.work.text_stages import PARTS, count_by_tasks

log = logging.getLogger(__name__)


def prepare(config: PrepareConfig) -> WorkDirectory:
    """Prepares a work directory; skips stages that would come out the same.

    Waits for another process that is preparing it.

    Raises:
        InputError: a corpus file cannot be used, or a folder in the place of a stage is not ours.
    """
    with awaited(Path(config.work)):
        check_dev_set(config.data)
        uses_cluster(config.cluster)
        return _prepared(config, _directory(config))


def _prepared(config: PrepareConfig, work: WorkDirectory) -> WorkDirectory:
    path = work.path
    if os.path.lexists(path):
        check_is_folder(path, "a work directory")
    for name in STAGES:
        check_stage(path, name)
    path.mkdir(parents=True, exist_ok=True)
    write_demo_corpus(config.data, path)
    files = resolve_files(config.data, path)
    base = work.base if isinstance(work, MixedDirectory) else None
    mixed = {"mix_weight": config.mix_weight} if base else {}
    corpus = make_corpus(path, files, config.cluster, base)
    for split in ("dev", "test"):
        if not work.has_split(split):
            log.info("no %s set", split)
    # Nothing is forked from here on: forked processes would wait for the aligner's threads, which they do not have.
    given = file_hash(config.align.links) if config.align.links else None
    how = {"method": config.align.method, "symmetrization": config.align.symmetrization, "seed": config.seed}
    aligned = {**how, "links": given, "on": [corpus.identity]}
    # So that links of smaller texts, which depend on no sample, need not be made again.
    if base is None and (sample := config.align.sample) is not None and sample < corpus.figures["pairs"]:
        aligned["sample"] = sample
    links = run_stage(path, "align", aligned, lambda folder: _align(config, how, work, folder, identity_of(aligned)))
    shutil.rmtree(path / align_parts.PARTS, ignore_errors=True)
    counted = dict(vars(config.phrases))
    # So that stages that were made without smoothing need not be made again.
    smoothed = {} if (smoothing := counted.pop("smoothing")) == "none" else {"smoothing": smoothing}
    limits = {name: counted[name] for name in ("max_length", "min_count")}
    extracted = {**limits, **smoothed, "on": [links.identity], **mixed}
    texts = {"texts": [*map(count_lines, files.lm_text)]} if config.lm.mixture else {}
    plan: dict[str, Json] = {
        "lm": {"settings": {"order": config.lm.order, **texts}, "on": [corpus.identity], "version": 2, **mixed},
        "phrases": extracted,
        "blocks": {"settings": counted, "on": [identity_of(extracted)], "version": 2},
    }
    write_json(path / PLAN, {**plan, "memory_mb": megabytes(config.memory)})
    # Only here are both texts of a mixture known.
    wanted = {*config.stages, *(("lm", "phrases") if base else ())}
    if uses_cluster(config.cluster):
        # The language models of a mixture are those of two texts.
        count_by_tasks(work, wanted - {"lm"} if base else wanted, config.cluster)
    for name in PLANNED:
        if name in wanted:
            work.make(name)
    for parts in PARTS.values():
        shutil.rmtree(path / parts, ignore_errors=True)
    return WorkDirectory(path).check()


def _directory(config: PrepareConfig) -> WorkDirectory:
    path, weight, links = Path(config.work), config.mix_weight, config.align.links
    dev = config.data.dev_source or config.data.dev_pairs
    refuse_if(
        config.lm.mixture and not (config.data.lm_text and dev),
        "language models that cannot be mixed",
        f"lm.mixture=true, data.lm_text={config.data.lm_text}, dev set: {dev}",
        "further text, and a dev set",
    )
    if config.mix is None:
        return WorkDirectory(path)
    base, smoothing = WorkDirectory(Path(config.mix)).check(), config.phrases.smoothing
    refuse_if(
        base.path.resolve() == path.resolve() or links or not dev or smoothing != "none",
        "texts that cannot be mixed",
        f"phrases.smoothing={smoothing}, align.links={links}, dev set: {dev}, mix={config.mix} work={config.work}",
        "another folder for work, an aligner, a dev set, and phrases.smoothing=none",
    )
    return MixedDirectory(path, base, None if weight is None else np.array([1 - weight, weight]))


def _align(config: PrepareConfig, how: Json, work: WorkDirectory, folder: Path, identity: str) -> Json:
    settings = config.align
    with Scratch(0, folder) as scratch:
        if settings.links is not None:
            lengths = (np.diff(text.offsets_S1) for text in work.encoded)
            links = read_links(settings.links, *lengths, scratch=scratch)
        elif isinstance(work, MixedDirectory):
            links = work.align(folder, {**how, "side_by_side": cores() > 1}, scratch)
        else:
            links = align_parts.aligned(work, {"of": identity, **how}, settings.sample, config.cluster, scratch)
        write_links(folder / "links.gz", links)
        save_arrays(folder / "links", LINKS, arrays_of(links))
        return {"links": len(links.source_L), "links_per_pair": len(links.source_L) / max(1, len(links))}

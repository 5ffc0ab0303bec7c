"""xlate prepare: corpus → tokens → links → language model → phrase pairs → blocks with their counts."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.aligner import align
from xlate.align.lexical import lexical_table
from xlate.align.links import read_links, write_links
from xlate.config.schema import PrepareConfig
from xlate.errors import InputError
from xlate.jobs.mixture import MixedDirectory
from xlate.lm.arpa import write_arpa
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import collect_events, match_blocks, occurring_blocks, shared_substrings_filter
from xlate.phrases.table import PhraseTable, score_phrases
from xlate.text.folders import awaited, check_is_folder
from xlate.text.vocabulary import EncodedText
from xlate.work.corpus_files import check_dev_set, corpus_identity, resolve_files, write_demo_corpus
from xlate.work.corpus_stage import build_corpus, cores
from xlate.work.directory import STAGES, WorkDirectory
from xlate.work.settings import AlignConfig, LmConfig, PhrasesConfig
from xlate.work.stages import check_stage, file_hash, run_stage

log = logging.getLogger(__name__)


def prepare(config: PrepareConfig) -> WorkDirectory:
    """Prepares a work directory; skips stages that would come out the same.

    Waits for another process that is preparing it.

    Raises:
        InputError: a corpus file cannot be used, or a folder in the place of a stage is not ours.
    """
    with awaited(Path(config.work)):
        check_dev_set(config.data)
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
    read = {**corpus_identity(files), **({"mix": base.identities("corpus", "align")} if base else {})}
    mixed = {"mix_weight": config.mix_weight} if base else {}
    corpus = run_stage(path, "corpus", read, lambda folder: build_corpus(files, folder, base))
    for split in ("dev", "test"):
        if not work.has_split(split):
            log.info("no %s set", split)
    # Nothing is forked from here on: forked processes would wait for the aligner's threads, which they do not have.
    given = file_hash(config.align.links) if config.align.links else None
    aligned = {**_kinds(config.align), "links": given, "seed": config.seed, "on": [corpus.identity]}
    links = run_stage(path, "align", aligned, lambda folder: _align(config, work, folder))
    modelled = {"settings": dict(vars(config.lm)), "on": [corpus.identity], "version": 2, **mixed}
    run_stage(path, "lm", modelled, lambda folder: _lm(config.lm, work, folder))
    settings = config.phrases
    extracted = {"max_length": settings.max_length, "min_count": settings.min_count, "on": [links.identity], **mixed}
    phrases = run_stage(path, "phrases", extracted, lambda folder: _phrases(settings, work, folder))
    matched = {"settings": dict(vars(settings)), "on": [phrases.identity], "version": 2}
    run_stage(path, "blocks", matched, lambda folder: _blocks(settings, work, folder))
    return WorkDirectory(path).check()


def _kinds(settings: AlignConfig) -> dict[str, str]:
    return {"method": settings.method, "symmetrization": settings.symmetrization}


def _directory(config: PrepareConfig) -> WorkDirectory:
    path, weight, links = Path(config.work), config.mix_weight, config.align.links
    if config.mix is None:
        return WorkDirectory(path)
    base, dev = WorkDirectory(Path(config.mix)).check(), config.data.dev_source or config.data.dev_pairs
    if base.path.resolve() == path.resolve() or links or not dev:
        seen = f"mix={config.mix} work={config.work}, align.links={links}, dev set: {dev}"
        raise InputError("texts that cannot be mixed", seen, "another folder for work, an aligner, and a dev set")
    return MixedDirectory(path, base, None if weight is None else np.array([1 - weight, weight]))


def _align(config: PrepareConfig, work: WorkDirectory, folder: Path) -> dict[str, Any]:
    source, target = work.training_tokens("source"), work.training_tokens("target")
    settings, links = config.align, None
    how: dict[str, Any] = {**_kinds(settings), "seed": config.seed, "side_by_side": cores() > 1}
    if settings.links is not None:
        links = read_links(settings.links, [len(s) for s in source], [len(t) for t in target])
    elif isinstance(work, MixedDirectory):
        links = work.align(folder, how)
    if not links:
        links = align(source, target, **how)
    write_links(folder / "links.gz", links)
    return {"links": len(links.source_L), "links_per_pair": len(links.source_L) / max(1, len(source))}


def _lm(config: LmConfig, work: WorkDirectory, folder: Path) -> dict[str, Any]:
    if isinstance(work, MixedDirectory):
        arpa = work.mixed_lm(config.order)
    else:
        arpa = work.estimated_lm(work.training_text("target"), config.order)
    write_arpa(folder / "lm.arpa.gz", arpa)
    NgramModel.from_arpa(arpa).save(folder / "model")
    return {"order": config.order, "ngrams": sum(arpa.counts)}


def _phrases(config: PhrasesConfig, work: WorkDirectory, folder: Path) -> dict[str, Any]:
    text = (*work.encoded, work.links)
    table = score_phrases(extract_phrases(*text, max_length=config.max_length), lexical_table(*text))
    if config.min_count > 1:
        table = table.select(np.asarray(table.count_B) >= config.min_count)
    if isinstance(work, MixedDirectory):
        table = work.mixed_table(table, config.max_length)
    table.save(folder / "table")
    return {"pairs": len(table.source_B), "source_phrases": len(table.source_phrases)}


def _blocks(config: PhrasesConfig, work: WorkDirectory, folder: Path) -> dict[str, Any]:
    table = PhraseTable.load(work.path / "phrases" / "table", work.words)
    source, target = work.encoded
    if config.test_filter:
        table, source, target = _for_test(config, work, table, source, target)
    matches = match_blocks(table, source, target)
    matches.save(folder / "matches")
    events = collect_events(matches)
    blocks = BlockSet.count(table, matches, events, config.lexical_floor)
    blocks.save(folder / "set")
    return {
        "matches": len(matches),
        "bigrams": len(events),
        "distinct_bigrams": len(blocks.bigram_keys_U),
        "heldout_every": config.heldout_every,
    }


def _for_test(
    config: PhrasesConfig, work: WorkDirectory, table: PhraseTable, source: EncodedText, target: EncodedText
) -> tuple[PhraseTable, EncodedText, EncodedText]:
    """Keeps the blocks and sentence pairs that are relevant to the test source (A9); other pairs become empty."""
    if not work.has_split("test"):
        raise InputError("no text to filter by", "phrases.test_filter=true", "a test source in data")
    test = EncodedText.encode([*map(work.source_tokens, work.source_lines("test"))], work.source_vocabulary)
    kept_S = shared_substrings_filter(source, test, min_words=config.test_filter_min_words)
    table = table.select(occurring_blocks(table, test))
    log.info("test filter: %d of %d pairs, %d blocks", kept_S.sum(), len(kept_S), len(table))
    source, target = (
        EncodedText.from_ids([text[s] if kept_S[s] else text[s][:0] for s in range(len(text))])
        for text in (source, target)
    )
    return table, source, target

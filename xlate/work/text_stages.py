"""Stages that are made from the tokens and links of a training text when they are first needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path

from xlate.arrays.scratch import Scratch
from xlate.arrays.stored import HEADER
from xlate.cluster import ClusterConfig
from xlate.errors import refuse_if
from xlate.kernels.counting.rule_extraction import RuleLimits
from xlate.lm.arpa import write_arpa
from xlate.lm.kneser_ney import Windows, count_windows
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.extract import count_pairs, extract_pairs, phrase_limits
from xlate.phrases.matching import collect_events, match_blocks, occurring_blocks, shared_substrings_filter
from xlate.phrases.runs import Runs
from xlate.settings import Json
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.stages import finished_stage, make_parts

log = logging.getLogger(__name__)
# The sentence pairs of a part whose n-grams or phrases a task counts, and the folders of all parts of a stage.
PART, PARTS = 1 << 17, {"lm": "lm-parts", "phrases": "phrase-parts"}


def _lm(work: WorkDirectory, made_from: Json, folder: Path) -> Json:
    order = made_from["settings"]["order"]
    with Scratch(work.plan["memory_mb"], folder) as scratch:
        counted = [
            Windows.load(file.parent) for part in _counted(work, "lm") for file in sorted(part.glob(f"*/{HEADER}"))
        ]
        arpa = work.whole_lm(order, scratch, counted)
        write_arpa(folder / "lm.arpa.gz", arpa)
        NgramModel.from_arpa(arpa, scratch).save(folder / "model")
        return {"order": order, "ngrams": sum(arpa.counts)}


def _phrases(work: WorkDirectory, made_from: Json, folder: Path) -> Json:
    with Runs(work.plan["memory_mb"], folder) as runs:
        limits = phrase_limits(made_from["max_length"])
        counts = extract_pairs(*work.encoded, work.links, limits, runs, _counted(work, "phrases"))
        table = work.whole_table(counts, runs)
        table.save(folder / "table")
        return {"pairs": len(table), "source_phrases": len(table.source_phrases)}


def count_by_tasks(work: WorkDirectory, stages: Collection[str], cluster: ClusterConfig) -> None:
    """Counts n-grams and phrase pairs by the tasks of a cluster, for those of the `stages` that are still to be made.

    Raises:
        InputError: see `make_parts`.
    """
    for name, folder in PARTS.items():
        if name in stages and finished_stage(work.path, name, work.plan[name]) is None:
            make_parts(work.path, cluster, COUNTS[name], text_parts(work, folder, work.plan[name]), f"{name}: parts")


def _counted(work: WorkDirectory, name: str) -> list[Path]:
    """The folders of the counts of all parts for a stage; none if one is missing."""
    parts = text_parts(work, PARTS[name], work.plan[name])
    made = all(finished_stage(work.path, *part) for part in parts.items())
    return [work.path / part for part in parts] if made else []


def ngram_part(path: Path, made_from: Json, folder: Path) -> Json:
    """Counts the n-grams of a part of a training text."""
    work, first, order = WorkDirectory(path), made_from["first"], made_from["of"]["settings"]["order"]
    target = work.training_text("target")
    some = target.part(first, min(first + made_from["size"], len(target)))
    with Scratch(work.plan["memory_mb"], folder) as scratch:
        for number, windows in enumerate(count_windows(some, order, scratch)):
            windows.save(folder / f"{number:06}")
    return {"sentences": len(some)}


def phrase_part(path: Path, made_from: Json, folder: Path) -> Json:
    """Counts the phrase pairs of a part of a training text."""
    work = WorkDirectory(path)
    return save_runs(work, made_from, folder, work.plan["memory_mb"], phrase_limits(made_from["of"]["max_length"]))


COUNTS = {"lm": ngram_part, "phrases": phrase_part}


def save_runs(work: WorkDirectory, made_from: Json, folder: Path, memory_mb: int, limits: RuleLimits) -> Json:
    """Writes the runs of the phrase pairs or rules of a part of `text_parts`; returns its figures."""
    first = made_from["first"]
    rows = first, min(first + made_from["size"], len(work.encoded[0]))
    with Runs(memory_mb, folder) as runs:
        source, target = (text.part(*rows) for text in work.encoded)
        runs.write(count_pairs(source, target, work.links.part(*rows), limits, runs))
        runs.save(folder)
    return {"sentences": rows[1] - rows[0]}


def text_parts(work: WorkDirectory, folder: str, of: Json) -> dict[str, Json]:
    """The stages of parts of the training text: what each is made from, by name; `of` is the same for all."""
    firsts = range(0, max(1, len(work.encoded[0])), PART)
    return {f"{folder}/{first}": {"of": dict(of), "first": first, "size": PART} for first in firsts}


def _blocks(work: WorkDirectory, made_from: Json, folder: Path) -> Json:
    settings, table = made_from["settings"], work.table
    source, target = work.encoded
    if settings["test_filter"]:
        # Keeps the blocks and sentence pairs that are relevant to the test source (A9); other pairs become empty.
        refuse_if(
            not work.has_split("test"), "no text to filter by", "phrases.test_filter=true", "a test source in data"
        )
        test = EncodedText.encode([*map(work.source_tokens, work.source_lines("test"))], work.source_vocabulary)
        kept_S = shared_substrings_filter(source, test, min_words=settings["test_filter_min_words"])
        table = table.select(occurring_blocks(table, test))
        log.info("test filter: %d of %d pairs, %d blocks", kept_S.sum(), len(kept_S), len(table))
        source, target = (
            EncodedText.from_ids([text[s] if kept_S[s] else text[s][:0] for s in range(len(text))])
            for text in (source, target)
        )
    matches = match_blocks(table, source, target)
    matches.save(folder / "matches")
    events = collect_events(matches)
    blocks = BlockSet.count(table, matches, events, settings["lexical_floor"])
    blocks.save(folder / "set")
    return {
        "matches": len(matches),
        "bigrams": len(events),
        "distinct_bigrams": len(blocks.bigram_keys_U),
        "heldout_every": settings["heldout_every"],
    }


BUILDERS: dict[str, Callable[[WorkDirectory, Json, Path], Json]] = {
    "lm": _lm,
    "phrases": _phrases,
    "blocks": _blocks,
}

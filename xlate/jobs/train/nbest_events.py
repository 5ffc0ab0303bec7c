"""The modified training of TZ07 section 5.2: events from the best-BLEU block sequence of n-best lists."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

import numpy as np

from xlate.candidates.block_instances import OracleStep, write_events
from xlate.candidates.store import CandidateStore
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run, to_yaml
from xlate.features.bigrams import BigramIndex
from xlate.jobs.run_weights import weights_of
from xlate.jobs.systems.kind import Asked
from xlate.jobs.systems.registry import event_kind
from xlate.jobs.train.warnings import not_too_long
from xlate.metrics.sentence_bleu import ReferenceNgrams, sentence_bleu
from xlate.models.block.steps import BlockDerivation
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.text.encoded import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates
from xlate.work.stages import identity_of, read_stage, run_stage

log = logging.getLogger(__name__)


def nbest_stores(
    work: WorkDirectory, config: TrainConfig, base: Path, folder: Path, features: BigramIndex
) -> tuple[dict[str, CandidateStore], str]:
    """Stores `linked` and `neutral` of a split's n-best lists, decoded with the run `base`, and their identity.

    Made once in the folder of the run to be trained. The oracle of a sentence is its list's translation of the highest
    sentence BLEU (add-1), the first of equal ones.

    Raises:
        InputError: no finished run at `base`.
    """
    settings = {
        "base": identity_of({"weights": weights_of(base).metadata, "config": to_yaml(config_of_run(base))}),
        "split": config.loss.floats.split,
        "nbest": config.loss.floats.nbest,
        "on": [read_stage(work.path, "blocks").identity],
        "version": 1,
    }

    def make(target: Path) -> dict[str, int]:
        trained = config_of_run(base)
        kind = event_kind(config.model.kind)
        arrays = kind.feature_arrays(Estimates(work), config.model, features.keys_F)
        steps = list(_steps(work, trained, base, config.loss.floats.split, config.loss.floats.nbest))
        return write_events(target, steps, arrays, work.lm, kind.names(config.model), len(features))

    stage = run_stage(folder, "events", settings, make)
    return {name: CandidateStore.open(stage.folder / name) for name in ("linked", "neutral")}, stage.identity


def _steps(work: WorkDirectory, trained: TrainConfig, base: Path, split: str, size: int) -> Iterator[OracleStep]:
    """The oracle steps of all sentences of a split."""
    kind = event_kind(trained.model.kind)
    decoder = kind.open(base, trained, weights_of(base), work, Asked(size))
    lines = [work.source_tokens(line) for line in work.source_lines(split)]
    references = [[work.target_tokens(line) for line in stream] for stream in work.references(split)]
    whole = not_too_long([len(words) for words in lines], trained.decoder.max_words, split)
    for number in track(whole, f"{size}-best lists"):
        words = lines[number]
        if words:
            yield from _oracle_steps(decoder, words, [stream[number] for stream in references], work)


def _oracle_steps(
    decoder: AnySystem, words: list[str], references: list[list[str]], work: WorkDirectory
) -> Iterator[OracleStep]:
    """The oracle's steps, each with the blocks that the list's translations use for the same source span."""
    moves = decoder.space(words)
    listed = decoder.nbest_labels(moves)
    oracle = listed[oracle_of([[w for n in labels for w in moves.words_of(n)] for labels in listed], references)]
    options = moves.options
    used: dict[tuple[int, int], set[int]] = defaultdict(set)
    for option in {moves.option(label) for labels in listed for label in labels} - {-1}:
        used[int(options.start_O[option]), int(options.end_O[option])].add(int(options.block_O[option]))
    yield from steps_of(decoder.derivation(moves, oracle), used, work)


def oracle_of(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> int:
    """The hypothesis of the highest sentence BLEU (add-1), the first of equal ones."""
    numbers: dict[str, int] = defaultdict(lambda: len(numbers) + 3)

    def encoded(sentences: Sequence[Sequence[str]]) -> EncodedText:
        return EncodedText.from_ids([np.array([numbers[w] for w in s], dtype=np.int32) for s in sentences])

    streams = ReferenceNgrams([encoded([reference]) for reference in references])
    stats = streams.statistics(encoded(hypotheses), np.zeros(len(hypotheses), dtype=np.int64))
    return int(np.argmax(sentence_bleu(stats)))


def steps_of(
    oracle: BlockDerivation, used: Mapping[tuple[int, int], Set[int]], work: WorkDirectory
) -> Iterator[OracleStep]:
    """The steps of an oracle over known words; `used` are the blocks of the list by source span."""
    lm_words: list[int] = []
    before_end = 0
    for step in oracle.blocks:
        start, end = step.source_span
        if step.unit >= 0:
            others = sorted(b for b in used[start, end] if b >= 0 and b != step.unit)
            place = (step.unit, start, step.orientation)
            yield OracleStep(step.predecessor, before_end, *place, others, tuple(lm_words))
        lm_words.extend(work.lm.vocabulary.ids(step.target_words).tolist())
        before_end = end

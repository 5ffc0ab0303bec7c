"""xlate train loss=mira and the like: float weights for BLEU, by decoding, merging and optimising in turns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from xlate.array_types import Floats32
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import DecodedList, listed
from xlate.config.loss_schema import TuneConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.jobs.run_text import TextSides, TokenizedText
from xlate.jobs.train.tuners import chosen_weights, optimiser
from xlate.jobs.train.warnings import not_too_long, warn_if_unmoved
from xlate.metrics.measures import measure_sentences
from xlate.metrics.objective import BLEU, Objective
from xlate.models.tuned import TunedSystem
from xlate.progress import track
from xlate.scoring.weights import Weights
from xlate.text.cutting import MAX_WORDS
from xlate.text.encoded import EncodedText
from xlate.text.lines import read_lines
from xlate.text.numbering import Numbering
from xlate.train.run import Run
from xlate.train.tuning import RoundFigures, Tuning, TuningSettings
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)
TOKENIZED = TokenizedText()


@dataclass(frozen=True)
class TuningText:
    """Tokenised sentences, and the references of each."""

    sources: list[list[str]]
    references: list[list[list[str]]]

    def __len__(self) -> int:
        return len(self.sources)


def tuning_text(
    tune: TuneConfig,
    work: WorkDirectory | None,
    most: int = MAX_WORDS,
    key: str = "loss.tune.source",
    given: TextSides = TOKENIZED,
) -> TuningText:
    """The text to tune on: files, or a split of the work directory; without lines that are empty or too long.

    `key` is what names the source file, and `references` beside it those of the references; `given` takes their lines.

    Raises:
        InputError: there is none, its files have different numbers of lines, or no line has words.
    """
    if tune.source is not None:
        sources = [given.source_tokens(line) for line in read_lines(tune.source)]
        streams = [[given.target_tokens(line) for line in read_lines(path)] for path in tune.references]
        seen, remedy = tune.source, f"{key.rpartition('.')[0]}.references=[FILE,…]"
    elif work is not None and work.has_split(tune.split):
        sources = [work.source_tokens(line) for line in work.source_lines(tune.split)]
        streams = [[work.target_tokens(line) for line in stream] for stream in work.references(tune.split)]
        seen, remedy = tune.split, "prepare the work directory with references of this split"
    else:
        raise InputError("nothing to tune on", seen=f"no {tune.split} set", expected=f"{key}=FILE, or a split of work=")
    if not streams:
        expected = "one reference or more for each line"
        raise InputError("no references to tune on", seen=seen, expected=expected, remedy=remedy)
    _check_lengths(seen, len(sources), tune.references, [len(stream) for stream in streams])
    kept = [n for n in not_too_long([len(source) for source in sources], most, seen) if sources[n]]
    if not kept:
        expected = f"a line of 1 to {most} words"
        raise InputError("no sentence to tune on", seen=f"{seen}: {len(sources)} lines", expected=expected)
    return TuningText([sources[n] for n in kept], [[stream[n] for stream in streams] for n in kept])


def _check_lengths(source: str, lines: int, names: Sequence[str], references: Sequence[int]) -> None:
    """Looks whether references have as many lines as their source; those of a split of a work directory have no names.

    Raises:
        InputError: they have not.
    """
    if set(references) != {lines}:
        named = list(names) if len(names) == len(references) else [f"reference {n}" for n in range(len(references))]
        seen = ", ".join(f"{name}: {count} lines" for name, count in zip(named, references, strict=True))
        raise InputError(
            "source and references do not fit",
            file=source,
            seen=f"{lines} lines; {seen}",
            expected="the same number of lines each",
        )


def tuning_settings(tune: TuneConfig, seed: int) -> TuningSettings:
    """The settings of the rounds.

    Raises:
        InputError: a value outside its range.
    """
    return TuningSettings(
        rounds=tune.rounds,
        seed=seed,
        select=tune.select,
        heldout_every=tune.heldout_every,
        length_band=tune.length_band,
        tolerance=tune.tolerance,
        least_new=tune.least_new,
    )


def tune(
    config: TrainConfig,
    system: TunedSystem,
    start: Weights,
    text: TuningText,
    run: Run,
    again: bool = False,
) -> tuple[Weights, list[RoundFigures]] | None:
    """The tuned weights and the figures of every round; None when stopped by a signal.

    Tuning `again` begins with weights tuned before, which often stay the best: that is told, not warned of.

    Raises:
        InputError: settings that cannot be.
    """
    settings = config.loss.tune
    assert settings is not None
    objective = Objective.of(settings.metric, settings.gain)
    lists = NbestLists(system, text, settings.nbest, run.stop.__bool__, objective)
    loop = Tuning(
        lists.decode,
        optimiser(settings, chosen_weights(settings, start, system.trained_D), objective),
        tuning_settings(settings, config.seed),
        run.directory.checkpoint,
        run.reporter,
        objective,
    )
    try:
        found = loop.run(start, run.stop.__bool__)
    except StoppedDecodingError:
        return None
    if found is not None:
        seen = f"loss.tune.rounds={settings.rounds}: no round was better than the weights it began with"
        warn_if_unmoved({"start": start}, {"start": found[0]}, seen, "tuning", expected=again)
    return found


class StoppedDecodingError(Exception):
    """A signal came while a text was decoded."""


class NbestLists:
    """The n-best lists of a text under any weights, with the statistics of an objective as gains.

    Args:
        system: what decodes.
        text: what is decoded.
        size: hypotheses of a list.
        stop: says when to leave off.
        objective: whose statistics are the gains.
        words: lists keep the words of their hypotheses.
    """

    def __init__(
        self,
        system: TunedSystem,
        text: TuningText,
        size: int,
        stop: Callable[[], bool],
        objective: Objective = BLEU,
        *,
        words: bool = False,
    ) -> None:
        self.system = system
        self.text = text
        self.size = size
        self.stop = stop
        self.objective = objective
        self.words = words
        # Statistics of other measures than BLEU take milliseconds a sentence, and lists repeat from round to round.
        self.known: dict[tuple[str, int, str], list[float]] = {}
        self.numberings = [Numbering(system.vocabulary, source) for source in text.sources]
        pairs = zip(self.numberings, text.references, strict=True)
        self.references = [[numbering.ids(words) for words in rows] for numbering, rows in pairs]

    def decode(self, weights: Weights) -> CandidateBatch:
        """The lists of all sentences, best hypothesis first.

        Raises:
            StoppedDecodingError: `stop` said so.
        """
        found: list[DecodedList] = []
        translated = self.system.hypotheses(weights, self.text.sources, self.size)
        for one in track(translated, "decoding", total=len(self.text)):
            if self.stop():
                raise StoppedDecodingError
            found.append(one)
        return self.listed(found, range(len(self.text)))

    def listed(self, found: Sequence[DecodedList], sentences: Sequence[int]) -> CandidateBatch:
        """The lists of some sentences, given their hypotheses."""
        references = [self.references[i] for i in sentences]
        text = EncodedText.from_ids(row for rows in references for row in rows)
        lists = listed(found, text, offsets_of([len(rows) for rows in references]), words=self.words)
        beside = [self._statistics(name, found, sentences) for name in self.objective.others]
        return replace(lists, gain_CG=np.concatenate([lists.gain_CG, *beside], axis=1)) if beside else lists

    def _statistics(self, name: str, found: Sequence[DecodedList], sentences: Sequence[int]) -> Floats32:
        """The statistics of another measure, which is made from text."""
        keys = [
            (name, i, " ".join(self.numberings[i].words(one.words_T[first:last])))
            for i, one in zip(sentences, found, strict=True)
            for first, last in pairwise(one.word_offsets_C1.tolist())
        ]
        wanted = list(dict.fromkeys(key for key in keys if key not in self.known))
        if wanted:
            most = max(map(len, self.text.references))
            references = [[" ".join(r) for r in self.text.references[i]] for _, i, _ in wanted]
            streams = [[lines[k] if k < len(lines) else None for lines in references] for k in range(most)]
            values_SK = measure_sentences(name, [text for _, _, text in wanted], streams).stats.values_SK
            self.known.update(zip(wanted, values_SK.tolist(), strict=True))
        return np.array([self.known[key] for key in keys], dtype=np.float32)

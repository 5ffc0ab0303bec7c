"""xlate train loss=mira and the like: float weights for BLEU, by repeated decoding, merging and optimising.

Any system can be tuned, including an imported one or another run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Bools, Floats
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import listed
from xlate.candidates.store import CandidateStore, is_whole, shard_path
from xlate.cluster import run_tasks, uses_cluster
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_task
from xlate.errors import InputError, refuse_if
from xlate.jobs.train.recipe import (
    Recipe,
    not_too_long,
    warn_if_unmoved,
    with_tuned,
)
from xlate.jobs.translate import TokenizedText, text_of_base
from xlate.learning.run import Run
from xlate.learning.tuning import Optimise, Tuning, fingerprint, write_lists
from xlate.losses.expected_bleu import ExpectedBleu, ExpectedCorpusBleu
from xlate.losses.loss import loss_of
from xlate.machine import Stop, never, until_stopped
from xlate.metrics.objective import BLEU, Objective
from xlate.metrics.score import measure_sentences
from xlate.models.kind import ToTune, kind_of
from xlate.models.tuned import TunedSystem
from xlate.progress import track
from xlate.scoring.weights import WEIGHTS_FILE, Weights, load_weights, save_weights
from xlate.settings import Json, plain
from xlate.text.folders import awaited, read_json, remove_folder, write_json
from xlate.text.lines import read_lines
from xlate.text.tokens import MAX_WORDS
from xlate.text.vocabulary import EncodedText, Numbering
from xlate.tuners.gradient import descend, pro
from xlate.tuners.mert import mert
from xlate.tuners.mira import mira, scaled
from xlate.tuners.settings import TUNERS, TuneConfig
from xlate.work.directory import TextSides, WorkDirectory
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)
TOKENIZED = TokenizedText()
# Distinguishes a loss over lists from one over single decisions if both have the same name.
OF_LISTS = "list_"
# The tuners that draw at random; the others descend on a loss.
DRAWING: dict[str, Callable[..., Weights]] = {"mira": mira, "mert": mert, "pro": pro}
# The sentences that a task decodes: opening a system takes as long as decoding a hundred or more.
PART = 250
# Next to the lists of parts: the text, and the weights of the round.
TEXT, ROUND = "text.json", "round"


@dataclass(frozen=True)
class TuningText:
    """Tokenised sentences and their references."""

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

    `key` is the key of the source file; `references` next to it names the references; `given` reads their lines.

    Raises:
        InputError: there is none, its files have different numbers of lines, or no line has words.
    """
    if tune.source is not None:
        lines, translations = read_lines(tune.source), [read_lines(path) for path in tune.references]
        seen, remedy = tune.source, f"{key.rpartition('.')[0]}.references=[FILE,…]"
    elif work is not None and work.has_split(tune.split):
        given, lines, translations = work, work.source_lines(tune.split), work.references(tune.split)
        seen, remedy = tune.split, "prepare the work directory with references of this split"
    else:
        raise InputError("nothing to tune on", f"no {tune.split} set", f"{key}=FILE, or a split of work=")
    sources = [given.source_tokens(line) for line in lines]
    streams = [[given.target_tokens(line) for line in stream] for stream in translations]
    refuse_if(not streams, "no references to tune on", seen, "one reference or more for each line", remedy)
    counts = [len(stream) for stream in streams]
    if set(counts) != {len(sources)}:
        # The files of a split of a work directory have no names.
        named = len(tune.references) == len(counts)
        names = tune.references if named else [f"reference {n}" for n in range(len(counts))]
        told = ", ".join(f"{name}: {count} lines" for name, count in zip(names, counts, strict=True))
        raise InputError(
            "source and references differ in length",
            f"{len(sources)} lines; {told}",
            "the same number of lines each",
            file=seen,
        )
    kept = [n for n in not_too_long([len(source) for source in sources], most, seen) if sources[n]]
    seen, expected = f"{seen}: {len(sources)} lines", f"a line of 1 to {most} words"
    refuse_if(not kept, "no sentence to tune on", seen, expected)
    return TuningText([sources[n] for n in kept], [[stream[n] for stream in streams] for n in kept])


def tune(
    config: TrainConfig,
    work: WorkDirectory | None,
    tuned: ToTune,
    text: TuningText,
    run: Run,
    before: Json | None = None,
    part: Sequence[Any] = (),
) -> Json:
    """Tunes, writes the weights and translates; returns the summary of the run.

    With `before`, figures of earlier learning that the summary includes, tuning starts from tuned weights. These often
    stay the best, which is logged without a warning. `part` is the task that decodes a part of the text, followed by
    its arguments after the configuration; by default `decode_part`.

    Raises:
        InputError: invalid settings; see `run_tasks`.
        Stopped: the run was stopped.
    """
    settings, system, start = config.loss.tune, tuned.system, tuned.start
    objective = Objective.of(settings.metric, settings.gain)
    lists = NbestLists(system, text, settings.nbest, run.stop.__bool__, objective)
    function, *given = part or [decode_part]

    def decoded_in_parts(weights: Weights) -> CandidateBatch:
        folder = _parts_folder(run.directory.checkpoint, tuned, weights)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / TEXT, asdict(text))
        save_weights(folder / WEIGHTS_FILE, {ROUND: weights})
        shards = [shard_path(folder, number) for number in range(-(-len(text) // PART))]
        first = plain(config), *given, str(folder)
        tasks = [(*first, number, PART) for number, shard in enumerate(shards) if not is_whole(shard)]
        submitted, stop = run.path / ".submitit", run.stop.__bool__
        run_tasks(config.cluster, submitted, function, tasks, "decoding: parts", stop)
        found = CandidateStore.of_shards(shards, mapped=False).arrays
        remove_folder(folder)
        return found

    loop = Tuning(
        decoded_in_parts if uses_cluster(config.cluster) and len(text) > PART else lists.decode,
        optimiser(settings, chosen_weights(settings, start, system.trained_D), objective, system.unit_D),
        replace(settings, seed=config.seed),
        run.directory.checkpoint,
        run.reporter,
        objective,
    )
    weights, rounds = loop.run(start, run.stop.__bool__)
    seen = f"loss.tune.rounds={settings.rounds}: no round was better than the initial weights"
    warn_if_unmoved({"start": start}, {"start": weights}, seen, "tuning", expected=before is not None)
    return {
        **with_tuned(config, work, run, tuned, weights, len(rounds)),
        "rounds": rounds[-1].round,
        ("tune_BLEU" if objective.is_bleu else "tune_objective"): round(max(one.bleu for one in rounds), 4),
        "tune_sentences": len(text),
        "pool": rounds[-1].pool,
        "history": [asdict(figures) for figures in rounds],
        **(before or {}),
    }


def decode_part(given: Json, folder: str, number: int, size: int) -> None:
    """Decodes `size` sentences of a text to tune on: a task of `tune`."""
    config = config_of_task(given, TrainConfig)
    work = config.work_directory if config.work else None
    write_part(config, kind_of(config.model).to_tune(config, work), Path(folder), number, size)


def write_part(config: TrainConfig, tuned: ToTune, folder: Path, number: int, size: int) -> None:
    """Writes the lists of a part of a text, unless they are there; waits if another process is writing them.

    Raises:
        InputError: this process would make other lists than the one that gave the task.
    """
    settings, shard = config.loss.tune, shard_path(folder, number)
    weights = load_weights(folder / WEIGHTS_FILE).sets[ROUND].copy()
    check_same_folder(_parts_folder(folder.parent, tuned, weights), folder)
    with awaited(shard):
        if not is_whole(shard):
            text = read_json(folder / TEXT, "a text to tune on", f"remove {folder}")
            part = TuningText(**{side: rows[number * size :][:size] for side, rows in text.items()})
            objective = Objective.of(settings.metric, settings.gain)
            write_lists(
                shard, weights, NbestLists(tuned.system, part, settings.nbest, never, objective).decode(weights)
            )


def _parts_folder(checkpoint: Path, tuned: ToTune, weights: Weights) -> Path:
    return checkpoint / f"parts-{fingerprint(weights, fingerprint(tuned.start))[:16]}"


def check_same_folder(made: Path, given: Path) -> None:
    """Checks that a task would write lists into the folder that it was given, which is named after their identity.

    Raises:
        InputError: it would not.
    """
    refuse_if(made != given, "a worker would make other lists", made, str(given), "install the same version everywhere")


@dataclass
class NbestLists:
    """The n-best lists of a text under any weights, with the statistics of an objective as gains.

    Args:
        system: the system that decodes.
        text: the text to decode.
        size: hypotheses per list.
        stop: says when to stop.
        objective: its statistics are the gains.
        words: whether lists keep the words of their hypotheses.
    """

    system: TunedSystem
    text: TuningText
    size: int
    stop: Stop
    objective: Objective = BLEU
    words: bool = False

    def __post_init__(self) -> None:
        # Statistics of other measures than BLEU take milliseconds per sentence, and lists repeat from round to round.
        self.known: dict[str, dict[tuple[int, str], list[float]]] = {name: {} for name in self.objective.others}
        self.lines = [[" ".join(words) for words in rows] for rows in self.text.references]
        words = self.system.system.target_vocabulary
        self.numberings = [Numbering(words, source) for source in self.text.sources]
        pairs = zip(self.numberings, self.text.references, strict=True)
        self.references = [[numbering.ids(words) for words in rows] for numbering, rows in pairs]

    def decode(self, weights: Weights) -> CandidateBatch:
        """The lists of all sentences, best hypothesis first.

        Raises:
            Stopped: `stop` said so.
        """
        translated = self.system.hypotheses(weights, self.text.sources, self.size)
        found = [*until_stopped(track(translated, "decoding", total=len(self.text)), self.stop)]
        return self.listed(found, range(len(self.text)))

    def listed(self, found: Sequence[CandidateBatch], sentences: Sequence[int]) -> CandidateBatch:
        """The lists of some sentences, given their hypotheses."""
        references = [self.references[i] for i in sentences]
        text = EncodedText.from_ids(row for rows in references for row in rows)
        lists = listed(found, text, offsets_of([len(rows) for rows in references]), words=self.words)
        if not self.known:
            return lists
        texts = [
            (i, " ".join(self.numberings[i].words(one.words[n])))
            for i, one in zip(sentences, found, strict=True)
            for n in range(one.candidates)
        ]
        others = []
        for name, known in self.known.items():
            new = [one for one in dict.fromkeys(texts) if one not in known]
            if new:
                # A sentence with fewer references than others gets None for the missing ones.
                streams = list(zip_longest(*(self.lines[number] for number, _ in new)))
                values_SK = measure_sentences(name, [text for _, text in new], streams).stats.values_SK
                known.update(zip(new, values_SK.tolist(), strict=True))
            others.append(np.array([known[one] for one in texts]))
        return replace(lists, gain_CG=np.concatenate([lists.gain_CG, *others], axis=1, dtype=np.float32))


class DecoderRecipe(Recipe):
    """A recipe with the decoder in the loop: weights are found while it translates a text.

    Raises:
        InputError: a base run of another model.
    """

    text: TuningText

    def __init__(self, config: TrainConfig) -> None:
        self.kind = kind_of(config.model)
        if config.base is not None:
            self.kind.check_base(config, config.base_run)
        super().__init__(self.kind.based(config))
        self.work = self.config.work_directory if self.config.work else None

    @cached_property
    def tuned(self) -> ToTune:
        """What is tuned."""
        return self.kind.to_tune(self.config, self.work)

    def made_from(self) -> Json:
        return made_from_text(self.work, self.text)


class TunedTraining(DecoderRecipe):
    """Rounds of decoding a text and finding better weights on its n-best lists; see `train.tuning`.

    Raises:
        InputError: no text to tune on, no base run if one is needed, or an unknown name in `loss.tune.weights`.
    """

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        tune = self.config.loss.tune
        most, given = self.config.decoder.max_words, text_of_base(self.config)
        self.text = tuning_text(tune, self.work, most, given=given)
        if tune.weights:
            # Names of weights are known once the system is open; a wrong one is reported before anything is written.
            chosen_weights(tune, self.tuned.start, self.tuned.system.trained_D)

    @classmethod
    def check(cls, config: TrainConfig, *, started: bool = False) -> None:
        """`started` says that there is a run to start from, or that one will be made."""
        tune = config.loss.tune
        if tune is None:
            raise InputError(
                f"the {config.model.kind} model needs a tuner",
                f"loss.name={config.loss.name}",
                "loss=" + ", ".join(TUNERS),
            )
        refuse_if(
            config.loss.lists is None and tune.name != config.loss.name,
            "two tuners",
            f"loss.name={config.loss.name} loss.tune.name={tune.name}",
            f"one: loss={config.loss.name} or loss={tune.name}",
        )
        optimiser(tune, np.ones(1, np.bool_), Objective.of(tune.metric, tune.gain))
        refuse_if(
            tune.weights and tune.start != "base",
            "the weights that are not tuned must come from a run",
            f"loss.tune.weights={tune.weights} loss.tune.start={tune.start}",
            "loss.tune.start=base",
        )
        if not started:
            check_start(config, tune.start)

    def learn(self, run: Run) -> Json:
        return tune(self.config, self.work, self.tuned, self.text, run)


def check_start(config: TrainConfig, start: str) -> None:
    """Checks that there is a run to start from if one is needed.

    Raises:
        InputError: there is none.
    """
    needed = start == "base" or kind_of(config.model).of_blocks
    refuse_if(config.base is None and needed, "no run to start from", "base is not set", "base=RUN")


def made_from_text(work: WorkDirectory | None, text: TuningText) -> Json:
    """What defines a tuned run: the text to tune on, and the work directory if there is one."""
    return {"work_identity": identity_of({"work": work.identity if work else None, "text": asdict(text)})}


def optimiser(settings: TuneConfig, trained_D: Bools, objective: Objective, unit_D: Floats | None = None) -> Optimise:
    """The tuner that the settings name, which finds new weights from pooled lists, for features in the given units.

    If all weights are tuned, their absolute values in these units sum to 1, as in Moses: translations do not depend on
    the scale, but beam thresholds and the effect of a tuner's step do.

    Raises:
        InputError: there is no such tuner, or its settings are invalid.
    """
    refuse_if(settings.name not in TUNERS, "no such tuner", f"loss.tune.name={settings.name}", ", ".join(TUNERS))
    tuner = _tuner(settings, trained_D, objective)

    def optimised(lists: CandidateBatch, weights: Weights, seed: int) -> Weights:
        if unit_D is not None:
            lists = replace(lists, dense_CD=(lists.dense_CD / unit_D).astype(lists.dense_CD.dtype))
            weights = replace(weights, dense_D=weights.dense_D * unit_D)
        found = tuner(lists, weights, seed)
        found = found if settings.weights else scaled(found, trained_D)
        return found if unit_D is None else replace(found, dense_D=found.dense_D / unit_D)

    return optimised


def _tuner(settings: Any, trained_D: Bools, objective: Objective) -> Optimise:
    if settings.name in DRAWING:
        tuner = DRAWING[settings.name]
        return lambda lists, weights, seed: tuner(lists, weights, settings, seed, objective, trained_D)
    name = settings.name.removeprefix(OF_LISTS)
    if name == ExpectedBleu.name and objective.is_bleu:
        # BLEU of the whole text; for another objective, the sum over sentences.
        name = ExpectedCorpusBleu.name
    loss = loss_of(name, **vars(settings))
    return lambda lists, weights, _: descend(lists, weights, loss, settings, objective, trained_D)


def chosen_weights(settings: TuneConfig, start: Weights, trained_D: Bools) -> Bools:
    """Which float weights are tuned, (D,): those that the settings name, or all that the system trains.

    Raises:
        InputError: a name is unknown.
    """
    if not settings.weights:
        return trained_D
    strange = [name for name in settings.weights if name not in start.dense_names]
    if strange:
        seen, expected = f"loss.tune.weights: {strange[0]}", ", ".join(start.dense_names)
        raise InputError("no float weight with this name", seen, f"some of {expected}")
    return np.array([name in settings.weights for name in start.dense_names], np.bool_)

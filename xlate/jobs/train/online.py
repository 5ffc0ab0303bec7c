"""xlate train source=online: weights learned while a dev set is decoded with them (Watanabe et al. 2007).

Learning uses a scale of scores to which C, margins, learning rates and hope refer. Multiplying all weights by a factor
does not change translations, and tuners give weights of any size. MERT's sum to 1, and if a feature in which the
translations of a list do not differ has a huge weight, all weights that distinguish them are tiny. The size of a MIRA
step, however, is set by C in units of score.
"""

from __future__ import annotations

import logging
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from xlate.array_types import Bools, Ints
from xlate.arrays.ranges import pieces
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import spread_of_scores
from xlate.config.schema import TrainConfig
from xlate.config.stored import settings_of_source
from xlate.errors import InputError, refuse_if
from xlate.features.structure import StructureFeatures
from xlate.jobs.train.recipe import (
    not_too_long,
    warn_if_unmoved,
    with_tuned,
)
from xlate.jobs.train.tuning import DecoderRecipe, NbestLists, TuningText, check_start, tuning_text
from xlate.jobs.translate import text_of_base
from xlate.learning.online import Online
from xlate.learning.online_learner import OnlineLearner
from xlate.learning.run import Run
from xlate.learning.settings import OnlineSourceConfig
from xlate.learning.tuning import fingerprint
from xlate.losses.loss import loss_of, losses
from xlate.machine import never
from xlate.metrics.objective import DOCUMENT, Objective, OracleDocument
from xlate.models.phrase.training import by_fold
from xlate.models.tuned import TunedByFold, TunedSystem
from xlate.scoring.weights import Weights
from xlate.search.processes import Workers
from xlate.settings import Json, plain
from xlate.tuners.settings import ONLINE, TuneConfig
from xlate.updates.online import AveragedPerceptron, LossSteps, Mira, OnlineUpdate, TillmannZhang
from xlate.work.directory import WorkDirectory

log = logging.getLogger(__name__)
# The number of sentences whose lists set the scale, spread evenly over the text.
SAMPLE = 200
# There is room for at least this many sparse weights; pages that are never written take no memory.
ROOM = 1 << 20
# Chunks of a batch per process: enough that no process waits long for the others.
CHUNKS = 3


class OnlineTraining(DecoderRecipe):
    """Decodes a dev set sentence by sentence and updates the weights after each; see `train.online`.

    Raises:
        InputError: no text to learn from, or no base run if one is needed.
    """

    def __init__(self, config: TrainConfig) -> None:
        source, most = config.source, config.decoder.max_words
        super().__init__(config)
        if self.work is not None and source.folds:
            self.text = training_sentences(self.work, config.tune, source.sentences, most)
        else:
            self.text = tuning_text(config.tune, self.work, most, "source.text", text_of_base(self.config))

    @cached_property
    def decodes(self) -> TunedSystem | TunedByFold:
        """What decodes: the system, or those made without the fold of a sentence."""
        if self.work is None or not self.config.source.folds:
            return self.tuned.system
        return by_fold(self.config, self.kind, self.work, self.tuned.system)

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        source = config.source
        seen = f"source=online loss={config.loss.name}"
        told = "online training takes its update from source.update"
        refuse_if(config.loss.name != ONLINE, told, seen, "no loss=…", "source.update=…")
        update_of(source, config.seed)
        objective_of(source)
        seen = f"source.k={source.k} source.nbest={source.nbest}"
        told = "a list has fewer translations than are compared with oracles"
        refuse_if(source.k > source.nbest, told, seen, "k ≤ nbest")
        seen = f"source.references={list(source.references)} and no source.text"
        refuse_if(
            source.references and source.text is None,
            "references without a text",
            seen,
            "source.text=FILE, the text that they translate",
        )
        seen = f"source.folds={source.folds} and no work="
        refuse_if(source.folds and not config.work, "folds without a training text", seen, "work=…")
        check_start(config, source.start)

    def learn(self, run: Run) -> Json:
        """Learns, writes the weights, and translates the dev set, and the test set if asked."""
        config, source, tuned = self.config, self.config.source, self.tuned
        system = tuned.system
        translated = NbestLists(system, self.text, source.nbest, never, objective_of(source), words=True)
        # Shards have their own processes.
        with ListsOfSentences(self.decodes, translated, source.processes if source.shards == 1 else 1) as lists:
            scale, objective, trained_D = self._scale(lists), objective_of(source), system.trained_D
            nothing_IK = np.zeros((len(self.text), objective.width))
            learner = OnlineLearner(
                _times(tuned.start, trained_D, scale),
                trained_D,
                update_of(source, config.seed),
                replace(source, seed=config.seed),
                OracleDocument(nothing_IK, objective, source.gain != DOCUMENT),
                system.growing,
            )
            made_from = settings_of_source(source), plain(config.decoder), self.made_from()
            checkpoint = run.checkpoint(fingerprint(tuned.start, repr(made_from)))
            learned, figures = Online(learner, lists.decode, checkpoint, run.reporter).run(run.stop.__bool__)
        weights = _times(learned, trained_D, 1 / scale)
        warn_if_unmoved({"start": tuned.start}, {"start": weights}, f"source.update={source.update}")
        summary = with_tuned(config, self.work, run, tuned, weights, len(figures))
        checkpoint.remove()
        return {
            **summary,
            "iterations": len(figures),
            "online_sentences": len(self.text),
            "online_BLEU": round(figures[-1]["bleu"], 4),
            "oracle_BLEU": round(figures[-1]["oracle_bleu"], 4),
            "history": figures,
            "learned_times": round(scale, 4),
        }

    def _scale(self, lists: ListsOfSentences) -> float:
        """The factor on weights during learning that makes the scores of a list differ by `source.spread`.

        That is the standard deviation, in natural logarithms, under the initial weights without the sparse ones and the
        floats that are not trained.
        """
        source, start, sentences = self.config.source, self.tuned.start, len(self.text)
        trained_D = self.tuned.system.trained_D
        if not source.spread:
            return 1.0
        rows = np.unique(np.linspace(0, sentences - 1, min(sentences, SAMPLE)).astype(np.int64))
        found = lists.decode(start, rows, source.nbest)
        score_C = found.dense_CD[:, trained_D] @ start.dense_D[trained_D]
        spread = spread_of_scores(score_C, found.candidate_offsets_I1)
        if spread == 0:
            return 1.0
        scale: float = source.spread / spread
        log.info(
            "scores within a list differ by %.3g under the first weights; training multiplies them by %.4g, to %g",
            spread, scale, source.spread,
        )  # fmt: skip
        return scale


def objective_of(source: OnlineSourceConfig) -> Objective:
    """The objective of learning.

    Raises:
        InputError: an unknown measure.
    """
    return Objective.of(source.metric) if source.gain == DOCUMENT else Objective.of(source.metric, source.gain)


def update_of(source: OnlineSourceConfig, seed: int) -> OnlineUpdate:
    """How a list updates the weights.

    Raises:
        InputError: no such update, or one with invalid settings.
    """
    margins: dict[str, OnlineUpdate] = {
        Mira.name: Mira(source.margin, source.C),
        AveragedPerceptron.name: AveragedPerceptron(source.margin),
        TillmannZhang.name: TillmannZhang(source.margin, source.eta),
    }
    if source.update in margins:
        return margins[source.update]
    if source.update not in losses():
        raise InputError("no such update", f"source.update={source.update}", ", ".join([*margins, *losses()]))
    return LossSteps(loss_of(source.update, **{**vars(source), "seed": seed}), source.eta, seed)


def _times(weights: Weights, trained_D: Bools, scale: float) -> Weights:
    """Weights with trained floats and sparse features multiplied by `scale`.

    This excludes the penalty of unknown words, which all translations of a sentence have equally often, and the weight
    of a sum of sparse features that are learned themselves.
    """
    return replace(
        weights,
        dense_D=np.where(trained_D, weights.dense_D * scale, weights.dense_D),
        sparse_F=weights.sparse_F * scale,
    )


def training_sentences(work: WorkDirectory, tune: TuneConfig, sentences: int, most: int) -> TuningText:
    """Sentences of the training text, spread evenly over it, with their translations.

    Args:
        work: the work directory.
        tune: `source` and `references` are the raw training text and any number of its translations; without them each
            sentence has the one that the system was made from.
        sentences: how many at most.
        most: the most words per sentence.

    Raises:
        InputError: the files do not fit each other, or have no sentence of the training text.
    """
    sources = list(work.training_tokens("source"))
    if tune.source is None:
        text = TuningText(sources, [[*texts] for texts in zip(*work.training_targets, strict=True)])
        kept = not_too_long([len(words) for words in sources], most, "training text")
    else:
        text = tuning_text(tune, work, most, "source.text", work)
        # Sentences outside the training text, such as pairs that `prepare` left out, are skipped.
        known = {tuple(words) for words in sources}
        kept = [n for n, words in enumerate(text.sources) if tuple(words) in known]
        if not kept:
            raise InputError(
                "no sentence is in the training text",
                f"{len(text)} sentences, the first: {' '.join(text.sources[0][:12])}",
                "the raw text that the work directory was prepared from",
                "source.text= and the file of data.train_source, or no source.folds",
                file=tune.source,
            )
        left = len(text) - len(kept)
        if left:
            log.info("%s: %d of %d sentences are not in the training text", tune.source, left, len(text))
    rows = np.unique(np.linspace(0, len(kept) - 1, min(sentences, len(kept))).round().astype(np.int64))
    chosen = [kept[n] for n in rows.tolist()]
    return TuningText([text.sources[n] for n in chosen], [text.references[n] for n in chosen])


class SharedWeights:
    """Weights in memory that forked processes read and their parent writes, and features that grow.

    Args:
        weights: the initial weights.
        growing: numbers the sparse features, if they are numbered as they are met.
    """

    def __init__(self, weights: Weights, growing: StructureFeatures | None) -> None:
        self.names, self.growing = weights.dense_names, growing
        self.room = max(ROOM, 2 * len(weights.sparse_F))
        memory = mmap.mmap(-1, 8 * (1 + len(self.names) + self.room))
        # The number of sparse weights, the dense weights, the sparse ones.
        self._values = np.frombuffer(memory, np.float64)
        width = 0 if growing is None else growing.described.shape[1]
        self._described = np.frombuffer(mmap.mmap(-1, 4 * max(self.room * width, 1)), np.int32)
        self._width, self._known = width, 0

    def put(self, weights: Weights) -> None:
        """Replaces the weights."""
        dense, sparse = len(weights.dense_D), len(weights.sparse_F)
        if self.growing is not None:
            newer = self.growing.described[self._known : sparse]
            self._described[self._known * self._width : sparse * self._width] = newer.ravel()
            self._known = max(self._known, sparse)
        self._values[0] = sparse
        self._values[1 : 1 + dense] = weights.dense_D
        self._values[1 + dense : 1 + dense + sparse] = weights.sparse_F

    def get(self) -> Weights:
        """The current weights; they change with the next `put`."""
        dense, sparse = len(self.names), int(self._values[0])
        if self.growing is not None:
            self.growing.extended(self._described[: sparse * self._width].reshape(sparse, self._width))
        return Weights(self._values[1 : 1 + dense], self._values[1 + dense : 1 + dense + sparse], self.names)


@dataclass
class ListsOfSentences:
    """Decodes some sentences of a text at a time; a context manager that ends its processes.

    Args:
        system: what decodes.
        lists: the text, and what is made of its hypotheses.
        processes: how many decode; 1 forks none.
    """

    system: TunedSystem | TunedByFold
    lists: NbestLists
    processes: int
    _workers: Workers[CandidateBatch] | None = None
    _shared: SharedWeights | None = None

    def decode(self, weights: Weights, rows: Ints, size: int) -> CandidateBatch:
        """At most `size` translations of each sentence, best first.

        Raises:
            InputError: a process died; also whatever decoding raises.
        """
        left = sentences = rows.tolist()
        if self.processes == 1 or len(rows) == 1:
            return self.lists.listed(self._decoded(weights, sentences, size), sentences)
        found: list[CandidateBatch] = []
        if self._shared is None or self._shared.room < len(weights.sparse_F):
            self.__exit__()
            # The first sentence is decoded here, so that functions compiled on demand are compiled only once.
            found, left = self._decoded(weights, left[:1], size), left[1:]
            self._shared = SharedWeights(weights, self.lists.system.growing)
            self._workers = Workers(self._work, self.processes)
        assert self._workers is not None
        self._shared.put(weights)
        chunk = -(-len(left) // (CHUNKS * self.processes))
        chunks = ((size, left[at]) for at in pieces(len(left), chunk))
        for some in self._workers.each(chunks):
            found += some
        return self.lists.listed(found, sentences)

    def _decoded(self, weights: Weights, rows: Sequence[int], size: int) -> list[CandidateBatch]:
        return list(self.system.hypotheses(weights, [self.lists.text.sources[i] for i in rows], size))

    def _work(self, size: int, rows: Sequence[Any]) -> list[CandidateBatch]:
        assert self._shared is not None
        return self._decoded(self._shared.get(), rows, size)

    def __enter__(self) -> ListsOfSentences:
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers is not None:
            self._workers.__exit__(None, None, None)
            self._workers = None

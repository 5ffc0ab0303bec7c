"""Online training with the decoder in the loop (Watanabe et al. 2007, Algorithm 1).

Each sentence is decoded with the current weights, and moves them. With `batch`, that many sentences are decoded with
the same weights, perhaps in parallel, and then move them one after the other. With `shards`, parts of the sentences are
learned from separately, and their weights are mixed after each iteration (McDonald, Hall & Mann 2010). Each iteration
draws a new order of sentences. Nothing depends on time or on the number of processes, so an interrupted training ends
with the same bits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xlate.array_types import NO_FLOATS, Floats, Ints
from xlate.arrays.ranges import pieces
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.store import held_out
from xlate.errors import refuse_if
from xlate.learning.online_learner import OnlineLearner
from xlate.learning.run import STATE, Arrays, Checkpoint
from xlate.machine import Stop, Stopped, never
from xlate.progress import track
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights
from xlate.search.processes import Workers

log = logging.getLogger(__name__)
# The lists of some sentences under some weights, with at most a given number of translations each.
DecodeRows = Callable[[Weights, Ints, int], CandidateBatch]
Figures = dict[str, Any]
# The result of a shard: the arrays of the learner, the oracles of its sentences, figures and statistics of first
# translations.
ShardResult = tuple[Arrays, dict[int, CandidateBatch], Figures, Floats]
BEST = "best"


# The figures that are summed over steps.
SUMS = ("loss", "pairs", "violated", "alpha")


@dataclass
class OnlineState:
    """The state after some sentences of an iteration.

    Attributes:
        iteration: the number of finished iterations.
        position: how many sentences of the current iteration are done.
        figures: of the finished iterations; see `Online.run`.
        partial: of the current one so far; empty between iterations.
        first: summed statistics of the first translations of the current iteration, (K,).
        best_bleu, best: the score of the best average so far, and this average if it is the one to return.
    """

    iteration: int = 0
    position: int = 0
    figures: list[Figures] = field(default_factory=list)
    partial: Figures = field(default_factory=dict)
    first: Floats = field(default_factory=lambda: NO_FLOATS)
    best_bleu: float = -1.0
    best: Weights | None = None


@dataclass
class Online:
    """The loop.

    Args:
        learner: with the weights, the oracles and the settings.
        decode: returns the lists of some sentences.
        checkpoint: where it resumes from.
        reporter: takes the figures of every iteration.
    """

    learner: OnlineLearner
    decode: DecodeRows
    checkpoint: Checkpoint
    reporter: Reporter = field(default_factory=Reporter)
    _state: OnlineState = field(default_factory=OnlineState, init=False)

    def run(self, stop: Stop = never) -> tuple[Weights, list[Figures]]:
        """The chosen weights and the figures of all iterations.

        The figures of an iteration are the `bleu` of the first translations and that of the oracles, the mean `loss`,
        the pairs and how many were violated, Σ α, and the number of `active` weights, which are not 0. `average_bleu`
        is that of the measured sentences under the average of all weights so far, None without such sentences.

        Raises:
            InputError: the checkpoint is damaged, or all sentences are held out.
            Stopped: `stop` ended the training early.
        """
        file = self.checkpoint.load()
        if file is not None:
            held = file.metadata[STATE]
            self._state = OnlineState(**{**held, "first": np.array(held["first"])}, best=file.sets.get(BEST))
            self.learner.restore(file.extra)
        state = self._state
        while state.iteration < self.learner.settings.iterations:
            self._iteration(stop)
        if self.learner.settings.select == "last":
            return self.learner.weights, state.figures
        return self.learner.average if state.best is None else state.best, state.figures

    def _divided(self) -> tuple[Ints, Ints]:
        """The sentences to learn from, and those to measure on."""
        rows, every = np.arange(len(self.learner.oracles)), self.learner.settings.heldout_every
        if not every:
            return rows, rows if self.learner.settings.select == "best" else rows[:0]
        held_I = held_out(len(rows), every)
        refuse_if(
            held_I.all() or not held_I.any(), "too few sentences", len(rows), "some to learn from and some to hold out"
        )
        return rows[~held_I], rows[held_I]

    def _iteration(self, stop: Stop) -> None:
        """Learns from the remaining sentences of an iteration."""
        state, settings = self._state, self.learner.settings
        rows, measured = self._divided()
        order = np.random.default_rng([settings.seed, state.iteration]).permutation(rows)
        start, begun = time.perf_counter(), state.position
        if settings.shards > 1 and stop():
            # Shards are either finished or not begun.
            self._save()
            raise Stopped
        if not state.partial:
            state.partial, state.first = self._nothing_met(state.iteration + 1)
        if settings.shards > 1:
            self._shards(order)
        else:
            starts = range(state.position, len(order), settings.batch)
            for place in track(starts, f"iteration {state.iteration + 1}"):
                if stop():
                    self._save()
                    raise Stopped
                self._learn(order[place : place + settings.batch], state.partial, state.first)
                state.position = place + settings.batch
                if self.checkpoint.due and state.position < len(order):
                    self._save()
        speed = (len(order) - begun) / max(time.perf_counter() - start, 1e-9)
        self._finish(len(order), measured)
        self._report(state.figures[-1], speed)
        if self.checkpoint.due or stop() or state.iteration == settings.iterations:
            self._save()

    def _nothing_met(self, iteration: int = 0) -> tuple[Figures, Floats]:
        """Figures and statistics of first translations before any step."""
        figures: Figures = {"iteration": iteration, "bleu": 0.0, "oracle_bleu": 0.0}
        figures |= {"loss": 0.0, "pairs": 0, "violated": 0, "alpha": 0.0, "active": 0, "average_bleu": None}
        return figures, np.zeros(self.learner.document.sums_K.shape)

    def _learn(self, some: Ints, figures: Figures, first_K: Floats) -> None:
        """Decodes some sentences with the current weights, and learns from one after the other."""
        lists = self.decode(self.learner.weights, some, self.learner.settings.nbest)
        for at, sentence in enumerate(some.tolist()):
            one = lists if len(some) == 1 else lists.select([at])
            first_K += one.gain_CG[:1].sum(axis=0)
            _add(figures, vars(self.learner.learn(sentence, one)))

    def _shards(self, order: Ints) -> None:
        """Learns from every shard separately, starting from the same weights, and takes the mean of the results."""
        shards = [order[shard :: self.learner.settings.shards] for shard in range(self.learner.settings.shards)]
        clock = int(self.learner.learned.clock_1[0]) + max(map(len, shards))
        known = 0 if self.learner.growing is None else len(self.learner.growing)

        def work(start: int, chunk: Sequence[Ints]) -> list[ShardResult]:
            return [self._shard(shard, rows, clock) for shard, rows in enumerate(chunk, start)]

        if self.learner.settings.processes == 1:
            results = work(0, shards)
        else:
            # The result is dropped: this only compiles, before the fork, what is compiled on first use.
            self._shard(0, shards[0][:1], clock)
            with Workers(work, min(self.learner.settings.processes, len(shards))) as workers:
                results = [found for (found,) in workers.each(enumerate([rows] for rows in shards))]
        for _, oracles, figures, first_K in results:
            self.learner.put(oracles)
            self._state.first += first_K
            _add(self._state.partial, figures)
        self.learner.mix([self.learner.renumbered(arrays, known) for arrays, *_ in results])

    def _shard(self, shard: int, rows: Ints, clock: int) -> ShardResult:
        """Learns from the sentences of a shard; leaves the learner unchanged."""
        figures, first_K = self._nothing_met()

        def work() -> dict[int, CandidateBatch]:
            for at in pieces(len(rows), self.learner.settings.batch):
                self._learn(rows[at], figures, first_K)
            self.learner.stand_still(clock)
            found = ((sentence, self.learner.oracles[sentence]) for sentence in rows.tolist())
            return {sentence: one for sentence, one in found if one is not None}

        oracles, arrays = self.learner.apart(work, shard)
        return arrays, oracles, figures, first_K

    def _finish(self, steps: int, measured: Ints) -> None:
        """Closes an iteration."""
        state, learner, average = self._state, self.learner, self.learner.average
        figures, objective = state.partial, learner.document.objective
        figures["bleu"] = float(objective.corpus(state.first[None])[0])
        figures["oracle_bleu"], figures["loss"] = learner.document.score, figures["loss"] / max(steps, 1)
        figures["active"] = average.active
        if len(measured):
            lists = self.decode(average, measured, 1)
            bleu = float(objective.corpus(lists.gain_CG.sum(axis=0, dtype=np.float64)[None])[0])
            figures["average_bleu"] = bleu
            if self.learner.settings.select == "best" and bleu > state.best_bleu:
                state.best, state.best_bleu = average, bleu
        state.figures.append(figures)
        state.iteration, state.position, state.partial, state.first = state.iteration + 1, 0, {}, NO_FLOATS

    def _save(self) -> None:
        """Writes the state to the checkpoint."""
        held = {**vars(self._state), "first": self._state.first.tolist()}
        best = held.pop(BEST)
        self.checkpoint.save(held, self.learner.state(), {} if best is None else {BEST: best})

    def _report(self, figures: Figures, speed: float) -> None:
        step = figures["iteration"]
        reported = {name.replace("bleu", "BLEU"): value for name, value in figures.items() if name != "iteration"}
        self.reporter.scalars("online/*", {**reported, "sentences_per_second": speed}, step)
        weights = self.learner.weights
        self.reporter.scalars("weights/*", weights.floats, step)
        if weights.active:
            self.reporter.histogram("weights/sparse", weights.sparse_F[weights.sparse_F != 0], step)
        log.info(
            "iteration %(iteration)d: BLEU %(bleu).2f, oracles %(oracle_bleu).2f, %(violated)d of %(pairs)d pairs "
            "violated, %(active)d features, %(speed).1f sentences/s",
            {**figures, "speed": speed},
        )


def _add(figures: Figures, met: Mapping[str, Any]) -> None:
    """Counts a step, or the steps of a shard."""
    for name in SUMS:
        figures[name] += met[name]

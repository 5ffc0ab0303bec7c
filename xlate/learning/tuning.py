"""Tuning: decode, merge, optimise, and repeat (Och 2003; Bertoldi, Haddow & Fouet 2009)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import pool
from xlate.candidates.store import CandidateStore, StoreWriter, held_out, is_whole
from xlate.machine import Stop, Stopped, never
from xlate.metrics.objective import BLEU, Objective
from xlate.progress import tell, track
from xlate.report.run_directory import Reporter
from xlate.scoring.weights import Weights
from xlate.tuners.settings import TuneConfig

log = logging.getLogger(__name__)

Decode = Callable[[Weights], CandidateBatch]
Optimise = Callable[[CandidateBatch, Weights, int], Weights]


@dataclass(frozen=True)
class RoundFigures:
    """The results of one round of decoding: BLEU of the first hypotheses, their length over the references', the pool.

    When another objective is tuned for, `bleu` is its value.
    """

    round: int
    bleu: float
    length_ratio: float
    heldout_bleu: float | None
    pool: int
    new: int


# The weights of each round with their figures.
Tried = list[tuple[Weights, RoundFigures]]
# A round goes astray if it loses more than this share of the best score so far.
ASTRAY = 0.03


@dataclass
class Tuning:
    """The loop; every finished round is on disk, so an interrupted tuning resumes with the round it was in.

    Args:
        decode: decodes the text with given weights into n-best lists, best first, with BLEU statistics as gains.
        optimise: finds new weights from the pooled lists, the previous weights, and a seed.
        settings: how long it runs; the text is decoded once more than there are rounds.
        folder: where the rounds are kept.
        reporter: takes BLEU, lengths and weights of every round.
        objective: the measure by which rounds are compared.
    """

    decode: Decode
    optimise: Optimise
    settings: TuneConfig
    folder: Path
    reporter: Reporter = field(default_factory=Reporter)
    objective: Objective = BLEU

    def run(self, start: Weights, stop: Stop = never) -> tuple[Weights, list[RoundFigures]]:
        """The chosen weights and the figures of all rounds.

        Raises:
            Stopped: `stop` ended the tuning early.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        weights, lists = start, None
        tried: Tried = []
        for number in track(range(self.settings.rounds + 1), "tuning, round", from_zero=True):
            done = self._decoded(number, weights)
            if stop():
                raise Stopped
            before = 0 if lists is None else lists.candidates
            held_I = held_out(len(done), self.settings.heldout_every)
            fresh = done.select(np.flatnonzero(~held_I)) if held_I.any() else done
            lists = fresh if lists is None else pool([lists, fresh])
            # Duplicates in the first lists are dropped only when the next lists are pooled with them.
            figures = self._figures(number, done, held_I, lists.candidates, max(lists.candidates - before, 0))
            tried.append((weights, figures))
            tell(score=figures.bleu)
            self._report(weights, figures)
            if number == self.settings.rounds or figures.new < self.settings.least_new * figures.pool:
                break
            after = self._optimised(lists, tried, self.settings.seed + number)
            if stop():
                raise Stopped
            moves = np.abs(np.concatenate([after.dense_D - weights.dense_D, after.sparse_F - weights.sparse_F]))
            if moves.max(initial=0.0) <= self.settings.tolerance * np.abs(weights.dense_D).max(initial=1e-30):
                break
            weights = after
        chosen = tried[-1] if self.settings.select == "last" else max(tried, key=lambda entry: self._rank(entry[1]))
        return chosen[0], [figures for _, figures in tried]

    def _optimised(self, lists: CandidateBatch, tried: Tried, seed: int) -> Weights:
        """The next weights, from those of the last round.

        After a round that goes astray, the next one begins at the best weights so far and goes half of the way. Each
        further round that goes astray halves the way again; each other round doubles it, until it is whole.
        """
        best, part = tried[0], 1.0
        for one in tried[1:]:
            part = part / 2 if best[1].bleu - one[1].bleu > ASTRAY * abs(best[1].bleu) else min(1.0, 2 * part)
            best = max(best, one, key=lambda entry: self._rank(entry[1]))
        if part == 1.0:
            return self.optimise(lists, tried[-1][0], seed)
        start, after = best[0], self.optimise(lists, best[0], seed)
        log.info("tuning went astray: the next round goes %g of the way from the best weights so far", part)
        dense_D, sparse_F = (
            (one + part * (other - one)).astype(one.dtype)
            for one, other in ((start.dense_D, after.dense_D), (start.sparse_F, after.sparse_F))
        )
        return replace(start, dense_D=dense_D, sparse_F=sparse_F)

    def _decoded(self, number: int, weights: Weights) -> CandidateBatch:
        """The lists of a round, read from disk if intact and made with the same weights."""
        path = round_path(self.folder, number)
        if is_whole(path):
            held = CandidateStore.open(path, mapped=False)
            if held.metadata.get("weights") == fingerprint(weights):
                return held.arrays
        made = self.decode(weights)
        write_lists(path, weights, made)
        return made

    def _figures(self, number: int, done: CandidateBatch, held_I: Bools, size: int, new: int) -> RoundFigures:
        lists_I = np.diff(done.candidate_offsets_I1) > 0
        first_IK = np.zeros((len(done), done.gain_CG.shape[1]))
        first_IK[lists_I] = done.gain_CG[done.candidate_offsets_I1[:-1][lists_I]]
        sums_2K = first_IK[~held_I].sum(axis=0)[None], first_IK[held_I].sum(axis=0)[None]
        scores = [float(self.objective.corpus(sums_1K)[0]) for sums_1K in (sums_2K if held_I.any() else sums_2K[:1])]
        length = sums_2K[0][0]
        heldout = scores[1] if len(scores) > 1 else None
        return RoundFigures(number, scores[0], float(length[0] / max(length[1], 1.0)), heldout, size, new)

    def _report(self, weights: Weights, figures: RoundFigures) -> None:
        step = figures.round
        name = "BLEU" if self.objective.is_bleu else "objective"
        scores = {name: figures.bleu, f"heldout_{name}": figures.heldout_bleu}
        sizes = {"length_ratio": figures.length_ratio, "pool": figures.pool, "new": figures.new}
        self.reporter.scalars("tune/*", {**scores, **sizes}, step)
        scale = float(np.abs(weights.dense_D).sum()) or 1.0
        self.reporter.scalars("weights/*", {name: value / scale for name, value in weights.floats.items()}, step)
        if weights.active:
            self.reporter.histogram("weights/sparse", weights.sparse_F, step)
        round_of = f"{step}/{self.settings.rounds}" + ("" if step else ", the first decoding")
        log.info(
            "round %s: %s %.2f, length ratio %.3f, %d hypotheses (%d new)",
            round_of, self.objective, figures.bleu, figures.length_ratio, figures.pool, figures.new,
        )  # fmt: skip

    def _rank(self, figures: RoundFigures) -> tuple[bool, float]:
        fits = abs(figures.length_ratio - 1) <= self.settings.length_band
        return fits, figures.bleu if figures.heldout_bleu is None else figures.heldout_bleu


def round_path(folder: Path, number: int) -> Path:
    """The store of a round."""
    return folder / f"round-{number:03d}"


def write_lists(path: Path, weights: Weights, lists: CandidateBatch) -> None:
    """Writes lists that were decoded with some weights into a store, whose metadata identify these."""
    gains = [f"statistic_{k}" for k in range(lists.gain_CG.shape[1])]
    made_with = {"weights": fingerprint(weights)}
    with StoreWriter(path, weights.dense_names, len(weights.sparse_F), gains, made_with) as writer:
        writer.append(lists)


def fingerprint(weights: Weights, made_from: str = "") -> str:
    """The SHA-256 of weights, and of what else lists are made from; it identifies the lists."""
    return hashlib.sha256(made_from.encode() + weights.dense_D.tobytes() + weights.sparse_F.tobytes()).hexdigest()

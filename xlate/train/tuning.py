"""Tuning: decode, merge, optimise, again and again (Och 2003; Bertoldi, Haddow & Fouet 2009)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xlate.array_types import Bools
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import pool
from xlate.candidates.store import CandidateStore, StoreWriter, is_whole
from xlate.errors import InputError
from xlate.metrics.objective import BLEU, Objective
from xlate.progress import tell, track
from xlate.scoring.weights import Weights
from xlate.train.reporter import NullReporter, Reporter

log = logging.getLogger(__name__)

Decode = Callable[[Weights], CandidateBatch]
Optimise = Callable[[CandidateBatch, Weights, int], Weights]


@dataclass(frozen=True)
class TuningSettings:
    """How long tuning goes on, and which of its weights it returns.

    Attributes:
        rounds: how often weights are optimised; the text is decoded once more than that.
        seed: of round r is seed + r.
        select: `best` returns the weights with the highest BLEU when the text was decoded with them, `last` the last.
        heldout_every: every so many sentences one is kept out of the lists, and `best` means best there; 0 keeps none.
        length_band: `best` prefers weights whose translations are within this share of the reference length.
        tolerance: stops early when no weight moved by more than this share of the largest.
        least_new: stops early when a smaller share of the pool than this is new.
    """

    rounds: int = 10
    seed: int = 1
    select: str = "best"
    heldout_every: int = 0
    length_band: float = 0.1
    tolerance: float = 1e-5
    least_new: float = 1e-4

    def __post_init__(self) -> None:
        """Checks every value.

        Raises:
            InputError: a value outside its range.
        """
        if self.rounds < 1:
            raise InputError("too few rounds of tuning", seen=self.rounds, expected="1 or more")
        if self.select not in ("best", "last"):
            raise InputError("how to choose among the rounds", seen=self.select, expected="best or last")
        if self.heldout_every == 1 or self.heldout_every < 0:
            raise InputError(
                "nothing left to tune on", seen=self.heldout_every, expected="0 (none held out), 2 or more"
            )


@dataclass(frozen=True)
class RoundFigures:
    """What one round of decoding gave: BLEU of the first hypotheses, their length over the references', the pool.

    `bleu` is the value of another objective where one is tuned for.
    """

    round: int
    bleu: float
    length_ratio: float
    heldout_bleu: float | None
    pool: int
    new: int

    def to_json(self) -> dict[str, Any]:
        """As a line of a run's history."""
        return dict(vars(self))


class Tuning:
    """The loop; every finished round is on disk, so a stopped tuning goes on with the round it was in.

    Args:
        decode: the text decoded with some weights: n-best lists, best first, with BLEU statistics as gains.
        optimise: new weights from the pooled lists, the weights before, and a seed.
        settings: how long.
        folder: where the rounds are kept.
        reporter: takes BLEU, lengths and weights of every round.
        objective: what the rounds are compared by.
    """

    def __init__(
        self,
        decode: Decode,
        optimise: Optimise,
        settings: TuningSettings,
        folder: Path,
        reporter: Reporter | None = None,
        objective: Objective = BLEU,
    ) -> None:
        self.decode = decode
        self.optimise = optimise
        self.settings = settings
        self.folder = folder
        self.reporter = reporter or NullReporter()
        self.objective = objective

    def run(
        self, start: Weights, stop: Callable[[], bool] = lambda: False
    ) -> tuple[Weights, list[RoundFigures]] | None:
        """The chosen weights and the figures of all rounds; None when `stop` said so before the end."""
        self.folder.mkdir(parents=True, exist_ok=True)
        weights, lists = start, None
        tried: list[tuple[Weights, RoundFigures]] = []
        for number in track(range(self.settings.rounds + 1), "tuning, round", from_zero=True):
            done = self._decoded(number, weights)
            if stop():
                return None
            before = 0 if lists is None else lists.candidates
            fresh = done if self._heldout is None else done.select(np.flatnonzero(~self._heldout_of(done)))
            lists = fresh if lists is None else pool([lists, fresh])
            # Equal translations of the first lists leave only when those of the next come.
            figures = self._figures(number, done, lists, max(lists.candidates - before, 0))
            tried.append((weights, figures))
            tell(score=figures.bleu)
            self._report(weights, figures)
            if number == self.settings.rounds or figures.new < self.settings.least_new * figures.pool:
                break
            after = self.optimise(lists, weights, self.settings.seed + number)
            if stop():
                return None
            if _unmoved(weights, after, self.settings.tolerance):
                break
            weights = after
        return self._chosen(tried), [figures for _, figures in tried]

    @property
    def _heldout(self) -> int | None:
        return self.settings.heldout_every or None

    def _heldout_of(self, done: CandidateBatch) -> Bools:
        rows = np.arange(len(done))
        return np.zeros(len(rows), np.bool_) if self._heldout is None else rows % self._heldout == self._heldout - 1

    def _decoded(self, number: int, weights: Weights) -> CandidateBatch:
        """The lists of a round, from disk when they were made with the same weights before; damaged ones are not."""
        path = round_path(self.folder, number)
        made_with = fingerprint(weights)
        if is_whole(path):
            held = CandidateStore.open(path, memory_map=False)
            if held.metadata.get("weights") == made_with:
                return held.arrays
        made = self.decode(weights)
        gains = [f"statistic_{k}" for k in range(made.gain_CG.shape[1])]
        with StoreWriter(path, weights.dense_names, len(weights.sparse_F), gains, {"weights": made_with}) as writer:
            writer.append(made)
        return made

    def _figures(self, number: int, done: CandidateBatch, lists: CandidateBatch, new: int) -> RoundFigures:
        lists_I = np.diff(done.candidate_offsets_I1) > 0
        first_IK = np.zeros((len(done), done.gain_CG.shape[1]))
        first_IK[lists_I] = done.gain_CG[done.candidate_offsets_I1[:-1][lists_I]]
        held_I = self._heldout_of(done)
        sums_K = first_IK[~held_I].sum(axis=0)
        heldout = float(self.objective.corpus(first_IK[held_I].sum(axis=0)[None])[0]) if held_I.any() else None
        return RoundFigures(
            round=number,
            bleu=float(self.objective.corpus(sums_K[None])[0]),
            length_ratio=float(sums_K[0] / max(sums_K[1], 1.0)),
            heldout_bleu=heldout,
            pool=lists.candidates,
            new=new,
        )

    def _report(self, weights: Weights, figures: RoundFigures) -> None:
        step = figures.round
        name = "BLEU" if self.objective.is_bleu else "objective"
        self.reporter.scalar(f"tune/{name}", figures.bleu, step)
        if figures.heldout_bleu is not None:
            self.reporter.scalar(f"tune/heldout_{name}", figures.heldout_bleu, step)
        self.reporter.scalar("tune/length_ratio", figures.length_ratio, step)
        self.reporter.scalar("tune/pool", figures.pool, step)
        self.reporter.scalar("tune/new", figures.new, step)
        scale = float(np.abs(weights.dense_D).sum()) or 1.0
        for name, value in zip(weights.dense_names, weights.dense_D, strict=True):
            self.reporter.scalar(f"weights/{name}", float(value) / scale, step)
        if weights.active:
            self.reporter.histogram("weights/sparse", weights.sparse_F, step)
        round_of = f"{step}/{self.settings.rounds}" + ("" if step else ", the first decoding")
        log.info(
            "round %s: %s %.2f, length ratio %.3f, %d hypotheses (%d new)",
            round_of, self.objective, figures.bleu, figures.length_ratio, figures.pool, figures.new,
        )  # fmt: skip

    def _chosen(self, tried: list[tuple[Weights, RoundFigures]]) -> Weights:
        if self.settings.select == "last":
            return tried[-1][0]

        def worth(entry: tuple[Weights, RoundFigures]) -> tuple[bool, float]:
            figures = entry[1]
            fits = abs(figures.length_ratio - 1) <= self.settings.length_band
            return fits, figures.bleu if figures.heldout_bleu is None else figures.heldout_bleu

        return max(tried, key=worth)[0]


def round_path(folder: Path, number: int) -> Path:
    """The store of a round."""
    return folder / f"round-{number:03d}"


def fingerprint(weights: Weights) -> str:
    """The SHA-256 of weights, by which the lists made with them are known."""
    return hashlib.sha256(weights.dense_D.tobytes() + weights.sparse_F.tobytes()).hexdigest()


def _unmoved(before: Weights, after: Weights, tolerance: float) -> bool:
    moved = max(
        float(np.abs(after.dense_D - before.dense_D).max(initial=0.0)),
        float(np.abs(after.sparse_F - before.sparse_F).max(initial=0.0)),
    )
    return moved <= tolerance * float(np.abs(before.dense_D).max(initial=1e-30))

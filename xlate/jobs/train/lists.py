"""Runs of sparse features trained from lists of the training text (Auli, Galley & Gao 2014, section 5).

One command does it all: float weights θ are tuned or taken from a base run; the training text is decoded in folds;
sparse weights φ are learned with θ fixed, or together with θ; and float weights are tuned again with the sums φ·u as
new float features. With `rounds` the text is decoded again with φ, and φ is relearned from the lists of all rounds. θ
and the lists are kept in the work directory under the identity of what they were made from, so runs that differ in
features or losses share them. With predictions in context, the classifiers of folds, which have not seen them, are
trained first and kept there, too.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.arrays.ranges import pieces
from xlate.arrays.scratch import Scratch
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import UnitFeatures, pool, spread_within_lists, under_templates
from xlate.candidates.nbest import statistic_names
from xlate.candidates.store import CandidateStore, StoreWriter, held_out
from xlate.cluster import run_tasks, uses_cluster
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_task, identity_of_training
from xlate.errors import refuse_if
from xlate.jobs.train.jackknife import PART, Jackknife, fold_classifiers, headroom
from xlate.jobs.train.recipe import (
    WorkRecipe,
    device_of,
    warn_if_all_zero,
)
from xlate.jobs.train.tuning import TunedTraining, check_same_folder, made_from_text, tune, tuning_text, write_part
from xlate.learning.list_learner import DeviceListLearner, EpochFigures, ListLearner, lists_identity, loss_of_lists
from xlate.learning.ranks import Ranks
from xlate.learning.run import Checkpoint, Run
from xlate.learning.settings import FoldedListsConfig, ListsConfig, SparseListsConfig, TunedLossConfig
from xlate.machine import Stopped, until_stopped
from xlate.metrics.bleu import sentence_bleu
from xlate.metrics.objective import Objective
from xlate.models.kind import ListedModel, kind_of
from xlate.progress import tell, track
from xlate.scoring.weights import Weights, load_weights, save_weights
from xlate.settings import Json, plain
from xlate.text.folders import awaited, remove_folder
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)
PHI = "sparse.safetensors"
# The endings of the checkpoint and of the folder of lists, next to the learned weights.
EPOCHS, LISTS = ".epochs.safetensors", ".lists"
# Candidates whose gains are computed at a time.
AT_A_TIME = 100_000
# Float weights θ, sparse weights φ, and figures of how they were learned.
Learned = tuple[Weights, Floats, Json]


class ListTraining(WorkRecipe):
    """Tunes float weights, learns sparse weights from lists of the training text, and tunes float weights again.

    Raises:
        InputError: no work directory, or nothing to tune on.
    """

    on_device = "training on lists runs"
    over_ranks = True

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        settings = config.loss.tune
        self.as_tuning = replace(config, loss=TunedLossConfig(settings.name, settings))
        self.text = tuning_text(settings, self.work, config.decoder.max_words)

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        kind_of(config.model).check_lists(config)
        check_lists(config)
        start = "uniform" if config.loss.tune is None else config.loss.tune.start
        refuse_if(
            start != "uniform",
            "this training tunes float weights from scratch",
            f"loss.tune.start={start}",
            "uniform",
            "base=RUN starts from the weights of a run",
        )
        TunedTraining.check(config, started=True)

    def made_from(self) -> Json:
        return made_from_text(self.work, self.text)

    def learn(self, run: Run) -> Json:
        """Runs all three steps."""
        config, work = self.config, self.work
        with run.ranks.in_turn():
            base = Path(config.base or "")
            if config.base is None:
                # The run of a phrase model's float weights, made if it does not exist.
                model_alone = replace(config.model, sparse=None)
                alone = replace(self.as_tuning, model=model_alone, row=None, measure_test=False, run=None, base=None)
                key = identity_of({**identity_of_training(alone), "on": work.identity})
                base = work.path / "theta" / key[:16]
                log.info("float weights: %s", base)
                with awaited(base, run.stop.__bool__):
                    self.train_part(alone, base, run.stop)
            fold_classifiers(config, config.model.context, self.train_part, run.stop)
            model = kind_of(config.model).listed(config, work, base, config.loss.lists.folds)
        theta, phi_F, figures = self._learned(model, base, run)
        run.ranks.leave()
        part = decode_dev_part, str(base), str(_learned_in(run, config.loss.lists.rounds))
        return tune(config, work, model.to_tune(theta, phi_F), self.text, run, {**figures, "base": str(base)}, part)

    def _lists(self, model: ListedModel, weights: Weights, sparse: UnitFeatures | None = None) -> Jackknife:
        config = self.config
        return Jackknife(self.work, model, weights, config.decoder, config.loss.lists, config.seed, sparse)

    def _learned(self, model: ListedModel, base: Path, run: Run) -> Learned:
        """What the last round learned; rounds decode with the latest weights and use all lists."""
        made = [self._lists(model, model.theta)]
        step, rounds, before = 0, self.config.loss.lists.rounds, None
        for number in range(1, rounds + 1):
            held = _learned_in(run, number)
            if not held.exists():
                with run.ranks.in_turn():
                    decode_folds(made[-1], self.config, base, run, before)
                decoded = zip(*(one.shards() for one in made), strict=True)
                shards = (several[0] if number == 1 else pool(several) for several in decoded)
                some = sampled(shards, len(model.fold_I), self.config.loss.lists, self.config.seed)
                learn(self.config, model.features, some, model.theta, held, run, step)
                run.ranks.wait()
            theta, phi_F, figures = read_learned(held, model.theta, model.features)
            if number < rounds:
                made.append(self._lists(model, model.weighted(theta, phi_F), model.features))
            step, before = step + figures["list_epochs"] + 1, held
        return theta, phi_F, figures


def _learned_in(run: Run, number: int) -> Path:
    """The file of what a round of learning from lists has learned."""
    return run.directory.checkpoint / f"sparse-{number}.safetensors"


def decode_folds(made: Jackknife, config: TrainConfig, base: Path, run: Run, learned: Path | None = None) -> None:
    """Decodes the training text, by the tasks of a cluster if the settings choose one.

    Args:
        made: the lists.
        config: of the model, the decoder, the seed and the cluster.
        base: the run of the float weights.
        run: the training, which may be stopped.
        learned: the weights of a former round, if they are used.

    Raises:
        Stopped: the run was stopped.
    """
    stop = run.stop.__bool__
    if uses_cluster(config.cluster):
        given = plain(config), str(base), learned and str(learned), plain(made.settings), str(made.folder)
        tasks = [(*given, *part) for part in made.missing()]
        run_tasks(config.cluster, run.path / ".submitit", decode_part, tasks, "decoding: parts", stop)
    # Looks whether all shards are here.
    made.decode(stop)


def decode_part(given: Json, base: str, learned: str | None, lists: Json, folder: str, fold: int, first: int) -> None:
    """Decodes a part of a fold: a task of `decode_folds`.

    Raises:
        InputError: this process would make other lists than the one that gave the task.
    """
    config, settings = config_of_task(given, TrainConfig), SparseListsConfig(**lists)
    model, theta, phi_F = _opened(config, base, learned, settings.folds)
    weights, sparse = (theta, None) if phi_F is None else (model.weighted(theta, phi_F), model.features)
    made = Jackknife(config.work_directory, model, weights, config.decoder, settings, config.seed, sparse)
    check_same_folder(made.folder, Path(folder))
    made.decode_part(fold, first, PART)


def decode_dev_part(given: Json, base: str, learned: str, folder: str, number: int, size: int) -> None:
    """Decodes a part of the text to tune on with the learned weights: see `tuning.decode_part`."""
    config = config_of_task(given, TrainConfig)
    model, theta, phi_F = _opened(config, base, learned, config.loss.lists.folds)
    assert phi_F is not None
    write_part(config, model.to_tune(theta, phi_F), Path(folder), number, size)


def _opened(
    config: TrainConfig, base: str, learned: str | None, folds: int
) -> tuple[ListedModel, Weights, Floats | None]:
    """The model in a task, and the weights learned in a former round, if any."""
    model = kind_of(config.model).listed(config, config.work_directory, Path(base), folds)
    if learned is None:
        return model, model.theta, None
    theta, phi_F, _ = read_learned(Path(learned), model.theta, model.features)
    return model, theta, phi_F


def read_learned(held: Path, theta: Weights, features: UnitFeatures) -> Learned:
    """Reads what `learn` wrote into a file, which makes its checkpoint and its lists useless."""
    held.with_suffix(EPOCHS).unlink(missing_ok=True)
    remove_folder(held.with_suffix(LISTS))
    file = load_weights(held)
    weights = file.fitting(PHI, features, held)
    return replace(theta, dense_D=weights.dense_D), weights.sparse_F, file.metadata["figures"]


def learn(
    config: TrainConfig,
    features: UnitFeatures,
    shards: Iterable[CandidateBatch],
    theta: Weights,
    held: Path,
    run: Run,
    step: int = 0,
) -> None:
    """Learns sparse weights, and float weights if training is joint; the first rank writes them to `held`.

    Only a shard of the lists is in memory at a time; passes over all of them read a file. `step` is the number of the
    first epoch in the reports.

    Raises:
        Stopped: the run was stopped.
    """
    settings = config.loss.lists
    start = time.perf_counter()
    folder = held.with_suffix(LISTS)
    with Scratch(0, folder) as scratch:
        lists = _stored(config, features, shards, theta, folder / "store", run)
        spread_D = spread_within_lists(lists.dense_CD, lists.candidate_offsets_I1)
        learner = _learner(config, len(features), lists, theta, spread_D, run.ranks, scratch)
        made = time.perf_counter()
        made_from = lists_identity(learner.lists, learner.settings, len(features), config.device)
        checkpoint = Checkpoint(held.with_suffix(EPOCHS), made_from, config.checkpoint_seconds, refuses=False)
        figures = gone_through(learner, checkpoint, settings, run, step)
    phi_F = learner.weights.sparse_F.astype(np.float64)
    run.reporter.histogram("sparse/weights", phi_F[phi_F != 0], step + len(figures))
    warn_if_all_zero(phi_F, f"loss.lists.rate={settings.rate:g} l1={settings.l1:g}, {len(lists)} lists")
    summary = {
        "active_features": int(np.count_nonzero(phi_F)),
        "sparse_templates": len(features),
        **list_figures(figures, lists),
        "list_seconds": [round(made - start, 2), round(time.perf_counter() - made, 2)],
    }
    if settings.joint:
        theta = replace(theta, dense_D=learner.weights.dense_D / spread_D)
    learned = replace(theta, sparse_F=phi_F).single()
    if run.ranks.leads:
        save_weights(held, {PHI: learned}, features={PHI: features}, metadata={"figures": summary})


def _stored(
    config: TrainConfig,
    features: UnitFeatures,
    shards: Iterable[CandidateBatch],
    theta: Weights,
    folder: Path,
    run: Run,
) -> CandidateBatch:
    """The lists with the ids of their features, mapped from a store that the first rank writes."""
    joint, gamma = config.loss.lists.joint, config.loss.lists.gamma
    with ExitStack() as opened:
        if run.ranks.leads:
            # Shards may add features, so their number is not known yet.
            columns = theta.dense_names if joint else ()
            writer = opened.enter_context(StoreWriter(folder, columns, 1 << 31, statistic_names()))
        for shard in until_stopped(shards, run.stops):
            # All ranks number the features.
            lists = under_templates(shard, features, None if joint else theta.dense_D, gamma)
            if run.ranks.leads:
                writer.append(lists)
    run.ranks.wait()
    return CandidateStore.open(folder).arrays


def _learner(
    config: TrainConfig,
    size: int,
    lists: CandidateBatch,
    theta: Weights,
    spread_D: Floats,
    ranks: Ranks,
    scratch: Scratch,
) -> ListLearner:
    """The learner from the lists; what is computed from every candidate goes to scratch files."""
    settings = config.loss.lists
    rows_C = list(pieces(lists.candidates, AT_A_TIME))
    bleu = (sentence_bleu(lists.gain_CG[rows], settings.gain) / 100.0 for rows in rows_C)
    (gain_C,) = scratch.stored((part.astype(np.float32),) for part in bleu)
    if settings.joint:
        (dense_CD,) = scratch.stored(((lists.dense_CD[rows] / spread_D).astype(np.float32),) for rows in rows_C)
        lists = replace(lists, dense_CD=dense_CD)
    given = (
        lists.arrays(gain_C, parts=True, dense=settings.joint),
        lists.gain_CG,
        held_out(len(lists), settings.heldout_every),
        size,
        replace(settings, seed=config.seed),
        theta.dense_D * spread_D if settings.joint else None,
    )
    if config.device == "cpu":
        return ListLearner(*given, ranks)
    return DeviceListLearner(*given, device_of(config.device), ranks)


def gone_through(
    learner: ListLearner,
    checkpoint: Checkpoint,
    settings: ListsConfig,
    run: Run,
    first: int = 0,
    what: str = "sparse",
) -> list[EpochFigures]:
    """Learns until nothing changes; reports and returns the figures of every epoch.

    `first` is the step of the first epoch, `what` names what is learned.

    Raises:
        Stopped: the run was stopped; it resumes from the checkpoint.
    """
    figures: list[EpochFigures] = []
    epochs = learner.epochs(run.stops, checkpoint)
    for epoch in track(epochs, f"{what} weights, epoch", total=settings.epochs + 1, from_zero=True):
        figures.append(epoch)
        measured = {} if math.isnan(epoch.heldout_bleu) else {"BLEU": epoch.heldout_bleu}
        tell(loss=epoch.heldout_loss, **measured)
        reported = {
            "train_loss": epoch.train_loss if epoch.epoch else None,
            "heldout_loss": epoch.heldout_loss,
            "heldout_BLEU": measured.get("BLEU"),
            "active": epoch.active,
        }
        run.reporter.scalars(f"{what}/*", reported, first + epoch.epoch)
        heldout = ", ".join([f"held out {epoch.heldout_loss:.5f}", *(f"{n} {v:.2f}" for n, v in measured.items())])
        if epoch.epoch:
            learned = f"{heldout}, {epoch.active:,} features"
            log.info("epoch %d: loss %.5f, %s", epoch.epoch, epoch.train_loss, learned)
        else:
            log.info("before training: %s", heldout)
    if run.stops():
        raise Stopped
    return figures


def list_figures(figures: list[EpochFigures], lists: CandidateBatch) -> Json:
    """The summary of epochs over lists: held-out figures before the first and after the best."""
    best = min(figures, key=lambda one: one.heldout_loss)
    return {
        "list_sentences": len(lists),
        "list_epochs": len(figures) - 1,
        "list_heldout_BLEU": round(best.heldout_bleu, 4),
        "list_heldout_BLEU_before": round(figures[0].heldout_bleu, 4),
        "list_heldout_loss": round(best.heldout_loss, 6),
        "list_heldout_loss_before": round(figures[0].heldout_loss, 6),
        **{f"list_{key}": value for key, value in headroom(lists).items()},
    }


def sampled(
    shards: Iterable[CandidateBatch], lists: int, settings: FoldedListsConfig, seed: int
) -> Iterator[CandidateBatch]:
    """The lists of each shard that are in a sample of all lists, as large as the settings say."""
    first, wanted = 0, sample(lists, settings.sentences, seed)
    for shard in shards:
        begin, end = np.searchsorted(wanted, (first, first + len(shard)))
        yield shard if end - begin == len(shard) else shard.select(wanted[begin:end] - first)
        first += len(shard)


def sample(lists: int, wanted: int | None, seed: int) -> Ints:
    """A random sample of W lists or sentences, in order, (W,); all of them if `wanted` is None."""
    return np.sort(np.random.default_rng(seed).permutation(lists)[:wanted])


def check_lists(config: TrainConfig) -> None:
    """Checks how lists of the training text are made and learned from.

    Raises:
        InputError: settings that do not go together.
    """
    settings = config.loss.lists
    drawn = settings.candidates == "drawn"
    refuse_if(
        drawn and (settings.objective != "expected_bleu" or settings.joint),
        "sampled candidates only suit expected BLEU",
        f"loss.lists.objective={settings.objective}, joint={settings.joint}",
        "objective expected_bleu, joint false",
        "loss.lists.candidates=best",
    )
    refuse_if(
        settings.rounds > 1 and drawn,
        "further rounds of decoding need lists of the best",
        f"loss.lists.rounds={settings.rounds}, candidates={settings.candidates}",
        "loss.lists.rounds=1",
    )
    loss_of_lists(settings)
    Objective.of("bleu", settings.gain)
    refuse_if(
        settings.sentences is not None and settings.sentences < settings.heldout_every,
        "too few lists",
        f"loss.lists.sentences={settings.sentences}",
        f"{settings.heldout_every} or more, as some are held out",
    )

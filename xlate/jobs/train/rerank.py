"""xlate train model=rerank nbest=FILE: weights that rerank the n-best lists of any system (C6).

Float features are those of the list, its totals and features computed from the list as a whole; sparse ones are made
from the words. Both are learned together on the lists, by a loss or a tuner, with some lists held out; `xlate nbest
rescore FILE run=RUN` ranks other lists of the same system.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.candidates.nbest import NbestArrays
from xlate.config.schema import TrainConfig
from xlate.errors import InputError, refuse_if
from xlate.features.index import family_of
from xlate.jobs.ranking import FIRST, ORACLE, RERANKED, RankedLists, Reported, begin, ranking_objective, reported
from xlate.jobs.train.lists import gone_through
from xlate.jobs.train.recipe import Recipe, refuse_base, rounded, warn_if_all_zero
from xlate.jobs.train.tuning import optimiser
from xlate.kernels.learning.scores import sparse_scores
from xlate.learning.list_learner import ListLearner, lists_identity, loss_of_lists
from xlate.learning.run import Run
from xlate.metrics.bleu import ORDER
from xlate.models.rerank.lists import given_list
from xlate.models.rerank.ranker import KNOWN, SET
from xlate.models.run_files import made_with
from xlate.report.tables import Column, Table
from xlate.scoring.weights import Weights, save_weights
from xlate.settings import Json
from xlate.text.folders import write_json
from xlate.tuners.settings import TUNERS, PenaltyConfig
from xlate.work.stages import file_hash

KIND = "rerank"
# The tuner that learns no sparse weights.
FLOATS_ALONE = "mert"
# The initial weight of the totals: p of the list's order is sharp, but not certain, at the usual γ.
START = 0.05
log = logging.getLogger(__name__)


class RankTraining(Recipe):
    """Float and sparse weights learned together from given lists, some of which are held out."""

    @property
    def over_ranks(self) -> bool:  # type: ignore[override]
        return self.config.loss.lists is not None

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_base(config, "no base")
        refuse_if(
            config.nbest is None or not (config.references or ranking_objective(config).is_column),
            "training needs n-best lists and their references",
            f"nbest={config.nbest}, references={list(config.references)}",
            "both, or lists that have a column to learn for",
            "set nbest=FILE references=[FILE,…], or model.rerank.metric=column model.rerank.gain_column=NAME",
        )
        given_list(config)
        if config.loss.lists is not None:
            loss_of_lists(config.loss.lists)
            ranking_objective(config)
            return
        tune = config.loss.tune
        if tune is None:
            seen = f"loss={config.loss.name}"
            raise InputError(
                "ranking lists needs a loss over lists", seen, "loss=xbleu, or a tuner: " + ", ".join(TUNERS)
            )
        refuse_if(
            tune.metric != "bleu",
            "the tuner's metric differs from the model's",
            f"loss.tune.metric={tune.metric}",
            f"model.rerank.metric={tune.metric}",
        )
        seen = f"loss.tune.weights={tune.weights}"
        refuse_if(tune.weights, "training on lists learns all weights", seen, "no loss.tune.weights")
        optimiser(tune, np.ones(1, np.bool_), ranking_objective(config))

    def made_from(self) -> Json:
        """Checksums of the files."""
        config, rerank = self.config, self.config.model.rerank
        others = filter(None, (config.nbest_source, rerank.classes))
        files = [*given_list(config).files, *config.references, *others]
        return {"files": [file_hash(name) for name in files]}

    def made_with(self, run: Run) -> Json:  # noqa: ARG002
        """What the weights file says about how they were made."""
        return made_with(self.config.model)

    def learn(self, run: Run) -> Json:
        """Learns, and writes the weights and the words of the features."""
        given = RankedLists.read(self.config)
        start_D = begin(given.dense_names, START)
        found = self._tuned(given, start_D) if self.config.loss.lists is None else self._by_loss(given, start_D, run)
        weights = Weights(found.dense_D / given.spread_D, found.sparse_F / given.scale_F, given.dense_names)
        run.reporter.histogram("rerank/weights", weights.sparse_F[weights.sparse_F != 0], 0)
        write_json(run.path / KNOWN, given.known, indent=None)
        save_weights(run.weights, {SET: weights}, features={SET: given.features}, metadata=self.made_with(run))
        # Figures of the held-out lists, or of all lists if none were held out.
        chosen_I = given.heldout_I if given.heldout_I.any() else ~given.heldout_I
        part = "heldout" if given.heldout_I.any() else "training"
        if part == "training":
            log.warning(
                "no list was held out: these are scores on the training lists; loss.tune.heldout_every=N holds some out"
            )
        rows = np.flatnonzero(chosen_I)
        arrays = given.arrays.select(rows)
        chosen_C = np.repeat(chosen_I, np.diff(given.arrays.candidate_offsets_I1))
        every = given.batch.arrays(np.zeros(given.batch.candidates), parts=True)
        sparse_C = sparse_scores(every, np.ascontiguousarray(found.sparse_F, np.float64))
        score_C: Floats = (given.batch.dense_CD @ found.dense_D + sparse_C)[chosen_C]
        references = [given.references[row] for row in rows] if given.references else []
        measured = reported(arrays, references, score_C, self.config.model.rerank.gain_column)
        log.info("%s lists: %d\n%s", part, len(rows), measured.table(tuple(given.objective.weights)))
        shown = samples(given, rows[: self.config.samples], arrays, measured)
        run.reporter.text(f"samples/{part}", shown.markdown(), 0)
        return {
            "lists": len(given.batch),
            "heldout_lists": int(given.heldout_I.sum()),
            "active_features": weights.active,
            "weights": {"dense": rounded(weights)},
            **{f"{part}_{key}": value for key, value in measured.headroom().items()},
            f"{part}_rows": measured.to_json(),
        }

    def _by_loss(self, given: RankedLists, start_D: Floats, run: Run) -> Weights:
        """Weights of the scaled floats and the sparse features, by steps down a loss."""
        lists = self.config.loss.lists
        settings = replace(lists, seed=self.config.seed)
        arrays = given.batch.arrays(given.objective.sentences(given.batch.gain_CG), parts=True)
        bleu_CK = given.batch.gain_CG[:, : 2 + 2 * ORDER]
        learner = ListLearner(arrays, bleu_CK, given.heldout_I, len(given.features), settings, start_D, run.ranks)
        made_from = lists_identity(learner.lists, settings, len(given.features))
        checkpoint = run.checkpoint(made_from, "ranking.safetensors", refuses=False)
        gone_through(learner, checkpoint, lists, run, what=KIND)
        run.ranks.leave()
        checkpoint.remove()
        if len(given.features):
            warn_if_all_zero(learner.weights.sparse_F, f"loss.lists.rate={lists.rate:g}, {len(given.batch)} lists")
        learned = learner.weights
        return Weights(learned.dense_D.astype(np.float64), learned.sparse_F.astype(np.float64), given.dense_names)

    def _tuned(self, given: RankedLists, start_D: Floats) -> Weights:
        """The same by a tuner, which sees all lists at once except the held-out ones."""
        tune = self.config.loss.tune
        if isinstance(tune, PenaltyConfig):
            # The lists are not decoded again, so weights need not stay near those that they were decoded with.
            tune = replace(tune, step_penalty=0.0)
        start = Weights(start_D, np.zeros(len(given.features)), given.dense_names)
        if tune.name == FLOATS_ALONE and len(given.features):
            families = ", ".join(dict.fromkeys(family_of(name) for name in given.features.names_F))
            log.warning(
                "warning: loss=%s learns only float features: the weights of %d sparse features (%s) stay 0; "
                "loss=mira, pro or xbleu learns them; model.rerank.ngrams=0 model.rerank.length=false "
                "model.rerank.pairs=false model.rerank.given_sparse=false leaves them out",
                FLOATS_ALONE, len(given.features), families,
            )  # fmt: skip
        find = optimiser(tune, np.ones(len(start_D), np.bool_), given.objective)
        return find(given.batch.select(np.flatnonzero(~given.heldout_I)), start, self.config.seed)


def samples(given: RankedLists, rows: Ints, arrays: NbestArrays, found: Reported) -> Table:
    """The choices from the first lists of `arrays`, between their sources and their references, if known.

    `rows` are the places of these lists in `given`.
    """
    sources = [] if given.sources is None else [Column("source", [given.sources[row] for row in rows])]
    chosen = [Column(name, arrays.texts(found.chosen[name][: len(rows)])) for name in (FIRST, RERANKED, ORACLE)]
    references = [Column("reference", [given.references[row][0] for row in rows])] if given.references else []
    return Table([*sources, *chosen, *references])

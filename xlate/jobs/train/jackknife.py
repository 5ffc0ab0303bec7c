"""N-best lists of the training text, decoded in folds by systems that have not seen them (Auli et al. 2014, section 5).

The word alignment is that of the whole text; everything else in a fold's system is counted without the fold. Shards are
kept in the work directory under the identity of what they were made from: a killed run resumes with the first missing
shard, and runs that differ only in features or losses decode nothing.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from xlate.array_types import Ints
from xlate.arrays.ragged import offsets_of
from xlate.arrays.ranges import pieces
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, UnitFeatures, listed
from xlate.candidates.nbest import statistic_names
from xlate.candidates.store import CandidateStore, StoreWriter, is_whole, shard_path
from xlate.config.model_schema import ClassifierConfig
from xlate.config.schema import TrainConfig
from xlate.jobs.train.recipe import TrainPart
from xlate.learning.settings import SparseListsConfig
from xlate.machine import Stop, StopFlag, Stopped, never, until_stopped
from xlate.metrics.bleu import bleu_scores
from xlate.models.context.runs import classifier_runs, fold_classifier
from xlate.models.kind import ListedModel
from xlate.progress import track
from xlate.scoring.weights import Weights
from xlate.search.oracle import oracle
from xlate.search.processes import each_sentence
from xlate.search.settings import DecoderSettings
from xlate.settings import Json, plain
from xlate.text.folders import awaited
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory
from xlate.work.stages import identity_of

log = logging.getLogger(__name__)
# The shards of a fold that one task decodes, since opening the system of a fold takes a while.
PART = 16
# Lists whose headroom is measured at a time.
AT_A_TIME = 1000


@dataclass(frozen=True)
class Jackknife:
    """The lists of a work directory's training text.

    Attributes:
        work: the work directory.
        model: the one whose systems decode the folds.
        weights: the float weights to decode with, and sparse ones if there are `sparse`.
        decoder: search settings.
        settings: folds, list size, shard size, processes.
        seed: of the derivations that are drawn.
        sparse: the sparse features of the whole text's model; None to decode without.
    """

    work: WorkDirectory
    model: ListedModel
    weights: Weights
    decoder: DecoderSettings
    settings: SparseListsConfig
    seed: int = 1
    sparse: UnitFeatures | None = None

    def decode(self, stop: Stop = never) -> None:
        """Decodes every missing shard.

        Raises:
            Stopped: `stop` ended it early.
        """
        for fold in range(self.settings.folds):
            self.decode_part(fold, stop=stop)

    def missing(self) -> list[tuple[int, int]]:
        """The parts of folds that lack a shard: the fold, and the number of the first of `PART` shards."""
        return [
            (fold, first)
            for fold in range(self.settings.folds)
            for first in range(0, len(self._shards(fold)), PART)
            if not all(is_whole(path) for path, _ in self._shards(fold, first, PART))
        ]

    def decode_part(self, fold: int, first: int = 0, most: int | None = None, stop: Stop = never) -> None:
        """Decodes the missing ones of `most` shards of a fold; waits if another process is decoding them.

        Raises:
            Stopped: `stop` ended it early.
        """
        shards = self._shards(fold, first, most)
        with awaited(self.folder / f"fold-{fold}.{first}", stop):
            wanted = [(path, some) for path, some in shards if not is_whole(path)]
            if wanted:
                log.info("fold %d: %d of %d shards to decode", fold, len(wanted), len(shards))
                self._decode_fold(fold, wanted, stop)
            else:
                log.info("fold %d: all %d shards exist", fold, len(shards))
            # A process killed after its last shard has left the model.
            if all(path.exists() for path, _ in self._shards(fold)):
                self.model.discard(fold)

    def shards(self) -> Iterator[CandidateBatch]:
        """The lists of each shard, fold by fold, in the order of the sentences.

        Raises:
            InputError: a shard is missing or damaged.
        """
        for fold in range(self.settings.folds):
            for path, _ in self._shards(fold):
                yield CandidateStore.open(path, mapped=False).arrays

    @property
    def identity(self) -> str:
        """What the lists were made from."""
        # Sentences of lists are never cut.
        search = {k: v for k, v in plain(self.decoder).items() if v is not None and k != "max_words"}
        nbest = self.settings.nbest
        models: Json = {"search": search, "weights": self.weights.dense_D.tolist(), "nbest": nbest}
        if self._draw is not None:
            models["draw"] = asdict(self._draw)
        if self.sparse is not None:
            models["sparse"] = [list(row) for row in self.sparse.sizes]
            models["phi"] = hashlib.sha256(self.weights.sparse_F.tobytes()).hexdigest()
        return identity_of({**models, "on": self.model.identity, "shard": self.settings.shard, "version": 3})

    @property
    def folder(self) -> Path:
        """Where the shards are."""
        return self.work.path / "lists" / self.identity[:16]

    @property
    def _draw(self) -> Draw | None:
        if self.settings.candidates == "best":
            return None
        return Draw(self.settings.nbest, self.settings.gamma, self.seed)

    def _shards(self, fold: int, first: int = 0, most: int | None = None) -> list[tuple[Path, Ints]]:
        size, rows = self.settings.shard, np.flatnonzero(self.model.fold_I == fold)
        cuts = [rows[at] for at in pieces(len(rows), size)]
        shards = [(shard_path(self.folder / f"fold-{fold}", n), some) for n, some in enumerate(cuts)]
        return shards[first:][:most]

    def _decode_fold(self, fold: int, wanted: Sequence[tuple[Path, Ints]], stop: Stop) -> None:
        if stop():
            raise Stopped
        system = self.model.opened(fold, self.weights, self.sparse, self.decoder)
        decoder = system.decoder.with_search(nbest=self.settings.nbest)
        hypotheses = partial(system.hypotheses, draw=self._draw)
        for path, some in wanted:
            start = time.perf_counter()
            sentences = [self.work.training_sentence(s) for s in some.tolist()]
            decoded = each_sentence(decoder, hypotheses, sentences, self.settings.processes)
            found = [*until_stopped(track(decoded, f"fold {fold}", total=len(sentences)), stop)]
            references = [self.work.training_references(s) for s in some.tolist()]
            text = EncodedText.from_ids(chain.from_iterable(references))
            lists = listed(found, text, offsets_of([*map(len, references)]), some)
            figures = {"seconds": round(time.perf_counter() - start, 2), **headroom(lists)}
            with StoreWriter(path, system.columns, 0, statistic_names(), figures) as writer:
                writer.append(lists)
            log.info("%s: %s", path.relative_to(self.folder), ", ".join(f"{k} {v}" for k, v in figures.items()))


def headroom(lists: CandidateBatch) -> Json:
    """The number of lists and hypotheses, and BLEU of the first and of the best hypotheses."""
    sizes = np.diff(lists.candidate_offsets_I1)
    offsets_I1 = offsets_of(sizes[sizes > 0])
    sums_2K = np.zeros((2, lists.gain_CG.shape[1]))
    for some in pieces(len(offsets_I1) - 1, AT_A_TIME):
        ends = offsets_I1[some.start : some.stop + 1]
        # Sums over a large text need more than single precision.
        statistics_CK = lists.gain_CG[ends[0] : ends[-1]].astype(np.float64)
        # The hypotheses of highest BLEU+1: climbing further takes longer than decoding.
        best = oracle(statistics_CK, ends - ends[0], passes=0)
        for row, rows in enumerate((ends[:-1] - ends[0], best.chosen_I)):
            sums_2K[row] += statistics_CK[rows].sum(axis=0)
    first_BLEU, oracle_BLEU = bleu_scores(sums_2K).tolist()
    return {
        "sentences": len(sizes),
        "hypotheses": lists.candidates,
        "first_BLEU": round(first_BLEU, 2),
        "oracle_BLEU": round(oracle_BLEU, 2),
    }


def fold_classifiers(config: TrainConfig, use: ClassifierConfig | None, train_part: TrainPart, stop: StopFlag) -> None:
    """Trains the missing classifiers that have not seen a fold.

    Args:
        config: has the work directory and the folds.
        use: the classifiers of the whole text; those without a fold are trained like them.
        train_part: trains one.
        stop: of the training that they are a part of.
    """
    lists, work = config.loss.lists, config.work_directory
    for trained in classifier_runs(use):
        for fold in range(lists.folds):
            part, folder = fold_classifier(trained, work, (fold, lists.folds))
            log.info("the classifier of %s without fold %d: %s", trained, fold, folder)
            with awaited(folder, stop.__bool__):
                train_part(part, folder, stop)

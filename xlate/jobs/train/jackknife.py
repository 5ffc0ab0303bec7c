"""N-best lists of the training text, decoded in folds by systems that have not seen them (Auli et al. 2014, section 5).

The word alignment is that of the whole text; phrases, reordering and language model of a fold's system are counted
without the fold. Models and shards are kept in the work directory under what they were made from: a run that was killed
goes on with the first shard that is missing, and runs that differ only in features or losses decode nothing.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.ragged import offsets_of
from xlate.candidates.part_shards import PartShard, is_whole, read_shard, write_shard
from xlate.config.loss_schema import ListsConfig
from xlate.config.schema import DecoderConfig
from xlate.features.phrase_sparse import SparseFeatures
from xlate.features.sparse_sets import signature
from xlate.features.sparse_subset import features_of_subset
from xlate.jobs.phrase_models import phrase_decoder
from xlate.jobs.prepare.fold_models import FoldModels, WholeRows
from xlate.jobs.prepare.stages import identity_of
from xlate.jobs.prepare.work import WorkDirectory
from xlate.kernels.counting.ngram_statistics import list_statistics
from xlate.metrics.bleu import ORDER
from xlate.models.phrase.list_arrays import Draw, ListArrays, list_arrays
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.parallel import each_sentence
from xlate.models.phrase.store import load_phrase_model
from xlate.progress import track
from xlate.scoring.weights import Weights
from xlate.search.nbest_oracle import first_best, oracle
from xlate.text.encoded import EncodedText
from xlate.text.locks import StoppedWaitingError, awaited

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Jackknife:
    """The lists of a work directory's training text.

    Attributes:
        work: the work directory.
        reordering: kind of the reordering model, as in `phrase_stage`.
        weights: float weights to decode with, sparse ones too when there are `sparse`.
        decoder: search settings.
        settings: folds, list size, shard size, processes.
        seed: of derivations that are drawn.
        sparse: the sparse features of the whole text's model, None to decode without.
    """

    work: WorkDirectory
    reordering: str
    weights: Weights
    decoder: DecoderConfig
    settings: ListsConfig
    seed: int = 1
    sparse: SparseFeatures | None = None

    def decode(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Decodes every shard that is not there; False when `stop` said so before the end.

        A fold that another process decodes is waited for.
        """
        fold_I = self.models.fold_I
        for fold in range(self.settings.folds):
            if self.settings.machine is not None and fold % self.settings.machines != self.settings.machine:
                continue
            shards = self._shards(fold, np.flatnonzero(fold_I == fold))
            try:
                with awaited(self.folder / f"fold-{fold}", stop):
                    if not self._decode_shards(fold, shards, stop):
                        return False
            except StoppedWaitingError:
                return False
        return True

    def _decode_shards(
        self, fold: int, shards: Sequence[tuple[Path, NDArray[np.int64]]], stop: Callable[[], bool]
    ) -> bool:
        wanted = [(path, some) for path, some in shards if not is_whole(path)]
        if not wanted:
            log.info("fold %d: %d shards, all there", fold, len(shards))
            # Killed behind its last shard, a process has left the model.
            self.models.discard(fold)
            return True
        log.info("fold %d: %d of %d shards to decode", fold, len(wanted), len(shards))
        return not stop() and self._decode_fold(fold, wanted, stop)

    def lists(self) -> PartShard:
        """All lists together, in the order of the sentences.

        Raises:
            InputError: a shard is missing.
        """
        shards = []
        for fold in range(self.settings.folds):
            shards += [read_shard(path) for path, _ in self._shards(fold, np.flatnonzero(self.models.fold_I == fold))]
        return PartShard.joined(shards)

    @property
    def identity(self) -> str:
        """What the lists were made from."""
        # Sentences of lists are never cut.
        search = {k: v for k, v in asdict(self.decoder).items() if v is not None and k != "max_words"}
        models: dict[str, Any] = {
            "search": search,
            "weights": self.weights.dense_D.tolist(),
            "nbest": self.settings.nbest,
        }
        if self._draw is not None:
            models["draw"] = asdict(self._draw)
        if self.sparse is not None:
            models["sparse"] = [list(row) for row in signature(self.sparse)]
            models["phi"] = hashlib.sha256(self.weights.sparse_F.tobytes()).hexdigest()
        return identity_of({**models, "on": self.models.identity, "shard": self.settings.shard, "version": 1})

    @property
    def folder(self) -> Path:
        """Where the shards are."""
        return self.work.path / "lists" / self.identity[:16]

    @property
    def _draw(self) -> Draw | None:
        if self.settings.candidates == "best":
            return None
        return Draw(self.settings.nbest, self.settings.gamma, self.seed)

    @cached_property
    def models(self) -> FoldModels:
        """The models that decode the folds."""
        return FoldModels(self.work, self.reordering, self.settings.folds)

    def _shards(self, fold: int, rows: NDArray[np.int64]) -> list[tuple[Path, NDArray[np.int64]]]:
        size = self.settings.shard
        cuts = [rows[start : start + size] for start in range(0, len(rows), size)]
        return [(self.folder / f"fold-{fold}" / f"shard-{n:04}.npz", some) for n, some in enumerate(cuts)]

    def _decode_fold(
        self, fold: int, wanted: Sequence[tuple[Path, NDArray[np.int64]]], stop: Callable[[], bool]
    ) -> bool:
        with self.models.kept(fold):
            stage = self.models.stage(fold)
            model = load_phrase_model(stage.folder / "model")
        rows = self.models.whole_rows(model.table)
        model, weights = self._with_sparse(model, rows)
        decoder = phrase_decoder(model, weights, self.decoder, nbest=self.settings.nbest)
        arrays_of = partial(list_arrays, draw=self._draw)
        source, words = self.models.source, self.work.source_vocabulary
        for path, some in wanted:
            start = time.perf_counter()
            sentences = [[words.word(w) for w in source[s].tolist()] for s in some.tolist()]
            found = []
            decoded = each_sentence(decoder, arrays_of, sentences, self.settings.processes)
            for arrays in track(decoded, f"fold {fold}", total=len(sentences)):
                if stop():
                    return False
                found.append(arrays)
            shard = self._shard(found, some, rows.pair_B)
            figures = {"seconds": round(time.perf_counter() - start, 2), **headroom(shard)}
            write_shard(path, shard, figures)
            log.info("%s: %s", path.relative_to(self.folder), ", ".join(f"{k} {v}" for k, v in figures.items()))
        self.models.discard(fold)
        return True

    def _with_sparse(self, model: PhraseModel, rows: WholeRows) -> tuple[PhraseModel, Weights]:
        """A fold's model with the sparse features of its pairs, and their weights."""
        if self.sparse is None:
            return model, self.weights
        features, ids_F = features_of_subset(self.sparse, model.table, *rows)
        return replace(model, sparse=features), replace(self.weights, sparse_F=self.weights.sparse_F[ids_F])

    def _shard(self, found: Sequence[ListArrays], rows: NDArray[np.int64], pair_B: NDArray[np.int64]) -> PartShard:
        sizes = [len(arrays.features_CD) for arrays in found]
        candidate_offsets_I1 = offsets_of(sizes)
        references = EncodedText.from_ids(self.models.target[s] for s in rows.tolist())
        statistics = list_statistics(
            np.concatenate([arrays.words_T for arrays in found]),
            offsets_of(np.concatenate([np.diff(arrays.offsets_C1) for arrays in found])),
            candidate_offsets_I1,
            references.ids_T,
            references.offsets_S1,
            np.arange(len(rows) + 1),
            ORDER,
        )
        phrase_P12 = np.concatenate([arrays.phrase_P12 for arrays in found])
        known = phrase_P12[:, 0] >= 0
        # A pair of the fold's table by its number in the table of the whole text.
        phrase_P12[known, 0] = pair_B[phrase_P12[known, 0]]
        return PartShard(
            rows,
            candidate_offsets_I1,
            np.concatenate([arrays.features_CD for arrays in found]),
            statistics.astype(np.int16),
            np.concatenate([arrays.draws_C for arrays in found]),
            offsets_of([len(arrays.phrase_P12) for arrays in found]),
            offsets_of(np.concatenate([np.diff(arrays.part_offsets_C1) for arrays in found])),
            np.concatenate([arrays.parts_K for arrays in found]),
            phrase_P12,
            offsets_of(np.concatenate([arrays.between_lengths_P for arrays in found])),
            np.concatenate([arrays.between_T for arrays in found]),
        )


def headroom(shard: PartShard) -> dict[str, Any]:
    """How many lists and hypotheses, and BLEU of the first and of the best hypotheses."""
    sizes = np.diff(shard.candidate_offsets_I1)
    offsets_I1 = offsets_of(sizes[sizes > 0])
    # The hypotheses of highest BLEU+1: climbing further takes longer than decoding.
    best = oracle(shard.statistics_CK, offsets_I1, passes=0)
    first = first_best(shard.statistics_CK.astype(np.float64), offsets_I1)
    return {
        "sentences": len(sizes),
        "hypotheses": len(shard.statistics_CK),
        "first_BLEU": round(first.bleu, 2),
        "oracle_BLEU": round(best.bleu, 2),
    }

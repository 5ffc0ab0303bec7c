"""N-best lists of the training text, decoded in folds by systems that have not seen them (Auli et al. 2014, section 5).

The word alignment is that of the whole text; phrases, reordering and language model of a fold's system are counted
without the fold. Models and shards are kept in the work directory under what they were made from: a run that was killed
goes on with the first shard that is missing, and runs that differ only in features or losses decode nothing.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xlate.align.lexical import lexical_table
from xlate.align.links import Links, read_links
from xlate.candidates.batch import offsets_of
from xlate.candidates.part_shards import PartShard, is_whole, read_shard, write_shard
from xlate.config.schema import DecoderConfig, ListsConfig
from xlate.decode.phrase import PhraseDecoder
from xlate.decode.phrase_lists import target_ids
from xlate.decode.phrase_model import PhraseModel, Reordering
from xlate.decode.phrase_parallel import each_sentence
from xlate.decode.phrase_store import load_phrase_model, save_phrase_model
from xlate.kernels.ngram_statistics import list_statistics
from xlate.kernels.spans import find_rows
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.metrics.bleu import ORDER, bleu_scores
from xlate.metrics.sentence_bleu import sentence_bleu
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import phrase_finder
from xlate.phrases.reordering import reordering_counts, reordering_probabilities
from xlate.phrases.table import PhraseTable, ragged_rows, score_phrases
from xlate.progress import track
from xlate.recipes.phrase_models import phrase_decoder
from xlate.recipes.stages import Stage, identity_of, read_stage, run_stage
from xlate.recipes.work import WorkDirectory
from xlate.scoring.weights import Weights
from xlate.text.encoded import EncodedText

log = logging.getLogger(__name__)


class ListArrays(NamedTuple):
    """The list of one sentence: features, numbered target words, and the phrases as in `PartShard`."""

    features_CD: NDArray[np.float32]
    offsets_C1: NDArray[np.int64]
    words_T: NDArray[np.int32]
    part_offsets_C1: NDArray[np.int64]
    parts_K: NDArray[np.int32]
    phrase_P12: NDArray[np.int32]
    between_lengths_P: NDArray[np.int64]
    between_T: NDArray[np.int32]


@dataclass(frozen=True)
class Jackknife:
    """The lists of a work directory's training text.

    Attributes:
        work: the work directory.
        reordering: kind of the reordering model, as in `phrase_stage`.
        weights: float weights to decode with.
        decoder: search settings.
        settings: folds, list size, shard size, processes.
    """

    work: WorkDirectory
    reordering: str
    weights: Weights
    decoder: DecoderConfig
    settings: ListsConfig

    def decode(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Decodes every shard that is not there; False when `stop` said so before the end."""
        fold_I = self.fold_I
        for fold in range(self.settings.folds):
            if self.settings.part is not None and fold % self.settings.parts != self.settings.part:
                continue
            rows = np.flatnonzero(fold_I == fold)
            shards = self._shards(fold, rows)
            wanted = [(path, some) for path, some in shards if not is_whole(path)]
            if not wanted:
                log.info("fold %d: %d shards, all there", fold, len(shards))
                continue
            log.info("fold %d: %d of %d shards to decode", fold, len(wanted), len(shards))
            if stop() or not self._decode_fold(fold, wanted, stop):
                return False
        return True

    def lists(self) -> PartShard:
        """All lists together, in the order of the sentences.

        Raises:
            InputError: a shard is missing.
        """
        shards = []
        for fold in range(self.settings.folds):
            shards += [read_shard(path) for path, _ in self._shards(fold, np.flatnonzero(self.fold_I == fold))]
        return PartShard.joined(shards)

    @property
    def identity(self) -> str:
        """What the lists were made from."""
        search = {k: v for k, v in asdict(self.decoder).items() if v is not None}
        models = {"search": search, "weights": self.weights.dense_D.tolist(), "nbest": self.settings.nbest}
        return identity_of({**models, "on": self._models_identity, "shard": self.settings.shard, "version": 1})

    @property
    def folder(self) -> Path:
        """Where the shards are."""
        return self.work.path / "lists" / self.identity[:16]

    @cached_property
    def fold_I(self) -> NDArray[np.int64]:
        """The fold of each sentence pair: folds are blocks of neighbouring pairs, since neighbours may be alike."""
        sentences = len(self._source)
        return np.arange(sentences) * self.settings.folds // max(sentences, 1)

    def _shards(self, fold: int, rows: NDArray[np.int64]) -> list[tuple[Path, NDArray[np.int64]]]:
        size = self.settings.shard
        cuts = [rows[start : start + size] for start in range(0, len(rows), size)]
        return [(self.folder / f"fold-{fold}" / f"shard-{n:04}.npz", some) for n, some in enumerate(cuts)]

    def _decode_fold(
        self, fold: int, wanted: Sequence[tuple[Path, NDArray[np.int64]]], stop: Callable[[], bool]
    ) -> bool:
        stage = self.fold_stage(fold)
        model = load_phrase_model(stage.folder / "model")
        pair_B = _same_pairs(model.table, self._table)
        decoder = phrase_decoder(model, self.weights, self.decoder, nbest=self.settings.nbest)
        source, words = self._source, self.work.source_vocabulary
        for path, rows in wanted:
            start = time.perf_counter()
            sentences = [[words.word(w) for w in source[s].tolist()] for s in rows.tolist()]
            found = []
            decoded = each_sentence(decoder, list_arrays, sentences, self.settings.processes)
            for arrays in track(decoded, f"fold {fold}", total=len(sentences)):
                if stop():
                    return False
                found.append(arrays)
            shard = self._shard(found, rows, pair_B)
            figures = {"seconds": round(time.perf_counter() - start, 2), **headroom(shard)}
            write_shard(path, shard, figures)
            log.info("%s: %s", path.relative_to(self.folder), ", ".join(f"{k} {v}" for k, v in figures.items()))
        # A fold's model is large and made in seconds.
        shutil.rmtree(stage.folder)
        return True

    def _shard(self, found: Sequence[ListArrays], rows: NDArray[np.int64], pair_B: NDArray[np.int64]) -> PartShard:
        sizes = [len(arrays.features_CD) for arrays in found]
        candidate_offsets_I1 = offsets_of(sizes)
        references = EncodedText.from_ids(self._target[s] for s in rows.tolist())
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
            offsets_of([len(arrays.phrase_P12) for arrays in found]),
            offsets_of(np.concatenate([np.diff(arrays.part_offsets_C1) for arrays in found])),
            np.concatenate([arrays.parts_K for arrays in found]),
            phrase_P12,
            offsets_of(np.concatenate([arrays.between_lengths_P for arrays in found])),
            np.concatenate([arrays.between_T for arrays in found]),
        )

    def fold_stage(self, fold: int) -> Stage:
        """The model of everything but a fold, made when it is not there."""
        name = f"folds/{self._models_identity[:16]}/{fold}"
        settings = {"on": self._models_identity, "fold": fold, "version": 1}
        return run_stage(self.work.path, name, settings, lambda folder: self._build(fold, folder))

    @property
    def _models_identity(self) -> str:
        on = [read_stage(self.work.path, name).identity for name in ("phrases", "lm")]
        return identity_of({"on": on, "folds": self.settings.folds, "reordering": self.reordering, "version": 1})

    def _build(self, fold: int, folder: Path) -> dict[str, Any]:
        kept = np.flatnonzero(self.fold_I != fold)
        source, target = _rows(self._source, kept), _rows(self._target, kept)
        links = _rows_of_links(self._links, kept)
        table = score_phrases(
            extract_phrases(source, target, links, self._max_length), lexical_table(source, target, links)
        )
        # Pairs that the whole text's table lacks were filtered there.
        table = table.select(_same_pairs(table, self._table) >= 0)
        reordering = None
        if self.reordering != "none":
            counts = reordering_counts(table, source, target, links, self.reordering, self._max_length)
            kind = self.reordering if self.reordering.startswith("hier") else "wbe"
            reordering = Reordering(kind, reordering_probabilities(counts))
        order = int(read_stage(self.work.path, "lm").figures["order"])
        lm = NgramModel.from_arpa(estimate(target, self.work.target_vocabulary, order))
        model = PhraseModel(table, self.work.source_vocabulary, self.work.target_vocabulary, lm, reordering)
        save_phrase_model(folder / "model", model)
        return {"pairs": len(table), "sentences": len(kept)}

    @cached_property
    def _source(self) -> EncodedText:
        return self.work.training_text("source")

    @cached_property
    def _target(self) -> EncodedText:
        return self.work.training_text("target")

    @cached_property
    def _links(self) -> Links:
        lengths = [np.diff(text.offsets_S1).tolist() for text in (self._source, self._target)]
        return read_links(self.work.path / "align" / "links.gz", *lengths)

    @cached_property
    def _max_length(self) -> int:
        made = json.loads((self.work.path / "phrases" / "stage.json").read_text(encoding="utf-8"))
        return int(made["made_from"]["max_length"])

    @cached_property
    def _table(self) -> PhraseTable:
        return PhraseTable.load(self.work.path / "phrases" / "table")


def list_arrays(decoder: PhraseDecoder, words: Sequence[str]) -> ListArrays:
    """The n-best list of a sentence as arrays that can be sent from one process to another."""
    found = decoder.nbest_list(words)
    options, paths, parts = found.moves.options, found.paths, found.told_apart()
    offsets_O1, ids_W = options.phrases.offsets_O1, target_ids(decoder.model, options)
    lengths_L = (offsets_O1[1:] - offsets_O1[:-1])[paths.labels_L]
    applications, groups = parts.applications, parts.groups
    columns = [*vars(applications).values(), groups.orientation_N]
    columns += [groups.source_first_N, groups.source_last_N, groups.target_first_N, groups.target_last_N]
    ends_L1 = offsets_of(lengths_L)
    return ListArrays(
        found.features_ND.astype(np.float32),
        ends_L1[paths.offsets_N1],
        ids_W[ragged_rows(offsets_O1, paths.labels_L)],
        paths.offsets_N1,
        parts.part_L,
        np.stack(columns, axis=1).astype(np.int32),
        np.diff(groups.between_offsets_N1),
        np.asarray(groups.between_T, dtype=np.int32),
    )


def headroom(shard: PartShard) -> dict[str, Any]:
    """How many lists and hypotheses, and BLEU of the first and of the best hypotheses."""
    statistics_CK, offsets = shard.statistics_CK.astype(np.float64), shard.candidate_offsets_I1
    gain_C = sentence_bleu(statistics_CK)
    full = np.flatnonzero(np.diff(offsets) > 0)
    best = [int(offsets[i] + gain_C[offsets[i] : offsets[i + 1]].argmax()) for i in full.tolist()]
    firsts, oracles = statistics_CK[offsets[full]].sum(axis=0), statistics_CK[best].sum(axis=0)
    scores = [round(float(bleu_scores(sums[None])[0]), 2) for sums in (firsts, oracles)]
    return {
        "sentences": len(offsets) - 1,
        "hypotheses": len(statistics_CK),
        "first_BLEU": scores[0],
        "oracle_BLEU": scores[1],
    }


def _same_pairs(table: PhraseTable, whole: PhraseTable) -> NDArray[np.int64]:
    """The number in `whole` of each pair of a table over the same vocabularies, -1 where there is none."""
    source_P = _same_phrases(table.source_phrases, whole.source_phrases)
    target_Q = _same_phrases(table.target_phrases, whole.target_phrases)
    keys_B = _pair_keys(source_P[table.source_B], target_Q[table.target_B])
    known = _pair_keys(np.asarray(whole.source_B), np.asarray(whole.target_B))
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], keys_B), len(known) - 1)
    found: NDArray[np.int64] = np.where(known[order][place] == keys_B, order[place], -1)
    return found


def _pair_keys(source_B: NDArray[Any], target_B: NDArray[Any]) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = (source_B.astype(np.int64) << 32) | (target_B.astype(np.int64) & 0xFFFFFFFF)
    return keys


def _same_phrases(phrases: EncodedText, whole: EncodedText) -> NDArray[np.int64]:
    """The row in `whole` of each phrase, -1 where there is none."""
    finder = phrase_finder(whole)
    return find_rows(finder, np.asarray(phrases.ids_T), np.asarray(phrases.offsets_S1))


def _rows(text: EncodedText, rows: NDArray[np.int64]) -> EncodedText:
    return EncodedText(text.ids_T[ragged_rows(text.offsets_S1, rows)], offsets_of(np.diff(text.offsets_S1)[rows]))


def _rows_of_links(links: Links, rows: NDArray[np.int64]) -> Links:
    places = ragged_rows(links.offsets_S1, rows)
    return Links(links.source_L[places], links.target_L[places], offsets_of(np.diff(links.offsets_S1)[rows]))

"""xlate train model=rerank nbest=FILE: weights that rank the n-best lists of any system anew (C6).

Float features are those of the list and its totals; sparse ones are made from the words. Both are learned together on
the lists, some of which are held out; `xlate nbest rescore FILE run=RUN` ranks other lists of the same system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.align.model1 import Model1
from xlate.arrays.ragged import offsets_of
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.nbest_columns import NbestArrays
from xlate.candidates.nbest_store import NbestCandidates, nbest_candidates, reference_rows
from xlate.candidates.spread import spread_within_lists
from xlate.config.model_schema import RerankConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import InputError
from xlate.features.hypothesis_text import TextTemplates
from xlate.features.named import GrowingFeatures, NamedFeatures
from xlate.formats.nbest_file import NbestFile
from xlate.jobs.prepare.stages import file_hash
from xlate.jobs.ranking.given import ListText, given_list
from xlate.jobs.run_weights import made_with, weights_of
from xlate.jobs.train.list_settings import list_settings
from xlate.jobs.train.warnings import warn_if_all_zero
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.sentence_bleu import sentence_bleu
from xlate.progress import track
from xlate.scoring.weights import Weights, save_weights
from xlate.search.nbest_oracle import first_best, oracle
from xlate.text.classes import read_classes
from xlate.text.encoded import EncodedText
from xlate.text.json_files import Fields, read_json, write_json
from xlate.text.lines import read_lines
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import Vocabulary
from xlate.train.list_checkpoint import ListCheckpoint, lists_identity
from xlate.train.list_learner import ListLearner
from xlate.train.run import Run

KIND = "rerank"
# The total cannot be taken for a feature: names have no blanks.
SET, TOTAL, KNOWN = "rerank", "total score", "words.json"
# Where the weight of the totals starts: p of the list's order is sharp, but not certain, at the usual γ.
START = 0.05


class RankTraining:
    """Float and sparse weights learned together from given lists, some of which are held out."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config

    def made_from(self) -> Mapping[str, Any]:
        """Checksums of the files."""
        config = self.config
        assert config.nbest is not None
        assert config.model.rerank is not None
        beside = filter(None, (config.nbest_source, config.model.rerank.classes))
        files = [*given_list(config, config.nbest).files, *config.references, *beside]
        return {"files": [file_hash(name) for name in files]}

    def learn(self, run: Run) -> dict[str, Any] | None:
        """Learns, and writes the weights and the words they are about."""
        config, lists = self.config, self.config.loss.lists
        assert lists is not None
        given = RankedLists.read(config)
        learner = given.learner(config)
        size = len(given.features)
        made_from = lists_identity(learner.lists, learner.settings, size)
        checkpoint = ListCheckpoint(run.checkpoint("ranking.safetensors"), made_from, run.checkpoint_seconds)
        for epoch in track(learner.epochs(run.stop.__bool__, checkpoint), "ranking", total=lists.epochs + 1):
            run.reporter.scalar("rerank/heldout_loss", epoch.heldout_loss, epoch.epoch)
            run.reporter.scalar("rerank/heldout_BLEU", epoch.heldout_bleu, epoch.epoch)
        if run.stop:
            return None
        weights = given.weights(learner)
        if len(given.features):
            warn_if_all_zero(weights.sparse_F, f"loss.lists.rate={lists.rate:g}, {len(given.batch)} lists")
        run.reporter.histogram("rerank/weights", weights.sparse_F[weights.sparse_F != 0], lists.epochs)
        write_json(run.path / KNOWN, {"lexicon": given.lexicon, "classes": given.classes}, indent=None)
        metadata = made_with(config.model)
        save_weights(run.weights, {SET: weights}, features={SET: given.features}, metadata=metadata)
        checkpoint.remove()
        measured = headroom(learner, given.batch.gain_CG, given.arrays, given.heldout_I)
        return {
            "lists": len(given.batch),
            "heldout_lists": int(given.heldout_I.sum()),
            "active_features": weights.active,
            **{f"heldout_{k}": v for k, v in measured.items()},
        }


@dataclass(frozen=True)
class RankedLists:
    """Lists that a run learns from.

    Attributes:
        arrays: the lists as they were read.
        batch: candidates; floats are divided by `spread_D`, how much they vary within lists.
        features: the sparse features; dense_names: of the dense ones.
        heldout_I: which lists are held out.
        lexicon, classes: what the features know of words.
    """

    arrays: NbestArrays
    batch: CandidateBatch
    features: NamedFeatures
    dense_names: tuple[str, ...]
    spread_D: NDArray[np.float64]
    heldout_I: NDArray[np.bool_]
    lexicon: dict[str, dict[str, float]] | None
    classes: Mapping[str, str]

    @classmethod
    def read(cls, config: TrainConfig) -> RankedLists:
        """The lists and references that a configuration names, with their features.

        Raises:
            InputError: what reading them raises.
        """
        rerank, lists = config.model.rerank, config.loss.lists
        assert rerank is not None
        assert lists is not None
        arrays, text = ListText.read(given_list(config, str(config.nbest)), config.nbest_source, config.first_id)
        references = [read_lines(path) for path in config.references]
        listed = nbest_candidates(arrays, references, config.first_id)
        heldout_I = np.arange(len(arrays.sentence_I)) % lists.heldout_every == lists.heldout_every - 1
        lexicon = _lexicon(config, text, references, arrays, ~heldout_I)
        classes = read_classes(rerank.classes) if rerank.classes else {}
        features, ids = _batch(text, _templates(rerank, classes, lexicon), rerank.min_lists, ~heldout_I)
        dense_names, dense_CD = _floats(arrays, listed)
        spread_D = spread_within_lists(dense_CD, arrays.candidate_offsets_I1)
        floats_CD = (dense_CD / spread_D).astype(np.float32)
        batch = CandidateBatch(arrays.candidate_offsets_I1, floats_CD, listed.batch.gain_CG, *ids)
        return cls(arrays, batch, features, dense_names, spread_D, heldout_I, lexicon, classes)

    def learner(self, config: TrainConfig) -> ListLearner:
        """What learns from them."""
        lists = config.loss.lists
        assert lists is not None
        begin_D = np.where(np.array(self.dense_names) == TOTAL, START, 0.0)
        gain_C = sentence_bleu(self.batch.gain_CG, lists.gain) / 100.0
        arrays, settings = self.batch.arrays(gain_C, parts=True), list_settings(lists, config.seed)
        return ListLearner(arrays, self.batch.gain_CG, self.heldout_I, len(self.features), settings, begin_D)

    def weights(self, learner: ListLearner) -> Weights:
        """What was learned, of the floats as the lists have them."""
        dense_D, sparse_F = learner.weights.dense_D / self.spread_D, learner.weights.sparse_F.astype(np.float64)
        return Weights(dense_D, sparse_F, self.dense_names)


def rerank_scores(run: Path, nbest: NbestFile, source: str | None, first_id: int | None) -> NDArray[np.float64]:
    """The scores that a run gives the hypotheses of a list, (C,).

    Raises:
        InputError: not a finished run of this kind, or a list without the floats it was trained with.
    """
    config = config_of_run(run)
    if config.model.rerank is None:
        raise InputError("not a run that ranks lists", file=run, seen=config.model.kind, expected="model=rerank")
    file = weights_of(run, config)
    weights, sparse = file.sets[SET], {name: weight for _, name, weight in file.learned(SET)}
    fields: Fields = {"classes": dict, "lexicon": (dict, type(None))}
    known = read_json(run / KNOWN, "the words a ranking run knows", "train the run again", fields)
    arrays, text = ListText.read(nbest, source, first_id)
    scores: list[float] = []
    for rows in text.features(_templates(config.model.rerank, known["classes"], known["lexicon"])):
        scores += [sum(sparse[name] * count for name, count in row.items() if name in sparse) for row in rows]
    floats = dict(zip(weights.dense_names, weights.dense_D.tolist(), strict=True))
    missing = [name for name in floats if name != TOTAL and name not in arrays.names]
    if TOTAL in floats and not np.isfinite(arrays.total_C).all():
        missing.append(TOTAL)
    if missing:
        raise InputError(
            "the list lacks features",
            file=nbest.path,
            seen=", ".join(missing[:5]),
            expected="what the run was trained with: " + ", ".join(floats),
            remedy="give lists of the same system",
        )
    totals_C = arrays.total_C if TOTAL in floats else np.zeros(len(arrays.total_C))
    with np.errstate(over="ignore", invalid="ignore"):
        score_C: NDArray[np.float64] = np.array(scores) + arrays.scores(floats) + floats.get(TOTAL, 0.0) * totals_C
    return arrays.finite(score_C)


def headroom(
    learner: ListLearner, statistics_CK: NDArray[Any], arrays: NbestArrays, chosen_I: NDArray[np.bool_]
) -> dict[str, float]:
    """BLEU of the first, the ranked and the best hypotheses of some lists, and the share of the way that was gone."""
    rows, offsets = np.flatnonzero(chosen_I), arrays.candidate_offsets_I1
    _, best_I = learner.best(rows)
    places = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in rows])
    local = np.concatenate([[0], np.cumsum(np.diff(offsets)[rows])])
    some_CK = statistics_CK[places]
    totals = arrays.total_C[places] if np.isfinite(arrays.total_C).all() else None
    first, top = first_best(some_CK, local, totals).bleu, oracle(some_CK, local).bleu
    sums_K = statistics_CK[best_I].sum(axis=0, dtype=np.float64)
    ranked = float(bleu_scores(sums_K[None])[0])
    return {
        "first_BLEU": round(first, 2),
        "ranked_BLEU": round(ranked, 2),
        "oracle_BLEU": round(top, 2),
        "headroom_closed": round(100 * (ranked - first) / max(top - first, 1e-9), 2),
    }


def _templates(
    settings: RerankConfig, classes: Mapping[str, str], lexicon: Mapping[str, Mapping[str, float]] | None
) -> TextTemplates:
    class_ngrams = settings.class_ngrams if classes else 0
    return TextTemplates(settings.ngrams, settings.length, class_ngrams, classes, lexicon)


def _batch(
    text: ListText, templates: TextTemplates, min_lists: int, train_I: NDArray[np.bool_]
) -> tuple[NamedFeatures, tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """The features that tell the hypotheses of enough training lists apart, and the ids of each hypothesis."""
    met = GrowingFeatures()
    lists = [
        [{met.add(name): count for name, count in row.items()} for row in rows] for rows in text.features(templates)
    ]
    seen: Counter[int] = Counter()
    for number in np.flatnonzero(train_I).tolist():
        rows = lists[number]
        held_by = Counter(feature for row in rows for feature in row)
        seen.update(feature for feature, count in held_by.items() if count < len(rows))
    features, id_F = met.frozen(feature for feature, count in seen.items() if count >= min_lists)
    id_of = id_F.tolist()
    ids: list[list[int]] = []
    for rows in lists:
        ids += [sorted(id_of[f] for f, count in row.items() if id_of[f] >= 0 for _ in range(count)) for row in rows]
    flat = np.array([f for row in ids for f in row], dtype=np.int32)
    return features, (offsets_of([len(row) for row in ids]), flat)


def _floats(arrays: NbestArrays, listed: NbestCandidates) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The list's float features, and its totals where all hypotheses have one; its own sparse ones are left out."""
    dense_CD = listed.batch.dense_CD.astype(np.float64)
    if not np.isfinite(arrays.total_C).all():
        return listed.dense_names, dense_CD
    return (*listed.dense_names, TOTAL), np.concatenate([dense_CD, arrays.total_C[:, None]], axis=1)


def _lexicon(
    config: TrainConfig,
    text: ListText,
    references: Sequence[Sequence[str]],
    arrays: NbestArrays,
    train_I: NDArray[np.bool_],
) -> dict[str, dict[str, float]] | None:
    """IBM Model 1 of sources and references: for each target word its likeliest source words."""
    assert config.model.rerank is not None
    if text.sources is None or not config.model.rerank.pairs:
        return None
    rows = reference_rows(arrays.sentence_I, [len(stream) for stream in references], config.first_id)
    kept = np.flatnonzero(train_I).tolist()
    sources = [text.sources[i] for i in kept]
    targets = [split_tokens(references[0][rows[i]]) for i in kept]
    source_words, target_words = Vocabulary.build(sources), Vocabulary.build(targets)
    model = Model1.train(
        EncodedText.encode(sources, source_words), EncodedText.encode(targets, target_words), len(target_words)
    )
    lexicon: dict[str, dict[str, float]] = {}
    for key, p in zip(model.keys_K.tolist(), model.probability_K.tolist(), strict=True):
        target, source = key >> 32, key & 0xFFFFFFFF
        if target and p >= config.model.rerank.least_probability:
            lexicon.setdefault(target_words.word(target), {})[source_words.word(source)] = round(p, 4)
    return lexicon

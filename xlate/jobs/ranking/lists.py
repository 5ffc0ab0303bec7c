"""Given lists as a run learns from them: features, gains, and which are held out."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xlate.align.lexical import Model1
from xlate.array_types import Bools, Floats, Floats32, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import centred_in_lists, spread_within_lists
from xlate.candidates.nbest import NbestArrays, NbestCandidates, nbest_candidates, reference_lines, reference_rows
from xlate.candidates.nbest_gains import UTILITIES, column_values, gain_objective, gain_statistics, utilities
from xlate.config.model_schema import RerankConfig
from xlate.config.schema import TrainConfig
from xlate.features.hypothesis_text import TextTemplates
from xlate.features.index import GrowingFeatures, NamedFeatures
from xlate.jobs.ranking.texts import Gaps, ListText, given_list, read_references
from xlate.metrics.objective import Objective
from xlate.text.classes import read_classes
from xlate.text.encoded import EncodedText
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import Vocabulary

# None of these can be taken for a feature of the list: names there have no blanks.
TOTAL, POSITION, MBR = "total score", "list position", "mbr "


def computed_floats(arrays: NbestArrays, settings: RerankConfig) -> dict[str, Floats]:
    """What is computed from whole lists, each (C,), by its name.

    Raises:
        InputError: probabilities are asked for, and hypotheses have no totals.
    """
    found: dict[str, Floats] = {}
    if np.isfinite(arrays.total_C).all():
        found[TOTAL] = arrays.total_C
    if settings.position:
        starts_I, rows_C = arrays.candidate_offsets_I1[:-1], row_numbers(arrays.candidate_offsets_I1)
        place_C = (np.arange(len(rows_C)) - starts_I[rows_C]).astype(np.float64)
        found[POSITION] = 1.0 / (1.0 + place_C)
    if settings.mbr in UTILITIES:
        found[MBR + settings.mbr] = utilities(arrays, settings.mbr, settings.mbr_scale)
    return found


def float_features(
    arrays: NbestArrays, listed: NbestCandidates, settings: RerankConfig, nearly: Sequence[str]
) -> tuple[tuple[str, ...], Floats]:
    """Names and values, (C, D), of the list's own floats and of what is computed; the column of gains is left out, and
    so are the list's sparse features, but for those that `nearly` every line has: they are 0 on the others.
    """
    kept = [place for place, name in enumerate(listed.dense_names) if name != settings.gain_column]
    own_CD = listed.batch.dense_CD[:, kept].astype(np.float64)
    more = {name: arrays.scores({name: 1.0}) for name in nearly} | computed_floats(arrays, settings)
    names = (*(listed.dense_names[place] for place in kept), *more)
    return names, np.concatenate([own_CD, *(column_C[:, None] for column_C in more.values())], axis=1)


def begin(names: tuple[str, ...], size: float) -> Floats:
    """Weights to begin with, (D,): the order of the list, by its totals or else by position, and nothing more."""
    first = TOTAL if TOTAL in names else POSITION
    return np.array([size if name == first else 0.0 for name in names])


def sparse_features(
    texts: Iterable[list[list[str]]], listed: NbestCandidates, kept: Container[str], min_lists: int, train_I: Bools
) -> tuple[NamedFeatures, Floats, Ints, Ints32, Floats32 | None]:
    """The features of words, `texts` list by list, and those columns of the list itself whose names are among the kept
    ones, of which `min_lists` training lists each have hypotheses that differ.

    Returns:
        The features; how large the values of each are in the list, their root mean square (1 of words), by which they
        are divided, (F,); and of the hypotheses their offsets, the ids in order, and the values, None where all are 1.
    """
    met, found, lengths, sizes = GrowingFeatures(), array("q"), array("q"), array("q")
    for rows in texts:
        sizes.append(len(rows))
        for names in rows:
            found.extend(map(met.add, names))
            lengths.append(len(names))
    list_C, batch = row_numbers(offsets_of(sizes)), listed.batch
    hypothesis_T, id_T = np.repeat(np.arange(len(lengths)), lengths), np.array(found, np.int64)
    # The features of the list itself, N values that are not 0.
    own_M = np.array([met.add(name) if name in kept else -1 for name in listed.sparse_names], dtype=np.int64)
    own_N, hypothesis_N = own_M[batch.part_ids_N], row_numbers(batch.part_id_offsets_P1)
    value_N = np.ones(len(own_N)) if batch.part_values_N is None else batch.part_values_N.astype(np.float64)
    own_N, hypothesis_N, value_N = own_N[own_N >= 0], hypothesis_N[own_N >= 0], value_N[own_N >= 0]
    many = max(1, len(met))
    lists_F = np.zeros(len(met), dtype=np.int64)
    word_U = np.unique(hypothesis_T * many + id_T)
    words = word_U // many, word_U % many, np.ones(len(word_U))
    for hypothesis_P, id_P, value_P in (words, (hypothesis_N, own_N, value_N)):
        lists_F += _differing(list_C[hypothesis_P] * many + id_P, value_P, np.array(sizes), train_I, many)[: len(met)]
    features, id_F = met.frozen(np.flatnonzero(lists_F >= min_lists).tolist())
    own_N, hypothesis_T = id_F[own_N], np.concatenate([hypothesis_T, hypothesis_N])
    count_F, square_F = (
        np.bincount(own_N[own_N >= 0], weights, len(features)) for weights in (None, value_N[own_N >= 0] ** 2)
    )
    scale_F = np.where(count_F > 0, np.sqrt(square_F / np.maximum(count_F, 1)), 1.0)
    id_T, value_T = np.concatenate([id_F[id_T], own_N]), np.concatenate([np.ones(len(id_T)), value_N])
    kept_T = np.flatnonzero(id_T >= 0)
    order_N = kept_T[np.lexsort((id_T[kept_T], hypothesis_T[kept_T]))]
    ids_N = id_T[order_N].astype(np.int32)
    values_N = (value_T[order_N] / scale_F[ids_N]).astype(np.float32) if (own_N >= 0).any() else None
    return features, scale_F, offsets_of(np.bincount(hypothesis_T[kept_T], minlength=len(lengths))), ids_N, values_N


def _differing(pair_N: Ints, value_N: Floats, size_I: Ints, train_I: Bools, features: int) -> Ints:
    """In how many training lists the hypotheses differ in a feature, (F,).

    `pair_N` numbers list and feature of each hypothesis that has the feature.
    """
    if not len(pair_N):
        return np.zeros(features, dtype=np.int64)
    order_N = np.argsort(pair_N, kind="stable")
    pair_P, start_P, held_by_P = np.unique(pair_N[order_N], return_index=True, return_counts=True)
    spread_P = np.maximum.reduceat(value_N[order_N], start_P) - np.minimum.reduceat(value_N[order_N], start_P)
    told_P = train_I[pair_P // features] & ((held_by_P < size_I[pair_P // features]) | (spread_P > 0.0))
    return np.bincount(pair_P[told_P] % features, minlength=features)


@dataclass(frozen=True)
class RankedLists:
    """Lists that a run learns from.

    Attributes:
        arrays: the lists as they were read; references: of each list; sources: the line of each, where it is known.
        batch: candidates with the statistics of `objective`; floats are less their means in the lists, and divided by
            `spread_D`, how much they vary there.
        features: the sparse features; scale_F: what their values are divided by; dense_names: of the dense ones.
        heldout_I: which lists are held out.
        lexicon, classes: what the features know of words. nearly: the float features that some lines lack.
    """

    arrays: NbestArrays
    references: list[list[str]]
    sources: list[str] | None
    batch: CandidateBatch
    objective: Objective
    features: NamedFeatures
    scale_F: Floats
    dense_names: tuple[str, ...]
    spread_D: Floats
    heldout_I: Bools
    lexicon: dict[str, dict[str, float]] | None
    classes: Mapping[str, str]
    nearly: tuple[str, ...]

    @classmethod
    def read(cls, config: TrainConfig) -> RankedLists:
        """The lists and references that a configuration names, with their features.

        Raises:
            InputError: what reading them raises.
        """
        rerank = config.model.rerank
        assert rerank is not None
        arrays, text = ListText.read(given_list(config, str(config.nbest)), config.nbest_source, config.first_id)
        streams = read_references(config.references, arrays.sentence_I, config.first_id)
        if rerank.gain_column is not None:
            column_values(arrays, rerank.gain_column)
        listed = nbest_candidates(arrays, streams, config.first_id)
        objective = ranking_objective(config)
        statistics_CK = gain_statistics(arrays, streams, objective, rerank.gain_column, config.first_id)
        settings = config.loss.lists or config.loss.tune
        assert settings is not None
        every, lists = settings.heldout_every, len(arrays.sentence_I)
        # Every so many one, from the end of the first so many on.
        heldout_I = np.arange(lists) % every == every - 1 if every else np.zeros(lists, dtype=np.bool_)
        lexicon = _lexicon(config, text, streams, arrays, ~heldout_I)
        classes = read_classes(rerank.classes) if rerank.classes else {}
        # The list's own sparse features, and its float ones that some lines lack; both are told of.
        gaps = Gaps.of(arrays)
        gaps.warn_of_lacking(arrays, gaps.nearly, str(config.nbest), text.line_C)
        gaps.tell_seldom(str(config.nbest), rerank.given_sparse)
        nearly = tuple(name for name in gaps.nearly if name not in listed.dense_names)
        kept = gaps.seldom if rerank.given_sparse else ()
        texts = text.features(text_templates(rerank, classes, lexicon))
        sparse = sparse_features(texts, listed, kept, rerank.min_lists, ~heldout_I)
        features, scale_F, offsets, ids_N, values_N = sparse
        dense_names, dense_CD = float_features(arrays, listed, rerank, nearly)
        spread_D = spread_within_lists(dense_CD, arrays.candidate_offsets_I1)
        floats_CD = (centred_in_lists(dense_CD, arrays.candidate_offsets_I1) / spread_D).astype(np.float32)
        gain_CK = statistics_CK.astype(np.float32)
        batch = CandidateBatch(arrays.candidate_offsets_I1, floats_CD, gain_CK, offsets, ids_N, part_values_N=values_N)
        references = reference_lines(arrays.sentence_I, streams, config.first_id)
        learned = batch, objective, features, scale_F, dense_names, spread_D, heldout_I
        return cls(arrays, references, text.lines, *learned, lexicon, classes, nearly)


def ranking_objective(config: TrainConfig) -> Objective:
    """What lists are learned for, by a loss over them or by a tuner.

    Raises:
        InputError: no such measure, or the column of gains is not named.
    """
    rerank, settings = config.model.rerank, config.loss.lists or config.loss.tune
    assert rerank is not None
    assert settings is not None
    keys = "model.rerank.metric", "model.rerank.gain_column"
    return gain_objective(rerank.metric, rerank.gain_column, keys, settings.gain)


def text_templates(
    settings: RerankConfig, classes: Mapping[str, str], lexicon: Mapping[str, Mapping[str, float]] | None
) -> TextTemplates:
    """The features of words that the settings ask for."""
    class_ngrams = settings.class_ngrams if classes else 0
    return TextTemplates(settings.ngrams, settings.length, class_ngrams, classes, lexicon)


def _lexicon(
    config: TrainConfig, text: ListText, references: Sequence[Sequence[str]], arrays: NbestArrays, train_I: Bools
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

"""Given lists as a run learns from them: features, gains, and which are held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xlate.align.model1 import Model1
from xlate.array_types import Bools, Floats
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import centred_in_lists, spread_within_lists
from xlate.candidates.nbest import NbestArrays, NbestCandidates, nbest_candidates, reference_lines, reference_rows
from xlate.candidates.nbest_gains import column_values, gain_objective, gain_statistics
from xlate.config.model_schema import RerankConfig
from xlate.config.schema import TrainConfig
from xlate.features.hypothesis_text import TextTemplates
from xlate.features.index import NamedFeatures
from xlate.jobs.ranking.floats import float_features
from xlate.jobs.ranking.gaps import Gaps
from xlate.jobs.ranking.given import ListText, given_list, read_references
from xlate.jobs.ranking.sparse import Given, SparseLists
from xlate.metrics.objective import Objective
from xlate.text.classes import read_classes
from xlate.text.encoded import EncodedText
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import Vocabulary


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
        heldout_I = held_out(config, len(arrays.sentence_I))
        lexicon = _lexicon(config, text, streams, arrays, ~heldout_I)
        classes = read_classes(rerank.classes) if rerank.classes else {}
        given, nearly = _given(config, arrays, listed, text)
        templates = text_templates(rerank, classes, lexicon)
        sparse = SparseLists.made(text, templates, given, rerank.min_lists, ~heldout_I)
        dense_names, dense_CD = float_features(arrays, listed, rerank, nearly)
        spread_D = spread_within_lists(dense_CD, arrays.candidate_offsets_I1)
        floats_CD = (centred_in_lists(dense_CD, arrays.candidate_offsets_I1) / spread_D).astype(np.float32)
        gain_CK, ids = statistics_CK.astype(np.float32), (sparse.offsets_C1, sparse.ids_N)
        batch = CandidateBatch(arrays.candidate_offsets_I1, floats_CD, gain_CK, *ids, part_values_N=sparse.values_N)
        references = reference_lines(arrays.sentence_I, streams, config.first_id)
        learned = batch, objective, sparse.features, sparse.scale_F, dense_names, spread_D, heldout_I
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


def held_out(config: TrainConfig, lists: int) -> Bools:
    """Which lists are held out, (I,): every so many one, from the end of the first so many on."""
    settings = config.loss.lists or config.loss.tune
    assert settings is not None
    every = settings.heldout_every
    return np.arange(lists) % every == every - 1 if every else np.zeros(lists, dtype=np.bool_)


def text_templates(
    settings: RerankConfig, classes: Mapping[str, str], lexicon: Mapping[str, Mapping[str, float]] | None
) -> TextTemplates:
    """The features of words that the settings ask for."""
    class_ngrams = settings.class_ngrams if classes else 0
    return TextTemplates(settings.ngrams, settings.length, class_ngrams, classes, lexicon)


def _given(
    config: TrainConfig, arrays: NbestArrays, listed: NbestCandidates, text: ListText
) -> tuple[Given, tuple[str, ...]]:
    """The list's own sparse features, and its float ones that some lines lack; both are told of."""
    rerank, gaps, file = config.model.rerank, Gaps.of(arrays), str(config.nbest)
    assert rerank is not None
    gaps.warn_of_lacking(arrays, gaps.nearly, file, text.line_C)
    gaps.tell_seldom(file, rerank.given_sparse)
    nearly = tuple(name for name in gaps.nearly if name not in listed.dense_names)
    return Given.of(listed, frozenset(gaps.seldom if rerank.given_sparse else ())), nearly


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

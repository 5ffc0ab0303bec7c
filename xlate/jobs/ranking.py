"""Learning from n-best lists, ranking them, and measuring what the new choices gain.

Lists are ranked by a trained run, by weights, or by how much their hypotheses agree.
"""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from xlate.align.lexical import Model1
from xlate.array_types import AnyArray, Bools, Floats, Floats32, Ints, Ints32
from xlate.arrays.ragged import offsets_of, row_numbers
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import centred_in_lists, spread_within_lists
from xlate.candidates.nbest import NbestArrays, nbest_statistics, read_references
from xlate.candidates.nbest_gains import (
    UTILITIES,
    chrf_statistics,
    column_values,
    gain_objective,
    gain_statistics,
    ter_statistics,
    utilities,
)
from xlate.candidates.store import held_out
from xlate.config.model_schema import RerankConfig
from xlate.config.schema import NbestConfig, TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import refuse_if
from xlate.features.index import NamedFeatures
from xlate.formats.nbest_file import NbestFile, nbest_arrays
from xlate.formats.nbest_list import Hypothesis
from xlate.kernels.memory import best_of_each
from xlate.metrics.bleu import bleu_scores
from xlate.metrics.objective import COLUMN, Objective
from xlate.metrics.significance import PairedTests, paired_runs
from xlate.metrics.statistics import Stats, chrf_scores, mean_statistics, ter_scores
from xlate.models.rerank.lists import (
    Lacking,
    SentenceLines,
    document_names,
    gaps,
    given_list,
    in_batches,
    source_lines,
    tell_seldom,
    text_features,
)
from xlate.models.rerank.ranker import NEARLY, POSITION, SOURCES, TOTAL, Ranker, computed_floats
from xlate.scoring.feature_weights import load_feature_weights, unweighted
from xlate.search.oracle import oracle
from xlate.settings import Json
from xlate.text.classes import read_classes
from xlate.text.tokens import split_tokens
from xlate.text.vocabulary import EncodedText, Vocabulary

log = logging.getLogger(__name__)


def float_features(
    arrays: NbestArrays, settings: RerankConfig, nearly: Sequence[str], computed: Mapping[str, Floats]
) -> tuple[tuple[str, ...], Floats]:
    """Names and values, (C, D), of the list's own floats and of computed ones, without the column of gains and the
    list's sparse features, except those that `nearly` every line has: they are 0 on the other lines.
    """
    dense = zip(arrays.names, arrays.is_dense_M, strict=True)
    own = [name for name, is_dense in dense if is_dense and name != settings.gain_column]
    own_CD, nearly_CD = arrays.table(own).astype(np.float32), arrays.table(nearly)
    values_CD = np.concatenate([own_CD, nearly_CD, *(column_C[:, None] for column_C in computed.values())], axis=1)
    return (*own, *nearly, *computed), values_CD


def begin(names: tuple[str, ...], size: float) -> Floats:
    """Initial weights, (D,): they keep the order of the list, by its totals or else by position."""
    first = TOTAL if TOTAL in names else POSITION
    return np.array([size if name == first else 0.0 for name in names])


def sparse_features(
    arrays: NbestArrays,
    met: dict[str, int],
    words: Iterable[tuple[Ints, AnyArray]],
    kept: Container[str],
    min_lists: int,
    train_I: Bools,
) -> tuple[NamedFeatures, Floats, Ints, Ints32, Floats32 | None]:
    """The features of words, which `text_features` finds, and those of the list itself whose names are in `kept`; `met`
    numbers their names as they are met. Each must differ between the hypotheses of at least `min_lists` training lists.

    Returns:
        The features; the root mean square of each one's values in the list (1 for words), (F,), by which they are
        divided; and for the hypotheses the offsets, the ids in order, and the values, None if all are 1.
    """
    offsets_I1 = arrays.candidate_offsets_I1
    list_C, lists = row_numbers(offsets_I1), len(train_I)
    # The features of the list itself that are not 0 come last.
    own_V = np.array([met[name] if name in kept else -1 for name in arrays.names], np.int64)[arrays.columns_V]
    kept_V = (own_V >= 0) & (arrays.values_V != 0)
    found = [*words, (row_numbers(arrays.value_offsets_C1)[kept_V], own_V[kept_V])]
    hypothesis_T, id_T = (np.concatenate(parts).astype(np.int64) for parts in zip(*found, strict=True))
    value_T = np.ones(len(id_T))
    value_T[len(id_T) - np.count_nonzero(kept_V) :] = arrays.values_V[kept_V].astype(np.float32)
    # Each feature of a hypothesis once; then each feature of a list.
    first_N = np.unique(id_T * len(list_C) + hypothesis_T, return_index=True)[1]
    pair_P, start_P, held_by_P = np.unique(
        (id_T * lists + list_C[hypothesis_T])[first_N], return_index=True, return_counts=True
    )
    spread_P = np.maximum.reduceat(value_T[first_N], start_P) - np.minimum.reduceat(value_T[first_N], start_P)
    differs_P = (held_by_P < np.diff(offsets_I1)[pair_P % lists]) | (spread_P > 0.0)
    lists_F = np.bincount(pair_P[differs_P & train_I[pair_P % lists]] // lists, minlength=len(met))
    known = [*met]
    features = NamedFeatures.of(known[feature] for feature in np.flatnonzero(lists_F >= min_lists).tolist())
    id_T = np.array([*map(features.id, known)], np.int64)[id_T]
    kept_T = np.flatnonzero(id_T >= 0)
    kept_T = kept_T[np.lexsort((id_T[kept_T], hypothesis_T[kept_T]))]
    ids_N, value_N = id_T[kept_T].astype(np.int32), value_T[kept_T]
    scale_F = np.sqrt(np.bincount(ids_N, value_N**2, len(features)) / np.bincount(ids_N, None, len(features)))
    values_N = (value_N / scale_F[ids_N]).astype(np.float32)
    offsets_C1 = offsets_of(np.bincount(hypothesis_T[kept_T], minlength=len(list_C)))
    return features, scale_F, offsets_C1, ids_N, values_N if (values_N != 1.0).any() else None


@dataclass(frozen=True)
class RankedLists:
    """Lists that a run learns from.

    Attributes:
        arrays: the lists as they were read; references: of each list, if any are given; sources: the line of each, if
            known.
        batch: candidates with the statistics of `objective`; the means in the lists are subtracted from floats, which
            are then divided by `spread_D`, how much they vary there.
        features: the sparse features; scale_F: what their values are divided by; dense_names: of the dense ones.
        heldout_I: which lists are held out.
        known: what a `Ranker` needs to know about words and lines.
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
    known: Json

    @classmethod
    def read(cls, config: TrainConfig) -> RankedLists:
        """The lists and references that a configuration names, with their features.

        Raises:
            InputError: as raised by reading them.
        """
        rerank = config.model.rerank
        nbest = given_list(config)
        given = list(nbest.lists())
        arrays = nbest_arrays(given, nbest.path)
        named_sources, named_documents = beside(config, config.nbest_source, arrays.sentence_I)
        lines, documents = source_lines(given, nbest.path, named_sources), document_names(given, named_documents)
        sources = None if lines is None else [*map(split_tokens, lines)]
        references = read_references(config.references, arrays.sentence_I, config.first_id)
        if rerank.gain_column is not None:
            column_values(arrays, rerank.gain_column)
        objective = ranking_objective(config)
        statistics_CK = gain_statistics(arrays, references, objective, rerank.gain_column)
        settings = config.loss.lists or config.loss.tune
        heldout_I = held_out(len(arrays.sentence_I), settings.heldout_every)
        lexicon = _lexicon(rerank, sources, references, arrays, ~heldout_I)
        classes = read_classes(rerank.classes) if rerank.classes else {}
        # The list's own sparse features, and its float features that some lines lack; both are logged.
        gaps_of_floats, seldom = gaps(arrays)
        lacking = Lacking()
        lacking.add(arrays, gaps_of_floats)
        lacking.warn(list(gaps_of_floats), nbest.path)
        tell_seldom(seldom, len(arrays.total_C), str(config.nbest), rerank.given_sparse)
        nearly = tuple(name for name in gaps_of_floats if arrays.names.index(name) not in arrays.several)
        met, kept = defaultdict[str, int](count().__next__), seldom if rerank.given_sparse else ()
        words = text_features(rerank, classes, lexicon, arrays, sources, met.__getitem__)
        sparse = sparse_features(arrays, met, words, kept, rerank.min_lists, ~heldout_I)
        features, scale_F, offsets, ids_N, values_N = sparse
        computed = computed_floats(arrays, rerank, sources, documents, lexicon)
        dense_names, dense_CD = float_features(arrays, rerank, nearly, computed)
        spread_D = spread_within_lists(dense_CD, arrays.candidate_offsets_I1)
        floats_CD = (centred_in_lists(dense_CD, arrays.candidate_offsets_I1) / spread_D).astype(np.float32)
        gain_CK = statistics_CK.astype(np.float32)
        batch = CandidateBatch(arrays.candidate_offsets_I1, floats_CD, gain_CK, offsets, ids_N, part_values_N=values_N)
        learned = batch, objective, features, scale_F, dense_names, spread_D, heldout_I
        known = {"lexicon": lexicon, "classes": classes, SOURCES: lines is not None, NEARLY: nearly}
        return cls(arrays, references, lines, *learned, known)


def ranking_objective(config: TrainConfig) -> Objective:
    """The objective that a loss over lists or a tuner learns for.

    Raises:
        InputError: no such measure, or the column of gains is not named.
    """
    rerank, settings = config.model.rerank, config.loss.lists or config.loss.tune
    keys = "model.rerank.metric", "model.rerank.gain_column"
    return gain_objective(rerank.metric, rerank.gain_column, keys, settings.gain)


def _lexicon(
    rerank: RerankConfig,
    sources: Sequence[Sequence[str]] | None,
    references: Sequence[Sequence[str]],
    arrays: NbestArrays,
    train_I: Bools,
) -> dict[str, dict[str, float]] | None:
    """IBM Model 1 of sources and references: the likeliest source words for each target word.

    Without references, the hypotheses of the highest gain take their place.
    """
    if sources is None or not rerank.pairs:
        return None
    lines = [first for first, *_ in references]
    if not references:
        gain_C = column_values(arrays, rerank.gain_column)
        lines = arrays.texts(best_of_each(gain_C, arrays.candidate_offsets_I1))
    kept = np.flatnonzero(train_I).tolist()
    given, wanted = [sources[i] for i in kept], [split_tokens(lines[i]) for i in kept]
    source_words, target_words = Vocabulary.build(given), Vocabulary.build(wanted)
    source, target = EncodedText.encode(given, source_words), EncodedText.encode(wanted, target_words)
    model = Model1.train(source, target, len(target_words))
    lexicon: dict[str, dict[str, float]] = {}
    for key, p in zip(model.keys_K.tolist(), model.probability_K.tolist(), strict=True):
        word, other = key >> 32, key & 0xFFFFFFFF
        if word and p >= rerank.least_probability:
            lexicon.setdefault(target_words.word(word), {})[source_words.word(other)] = round(p, 4)
    return lexicon


def beside(
    config: TrainConfig | NbestConfig, source: str | None, sentence_I: Ints
) -> tuple[SentenceLines | None, SentenceLines | None]:
    """The lines of the files of sources and of documents, if there are such files."""
    how = sentence_I, config.first_id
    return SentenceLines.read(source, "sources", *how), SentenceLines.read(config.documents, "documents", *how)


CHOICES = "one of weights=FILE, run=RUN or mbr=chrf"


def check_alone(config: NbestConfig) -> None:
    """Checks that there is exactly one way to rank lists.

    Raises:
        InputError: there is none, or there are several.
    """
    ranked = {"run": config.run, "weights": config.weights, "mbr": config.mbr if config.mbr in UTILITIES else None}
    given = [f"{key}={value}" for key, value in ranked.items() if value is not None]
    refuse_if(not given, "nothing to rank by", "neither run, weights nor mbr", CHOICES)
    remedy = f"leave out {' and '.join(given[1:])}, or rank once by each"
    refuse_if(len(given) > 1, "several things to rank by", " ".join(given), CHOICES, remedy)


def scored_lists(
    config: NbestConfig, nbest: NbestFile, figures: Json
) -> Iterator[tuple[list[list[Hypothesis]], Floats]]:
    """Some lists at a time, with scores by a run, by the utility within lists or by weights.

    After the last ones, `figures` has those to report.
    """
    placed = config.source is not None or config.documents is not None
    sentence_I = np.array([group[0].sentence for group in (nbest.lists() if placed else ())], np.int64)
    sources, documents = beside(config, config.source, sentence_I)
    if config.run is not None:
        for batch, score_C, _ in Ranker.open(Path(config.run)).scored(nbest.lists(), nbest.path, sources, documents):
            yield batch, score_C
        return
    weights = None if config.weights is None else load_feature_weights(config.weights)
    for batch, arrays in in_batches(nbest.lists(), nbest.path):
        # Sources are not used here, but sources of other sentences are still refused.
        source_lines(batch, nbest.path, sources)
        yield batch, utilities(arrays, config.mbr) if weights is None else arrays.scores(weights)
    if weights is not None:
        missing = unweighted(arrays, weights)
        figures["features_without_weight"] = len(missing)
        if missing:
            log.warning("without a weight: %d features, first %s", len(missing), ", ".join(missing[:5]))


def reranked(config: NbestConfig, arrays: NbestArrays, references: list[list[str]], score_C: Floats) -> Json:
    """The effect of the new order; a readable table goes to standard error."""
    found = reported(arrays, references, score_C)
    learned = () if config.run is None else tuple(ranking_objective(config_of_run(Path(config.run))).weights)
    # A ranking by agreement in a measure cannot be judged by the same measure.
    agreed = (config.mbr,) if config.mbr in UTILITIES else ()
    print(found.table(learned, agreed), file=sys.stderr)
    return found.to_json()


FIRST, RERANKED, ORACLE, RANDOM, AGREED = "first", "reranked", "oracle", "random", "mbr"
ORDER = (FIRST, RERANKED, ORACLE, RANDOM, AGREED)
# The measures of the table, as it names them.
HEADS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", COLUMN: "column"}
# The number of random choices, whose mean is reported. TER uses fewer, as its edits are counted for them alone.
DRAWS, DRAWN = 20, {"ter": 2}


@dataclass(frozen=True)
class Reported:
    """The figures of each choice, and tests of some of them against the first.

    Attributes:
        rows: by choice and measure, 0 to 100. tests: of reranked and MBR choices.
        chosen: the place of the hypothesis chosen from each list; none for random choices.
        sentences: how many lists there are.
    """

    rows: Mapping[str, Mapping[str, float]]
    tests: Mapping[str, PairedTests]
    chosen: Mapping[str, Ints]
    sentences: int

    def to_json(self) -> Json:
        """Plain values: one row per choice, with difference, interval and p if it was tested."""
        plain: Json = {"sentences": self.sentences}
        for name, row in self.rows.items():
            plain[name] = {measure: round(score, 4) for measure, score in row.items()}
            for measure, test in self.tests[name].tests.items() if name in self.tests else ():
                plain[name][f"{measure}_against_first"] = {
                    "difference": round(test.difference, 4),
                    "interval": round(test.interval.half_width, 4),
                    "p": test.p_randomisation,
                }
        return plain

    def headroom(self) -> dict[str, float]:
        """BLEU of the choices, or without references the mean of the column, and the percentage of the gap between the
        first and the best that was closed.
        """
        measure = next(iter(self.rows[FIRST]))
        first, ranked, best = (self.rows[name][measure] for name in (FIRST, RERANKED, ORACLE))
        named = HEADS[measure]
        found = {f"first_{named}": first, f"ranked_{named}": ranked, f"oracle_{named}": best}
        found["headroom_closed"] = 100 * (ranked - first) / max(best - first, 1e-9)
        return {name: round(value, 2) for name, value in found.items()}

    def table(self, learned: Sequence[str] = (), agreed: Sequence[str] = ()) -> str:
        """A readable table with one line per choice; `learned` are the measures that reranking was learned for,
        `agreed` those whose agreement within lists it ranks by.
        """
        head = "".join(f"{HEADS[name]:>7}{'against first':>15}{'p':>7}" for name in self.rows[FIRST])
        lines = [f"{'':<9}{head}"]
        for name, row in self.rows.items():
            line = f"{name:<9}"
            for measure, score in row.items():
                told = ""
                if name in self.tests:
                    test = self.tests[name].tests[measure]
                    told = f"  {test.difference:+.2f} ± {test.interval.half_width:.2f}{test.p_randomisation:8.4f}"
                line += f"{score:7.2f}{told:<22}"
            lines.append(line.rstrip())
        for named, how in ((learned, "learned for"), (agreed, "by agreement in")):
            same = [name for name in named if name in self.rows[FIRST]]
            if same:
                lines.append(
                    f"warning: reranking was {how} {' and '.join(same)}, which this table also measures; "
                    "another measure says more about the gain"
                )
        return "\n".join(lines)


def reported(
    arrays: NbestArrays, references: Sequence[Sequence[str]], score_C: Floats, column: str | None = None
) -> Reported:
    """The figures for some lists, measured on the words as they are.

    Args:
        arrays: I lists, with totals if they have any: the first hypothesis is the one with the highest total.
        references: those of each list, one or more; or none, and only the column is measured.
        score_C: the scores of the new ranking.
        column: the feature of the lists that was learned for, whose mean, times 100, is one of the figures.
    """
    offsets_I1 = arrays.candidate_offsets_I1
    bleu_CK = nbest_statistics(arrays, references) if references else None
    value_C = np.zeros(0) if column is None else column_values(arrays, column)
    chosen = {
        FIRST: arrays.first_I,
        RERANKED: best_of_each(score_C, offsets_I1),
        ORACLE: best_of_each(value_C, offsets_I1) if bleu_CK is None else oracle(bleu_CK, offsets_I1).chosen_I,
        AGREED: best_of_each(utilities(arrays, "bleu"), offsets_I1),
    }
    # Random choices, the same every time.
    random = np.random.default_rng(1)
    drawn = [offsets_I1[:-1] + random.integers(np.diff(offsets_I1)) for _ in range(DRAWS)]
    stats: dict[str, Stats] = {}
    if bleu_CK is not None:
        some = np.unique(np.concatenate([*chosen.values(), *drawn[: DRAWN["ter"]]]))
        stats["bleu"] = Stats(bleu_CK.astype(np.float64), bleu_scores)
        stats["chrf"] = Stats(chrf_statistics(arrays, references), chrf_scores)
        stats["ter"] = Stats(ter_statistics(arrays, references, some), ter_scores)
    if column is not None:
        stats[COLUMN] = mean_statistics(100.0 * value_C)
    choices = {name: [chosen_I] for name, chosen_I in chosen.items()} | {RANDOM: drawn}
    rows = {
        name: {
            measure: float(np.mean([given[chosen_I].score() for chosen_I in choices[name][: DRAWN.get(measure)]]))
            for measure, given in stats.items()
        }
        for name in ORDER
    }
    outputs = {
        name: [{measure: given[chosen_I] for measure, given in stats.items()}] for name, chosen_I in chosen.items()
    }
    tests = {name: paired_runs(outputs[name], outputs[FIRST]) for name in (RERANKED, AGREED)}
    return Reported(rows, tests, chosen, len(offsets_I1) - 1)

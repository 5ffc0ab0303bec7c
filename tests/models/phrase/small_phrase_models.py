"""Small random phrase models, and the naive enumeration of everything a decoder may output for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.models.phrase.definition import score_steps
from tests.models.small_models import SOURCE, TARGET, Spans, covered_by, orders, random_arpa, random_pairs
from tests.phrases.small_corpora import table_of
from xlate.features.phrase_sparse import PLAIN, REORDERING, SparseFeatures, make_families
from xlate.features.word_values import WordValues, every_word, word_classes
from xlate.lm.model import NgramModel
from xlate.models.derivation import COPIED, Derivation, Step
from xlate.models.phrase.model import REORDERINGS, SIZE, UNKNOWN, PhraseModel, Reordering, SentencePhrases
from xlate.phrases.table import PhraseTable
from xlate.search.settings import PhraseSearch

KINDS = [None, "wbe", "hier", "hier5"]
LOCAL_PLAIN = ("pair", "source_phrase", "target_phrase", "word_pair", "lengths", "source_first", "target_last")
TEMPLATES = {
    "every": (REORDERING, PLAIN),
    "local": (("source_first", "target_last", "pair"), LOCAL_PLAIN),
    "groups": (("top_source_last", "top_target_first", "top_target_last", "between"), ()),
    "bigrams": ((), ("target_bigram",)),
}
SPARSE_CASES = [
    *((kind, "every") for kind in (None, "hier", "hier5")),
    *(("hier", templates) for templates in ("local", "groups", "bigrams")),
    *(("wbe", templates) for templates in ("local", "bigrams")),
]


def phrase_table(rng: np.random.Generator, pairs: set[tuple[str, str]]) -> PhraseTable:
    """A table of (source words, target words) with random scores."""
    table = table_of((SOURCE.ids(s.split()).tolist(), TARGET.ids(t.split()).tolist()) for s, t in pairs)
    return replace(table, scores_B4=rng.random((len(table), 4)) * (rng.random((len(table), 4)) < 0.95))


def random_phrase_model(rng: np.random.Generator, kind: str | None, most: int = 3) -> PhraseModel:
    """Random pairs and orientations, some pairs without."""
    table = phrase_table(rng, set(random_pairs(rng, most)))
    lm = NgramModel.from_arpa(random_arpa(rng))
    if kind is None:
        return PhraseModel(table, SOURCE, TARGET, lm)
    k = REORDERINGS[kind]
    probability_BK2 = rng.dirichlet(np.ones(k), size=(len(table), 2)).reshape(-1, 2 * k)
    probability_BK2[rng.random(len(table)) < 0.2] = np.nan
    return PhraseModel(table, SOURCE, TARGET, lm, Reordering(kind, probability_BK2))


class RandomScores:
    """Two floats of phrases by where they stand and what the sentence is; some pairs are no options at odd places."""

    names = ("One0", "Two0")

    def of(self, phrases: SentencePhrases) -> NDArray[np.float64]:
        """Sines of the numbers of phrases, spans and words."""
        words, start_O, end_O, pair_O = phrases
        at_O = 3.0 * np.asarray(start_O) + 7.0 * np.asarray(end_O) + 0.3 * np.asarray(pair_O) + len(words[0])
        value_O2 = np.stack([np.sin(at_O), np.cos(2 * at_O)], axis=1)
        # Longer phrases only: a word must have a translation.
        value_O2[(np.asarray(pair_O) % 3 == 0) & (np.asarray(end_O) - start_O > 1), 1] = -np.inf
        value_O2[np.asarray(pair_O) < 0] = 0.0
        return value_O2

    def anywhere(self, pair_N: np.ndarray) -> NDArray[np.float64]:
        """Nothing is known of a pair before its sentence is."""
        return np.full((len(pair_N), len(self.names)), np.nan)


class RandomPlaces:
    """A float of phrases by where they are put."""

    name, reach = "Place0", 1

    def of(self, phrases: SentencePhrases) -> NDArray[np.float64]:
        """Sines of the numbers of phrases, spans, words and places."""
        words, start_O, end_O, pair_O = phrases
        at_O = 3.0 * np.asarray(start_O) + 7.0 * np.asarray(end_O) + 0.3 * np.asarray(pair_O) + len(words)
        return np.where(np.asarray(pair_O)[:, None] < 0, 0.0, np.sin(at_O[:, None] + 2.0 * np.arange(3)))


def random_classes(rng: np.random.Generator, words: list[str]) -> WordValues:
    """Two classes and words without."""
    classes = {word: str(rng.integers(2)) for word in words[3:] if rng.random() < 0.8}
    return word_classes("class2", words, classes)


def with_sparse(
    rng: np.random.Generator, model: PhraseModel, reordering: tuple[str, ...] = REORDERING, plain: tuple[str, ...] = ()
) -> PhraseModel:
    """The model with sparse features over words and random classes."""
    source, target = ([every_word(side.words), random_classes(rng, side.words)] for side in (SOURCE, TARGET))
    table = model.table
    families = make_families(reordering, plain, source, target, table, model.orientations)
    return replace(model, sparse=SparseFeatures(families, model.orientations, table, SOURCE, TARGET))


def random_case(
    seed: int | list[int], kind: str | None, templates: str | None
) -> tuple[np.random.Generator, PhraseModel, np.ndarray, np.ndarray | None]:
    """A random model with sparse features of some templates; its weights."""
    rng = np.random.default_rng(seed)
    model, sparse_F = random_phrase_model(rng, kind), None
    if templates is not None:
        model = with_sparse(rng, model, *TEMPLATES[templates])
    weights_D = random_weights(rng, model.size)
    if model.sparse is not None:
        sparse_F = rng.normal(0, 0.7, size=len(model.sparse))
    return rng, model, weights_D, sparse_F


def random_weights(rng: np.random.Generator, size: int = SIZE, unknown: int = UNKNOWN) -> np.ndarray:
    """Weights of both signs, unknown words cheap enough to matter."""
    weights_D = rng.normal(0.2, 0.3, size=size)
    weights_D[unknown] = 0.02
    return weights_D


def enumerate_derivations(
    model: PhraseModel,
    weights_D: np.ndarray,
    search: PhraseSearch,
    words: list[str],
    sparse_F: np.ndarray | None = None,
) -> list[Derivation[Step]]:
    """Every derivation the limits allow, best first: by geometry and the definitions of the features."""
    options = {
        (begin, end): list(_options(model, weights_D, search, words, begin, end))
        for begin in range(len(words))
        for end in range(begin + 1, min(len(words), begin + search.max_phrase) + 1)
    }
    limit = search.distortion_limit

    def fits(spans: Spans) -> bool:
        at, (begin, end) = spans[-2][1] if len(spans) > 1 else 0, spans[-1]
        gap = min(set(range(len(words))) - covered_by(spans[:-1]))
        near = abs(begin - at) <= limit and (begin == gap or end - gap <= limit)
        return bool(options[begin, end]) and (limit < 0 or near)

    found = [
        score_steps(model, weights_D, words, steps, sparse_F)
        for spans in orders(len(words), search.max_phrase, fits)
        for steps in product(*(options[span] for span in spans))
    ]
    return sorted(found, key=lambda derivation: -derivation.score)


def _options(
    model: PhraseModel, weights_D: np.ndarray, search: PhraseSearch, words: list[str], begin: int, end: int
) -> Iterator[Step]:
    table, source = model.table, SOURCE.ids(words[begin:end]).tolist()
    pairs = [b for b in range(len(table)) if table.source_phrases[table.source_B[b]].tolist() == source]
    alone = {}
    for b in pairs:
        lm_score = model.lm.score_words(0, model.lm.vocabulary.ids(model.target_words(b)))[0]
        tables = sum(weights_D[10 + k] * max(np.log(max(table.scores_B4[b, k], 1e-300)), -100) for k in range(4))
        alone[b] = tables + weights_D[7] * lm_score - weights_D[8] * len(model.target_words(b))
    for b in sorted(pairs, key=lambda b: -alone[b])[: search.options]:
        yield Step(b, ((begin, end),), model.target_words(b))
    if not pairs and end - begin == 1:
        yield Step(COPIED, ((begin, end),), (words[begin],))

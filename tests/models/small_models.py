"""Small random block models, and the naive enumeration of everything a decoder may output for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tests.phrases.small_corpora import table_of
from xlate.features.block import FLOATS, MORE_FLOATS, MoreFloats, feature_keys, sides, split_key
from xlate.lm.arpa import ArpaModel, NgramTable
from xlate.lm.model import NgramModel
from xlate.models.block.model import BlockModel
from xlate.models.distortion import DistortionModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.distortion import Distortion
from xlate.search.settings import BlockSearch, DistortionSearch
from xlate.text.vocabulary import BEGIN_ID, END_ID, Vocabulary

SOURCE = Vocabulary(["a", "b", "c", "d"])
TARGET = Vocabulary(["u", "v", "w", "x", "y"])
LETTERS = "LRN"


def block_set(pairs: dict[tuple[str, str], tuple[int, int, int, float]]) -> BlockSet:
    """Blocks from {(source words, target words): (N, N_L, N_R, lexical cost)}."""
    rows = sorted((tuple(SOURCE.ids(s.split())), tuple(TARGET.ids(t.split())), v) for (s, t), v in pairs.items())
    count = np.array([row[2][0] for row in rows], np.int32)
    return BlockSet(
        table=replace(table_of(row[:2] for row in rows), count_B=count.astype(np.float64)),
        count_B=count,
        left_B=np.array([row[2][1] for row in rows], np.int32),
        right_B=np.array([row[2][2] for row in rows], np.int32),
        bigram_keys_U=np.zeros(0, np.uint64),
        bigram_count_U=np.zeros(0, np.int32),
        lexical_B=np.array([row[2][3] for row in rows], np.float32),
    )


def random_arpa(rng: np.random.Generator, order: int = 3) -> ArpaModel:
    """A back-off model with random numbers for random n-grams; proper probabilities are not needed here."""
    grams = [[(w,) for w in range(len(TARGET))]]
    for _ in range(order - 1):
        longer = [(*g, w) for g in grams[-1] if g[-1] != END_ID for w in range(len(TARGET)) if w != BEGIN_ID]
        grams.append([g for g in longer if rng.random() < 0.5])
    tables = [
        NgramTable(
            np.array(level, np.int32).reshape(-1, n + 1),
            -3 * rng.random(len(level)),
            -rng.random(len(level)) * (n + 1 < order),
        )
        for n, level in enumerate(grams)
    ]
    return ArpaModel(TARGET, tables)


def random_pairs(rng: np.random.Generator, most: int) -> Iterator[tuple[str, str]]:
    """Random phrases of up to three words with translations, some more than once; word d has none of its own."""
    for length in range(1, 4):
        for source in itertools.product("abcd" if length > 1 else "abc", repeat=length):
            for _ in range(int(rng.integers(0, most) if length > 1 else rng.integers(1, most + 1))):
                if length < 3 or rng.random() < 0.3:
                    yield " ".join(source), " ".join(rng.choice(list("uvwxy"), size=rng.integers(1, 4)))


def random_model(rng: np.random.Generator, arpa: ArpaModel, *, most: int, others: bool) -> BlockModel:
    """Random blocks and weights, some of them 0, some blocks without binary features."""
    pairs: dict[tuple[str, str], tuple[int, int, int, float]] = {}
    for pair in random_pairs(rng, most):
        left, right = (int(x) for x in rng.integers(0, 6, size=2))
        pairs[pair] = (int(rng.integers(1, 20)), left, right, float(4 * rng.random()))
    blocks = block_set(pairs)
    size = len(blocks.table)
    dense = np.where(rng.random(size) < 0.7, 0.6, 0.0)
    keys = np.flatnonzero(rng.random((size, size)).ravel() < np.repeat(dense, size))
    keys_F = feature_keys("BB", keys // size, keys % size)
    if others:
        keys_F = np.concatenate([keys_F, *(random_keys(rng, blocks, family, 0.3) for family in ("TP", "WB"))])
    lm = NgramModel.from_arpa(arpa)
    return BlockModel(
        blocks,
        lm,
        SOURCE,
        lm.vocabulary,
        rng.normal(-0.5, 0.3, size=5),
        rng.normal(-0.5, 0.3, size=5),
        feature_keys=keys_F,
        feature_weights=rng.normal(0, 1, size=len(keys_F)) * (rng.random(len(keys_F)) < 0.9),
    )


def unweighted(
    blocks: BlockSet,
    lm: NgramModel,
    target: Vocabulary,
    keys_F: NDArray[np.uint64],
    more: Sequence[str] = (),
    **given: Any,
) -> BlockModel:
    """A model whose weights are all 0, for candidates."""
    optional = MoreFloats.of(blocks, more)
    none_D = np.zeros(len(FLOATS) + len(optional.names))
    features = {"feature_keys": keys_F, "feature_weights": np.zeros(len(keys_F))}
    return BlockModel(blocks, lm, SOURCE, target, none_D, none_D, **features, more=optional, **given)


Model = TypeVar("Model", BlockModel, DistortionModel)


def with_more(model: Model, seed: int) -> Model:
    """The same with every optional float, over random scores of the table, some of them 0."""
    rng, table = np.random.default_rng(seed), model.blocks.table
    scores_B4 = rng.random((len(table), 4)) * (rng.random((len(table), 4)) < 0.9)
    blocks = replace(model.blocks, table=replace(table, scores_B4=scores_B4))
    more = MoreFloats.of(blocks, list(MORE_FLOATS))
    names = [name for name in ("linked", "neutral", "weights") if hasattr(model, name)]
    weights = {name: np.append(getattr(model, name), rng.normal(-0.3, 0.3, size=3)) for name in names}
    return replace(model, blocks=blocks, more=more, **weights)


def more_costs(model: BlockModel | DistortionModel, b: int) -> list[float]:
    """The optional floats of a block, or of a copied word, in the order of the model's weights."""
    if not model.more.names:
        return []
    assert model.more.names == ("forward", "forward_lexical", "block_count")
    if b < 0:
        return [0.0, 0.0, 1.0]
    _, _, forward, lexical = model.blocks.table.scores_B4[b].tolist()
    return [*(float(np.float32(-math.log(p))) if p else 100.0 for p in (forward, lexical)), 1.0]


def random_keys(rng: np.random.Generator, blocks: BlockSet, family: str, share: float) -> NDArray[np.uint64]:
    """Sorted keys of some of the bigrams a family could have."""
    left, right = (np.unique(side) for side in sides(blocks, family))
    left_K, right_K = (grid.ravel() for grid in np.meshgrid(left, right, indexing="ij"))
    chosen = rng.random(len(left_K)) < share
    return feature_keys(family, left_K[chosen], right_K[chosen])


def random_words(rng: np.random.Generator, length: int) -> list[str]:
    """A sentence over the vocabulary and one word outside it."""
    return [str(w) for w in rng.choice(["a", "b", "c", "d", "zz"], size=length, p=[0.27, 0.27, 0.26, 0.1, 0.1])]


@dataclass(frozen=True)
class Oracle:
    """One derivation of the enumeration; its parts are begin, end, letter and block."""

    score: float
    words: tuple[str, ...]
    parts: tuple[tuple[int, int, str, int], ...]


Spans = tuple[tuple[int, int], ...]


def enumerate_all(
    model: BlockModel | DistortionModel, search: BlockSearch | DistortionSearch, words: list[str]
) -> list[Oracle]:
    """Every derivation with its score, best first: by geometry and dictionaries, nothing of the decoder's."""
    swaps = isinstance(search, BlockSearch)
    scorer: Scorer = (SwapScorer if swaps else JumpScorer)(model, search, words)
    found = []
    for spans in swapped(0, len(words), search) if isinstance(search, BlockSearch) else jumped(len(words), search):
        letters = _orientations(spans)
        choices = [
            [b for b in scorer.options(span) if letter != "L" or scorer.left_allowed(b)]
            for span, letter in zip(spans, letters, strict=True)
        ]
        for blocks in itertools.product(*choices):
            score, target = scorer.score(spans, letters, blocks)
            parts = tuple((*span, letter, b) for span, letter, b in zip(spans, letters, blocks, strict=True))
            found.append(Oracle(score, target, parts))
    return sorted(found, key=lambda oracle: -oracle.score)


def swapped(start: int, end: int, search: BlockSearch) -> Iterator[Spans]:
    """All sequences of spans in target order: phrases in source order, or two neighbours exchanged."""
    if start == end:
        yield ()
        return
    for middle in range(start + 1, min(end, start + search.max_phrase) + 1):
        for rest in swapped(middle, end, search):
            yield ((start, middle), *rest)
        if search.mode == "mon":
            continue
        for last in range(middle + 1, min(end, middle + search.max_phrase) + 1):
            for rest in swapped(last, end, search):
                yield ((middle, last), (start, middle), *rest)


def orders(n: int, longest: int, fits: Callable[[Spans], bool], done: Spans = ()) -> Iterator[Spans]:
    """All sequences of spans in target order of which every prefix, as a whole, is one that fits."""
    covered = covered_by(done)
    if len(covered) == n:
        yield done
    for begin in range(n):
        for end in range(begin + 1, min(n, begin + longest) + 1):
            more = (*done, (begin, end))
            if not covered & set(range(begin, end)) and fits(more):
                yield from orders(n, longest, fits, more)


def covered_by(spans: Spans) -> set[int]:
    return {place for span in spans for place in range(*span)}


def jumped(n: int, search: DistortionSearch) -> Iterator[Spans]:
    """All sequences of spans that the limits of jumps allow."""

    def fits(spans: Spans) -> bool:
        covered = covered_by(spans)
        skipped = sorted(set(range(max(covered))) - covered)
        holes = sum(p - 1 not in skipped for p in skipped)
        return not skipped or (holes <= search.max_skips and max(covered) - skipped[0] < search.window)

    return orders(n, search.max_phrase, fits)


def _orientations(spans: Spans) -> list[str]:
    """L, R or N by whether a span touches the one before it."""
    letters = ["N"]
    for before, span in itertools.pairwise(spans):
        letters.append("R" if span[0] == before[1] else "L" if span[1] == before[0] else "N")
    return letters[: len(spans)]


class Scorer:
    """What both models score, by dictionaries."""

    def __init__(self, model: Any, search: Any, words: list[str]) -> None:
        self.model, self.search, self.words = model, search, words
        keys = [split_key(key) for key in model.feature_keys.tolist()]
        self.features = dict(zip(keys, model.feature_weights.tolist(), strict=True))
        table = model.blocks.table
        self.by_source: dict[tuple[int, ...], list[int]] = {}
        for b in range(len(table)):
            source = tuple(table.source_phrases[int(table.source_B[b])].tolist())
            self.by_source.setdefault(source, []).append(b)
        for blocks in self.by_source.values():
            blocks.sort(key=lambda b: (-model.blocks.count_B[b], b))

    def options(self, span: tuple[int, int]) -> list[int]:
        ids = tuple(SOURCE.ids(self.words[span[0] : span[1]]).tolist())
        found = [] if 0 in ids else self.by_source.get(ids, [])[: self.search.options]
        return found or ([-1] if span[1] - span[0] == 1 else [])

    def left_allowed(self, b: int) -> bool:
        return True

    def target(self, b: int, span: tuple[int, int]) -> list[str]:
        if b < 0:
            return [self.words[span[0]]]
        table = self.model.blocks.table
        return [TARGET.word(w) for w in table.target_phrases[int(table.target_B[b])].tolist()]

    def language_costs(self, b: int, span: tuple[int, int], state: int) -> tuple[float, float]:
        """Of the first word and of the rest, after a state of the language model."""
        costs = []
        for word in TARGET.ids(self.target(b, span)).tolist():
            logprob, state = self.model.lm.score(state, word)
            costs.append(-logprob)
        return costs[0], sum(costs[1:])

    def sparse(self, before: int, b: int) -> float:
        if before < 0 or b < 0:
            return 0.0
        table = self.model.blocks.table
        t, u = int(table.target_B[before]), int(table.target_B[b])
        last, first = int(table.target_phrases[t][-1]), int(table.target_phrases[u][0])
        return sum(self.features.get(key, 0.0) for key in (("BB", before, b), ("TP", t, u), ("WB", last, first)))

    def step(self, before: int, b: int, spans: Spans, letter: str, state: int) -> float:
        """What a block at the last of some spans scores."""
        raise NotImplementedError

    def score(self, spans: Spans, letters: list[str], blocks: tuple[int, ...]) -> tuple[float, tuple[str, ...]]:
        lm, total, before, target = self.model.lm, 0.0, -1, []
        state = lm.begin_state
        for n, (span, letter, b) in enumerate(zip(spans, letters, blocks, strict=True), start=1):
            total += self.step(before, b, spans[:n], letter, state)
            target += self.target(b, span)
            state = lm.score_words(state, TARGET.ids(self.target(b, span)))[1]
            before = b
        if self.search.end_of_sentence:
            total -= self.weights("R")[2] * lm.score(state, END_ID)[0]
        return total, tuple(target)


class SwapScorer(Scorer):
    """The orientation model."""

    def left_allowed(self, b: int) -> bool:
        return (0 if b < 0 else self.model.blocks.left_B[b]) >= self.search.min_left_count

    def weights(self, letter: str) -> np.ndarray:
        weights = np.array(self.model.neutral if letter == "N" else self.model.linked)
        if self.search.mode == "swap":
            weights[1] = 0
        return weights

    def floats(self, b: int, span: tuple[int, int], letter: str, state: int) -> list[float]:
        blocks = self.model.blocks
        if b < 0:
            unigram, lexical, orientation = self.search.unknown_unigram, self.search.unknown_lexical, math.log(2)
        else:
            unigram = float(np.float32(-math.log(blocks.count_B[b] / blocks.count_B.sum())))
            lexical = float(blocks.lexical_B[b])
            left, right = blocks.left_B[b] + 0.5, blocks.right_B[b] + 0.5
            orientation = float(np.float32(-math.log((left if letter == "L" else right) / (left + right))))
        own = [unigram / (span[1] - span[0]), 0.0 if letter == "N" else orientation]
        return [*own, *self.language_costs(b, span, state), lexical, *more_costs(self.model, b)]

    def step(self, before: int, b: int, spans: Spans, letter: str, state: int) -> float:
        def plain(block: int) -> float:
            score = float(self.weights(letter) @ self.floats(block, spans[-1], letter, state))
            return score if letter == "N" else score + self.sparse(before, block)

        shares = self.search.partition == "local"
        return plain(b) - (float(np.logaddexp.reduce([*map(plain, self.options(spans[-1]))])) if shares else 0.0)


class JumpScorer(Scorer):
    """The phrase-distortion model."""

    def weights(self, letter: str) -> np.ndarray:
        return np.asarray(self.model.weights)

    def step(self, before: int, b: int, spans: Spans, letter: str, state: int) -> float:
        (begin, end), last, blocks = spans[-1], spans[-2][1] if len(spans) > 1 else 0, self.model.blocks
        ids, column = SOURCE.ids(self.words).tolist(), max(-REACH, min(REACH, begin - last + 1)) + REACH
        direct, model1 = self.search.unknown_direct, self.search.unknown_model1
        if b >= 0:
            same_B = blocks.table.target_B == blocks.table.target_B[b]
            direct = float(np.float32(-np.log(blocks.count_B[b] / blocks.count_B[same_B].sum())))
            model1 = float(self.model.model1_B[b])
        jumps = self.model.distortion
        floats = [
            direct,
            model1,
            *self.language_costs(b, (begin, end), state),
            float(jumps.inbound_VK[ids[begin], column]),
            float(jumps.outbound_VK[ids[last - 1] if last else BEGIN_ID, column]),
            -len(self.target(b, (begin, end))),
            *more_costs(self.model, b),
        ]
        return float(np.dot(self.weights(letter), floats)) + self.sparse(before, b)


def model_and_arpa(seed: int, *, most: int = 3, others: bool = True) -> tuple[BlockModel, ArpaModel]:
    """A random model, and its language model as tables."""
    rng = np.random.default_rng(seed)
    arpa = random_arpa(rng)
    return random_model(rng, arpa, most=most, others=others), arpa


REACH = 2


def jumping(seed: int) -> tuple[DistortionModel, ArpaModel]:
    """A random model with jump costs, and its language model as tables."""
    model, arpa = model_and_arpa(seed)
    rng = np.random.default_rng(seed)
    distortion = Distortion(*(3 * rng.random((2, len(SOURCE.words), 2 * REACH + 1))).astype(np.float32))
    weights, model1_B = rng.normal(-0.5, 0.3, size=7), (4 * rng.random(len(model.blocks))).astype(np.float32)
    features = {"feature_keys": model.feature_keys, "feature_weights": model.feature_weights}
    return DistortionModel(
        model.blocks, model.lm, SOURCE, model.lm.vocabulary, weights, distortion, model1_B, **features
    ), arpa

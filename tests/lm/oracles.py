"""Plain-Python language models written from their definitions, and small random models and texts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
from hypothesis import strategies as st

from xlate.lm.arpa import ArpaModel, NgramTable
from xlate.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID, Vocabulary

Gram = tuple[int, ...]
FALLBACK = {1: 0.5, 2: 1.0, 3: 1.5}
VOCABULARY = Vocabulary("abcde")
WORD_IDS = list(range(3, len(VOCABULARY)))
CORPORA = st.lists(st.lists(st.sampled_from(WORD_IDS), min_size=1, max_size=7), min_size=1, max_size=8)


class KneserNey:
    """Interpolated modified Kneser-Ney: p(w | c) by recursion over dictionaries."""

    def __init__(self, sentences: list[list[int]], order: int, vocabulary_size: int) -> None:
        self.order, self.size = order, vocabulary_size
        self.raw: dict[int, Counter[Gram]] = {n: Counter() for n in range(1, order + 1)}
        for sentence in sentences:
            padded = (BEGIN_ID, *sentence, END_ID)
            for n in self.raw:
                self.raw[n].update(padded[i : i + n] for i in range(len(padded) - n + 1))
        self.adjusted = {n: self._adjusted(n) for n in self.raw}
        self.discounts = {n: self.discounts_of(self.adjusted[n].values()) for n in self.raw}

    def _adjusted(self, n: int) -> dict[Gram, int]:
        if n == self.order:
            counts = dict(self.raw[n])
        else:
            left: dict[Gram, set[int]] = defaultdict(set)
            for gram in self.raw[n + 1]:
                left[gram[1:]].add(gram[0])
            counts = {g: raw if g[0] == BEGIN_ID else len(left[g]) for g, raw in self.raw[n].items()}
        counts.pop((BEGIN_ID,), None)
        return counts

    @staticmethod
    def discounts_of(counts) -> dict[int, float]:
        """D_1, D_2, D_3 of Chen & Goodman."""
        t = Counter(counts)
        if not (t[1] and t[2] and t[3]):
            return FALLBACK
        y = t[1] / (t[1] + 2 * t[2])
        found = {k: k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3)}
        return found if all(0 < d <= k for k, d in found.items()) else FALLBACK

    def gamma(self, context: Gram) -> float:
        """The weight of the lower order after a context; 1 after one never seen."""
        n = len(context) + 1
        followers = [a for g, a in self.adjusted[n].items() if g[:-1] == context]
        if not followers:
            return 1.0
        return sum(self.discounts[n][min(a, 3)] for a in followers) / sum(followers)

    def probability(self, word: int, context: Gram) -> float:
        """p(word | context) by the definition."""
        n = len(context) + 1
        followers = {g[-1]: a for g, a in self.adjusted[n].items() if g[:-1] == context}
        lower = self.probability(word, context[1:]) if context else 1 / (self.size - 1)
        if not followers:
            return lower
        a = followers.get(word, 0)
        u = (a - self.discounts[n][min(a, 3)]) / sum(followers.values()) if a else 0.0
        return u + self.gamma(context) * lower


class BackOff:
    """A back-off model as two dictionaries, queried by the definition of ARPA; natural logs."""

    def __init__(self, model: ArpaModel) -> None:
        self.order = model.order
        self.logprob: dict[Gram, float] = {}
        self.backoff: dict[Gram, float] = {}
        for table in model.tables:
            for words, log10, backoff in zip(table.words_Kn.tolist(), table.log10_K, table.backoff_K, strict=True):
                self.logprob[tuple(words)] = float(log10) * math.log(10)
                self.backoff[tuple(words)] = float(backoff) * math.log(10)

    def score(self, context: Gram, word: int) -> float:
        """The log probability of a word after all words of a context."""
        if (word,) not in self.logprob:
            word = UNKNOWN_ID
        context = context[-(self.order - 1) :] if self.order > 1 else ()
        if (*context, word) in self.logprob:
            return self.logprob[(*context, word)]
        return self.backoff.get(context, 0.0) + self.score(context[1:], word)


@st.composite
def back_off_models(draw: st.DrawFn) -> ArpaModel:
    """Random models: every n-gram's beginning is listed, its end often is not, as after pruning."""
    order = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.1, 0.3, 0.7]))
    size = len(VOCABULARY)
    grams: list[Gram] = [(word,) for word in range(size)]
    tables = []
    for n in range(1, order + 1):
        backoff_K = rng.choice([0.0, -0.5, 0.25], size=len(grams)) * rng.random(len(grams))
        backoff_K = backoff_K if n < order else np.zeros(len(grams))
        words_Kn = np.array(grams, np.int32).reshape(-1, n)
        tables.append(NgramTable(words_Kn, -3 * rng.random(len(grams)), backoff_K))
        longer = [(*gram, w) for gram in grams if gram[-1] != END_ID for w in range(size) if w != BEGIN_ID]
        grams = [gram for gram in longer if rng.random() < share][:60]
    return ArpaModel(VOCABULARY, tables)


SENTENCES = st.lists(st.sampled_from([UNKNOWN_ID, *WORD_IDS]), max_size=8)

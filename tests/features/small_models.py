"""Small block sets and back-off models, and the probabilities of those by the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.phrases.small_corpora import texts
from xlate.lm.arpa import ArpaModel, NgramTable
from xlate.lm.model import LN10, NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.events import collect_events
from xlate.phrases.matching import Matches, match_blocks
from xlate.text.vocabulary import Vocabulary

# Numbers 3, 4 and 5, as in the small corpora; the models below number them otherwise.
TARGET = Vocabulary(["a", "b", "c"])
LM_WORDS = Vocabulary(["c", "x", "a", "b"])


def block_set(table, corpus, counted=None) -> tuple[BlockSet, Matches]:
    """The block set of a drawn corpus, counted in the sentences marked true, and all its matches."""
    matches = match_blocks(table, *texts(corpus))
    counted_S = np.ones(len(corpus), dtype=bool) if counted is None else np.array(counted)
    counted_M = np.repeat(counted_S, np.diff(matches.offsets_S1))
    return BlockSet.count(table, matches, collect_events(matches), counted_M), matches


def bigram_model(bigrams, seed=0) -> tuple[NgramModel, ArpaModel]:
    """A model of order 2 with the given word pairs (numbers of `LM_WORDS`) and invented probabilities."""
    generator = np.random.default_rng(seed)
    size = len(LM_WORDS)
    words = np.arange(size, dtype=np.int32)[:, None]
    unigrams = NgramTable(words, -generator.uniform(0.2, 3, size), -generator.uniform(0, 1, size))
    pairs = np.array(sorted(set(bigrams)), dtype=np.int32).reshape(-1, 2)
    table = NgramTable(pairs, -generator.uniform(0.1, 2, len(pairs)), np.zeros(len(pairs)))
    arpa = ArpaModel(LM_WORDS, [unigrams, table])
    return NgramModel.from_arpa(arpa), arpa


def cost_by_definition(arpa: ArpaModel, history: str, word: str) -> float:
    """-ln p(word | history) of a bigram model: the listed value, or back-off times unigram."""
    unigrams, bigrams = arpa.tables
    before, own = arpa.vocabulary.id(history), arpa.vocabulary.id(word)
    listed = {tuple(pair): value for pair, value in zip(bigrams.words_Kn.tolist(), bigrams.log10_K, strict=True)}
    if (before, own) in listed:
        return -listed[before, own] * LN10
    return -(unigrams.backoff_K[before] + unigrams.log10_K[own]) * LN10


pair = st.tuples(st.sampled_from([1, 3, 4, 5, 6]), st.sampled_from([2, 3, 4, 5, 6]))
models = st.builds(bigram_model, st.lists(pair, max_size=10), st.integers(0, 3))

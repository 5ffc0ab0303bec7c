"""Linear mixtures of language models and of phrase tables (Foster and Kuhn 2007), and their weights from a dev set.

With λ_i the weight of model i, a mixture of language models has p(w | h) = Σ_i λ_i p_i(w | h) for every n-gram h w that
one of them lists. New back-off weights make the probabilities after each context sum to 1, as SRILM's `-mix-lm` does.

The p(e | f) of a mixture of phrase tables is Σ_i λ_i p_i(e | f), divided by its sum over all e: a part of the text
without the source phrase f takes nothing away. p(f | e) likewise.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints32
from xlate.kernels.memory import HashTable, build_table, find_all, pair_keys
from xlate.lm.arpa import ArpaModel, NgramTable
from xlate.lm.model import NgramModel, token_logprobs
from xlate.phrases.table import DIRECT_PHRASE, INVERSE_PHRASE, PhraseTable
from xlate.text.vocabulary import END_ID, UNKNOWN_ID, EncodedText

log = logging.getLogger(__name__)
ITERATIONS = 100
# Below any probability of an event or of the n-grams that a context does not list.
TINY = 1e-30


def em_weights(probability_IN: Floats, count_N: AnyInts | Floats) -> Floats:
    """The weights of I models, (I,), under which their mixture makes N events most likely, by EM.

    One event more per model, known to that model alone, keeps each weight above 0.

    Args:
        probability_IN: of each event under each model; events that no model knows do not count.
        count_N: how often each event was seen.
    """
    weights_I = np.full(len(probability_IN), 1 / len(probability_IN))
    for _ in range(ITERATIONS):
        share_IN = weights_I[:, None] * probability_IN
        events_I = 1 + (share_IN / np.maximum(share_IN.sum(axis=0), TINY)) @ count_N
        weights_I = events_I / events_I.sum()
    return weights_I


def mixed_lm(models: Sequence[ArpaModel], dev: EncodedText, weights_I: Floats | None = None) -> ArpaModel:
    """The mixture of models of one order over one vocabulary, in memory.

    Args:
        dev: a text; its unknown words are omitted.
        weights_I: of the models; None: those that make `dev` most likely.
    """
    automata = [NgramModel.from_arpa(model) for model in models]
    # A model that has seen unknown words gives them a high probability, but no translation contains them.
    known_N = np.insert(dev.ids_T, dev.offsets_S1[1:], END_ID) != UNKNOWN_ID
    probability_IN = np.exp([token_logprobs(model, dev)[known_N] for model in automata])
    if weights_I is None:
        weights_I = em_weights(probability_IN, np.ones(len(probability_IN[0])))
    *each, mixed = np.exp(-np.log([*probability_IN, weights_I @ probability_IN]).mean(axis=1)).tolist()
    weights, perplexities = (", ".join(f"{x:.{n}f}" for x in xs) for xs, n in ((weights_I, 2), (each, 1)))
    log.info("language models weigh %s; dev perplexity %s, mixed %.1f", weights, perplexities, mixed)
    tables: list[NgramTable] = []
    rows: list[HashTable] = []
    for n, parts in enumerate(zip(*(model.tables for model in models), strict=True)):
        words_Kn = np.concatenate([part.words_Kn for part in parts])
        context_K = np.zeros(len(words_Kn), np.int64)
        for table, word_K in zip(rows, words_Kn.T, strict=False):
            context_K = find_all(table, pair_keys(context_K, word_K)).astype(np.int64)
        keys_K, first_K = np.unique(pair_keys(context_K, words_Kn[:, -1]), return_index=True)
        words_Kn, context_K = words_Kn[first_K], context_K[first_K]
        mixed_K = _probabilities(automata, weights_I, words_Kn)
        if n:
            lower_K = _probabilities(automata, weights_I, words_Kn[:, 1:])
            # What the listed n-grams leave to the others, in this order and in the one below.
            rest_C, lower_rest_C = (
                np.maximum(1 - np.bincount(context_K, p_K, len(tables[-1])), TINY) for p_K in (mixed_K, lower_K)
            )
            tables[-1].backoff_K[:] = np.log10(rest_C / lower_rest_C)
        rows.append(build_table(keys_K))
        tables.append(NgramTable(words_Kn, np.log10(mixed_K), np.zeros(len(mixed_K))))
    return ArpaModel(models[0].vocabulary, tables)


def _probabilities(models: Sequence[NgramModel], weights_I: Floats, words_Kn: Ints32) -> Floats:
    """The mixed probability of the last word of K n-grams after the others."""
    logprob_IK = np.empty((len(models), len(words_Kn)))
    for i, model in enumerate(models):
        states_K = np.zeros(len(words_Kn), np.int32)
        for words_K in np.ascontiguousarray(words_Kn.T):
            logprob_IK[i], states_K = model.score_batch(states_K, words_K)
    return weights_I @ np.exp(logprob_IK)


def mixed_table(
    table: PhraseTable, count_IB: Floats, dev_B: Floats, weights_I: Floats | None
) -> tuple[PhraseTable, Floats]:
    """A table of a whole text with the mixture of p(e | f) and of p(f | e) in I parts of the text, and the weights.

    Args:
        count_IB: how often each pair was extracted from each part.
        dev_B: how often it was extracted from a dev set.
        weights_I: of the parts; None: those that make the dev set most likely.
    """
    columns = {DIRECT_PHRASE: np.asarray(table.source_B), INVERSE_PHRASE: np.asarray(table.target_B)}
    shares = {
        column: np.stack([count_B / np.maximum(np.bincount(row_B, count_B)[row_B], 1) for count_B in count_IB])
        for column, row_B in columns.items()
    }
    if weights_I is None:
        seen_B = dev_B > 0
        seen_IN = np.concatenate([share_IB[:, seen_B] for share_IB in shares.values()], axis=1)
        weights_I = em_weights(seen_IN, np.tile(dev_B[seen_B], 2))
    scores_B4 = np.array(table.scores_B4)
    for column, row_B in columns.items():
        mixed_B = weights_I @ shares[column]
        scores_B4[:, column] = mixed_B / np.bincount(row_B, mixed_B)[row_B]
    return replace(table, scores_B4=scores_B4), weights_I

"""Lists scored under other weights of the classifier as if they were decoded with these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.models.context.test_predicted import SIZE, WORDS, models
from tests.models.phrase.small_phrase_models import random_weights
from tests.scoring.predicted_scorer import PredictedScorer
from xlate.candidates.context_instances import Translations
from xlate.candidates.lists import LENGTH, PAIR, START, listed
from xlate.kernels.learning.lists import PredictedParts, span_logs
from xlate.models.context.model import chosen_in
from xlate.models.context.predicted import PredictedScores
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.model import SentencePhrases
from xlate.models.phrase.training import with_units
from xlate.phrases.occurrences import listed_pairs
from xlate.search.settings import PhraseSearch
from xlate.text.vocabulary import EncodedText


@pytest.mark.parametrize("alone", [False, True])
def test_scores_of_lists_change_as_the_floats_of_their_steps_do(alone: bool) -> None:
    model, phrases = models(0, alone=alone, most=3)
    # Every pair is listed, so that there is something to choose among.
    counts_B = np.arange(len(phrases.table)) % 4 + 1
    model = replace(model, choices=Translations(listed_pairs(phrases.table, counts_B, 3), model.targets))
    full = replace(phrases, in_sentence=PredictedScores(model))
    rng = np.random.default_rng(0)
    weights_D = random_weights(rng, full.size)
    decoder = PhraseDecoder(full, weights_D, PhraseSearch(algorithm="stack", options=50, nbest=30, stack=50))
    lists = listed([with_units(decoder, WORDS)], EncodedText.from_ids([np.array([3, 4])]), np.array([0, 1]))
    start_P, end_P = lists.unit_PU[:, START], lists.unit_PU[:, START] + lists.unit_PU[:, LENGTH]
    pair_P = lists.unit_PU[:, PAIR]
    spans, choice_P = chosen_in(model, WORDS, start_P, end_P, pair_P)
    spans.validate()
    weight = float(weights_D[full.sentence_slots][0])
    start = np.append(span_logs(spans.arrays(), alone), 0.0)[choice_P]
    parts = PredictedParts(spans.arrays(), np.array([0, len(spans)]), choice_P, start, weight, alone)
    scorer, changes_F = PredictedScorer(spans, parts, SIZE), rng.normal(size=SIZE)
    with torch.no_grad():
        scorer.linear.bag.weight[:, 0] = torch.as_tensor(changes_F)
    changed = replace(model, weights=replace(model.weights, sparse_F=model.weights.sparse_F + changes_F))
    asked = SentencePhrases(WORDS, start_P, end_P, pair_P)
    floats_P = [PredictedScores(which).of(asked)[:, 0] for which in (model, changed)]
    change_P = floats_P[1] - floats_P[0]
    expected = np.add.reduceat(change_P[lists.candidate_parts_K], lists.candidate_part_offsets_C1[:-1])
    assert scorer(lists).detach().numpy() == pytest.approx(weight * expected, abs=1e-4)
    # Words that stand for themselves, and phrases that are not listed, are no choices.
    assert (choice_P[pair_P < 0] < 0).all()
    assert change_P[choice_P < 0] == pytest.approx(0.0, abs=1e-6)
    assert (choice_P >= 0).sum() > 3
    # The only translation of a phrase is certain whatever the weights are, unless it is judged by itself.
    assert alone or (np.diff(spans.candidate_offsets_I1) > 1).all()

"""The joint model inside the phrase decoder, against PyTorch's network over whole derivations."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from tests.models import test_every_system as suite
from tests.models.phrase.small_phrase_models import random_phrase_model, random_weights
from tests.models.small_models import SOURCE, TARGET
from xlate.align.links import Links
from xlate.config.model_schema import JointModelConfig
from xlate.models.derivation import Derivation, Step
from xlate.models.joint.feature import NAME, joint_feature
from xlate.models.joint.kind import JointModel, affiliations
from xlate.models.joint.network import JointNetwork
from xlate.models.phrase.decoder import PhraseDecoder, PhraseSearch
from xlate.models.phrase.model import PhraseModel
from xlate.phrases.table import PhraseTable
from xlate.text.vocabulary import BEGIN, END, Vocabulary

WHOLE = {"algorithm": "stack", "stack": 10**9, "threshold": 0.0, "distortion_limit": 3, "options": 3}
SENTENCES = [["a"], ["b", "zz", "a"], ["d", "a", "b", "c"]]


def with_links(rng: np.random.Generator, table: PhraseTable) -> PhraseTable:
    """Random links inside pairs, some pairs without any."""
    links: list[tuple[int, int]] = []
    offsets = [0]
    for source, target in zip(table.source_B, table.target_B, strict=True):
        lengths = len(table.source_phrases[source]), len(table.target_phrases[target])
        links += [(i, j) for j in range(lengths[1]) for i in range(lengths[0]) if rng.random() < 0.4]
        offsets.append(len(links))
    source_K, target_K = np.array(links, np.int16).reshape(-1, 2).T
    return replace(
        table, link_offsets_B1=np.array(offsets), link_source_K=source_K.copy(), link_target_K=target_K.copy()
    )


@cache
def case(order: int) -> tuple[JointNetwork, JointModel, PhraseModel]:
    """A random network that lacks a source and a target word of a random phrase model, which has it as its feature."""
    rng = np.random.default_rng(order)
    torch.manual_seed(order)
    source, target = (Vocabulary(side.words[3:-1]) for side in (SOURCE, TARGET))
    settings = JointModelConfig(order=order, window=2, dimension=3, hidden=7)
    share_V = torch.from_numpy(rng.dirichlet(np.ones(len(target))))
    network = JointNetwork((len(source), len(target)), settings, share_V).double()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, 0.0, 1.0)
    arrays = {name: value.numpy() for name, value in network.state_dict().items()}
    joint = JointModel(source, target, arrays, 2)
    model = random_phrase_model(rng, "hier")
    model = replace(model, table=with_links(rng, model.table), histories=(joint_feature(joint),))
    return network, joint, model


def system(order: int, **search: object) -> PhraseDecoder:
    model = case(order)[2]
    weights_D = random_weights(np.random.default_rng(1), model.size)
    weights_D[model.history_slots] = 0.4
    return PhraseDecoder(model, weights_D, PhraseSearch(**{**WHOLE, **search}))  # type: ignore[arg-type]


def affiliated(model: PhraseModel, step: Step) -> list[int]:
    """The source positions of a step's words; `test_kind.py` has them by hand."""
    links = Links.from_pairs([model.table.links(step.unit) if step.unit >= 0 else []])
    return (step.source_span[0] + affiliations(np.array([0, len(step.target_words)]), links)).tolist()


def by_torch(order: int, derivation: Derivation[Step]) -> float:
    """The sum of the scores of all words and the end, from one pass of the network over a whole derivation."""
    network, joint, model = case(order)
    source = [BEGIN, BEGIN, *derivation.source, END, END, END]
    target = [BEGIN] * (order - 1) + list(derivation.words) + [END]
    centers = [i for step in derivation.steps for i in affiliated(model, step)] + [len(derivation.source)]
    windows = [[joint.source.id(word) for word in source[i : i + 5]] for i in centers]
    ids = [joint.target.id(word) for word in target]
    places = range(order - 1, len(target))
    histories = [[ids[at - b] for b in range(1, order)] for at in places]
    scores = network(torch.tensor(windows), torch.tensor(histories)).detach()
    return sum(float(row[ids[at]]) for row, at in zip(scores, places, strict=True))


@pytest.mark.parametrize("order", [2, 5])
def test_scores_in_the_decoder_are_those_of_the_network(order: int) -> None:
    decoder = system(order, nbest=60, distinct=False)
    column = decoder.model.columns.index(NAME)
    for words in SENTENCES:
        for one in (decoder, decoder.with_search(algorithm="cube", pop_limit=10**9)):
            listed = one.translate(words)
            for derivation in listed:
                assert derivation.features_D[column] == pytest.approx(by_torch(order, derivation), abs=1e-5)
                assert derivation.score == pytest.approx(decoder.weights_D @ derivation.features_D, abs=1e-9)
            assert listed[0].score == pytest.approx(decoder.translate(words)[0].score, abs=1e-9)


def test_a_beam_without_limits_equals_enumeration() -> None:
    exact = system(4, options=2, nbest=10**6)
    suite.test_everything_is_found(exact)
    suite.test_arcs_have_the_features_of_their_derivations(exact)
    suite.test_forced_decoding_finds_every_output(exact)


def test_rare_words_share_a_number_in_long_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two bits per word, the most frequent word keeps its number, all others are unknown words of histories."""
    monkeypatch.setattr("xlate.models.joint.feature.STATE_BITS", 6)
    decoder = system(4, nbest=50)
    for words in SENTENCES:
        for derivation in decoder.translate(words):
            assert derivation.score == pytest.approx(decoder.weights_D @ derivation.features_D, abs=1e-9)

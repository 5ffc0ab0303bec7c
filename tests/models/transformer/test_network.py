"""The network against its own definition: steps of a search, scores of given translations, and complete searches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from sentencepiece import SentencePieceProcessor

from xlate.config.model_schema import BACKWARD, FORWARD, REVERSE, TransformerModelConfig
from xlate.jobs.train.transformer import batches_of, padded_length
from xlate.models.transformer.kind import PIECES, TransformerModel, TransformerSystem, learned_pieces, padded
from xlate.models.transformer.network import BEGIN, END, PAD, UNKNOWN, Transformer
from xlate.search.settings import TransformerSearch

SMALL = {"dimension": 16, "layers": 2, "dropout": 0.0}
LINES = ["ab ab ba", "ba a b", "abba b a"]


def model_of(direction: str = FORWARD, pieces: int = 10) -> TransformerModel:
    settings = TransformerModelConfig(direction=direction, pieces=pieces, **SMALL)  # type: ignore[arg-type]
    torch.manual_seed(3)
    proto = learned_pieces(LINES, pieces)
    size = len(SentencePieceProcessor(model_proto=proto))
    arrays = {name: tensor.numpy() for name, tensor in Transformer(size, settings).state_dict().items()}
    return TransformerModel({**arrays, PIECES: np.frombuffer(proto, np.uint8)}, settings)


def logs_of(network: Transformer, source: list[int], target: list[int]) -> torch.Tensor:
    """ln p of every piece at each place of a translation."""
    read = torch.tensor([source])
    with torch.no_grad():
        return network.decode(network.encode(read), read, torch.tensor([target[:-1]])).log_softmax(-1)[0]


def test_a_step_gives_what_the_whole_target_gives() -> None:
    network = model_of().network
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[BEGIN, 4, 5, 4], [BEGIN, 6, 6, 5]])
    with torch.no_grad():
        whole = network.decode(network.encode(source).expand(2, -1, -1), source.expand(2, -1), target)
        memories, before = network.memories(source), []
        for place in range(target.shape[1]):
            scores, before = network.continued(target[:, place : place + 1], memories, before)
            torch.testing.assert_close(scores[:, 0], whole[:, place])
        torch.testing.assert_close(network.continued(target, memories, [])[0], whole)


@pytest.mark.parametrize("direction", [FORWARD, REVERSE])
def test_a_complete_search_finds_what_enumeration_finds(direction: str) -> None:
    """The best translations of up to two pieces, by the mean ln p of pieces with the end."""
    model = model_of(direction)
    source, size = ["ab"], len(model.pieces)
    normal = [piece for piece in range(size) if piece not in (UNKNOWN, BEGIN, END, PAD)]
    expected = {}
    sources = torch.tensor([model.ids(source, target=False)])
    for length in range(3):
        for pieces in itertools.product(normal, repeat=length):
            target = torch.tensor([[BEGIN, *pieces, END]])
            with torch.no_grad():
                log_p = float(model.network.log_probs(sources, target))
            expected[pieces] = log_p / (length + 1)
    found = model.listed(source, 10_000)
    best = sorted(expected.values(), reverse=True)[:5]
    scores = [score for score, _ in found]
    assert scores == sorted(scores, reverse=True)
    for value in best:
        assert min(abs(value - score) for score in scores) < 1e-5


@pytest.mark.parametrize("direction", [FORWARD, REVERSE, BACKWARD])
def test_scores_are_those_of_one_translation_at_a_time(direction: str) -> None:
    model = model_of(direction)
    source, targets = ["ab", "ba"], [["b"], ["a", "abba", "ba"], ["ab"]]
    together = model.log_probs(source, targets)
    for target, log_p in zip(targets, together, strict=True):
        first, last = (target, source) if direction == BACKWARD else (source, target)
        ids = model.pieces.encode(" ".join(last))
        ids = [BEGIN, *(ids[::-1] if direction == REVERSE else ids), END]
        logs = logs_of(model.network, model.pieces.encode(" ".join(first)), ids)
        assert log_p == pytest.approx(sum(float(logs[n, piece]) for n, piece in enumerate(ids[1:])), abs=1e-5)


def test_batches_hold_every_pair_once_and_stay_small() -> None:
    draws = np.random.default_rng(1)
    pairs = [([5] * int(draws.integers(1, 9)), [6] * int(draws.integers(2, 9))) for _ in range(500)]
    batches = batches_of(pairs, 28)
    assert sorted(np.concatenate(batches).tolist()) == [*range(500)]
    for batch in batches:
        assert len(batch) * max(padded_length(pairs[n]) for n in batch) <= 28
        assert all(padded_length(pairs[n]) >= max(map(len, pairs[n])) for n in batch)


def test_labels_are_smoothed_over_all_pieces_and_padding_changes_nothing() -> None:
    network = model_of().network
    sources, targets = [[4, 5, 6, 4], [5]], [[BEGIN, 5, END], [BEGIN, 6, 4, 5, 4, END]]
    expected = 0.0
    for source, target in zip(sources, targets, strict=True):
        logs = logs_of(network, source, target)
        for place, piece in enumerate(target[1:]):
            expected -= 0.8 * float(logs[place, piece]) + 0.2 * float(logs[place].mean())
    loss = float(network.loss(padded(sources), padded(targets), 0.2).detach())
    assert loss == pytest.approx(expected / (2 + 5), abs=1e-5)


def test_of_translations_with_the_same_words_the_best_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words can be split into pieces in several ways. A translation without words is one, too."""
    model = model_of()
    found = [(-0.1, ["a"]), (-0.2, ["b"]), (-0.3, ["a"]), (-0.4, []), (-0.5, ["b", "a"])]
    monkeypatch.setattr(model, "listed", lambda source, beam: found)
    system = TransformerSystem(model, TransformerSearch(nbest=4, distinct=True))
    listed = [(one.score, one.words) for one in system.translate(["ab"])]
    assert listed == [(-0.1, ["a"]), (-0.2, ["b"]), (-0.4, []), (-0.5, ["b", "a"])]
    assert [one.words for one in system.with_search(distinct=False).translate(["ab"])][2] == ["a"]
    assert model.ids([], target=True) == [BEGIN, END]
    assert model.ids([], target=False) == [UNKNOWN]

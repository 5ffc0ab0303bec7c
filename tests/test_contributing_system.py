"""CONTRIBUTING.md, "a system": a toy that translates word by word has all that the others have, and is trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from xlate.jobs.train.tuning import NbestLists, TuningText, optimiser
from xlate.learning.global_model import GlobalTraining
from xlate.learning.settings import GlobalConfig, GlobalLossConfig
from xlate.learning.tuning import Tuning
from xlate.metrics.objective import BLEU
from xlate.models.derivation import Derivation, Step
from xlate.models.system import System
from xlate.models.tuned import TunedCosts
from xlate.scoring.weights import Weights
from xlate.search.beam import Move, SearchSpace
from xlate.search.lattice import LatticeArcs
from xlate.search.oracle import oracle_example
from xlate.search.settings import SearchSettings
from xlate.text.vocabulary import Vocabulary
from xlate.tuners.settings import MiraConfig

# Of each source word its translations, with a cost and whether they are of two words.
LEXICON = {
    "das": [("the", 0.2, 0.0), ("this", 1.6, 0.0)],
    "haus": [("house", 0.9, 0.0), ("at home", 0.7, 1.0)],
    "ist": [("is", 0.1, 0.0), ("has", 2.0, 0.0)],
    "klein": [("little one", 0.4, 1.0), ("small", 0.5, 0.0)],
}
NAMES = ("lexical", "long")
MOST = 10
TEXT = {
    "das haus ist klein": "the house is small",
    "klein ist das haus": "small is the house",
    "das ist klein": "the is small",
}


@dataclass(frozen=True)
class ToySearch(SearchSettings):
    beam: int = 50


EXACT = ToySearch(threshold=0.0)


class ToySpace(SearchSpace[int]):
    """A state is how many words are translated."""

    def __init__(self, words: Sequence[str], weights_D: NDArray[np.float64]) -> None:
        self.words, self.weights_D = tuple(words), weights_D

    start = 0

    @property
    def levels(self) -> int:
        return len(self.words)

    def expand(self, state: int) -> Iterable[Move[int]]:
        for number, (_, *features) in enumerate(LEXICON[self.words[state]]):
            score = float(self.weights_D @ features)
            yield Move(state + 1, state + 1, score, state * MOST + number)

    def future(self, state: int) -> float:
        return 0.0

    def words_of(self, label: int) -> tuple[str, ...]:
        return tuple(self.entry(label)[0].split())

    def entry(self, label: int) -> tuple[str, float, float]:
        return LEXICON[self.words[label // MOST]][label % MOST]


class Toy(System[ToySpace, ToySearch]):
    """The best choice for every word."""

    LONGEST = 100
    PARTS = ("dense_D", "search", "fast")
    features = None
    feature_names = (*NAMES, "binary")
    target_vocabulary = Vocabulary(["<unk>", "<s>", "</s>", "the", "this", "house", "at", "home", "is"])

    def __init__(self, dense_D: NDArray[np.float64], search: ToySearch = EXACT, fast: bool = True) -> None:
        self.dense_D, self.search, self.fast = dense_D, search, fast

    @property
    def weights_D(self) -> NDArray[np.float64]:
        return np.append(self.dense_D, 1.0)

    @property
    def weights(self) -> Weights:
        return Weights(self.dense_D, np.zeros(0), NAMES)

    def with_weights(self, weights: Weights) -> Toy:
        return self.changed(dense_D=weights.dense_D)

    def space(self, words: Sequence[str], target: Sequence[str] | None = None) -> ToySpace:
        self.check_length(words)
        return ToySpace(words, self.dense_D)

    def derivation(self, space: ToySpace, labels: Sequence[int]) -> Derivation[Step]:
        steps = [Step(label % MOST, ((label // MOST, label // MOST + 1),), space.words_of(label)) for label in labels]
        features_D = np.append(np.sum([space.entry(label)[1:] for label in labels], axis=0), 0.0)
        return Derivation(space.words, tuple(steps), features_D, float(self.weights_D @ features_D))

    def arc_features(self, space: ToySpace, found: LatticeArcs) -> LatticeArcs:
        return found._replace(dense_AD=np.array([space.entry(label)[1:] for label in found.label_A.tolist()]))

    def explain(self, source: Sequence[str], derivation: Derivation[Step]) -> str:
        return " ".join(derivation.words)


def toy() -> Toy:
    """Under weights that like long translations."""
    return Toy(np.array([-1.0, 0.5]))


def words_of(system: Toy) -> list[str]:
    return [" ".join(system.translate(source.split())[0].words) for source in TEXT]


def test_it_translates_lists_forces_and_explains() -> None:
    system = toy()
    assert words_of(system)[0] == "the at home is little one"
    listed = system.with_search(nbest=20).translate(["das", "haus"])
    assert [" ".join(one.words) for one in listed] == ["the at home", "the house", "this at home", "this house"]
    assert [one.score for one in listed] == pytest.approx([-0.4, -1.1, -1.8, -2.5])
    forced = system.force(["das", "haus"], ["this", "house"])
    assert forced is not None
    assert forced.score == pytest.approx(-2.5)
    assert system.force(["das"], ["house"]) is None
    assert system.nbest_line(3, listed[0]).startswith("3 ||| the at home ||| lexical= 0.9 long= 1")
    pieces = replace(system.search, max_words=2)
    assert system.changed(search=pieces).translate(["das", "haus", "ist"])[0].words == ["the", "at", "home", "is"]
    several = system.translate_many([source.split() for source in TEXT], processes=2)
    assert [" ".join(found[0].words) for found in several] == words_of(system)


def test_it_is_tuned(tmp_path: Path) -> None:
    text = TuningText([s.split() for s in TEXT], [[t.split()] for t in TEXT.values()])
    tuned = TunedCosts(toy())
    lists = NbestLists(tuned, text, 16, lambda: False)
    settings = MiraConfig(epochs=20, length_band=9.0, C=0.1)
    loop = Tuning(lists.decode, optimiser(settings, tuned.trained_D, BLEU), replace(settings, rounds=3), tmp_path)
    found = loop.run(tuned.trained)
    weights, rounds = found
    assert rounds[0].bleu < 50
    assert words_of(tuned.weighted(weights)) == list(TEXT.values())


def test_its_global_model_is_trained() -> None:
    system = toy()

    def decode(weights: Weights):
        for source, target in TEXT.items():
            yield oracle_example(system.with_weights(weights).lattice(source.split()), [target.split()])

    settings = GlobalLossConfig(eta=0.1, globally=GlobalConfig(rounds=2, epochs=20, rule="sgd"))
    after, figures = GlobalTraining(decode, None, settings).run(system.weights)
    assert figures[-1]["loss"] < figures[1]["loss"]
    assert words_of(system.with_weights(after)) == list(TEXT.values())

"""The lattice decoder: against all permutations by brute force, and what it leaves out."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.models.context.test_predicted import models
from xlate.errors import InputError
from xlate.models.derivation import COPIED
from xlate.models.lcs import DELETED, NAMES, LcsDecoder, LcsModel, LcsSearch, TunedLcs, language_alone
from xlate.search.beam import Words
from xlate.text.vocabulary import END_ID

EXACT = {"beam": 10**9, "threshold": 0.0, "nbest": 10**6, "distinct": False}
SENTENCES = [["b"], ["b", "zz"], ["a", "c", "b"], ["b", "zz", "a", "c"], ["c", "a", "b", "d", "a"]]


def decoder(seed: int, **settings: object) -> LcsDecoder:
    classifier, phrases = models(seed, most=3)
    model = LcsModel(classifier, phrases.target_vocabulary, phrases.lm)
    weights_D = np.random.default_rng(seed).normal(size=3) + (1.0, 0.5, -1.0)
    return LcsDecoder(model, weights_D, LcsSearch(**(EXACT | settings)))  # type: ignore[arg-type]


def blocks_of(system: LcsDecoder, words: list[str]) -> list[list[tuple[Words, float, float]]]:
    """The target words, ln p and number of deletions of what each word may become, by the classifier's predictions."""
    search, model = system.search, system.model
    found, table = model.classifier.predict(words), model.classifier.targets.table
    cells: list[list[tuple[Words, float, float]]] = []
    for position, word in enumerate(words):
        rows = [
            (found.log_C[c], tuple(model.target_vocabulary.word(w) for w in table.target_phrases[table.target_B[pair]]))
            for i in range(len(found.spans.start_I))
            if (found.spans.start_I[i], found.spans.end_I[i]) == (position, position + 1)
            for c in range(found.offsets_I1[i], found.offsets_I1[i + 1])
            for pair in [found.pair_C[c]]
        ]
        rows.sort(key=lambda row: -row[0])
        likely = [row for row in rows if np.exp(row[0]) >= search.least_probability] or rows[:1]
        cell = [(said, float(log), 0.0) for log, said in likely[: search.options]] or [((word,), 0.0, 0.0)]
        cells.append(cell + [((), 0.0, 1.0)] * search.deletions)
    return cells


def allowed(order: tuple[int, ...], window: int) -> bool:
    """Whether each word stood less than `window` behind the first that was open when it was taken."""
    return all(taken < min(order[at:]) + window for at, taken in enumerate(order))


def by_hand(system: LcsDecoder, words: list[str]) -> list[tuple[float, Words]]:
    """Score and words of every permutation of every choice."""
    lm, found = system.model.lm, []
    cells = blocks_of(system, words)
    for order in itertools.permutations(range(len(words))):
        if not allowed(order, system.search.window):
            continue
        for chosen in itertools.product(*(cells[position] for position in order)):
            target = tuple(word for said, _, _ in chosen for word in said)
            state, language = lm.begin_state, 0.0
            for number in [*lm.vocabulary.ids(target).tolist(), END_ID]:
                logprob, state = lm.score(state, number)
                language += logprob
            cost = system.search.deletion_cost * sum(deleted for _, _, deleted in chosen)
            features = language, sum(log for _, log, _ in chosen), cost
            found.append((float(system.weights_D @ features), target))
    return sorted(found, key=lambda row: -row[0])


@pytest.mark.parametrize(("window", "deletions", "seed"), [(1, False, 0), (2, True, 1), (3, False, 1), (9, True, 0)])
def test_the_search_without_limits_is_all_permutations(window: int, deletions: bool, seed: int) -> None:
    # Where no block is that probable, the best one stays.
    least, options = (0.2, 0.9)[seed], 1 if deletions else 2
    system = decoder(seed, window=window, deletions=deletions, options=options, least_probability=least)
    for words in SENTENCES:
        expected, found = by_hand(system, words), system.translate(words)
        assert [d.score for d in found] == pytest.approx([score for score, _ in expected], abs=1e-6)
        assert found[0].score == pytest.approx(system.with_search(nbest=1).translate(words)[0].score)
        best = {target for score, target in expected if score > expected[0][0] - 1e-9}
        assert tuple(found[0].words) in best


def test_words_are_left_out_where_that_pays() -> None:
    system = decoder(1, deletions=True, deletion_cost=0.1, nbest=1)
    system = system.with_weights(replace(language_alone(), dense_D=np.array([0.0, 1.0, 1.0])))
    found = system.translate(["a", "b"])[0]
    assert found.words == []
    assert [step.unit for step in found.steps] == [DELETED, DELETED]
    assert "(left out)" in system.explain(["a", "b"], found)
    assert system.nbest_line(0, found).split(" ||| ")[4] == ""
    assert [step.unit for step in system.with_search(deletions=False).translate(["zz"])[0].steps] == [COPIED]
    system = system.with_weights(replace(language_alone(), dense_D=np.array([0.0, 1.0, -1.0])))
    kept = system.with_search(deletion_cost=1e3).translate(["a", "b"])[0]
    assert len(kept.words) >= 2


def test_what_is_tuned() -> None:
    system = decoder(2, nbest=1, distinct=True)
    assert TunedLcs(system).trained_D.tolist() == [True, True, False]
    assert TunedLcs(system).uniform.dense_D.tolist() == [0.5, 0.5, 0.0]
    tuned = TunedLcs(system.with_search(deletions=True))
    assert tuned.uniform.dense_D == pytest.approx([1 / 3, 1 / 3, -1 / 3])
    listed = next(tuned.hypotheses(tuned.uniform, [["a", "zz"]], 5))
    found = tuned.weighted(tuned.uniform).with_search(nbest=5).translate(["a", "zz"])
    assert listed.dense_CD == pytest.approx(np.array([d.features_D for d in found]), abs=1e-5)
    assert language_alone().dense_names == NAMES


def test_other_weights_are_refused() -> None:
    with pytest.raises(InputError, match="weights"):
        decoder(1).changed(weights_D=np.zeros(2))

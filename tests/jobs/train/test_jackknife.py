"""Lists of the training text in folds: every sentence is decoded by the system that has not seen it, and once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import decoded
from xlate.candidates.nbest import statistic_names
from xlate.jobs.train.jackknife import Jackknife
from xlate.learning.settings import FoldedListsConfig
from xlate.machine import Stopped
from xlate.models.kind import FoldSystem
from xlate.scoring.weights import Weights
from xlate.search.settings import PhraseSearch
from xlate.text.vocabulary import EncodedText

FOLD_I = np.array([1, 0, 1, 0, 0])
# The sentences of each fold.
EVERY = [(0, 1), (0, 3), (0, 4), (1, 0), (1, 2)]
# Numbered words. Every translation is word 3.
REFERENCES = [[np.array(words, np.int32) for words in texts] for texts in ([[4], [3]], [[3]], [[4]], [[3]], [[5], [4]])]


class ToyFolds:
    """Systems whose lists have one translation; its float says which fold and which sentence they were given."""

    def __init__(self) -> None:
        self.fold_I, self.identity, self.decoded = FOLD_I, "toy", list[tuple[int, int]]()

    def opened(self, fold: int, *_: object) -> FoldSystem:
        def hypotheses(_: object, words: Sequence[str], draw: None) -> CandidateBatch:
            self.decoded.append((fold, int(words[0])))
            return decoded(np.array([[10.0 * fold + int(words[0])]]), EncodedText.from_ids([np.array([3], np.int32)]))

        decoder: Any = SimpleNamespace(prepare=lambda _: None)
        decoder.with_search = lambda **_: decoder
        return FoldSystem(decoder, hypotheses, ("f",))

    def discard(self, fold: int) -> None:
        """There is nothing to remove."""


def jackknife(folder: Path) -> tuple[Jackknife, ToyFolds]:
    work: Any = SimpleNamespace(
        path=folder, training_sentence=lambda s: [str(s)], training_references=lambda s: REFERENCES[s]
    )
    models, weights = ToyFolds(), Weights(np.ones(1), np.zeros(0), ("f",))
    settings = FoldedListsConfig(folds=2, shard=2)
    return Jackknife(work, models, weights, PhraseSearch(algorithm="stack"), settings), models


def test_every_sentence_is_decoded_by_the_system_without_its_fold(tmp_path: Path) -> None:
    made, models = jackknife(tmp_path)
    made.decode()
    assert sorted(models.decoded) == EVERY
    lists = CandidateBatch.joined(list(made.shards()))
    assert lists.sentence_I is not None
    assert lists.dense_CD[:, 0].tolist() == (10 * FOLD_I[lists.sentence_I] + lists.sentence_I).tolist()
    matched_C = lists.gain_CG[:, statistic_names().index("correct_1")]
    assert matched_C[np.argsort(lists.sentence_I)].tolist() == [1, 1, 0, 1, 0]
    assert sorted(lists.sentence_I.tolist()) == [0, 1, 2, 3, 4]


def test_parts_of_a_fold_are_decoded_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xlate.jobs.train.jackknife.PART", 1)
    made, models = jackknife(tmp_path)
    assert made.missing() == [(0, 0), (0, 1), (1, 0)]
    made.decode_part(0, 0, 1)
    assert models.decoded == [(0, 1), (0, 3)]
    assert made.missing() == [(0, 1), (1, 0)]
    # What is there is not decoded again.
    made.decode_part(0, 0, 2)
    assert made.missing() == [(1, 0)]
    made.decode()
    assert made.missing() == []
    assert sorted(models.decoded) == EVERY


def test_a_stopped_decoding_says_so(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        jackknife(tmp_path)[0].decode(lambda: True)

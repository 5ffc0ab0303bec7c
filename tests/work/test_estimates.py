"""Estimates without a fold equal those of a text that never had it; events have nothing of their own sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.test_mixture import prepared as prepared_demo
from tests.test_end_to_end import work  # noqa: F401
from xlate.align.lexical import lexical_table
from xlate.config.load import load
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.models.phrase.training import PhraseLists
from xlate.phrases.blocks import BlockSet
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import TableRows, collect_events, match_blocks
from xlate.phrases.table import DIRECT_LEXICAL, DIRECT_PHRASE, score_phrases
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import WHOLE, Estimates, Folds, WithoutFold, estimates_of, part_of

FOLDS = 3


@pytest.fixture(scope="module")
def prepared(work: Path) -> WorkDirectory:  # noqa: F811
    return WorkDirectory(work)


@pytest.fixture(scope="module")
def folds(prepared: WorkDirectory) -> Folds:
    return Folds.of_events(prepared, FOLDS)


@pytest.fixture(scope="module")
def without(prepared: WorkDirectory, folds: Folds) -> WithoutFold:
    estimates = estimates_of(prepared, folds)[1]
    assert isinstance(estimates, WithoutFold)
    return estimates


def with_copies(prepared: WorkDirectory, group_S: np.ndarray) -> WorkDirectory:
    """The same text with other groups of copies; the built-in corpus has hardly any."""
    changed = replace(prepared)
    vars(changed)["copies"] = group_S
    return changed


def test_folds_hold_all_copies(prepared: WorkDirectory) -> None:
    group_S = np.arange(len(prepared.copies))
    group_S[100:150] = group_S[:50]
    folds = Folds.of_events(with_copies(prepared, group_S), FOLDS)
    assert folds.numbers == list(range(FOLDS))
    assert np.array_equal(folds.fold_S[100:150], folds.fold_S[:50])
    assert np.array_equal(folds.heldout_S[100:150], folds.heldout_S[:50])
    assert folds.heldout_S[:50].any()
    config = load(TrainConfig, "train", ["model=phrase", "work=w"])
    phrase_fold_I = PhraseLists(config, with_copies(prepared, group_S), Path(), FOLDS).fold_I
    assert np.array_equal(phrase_fold_I, folds.fold_S)


def test_in_no_folds_only_what_is_held_out_is_unseen(prepared: WorkDirectory) -> None:
    paper = Folds.of_events(prepared, 0)
    assert paper.numbers == [WHOLE, 0]
    assert np.array_equal(paper.fold_S == 0, paper.heldout_S)
    kinds = {fold: type(made) for fold, made in estimates_of(prepared, paper).items()}
    assert kinds == {WHOLE: Estimates, 0: WithoutFold}
    assert paper.identity != Folds.of_events(prepared, FOLDS).identity


def test_blocks_and_scores_are_those_of_the_other_folds(without: WithoutFold) -> None:
    """Those of a block set of their text alone."""
    source, target, links = without.text
    table = score_phrases(extract_phrases(source, target, links, 7), lexical_table(source, target, links))
    matches = match_blocks(table, source, target)
    blocks = BlockSet.count(table, matches, collect_events(matches))
    row_B = TableRows(without.work.blocks.table).of(table).pair_B
    known_B = without.blocks.known_B
    assert known_B is not None
    assert 0 < known_B.sum() < len(known_B)
    assert sorted(row_B.tolist()) == np.flatnonzero(known_B).tolist()
    for name in ("count_B", "left_B", "right_B"):
        assert np.array_equal(getattr(without.blocks, name)[row_B], getattr(blocks, name))
        assert not getattr(without.blocks, name)[~known_B].any()
    np.testing.assert_allclose(without.blocks.lexical_B[row_B], blocks.lexical_B, rtol=1e-5)
    np.testing.assert_allclose(without.blocks.unigram_cost_B[row_B], blocks.unigram_cost_B, rtol=1e-5)
    ours, theirs = without.blocks.table.scores_B4[row_B], blocks.table.scores_B4
    np.testing.assert_allclose(ours[:, DIRECT_PHRASE], theirs[:, DIRECT_PHRASE], rtol=1e-6)
    # The links inside a block are the most frequent ones of the whole text, which now and then are others.
    alike = np.isclose(ours[:, DIRECT_LEXICAL], theirs[:, DIRECT_LEXICAL], rtol=1e-4)
    assert alike.mean() > 0.98


def test_smoothed_scores_are_those_of_the_other_folds(tmp_path: Path) -> None:
    small = prepared_demo(tmp_path, 1, "phrases.smoothing=kneser_ney")
    without = estimates_of(small, Folds.of_events(small, FOLDS))[1]
    counts, lexical = extract_phrases(*without.text), lexical_table(*without.text)
    table = score_phrases(counts, lexical, smoothing=small.smoothing)
    row_B = TableRows(small.blocks.table).of(table).pair_B
    ours = without.blocks.table.scores_B4[row_B, DIRECT_PHRASE]
    np.testing.assert_allclose(ours, table.scores_B4[:, DIRECT_PHRASE], rtol=1e-6)


def test_the_language_model_is_that_of_the_other_folds(without: WithoutFold, folds: Folds) -> None:
    whole, target = without.work, without.text[1]
    order = whole.plan["lm"]["settings"]["order"]
    direct = NgramModel.from_arpa(estimate(target, whole.target_vocabulary, order))
    unseen = whole.encoded[1].select(folds.rows(1))
    assert np.array_equal(without.lm.sentence_logprobs(unseen), direct.sentence_logprobs(unseen))
    assert without.lm.sentence_logprobs(unseen).sum() < whole.lm.sentence_logprobs(unseen).sum()


def test_matches_of_a_fold_are_of_blocks_that_stand_elsewhere(without: WithoutFold, folds: Folds) -> None:
    matches, known_B = without.work.matches, without.blocks.known_B
    assert known_B is not None
    every = part_of(matches, folds.fold_S == 1, None)
    part = part_of(matches, folds.fold_S == 1, known_B)
    assert 0 < len(part) < len(every)
    assert len(part.offsets_S1) == len(matches.offsets_S1)
    assert set(np.unique(part.sentence_M)) <= set(folds.rows(1).tolist())
    assert np.array_equal(part.rows_M5, every.rows_M5[known_B[every.block_M]])


def test_a_text_of_copies_cannot_be_cut_into_folds(prepared: WorkDirectory) -> None:
    copies = with_copies(prepared, np.zeros(len(prepared.copies), np.int64))
    with pytest.raises(InputError, match=r"cannot be divided into folds(?s:.*)model\.folds=0"):
        Folds.of_events(copies, FOLDS)
    assert Folds.of_events(copies, 0).numbers == [WHOLE]

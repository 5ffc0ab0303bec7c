"""Forced derivations: by hand, and every line of Moses's own n-best lists."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.models.phrase.definition import force, read_segmentation
from tests.models.phrase.moses_system import LN10, read_packed, write_system
from xlate.errors import InputError
from xlate.formats.moses_ini import read_moses_ini
from xlate.formats.moses_table import phrases_in
from xlate.models.derivation import COPIED
from xlate.models.phrase.model import PHRASE_FEATURES, SLOTS
from xlate.models.phrase.moses import moses_model


def named(features_D):
    return {name: [round(float(x), 9) for x in features_D[slot]] for name, slot in SLOTS.items()}


def logs(*values):
    return [round(math.log(value), 9) for value in values]


def test_features_by_hand(tmp_path):
    model, weights_D = moses_model(read_moses_ini(write_system(tmp_path)))
    # Source a b c q: b first (discontinuous), then a (swap), then q (discontinuous), then c (swap).
    cuts = read_segmentation("1=0 0=1-2 3=3 2=4")
    found = force(model, weights_D, ["a", "b", "c", "q"], ["y", "y", "z", "q", "z"], cuts)
    features = named(found.features_D)
    assert features["Distortion0"] == [-(1 + 2 + 2 + 2)]
    assert features["WordPenalty0"] == [-5]
    assert features["PhrasePenalty0"] == [4]
    assert features["UnknownWordPenalty0"] == [-100]
    assert features["TranslationModel0"] == [0.0, *logs(0.5), *logs(0.25), round(-100.0, 9)]
    # <s> y, y y, y z, z <unk>, <unk> z, z </s>; only <s> has a back-off weight.
    assert features["LM0"] == [pytest.approx(LN10 * -(0.5 + 1.25 + 1.25 + 1.75 + 2 + 1.75 + 1), abs=1e-5)]
    # b: D backward, S forward; a: S backward, D forward; q and c have no orientations.
    assert features["LexicalReordering0"] == [0, *logs(0.2), *logs(0.5), 0, *logs(0.2), *logs(0.4)]
    assert [step.unit == COPIED for step in found.steps] == [False, False, True, False]
    assert found.words == ["y", "y", "z", "q", "z"]
    assert found.target_spans == [(0, 1), (1, 3), (3, 4), (4, 5)]
    assert found.score == pytest.approx(weights_D @ found.features_D)


def test_the_hierarchical_model_looks_at_groups(tmp_path):
    model, weights_D = moses_model(read_moses_ini(write_system(tmp_path, kind="hier")))
    # b and a swap and form a group; c is monotone after the group, though not after a.
    found = force(model, weights_D, ["a", "b", "c"], ["y", "x", "z"], read_segmentation("1=0 0=1 2=2"))
    assert named(found.features_D)["LexicalReordering0"] == [0, *logs(0.05), *logs(0.5), 0, *logs(0.2), *logs(0.1)]
    # In source order a a c with the middle last: the gap beside the first phrase makes the forward step monotone.
    found = force(model, weights_D, ["a", "b", "c"], ["x", "z", "y"], read_segmentation("0=0 2=1 1=2"))
    assert named(found.features_D)["LexicalReordering0"] == [*logs(0.9), *logs(0.3), 0, *logs(0.8), 0, 0]


def test_models_that_cannot_be_used(tmp_path):
    path = write_system(tmp_path)
    text = path.read_text()
    for old, new, message in (
        ("WordPenalty\n", "WordPenalty\nTargetBigramFeature\n", "this decoder does not have"),
        ("KENLM name=LM0 order=2 path=lm.arpa\n", "", "missing"),
        ("type=wbe-msd-bidirectional-fe", "type=wbe-mslr-bidirectional-fe", "reordering model"),
    ):
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(InputError, match=message):
            moses_model(read_moses_ini(path))


def test_a_system_read_for_one_sentence_scores_it_the_same(tmp_path):
    path = write_system(tmp_path)
    source, target, cuts = ["a", "b", "q"], ["y", "x", "q"], read_segmentation("1=0 0=1 2=2")
    small, weights_D = moses_model(read_moses_ini(path), phrases_in([source], 7))
    whole = moses_model(read_moses_ini(path))
    assert len(small.table) == len(whole[0].table) - 1
    np.testing.assert_array_equal(weights_D, whole[1])
    found, expected = (force(m, weights_D, source, target, cuts) for m in (small, whole[0]))
    np.testing.assert_array_equal(found.features_D, expected.features_D)


@pytest.mark.corpus
@pytest.mark.slow
def test_moses_scores_its_own_lists_alike(shared_data):
    moses = shared_data / "moses"
    sources = [line.split() for line in read_packed(moses / "corpus" / "val.tok.de.gz")]
    chosen = range(0, len(sources), 25)
    model, weights_D = moses_model(read_moses_ini(moses / "moses.ini"), phrases_in([sources[s] for s in chosen], 7))
    lines = 0
    for line in read_packed(moses / "nbest" / "val.100best.gz"):
        number, words, features, total, cuts, _ = (field.strip() for field in line.split("|||"))
        if int(number) not in chosen:
            continue
        found = force(model, weights_D, sources[int(number)], words.split(), read_segmentation(cuts))
        expected = [float(word) for word in features.split() if not word.endswith("=")]
        np.testing.assert_allclose(found.features_D[: len(expected)], expected, atol=1e-3)
        assert found.score == pytest.approx(float(total), abs=1e-3)
        lines += 1
    assert lines > 2000
    assert sum(PHRASE_FEATURES.values()) == len(expected) + 1

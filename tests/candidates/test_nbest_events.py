"""Candidates of oracle steps: the block chosen against the list's others, with features of the oracle's own history."""

from __future__ import annotations

import numpy as np

from tests.candidates.test_block_instances import TARGET, setting, trigrams, written
from tests.phrases.small_corpora import encoded, phrase_of, table_of
from xlate.candidates.block_instances import OracleStep, write_events, write_stores
from xlate.candidates.store import CandidateStore
from xlate.features.block import FLOATS
from xlate.kernels.features.blocks import Before, Placed
from xlate.kernels.pairs import NEUTRAL, RIGHT


def test_steps_become_linked_and_neutral_instances(tmp_path):
    table = table_of([([3], [3]), ([4], [4]), ([4], [6])])
    more = ("forward", "block_count")
    s = setting(table, encoded([[3, 4]] * 2), encoded([[3, 4], [3, 6]]), trigrams(), more=more)
    numbers = {phrase_of(s.blocks.table, b): b for b in range(3)}
    a, b, x = numbers[(3,), (3,)], numbers[(4,), (4,)], numbers[(4,), (6,)]
    word = s.lm.vocabulary.ids(TARGET.words)
    start = int(s.lm.begin_state)
    behind = s.lm.score(start, int(word[3]))[1]
    steps = [
        OracleStep(Before(-1, 0, start), Placed(a, 0, NEUTRAL), ()),
        OracleStep(Before(a, 1, behind), Placed(b, 1, RIGHT), (x,)),
        OracleStep(Before(-1, 2, behind), Placed(b, 1, RIGHT), (x,)),
    ]
    sizes = write_events(tmp_path, steps, s.instances.blocks, s.lm, (*FLOATS, *more), len(s.index))
    assert sizes == {"linked": 1, "neutral": 1}, "a step behind an unknown word teaches nothing"
    write_stores(tmp_path / "whole", [s.instances])
    # The same bigram with its only alternative is in the training text.
    [expected] = [
        i
        for i in written(tmp_path / "whole", "linked", more)
        if i[0][2] == [s.index.keys_F.tolist().index(a << 31 | b)]
    ]
    [found] = written(tmp_path, "linked", more)
    assert [(gain, ids) for gain, _, ids in found] == [(gain, ids) for gain, _, ids in expected]
    np.testing.assert_allclose([c[1] for c in found], [c[1] for c in expected], rtol=1e-6)
    [alone] = written(tmp_path, "neutral", more)
    assert [(gain, ids) for gain, _, ids in alone] == [(1.0, [])]
    assert CandidateStore.open(tmp_path / "neutral").sparse_size == 0

"""Block instances: stores of a text, and events of oracles, against a plain builder."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.candidates.plain_lists import listed
from tests.features.test_block import named
from tests.models.small_models import unweighted
from tests.phrases.small_corpora import (
    bigrams_by_trial,
    corpora,
    encoded,
    matches_by_trial,
    phrase_of,
    table_of,
    tables,
    texts,
)
from xlate.candidates.block_instances import STORES, BlockInstances, OracleStep, write_events, write_stores
from xlate.candidates.store import CandidateStore
from xlate.features.block import FLOATS, BigramIndex, more_floats
from xlate.kernels.features.blocks import Before, BlockArrays, Placed
from xlate.kernels.pairs import NEUTRAL, RIGHT
from xlate.lm.kneser_ney import estimate
from xlate.lm.model import NgramModel
from xlate.phrases.blocks import BlockSet
from xlate.phrases.matching import collect_events, match_blocks
from xlate.text.vocabulary import BEGIN_ID, EncodedText, Vocabulary

SMOOTHING = 0.5
# Words 3 to 7 of the target side, and the same words in another order in the language model, without the last.
TARGET = Vocabulary(["A", "B", "C", "X", "Y"])
LM_WORDS = ["C", "X", "A", "B"]


@cache
def trigrams() -> NgramModel:
    vocabulary = Vocabulary(LM_WORDS)
    text = ["A B C", "A B", "C B A", "A C B X", "B C A B", "A A B C", "X A B"]
    return NgramModel.from_arpa(estimate(EncodedText.encode([s.split() for s in text], vocabulary), vocabulary, 3))


@dataclass(frozen=True)
class Setting:
    """What the stores of one corpus are made of."""

    blocks: BlockSet
    index: BigramIndex
    lm: NgramModel
    instances: BlockInstances


def setting(
    table, source, target, lm, *, threshold=0, every=0, top=9, families=("BB",), more=(), per_word=False, **choices
) -> Setting:
    scores_B4 = 1 - np.random.default_rng(1).random((len(table), 4))
    table = replace(table, scores_B4=scores_B4)
    matches = match_blocks(table, source, target)
    events = collect_events(matches)
    blocks = BlockSet.count(table, matches, events)
    index = BigramIndex.frequent(named(blocks), families, threshold)
    how = {"orientation_smoothing": SMOOTHING, "unigram_per_word": per_word}
    instances = BlockInstances(
        blocks=as_stored(unweighted(blocks, lm, TARGET, index.keys_F, more, **how).feature_arrays),
        features=len(index),
        lm=lm,
        matches=matches,
        events=events,
        target=EncodedText(lm.vocabulary.ids(TARGET.words)[target.ids_T], target.offsets_S1),
        heldout_S=np.arange(len(source)) % (every or len(source) + 1) == (every or 0) - 1,
        alternatives=top,
        dense_names=(*FLOATS, *more_floats(more)),
        **choices,
    )
    return Setting(blocks, index, lm, instances)


def as_stored(blocks: BlockArrays) -> BlockArrays:
    """The same; what comes from the disk elsewhere is read only, so that no loop is compiled for these tests alone."""
    stored = ("lexical_B", "source_B", "target_B", "target_offsets_Q1")
    views = {name: getattr(blocks, name).view() for name in stored}
    for array in views.values():
        array.flags.writeable = False
    return blocks._replace(**views)


def written(directory, name, more=()):
    """The instances of a store as lists of (gain, floats, ids)."""
    store = CandidateStore.open(directory / name)
    assert store.dense_names == [*FLOATS, *more]
    return [[(c.gain[0], c.dense, [i for i, _ in c.ids]) for c in instance] for instance in listed(store.arrays)]


CHOICE_SETS = st.sets(st.sampled_from(["listed_only", "by_span", "by_target", "per_word"]))
FAMILY_SETS = st.sets(st.sampled_from(["BB", "TP", "WB"]))
MORE_SETS = st.sets(st.sampled_from(["forward", "forward_lexical", "block_count"]))


class PlainBuilder:
    """Instances straight from the words of A1, A2 and A3, with Python's own lists and sets."""

    def __init__(self, s: Setting, top: int, more, chosen) -> None:
        self.blocks, self.lm, self.top, self.more, self.chosen = s.blocks, s.lm, top, more, chosen
        self.ids_by_key = {key: i for i, key in enumerate(s.index.keys_F.tolist())}
        self.words = s.lm.vocabulary.ids(TARGET.words)
        self.phrases = [phrase_of(s.blocks.table, b) for b in range(len(s.blocks))]

    def floats(self, b, orientation, history):
        """The costs of a block behind the target words of a history."""
        costs = []
        state = self.lm.score_words(0, np.array([BEGIN_ID, *(int(self.words[w]) for w in history)], np.int32))[1]
        for word in self.phrases[b][1]:
            logprob, state = self.lm.score(state, int(self.words[word]))
            costs.append(-logprob)
        share = 0.0 if orientation == NEUTRAL else self.blocks.orientation_cost_B2(SMOOTHING)[b, orientation]
        _, _, forward, lexical = self.blocks.table.scores_B4[b].tolist()
        more = {"forward": -math.log(forward), "forward_lexical": -math.log(lexical), "block_count": 1.0}
        unigram = self.blocks.unigram_cost_B[b] / (len(self.phrases[b][0]) if "per_word" in self.chosen else 1)
        own = [unigram, share, costs[0], sum(costs[1:]), self.blocks.lexical_B[b]]
        return own + [cost for name, cost in more.items() if name in self.more]

    def alternatives(self, b):
        """The most frequent blocks with the source phrase of a block."""
        same = [k for k, (source, _) in enumerate(self.phrases) if source == self.phrases[b][0]]
        return sorted(same, key=lambda k: (-self.blocks.count_B[k], k))[: self.top]

    def candidates(self, positives, predecessor, history, others=()):
        """(gain, floats, ids) of the positives, each a (block, orientation), and of their alternatives.

        `others` are further alternatives, each a (block, orientation).
        """
        alternatives = [(other, orientation) for b, orientation in positives for other in self.alternatives(b)]
        negatives = dict.fromkeys(one for one in (*alternatives, *others) if one not in positives)
        chosen = [*((1.0, one) for one in positives), *((-1.0, one) for one in negatives)]
        return [(gain, self.floats(b, o, history), self.ids(predecessor, b)) for gain, (b, o) in chosen]

    def ids(self, predecessor, b):
        if predecessor is None:
            return []
        before, after = self.phrases[predecessor][1], self.phrases[b][1]
        rows = [int(self.blocks.table.target_B[x]) for x in (predecessor, b)]
        shown = ((predecessor, b), rows, (before[-1], after[0]))
        found = (self.ids_by_key.get(tag << 62 | left << 31 | right) for tag, (left, right) in enumerate(shown))
        return [i for i in found if i is not None]

    def sentence(self, source, target):
        """The linked and the neutral instances of a sentence pair."""
        rows = matches_by_trial(self.blocks.table, source, target)
        bigrams = bigrams_by_trial(rows)
        grouped = defaultdict(list)
        for m, orientation, n in bigrams:
            grouped[m, *(rows[n][1:3] if "by_span" in self.chosen else ())].append((n, orientation))
        linked = []
        for key in sorted(grouped):
            asked = [(n, o) for n, o in grouped[key] if self.is_asked(rows[n][0])]
            if not asked:
                continue
            positives = [(rows[n][0], o) for n, o in asked]
            true = {(rows[n][0], o) for n, o in grouped[key]}
            others = [(row[0], o) for n, o in asked for row in rows if row[3:5] == rows[n][3:5]]
            others = [other for other in others if other not in true and "by_target" in self.chosen]
            linked.append(self.candidates(positives, rows[key[0]][0], target[: rows[key[0]][4]], others))
        alone = sorted(set(range(len(rows))) - {n for _, _, n in bigrams})
        neutral = [
            self.candidates([(rows[m][0], NEUTRAL)], None, target[: rows[m][3]])
            for m in alone
            if self.is_asked(rows[m][0])
        ]
        return linked, neutral

    def is_asked(self, b):
        """Whether a block may be a positive."""
        return "listed_only" not in self.chosen or b in self.alternatives(b)


def assert_alike(found, expected):
    assert [[(gain, ids) for gain, _, ids in i] for i in found] == [
        [(gain, ids) for gain, _, ids in i] for i in expected
    ]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose([c[1] for c in ours], [c[1] for c in theirs], rtol=1e-5, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(
    tables,
    corpora,
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from([1, 2, 4, 2**31 - 1]),
    CHOICE_SETS,
    FAMILY_SETS,
    MORE_SETS,
)
def test_stores_equal_a_plain_builder(tmp_path_factory, table, corpus, threshold, every, top, chosen, families, more):
    directory = tmp_path_factory.mktemp("stores")
    choices = dict.fromkeys(chosen, True) | {"families": sorted(families)}
    s = setting(
        table,
        *texts(corpus),
        trigrams(),
        threshold=threshold,
        every=every,
        top=top,
        more=more,
        **choices,
    )
    # The sentences of even and of odd numbers are two parts, and each store is made in pieces.
    parts = []
    for odd in (0, 1):
        matches = s.instances.matches.select(s.instances.matches.sentence_M % 2 == odd)
        parts.append(replace(s.instances, matches=matches, events=collect_events(matches)))
    with mock.patch("xlate.candidates.block_instances.CHUNK_INSTANCES", 4):
        sizes = write_stores(directory, parts)
    plain = PlainBuilder(s, top, more, chosen)
    expected = {name: [] for name in STORES}
    for number, (source, target) in sorted(enumerate(corpus), key=lambda pair: pair[0] % 2):
        linked, neutral = plain.sentence(source, target)
        held = ".heldout" if every and number % every == every - 1 else ""
        expected["linked" + held] += linked
        expected["neutral" + held] += neutral
    assert sizes == {name: len(instances) for name, instances in expected.items()}
    for name in STORES:
        assert_alike(written(directory, name, more_floats(more)), expected[name])


def test_steps_of_oracles_become_linked_and_neutral_instances(tmp_path):
    table = table_of([([3], [3]), ([4], [4]), ([4], [6])])
    more = ("forward", "block_count")
    s = setting(table, encoded([[3, 4]] * 2), encoded([[3, 4], [3, 6]]), trigrams(), more=more)
    numbers = {phrase_of(s.blocks.table, b): b for b in range(3)}
    a, b, x = numbers[(3,), (3,)], numbers[(4,), (4,)], numbers[(4,), (6,)]
    start = int(s.lm.begin_state)
    behind = s.lm.score(start, int(s.lm.vocabulary.id(TARGET.word(3))))[1]
    steps = [
        OracleStep(Before(-1, 0, start), Placed(a, 0, NEUTRAL), ()),
        OracleStep(Before(a, 1, behind), Placed(b, 1, RIGHT), (x,)),
        OracleStep(Before(-1, 2, behind), Placed(b, 1, RIGHT), (x,)),
    ]
    sizes = write_events(tmp_path, steps, s.instances.blocks, s.lm, (*FLOATS, *more), len(s.index))
    assert sizes == {"linked": 1, "neutral": 1}, "a step behind an unknown word teaches nothing"
    plain = PlainBuilder(s, 9, more, ())
    assert_alike(written(tmp_path, "linked", more), [plain.candidates([(b, RIGHT)], a, [3])])
    assert_alike(written(tmp_path, "neutral", more), [plain.candidates([(a, NEUTRAL)], None, [])])
    assert CandidateStore.open(tmp_path / "neutral").sparse_size == 0

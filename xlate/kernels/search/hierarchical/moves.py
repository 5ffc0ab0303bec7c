"""Moves of the hierarchical decoder from left to right: what they score, and which spans they leave open.

A hypothesis has a stack of open spans; the one on top is translated next. A rule puts its target phrase behind what is
there and leaves its gaps open, the first one of the target on top (Watanabe et al. 2007, section 2.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xlate.array_types import Bools, Floats, Ints
from xlate.compiled import inlined, loop
from xlate.kernels.lm import MEMO_SIZE, SAID, NgramArrays, PhrasesAlone, phrase_logprob, remembered
from xlate.kernels.memory import ROOT, Trie, child, new_trie, room, whole
from xlate.kernels.search.hierarchical.facts import Structure, between_score
from xlate.kernels.search.hierarchical.matches import NO_GAP, Matches
from xlate.kernels.search.hypotheses import (
    NONE,
    Hypotheses,
    Limits,
    add_move,
    key_of,
    no_hypotheses,
    with_room,
)

LONGEST_SENTENCE = (1 << 14) - 2


class RuleSentence(NamedTuple):
    """The matches of a sentence of n words, and the translations of their source sides.

    Match m is translated by translations `begin_M[m]` to `end_M[m]` of T, best first, which are numbers
    `label_offsets_M1[m]` on as labels. `static_T` is what a translation scores wherever it stands, `alone_T` that with
    the language model without history, `swapped_T` whether it has its gaps in reverse; `backtrack_M2` is what a match
    scores with gaps in order, and with gaps in reverse. `future_nn` estimates the best score of each span by rules,
    `suffix_n` that of each suffix of the sentence, glued.
    """

    words: int
    matches: Matches
    begin_M: Ints
    end_M: Ints
    label_offsets_M1: Ints
    backtrack_M2: Floats
    static_T: Floats
    alone_T: Floats
    swapped_T: Bools
    phrases: PhrasesAlone
    future_nn: Floats
    suffix_n: Floats
    structure: Structure


class RuleNumbers(NamedTuple):
    """Weights and search settings; `glue` is what each glue step scores."""

    lm_weight: float
    glue: float
    begin_state: int
    end_word: int
    limits: Limits
    pop_limit: int


class RuleWork(NamedTuple):
    """What a search of one sentence reads and writes; whoever lends it to a loop holds the arrays.

    Stacks of open spans are in a trie: a node is a stack, its word the span on top, its parent what is below. The span
    from i to j is number i·(n+1) + j when a rule must translate it, and that plus (n+1)² when it may be glued together;
    such a span reaches to the end of the sentence. The word is that number times the number of parents of `Structure`,
    plus the parent whose gap the span is. `future_N` estimates what a stack will score.
    """

    lm: NgramArrays
    sentence: RuleSentence
    numbers: RuleNumbers
    search: Hypotheses
    trie: Trie
    future_N: Floats


class Reached(NamedTuple):
    """Which matches translate the beginning of the span on top of a stack, and what stays below: `glued` spans have
    matches of every end. `parent` is that of `Structure` whose gap the span is.
    """

    begin: int
    end: int
    glued: bool
    below: int
    parent: int


@loop
def estimate_spans(matches: Matches, best_M2: Floats, n: int, longest: int, glue: float) -> tuple[Floats, Floats]:
    """`future_nn` and `suffix_n` of a sentence; `best_M2` is the best score of matches by the order of their gaps."""
    future_nn = np.full((n + 1, n + 1), -np.inf)
    for length in range(1, min(n, longest) + 1):
        for begin in range(n - length + 1):
            cell = begin * (n + 1) + begin + length
            best = -np.inf
            for m in range(matches.cell_offsets_C1[cell], matches.cell_offsets_C1[cell + 1]):
                score = max(best_M2[m, 0], best_M2[m, 1])
                for g in range(0, 4, 2):
                    if matches.gaps_M4[m, g] != NO_GAP:
                        score += future_nn[matches.gaps_M4[m, g], matches.gaps_M4[m, g + 1]]
                best = max(best, score)
            future_nn[begin, begin + length] = best
    suffix_n = np.full(n + 1, -np.inf)
    suffix_n[n] = 0.0
    for begin in range(n - 1, -1, -1):
        for end in range(begin + 1, min(n, begin + longest) + 1):
            suffix_n[begin] = max(suffix_n[begin], future_nn[begin, end] + glue + suffix_n[end])
    return future_nn, suffix_n


@inlined
def new_work(lm: NgramArrays, sentence: RuleSentence, numbers: RuleNumbers) -> RuleWork:
    """A search that has the hypothesis that has translated nothing."""
    trie = new_trie(256)
    search = no_hypotheses(sentence.words + 2, np.empty(MEMO_SIZE, dtype=SAID))
    work = RuleWork(lm, sentence, numbers, search, trie, np.zeros(len(trie.parent_N)))
    stack, nobody = pushed_glued(work, 0), whole(NONE)
    future = work.future_N[stack]
    add_move(search, numbers.limits, nobody, key_of(stack, numbers.begin_state, 0), whole(0), future, 0.0, nobody)
    return work


@inlined
def with_room_for(work: RuleWork, moves: int, stacks: int) -> RuleWork:
    """The same in arrays that can take more moves and stacks."""
    trie, future_N = room(work.trie, stacks), work.future_N
    if len(future_N) < len(trie.parent_N):
        future_N = np.zeros(len(trie.parent_N))
        future_N[: len(work.future_N)] = work.future_N
    return RuleWork(work.lm, work.sentence, work.numbers, with_room(work.search, moves), trie, future_N)


@inlined
def pushed(work: RuleWork, stack: int, begin: int, end: int, parent: int) -> int:
    """A stack with a span on top that a rule must translate; there must be room."""
    sentence, future_N = work.sentence, work.future_N
    word = (begin * (sentence.words + 1) + end) * sentence.structure.parents + parent
    node = child(work.trie, stack, word)
    future_N[node] = future_N[stack] + sentence.future_nn[begin, end]
    return node


@inlined
def pushed_glued(work: RuleWork, begin: int) -> int:
    """The stack of nothing but the rest of the sentence from a place on, the empty one at its end."""
    sentence, n = work.sentence, work.sentence.words
    if begin == n:
        return ROOT
    node = child(work.trie, ROOT, ((begin + n + 1) * (n + 1) + n) * sentence.structure.parents)
    work.future_N[node] = sentence.suffix_n[begin]
    return node


@inlined
def reached(work: RuleWork, node: int) -> Reached:
    """What the top of the stack of a hypothesis, which must not be empty, asks for."""
    n, parents, trie = work.sentence.words, work.sentence.structure.parents, work.trie
    stack = work.search.nodes[node].first
    word, parent = np.int64(trie.word_N[stack]) // parents, np.int64(trie.word_N[stack]) % parents
    begin, end = word // (n + 1), word % (n + 1)
    if begin > n:
        return Reached(int(begin - n - 1), int(end), True, int(np.int64(ROOT)), 0)
    return Reached(int(begin), int(end), False, int(np.int64(trie.parent_N[stack])), int(parent))


@inlined
def matches_of(sentence: RuleSentence, top: Reached) -> tuple[int, int]:
    """The first match and the one behind the last that the span on top may begin with; matches are sorted by span."""
    first = top.begin * (sentence.words + 1)
    offsets_C1 = sentence.matches.cell_offsets_C1
    if top.glued:
        return offsets_C1[first], offsets_C1[first + sentence.words + 1]
    return offsets_C1[first + top.end], offsets_C1[first + top.end + 1]


@inlined
def covered_by(sentence: RuleSentence, match: int) -> int:
    """How many words of the source a match translates itself."""
    spans_M2, gaps_M4 = sentence.matches.spans_M2, sentence.matches.gaps_M4
    inside = gaps_M4[match, 1] - gaps_M4[match, 0] + gaps_M4[match, 3] - gaps_M4[match, 2]
    return int(spans_M2[match, 1] - spans_M2[match, 0] - inside)


@inlined
def base_of(work: RuleWork, top: Reached, match: int) -> int:
    """What is below the gaps of a match: the rest of a glued span, or what was below its span; there must be room."""
    return pushed_glued(work, work.sentence.matches.spans_M2[match, 1]) if top.glued else top.below


@inlined
def opened(work: RuleWork, base: int, match: int, at: int) -> int:
    """The stack behind a match under a translation; there must be room.

    Its gaps are on top, that which comes first in the target last.
    """
    gaps_M4, parent = work.sentence.matches.gaps_M4, work.sentence.structure.parent_T[at]
    if gaps_M4[match, 0] == NO_GAP:
        return base
    if gaps_M4[match, 2] == NO_GAP:
        return pushed(work, base, gaps_M4[match, 0], gaps_M4[match, 1], parent)
    upper, lower = (2, 0) if work.sentence.swapped_T[at] else (0, 2)
    below = pushed(work, base, gaps_M4[match, lower], gaps_M4[match, lower + 1], parent)
    return pushed(work, below, gaps_M4[match, upper], gaps_M4[match, upper + 1], parent)


@inlined
def asked(work: RuleWork, before: Any, parent: int, match: int, at: int, glue: float) -> tuple[float, float, int]:
    """What a translation of a match adds to `static_T` behind a hypothesis and in a gap of a parent.

    First all but the language model, then the log probability of the words; and the history behind them.
    """
    sentence = work.sentence
    said, known = remembered(work.search.memo, before.second, at)
    if not known:
        said.logprob, said.after = phrase_logprob(work.lm, sentence.phrases, at, before.second)
    fixed = glue + sentence.backtrack_M2[match, 1 if sentence.swapped_T[at] else 0]
    if sentence.structure.active:
        fixed += between_score(sentence.structure, before.third, parent, at)
    return fixed, said.logprob, said.after


@inlined
def add_translation(work: RuleWork, node: int, level: int, match: int, at: int, stack: int, scored: Any) -> None:
    """Adds the move to a stack by a translation of a match, given its score and the history behind it."""
    sentence, (score, lm_state) = work.sentence, scored
    key = key_of(stack, lm_state, sentence.structure.ending_T[at])
    label = sentence.label_offsets_M1[match] - sentence.begin_M[match] + at
    add_move(work.search, work.numbers.limits, node, key, level, work.future_N[stack], score, label)

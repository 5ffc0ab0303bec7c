"""Stack search of the hierarchical decoder as loops over plain arrays; `xlate.models.hierarchical.moves` is its
readable form.
"""

from __future__ import annotations

from xlate.array_types import AnyArray
from xlate.compiled import lent, loop
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.search.hierarchical.moves import (
    RuleNumbers,
    RuleSentence,
    Stacks,
    ask,
    base_of,
    covered_by,
    covered_so_far,
    finish,
    first_hypothesis,
    matches_of,
    new_stacks,
    opened,
    reached,
    stacks_with_room,
    structure_score,
)
from xlate.kernels.search.hypotheses import Hypotheses, add_move, finished, key_of, survivors, with_room


@loop
def search_rules(lm: NgramArrays, sentence: RuleSentence, numbers: RuleNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, stacks = sentence.words, new_stacks()
    search = first_hypothesis(sentence, numbers, stacks)
    for level in range(n):
        for node in survivors(search, numbers.limits, level):
            first, last = matches_of(sentence, reached(sentence, stacks, search.nodes[node].first))
            # Growing seldom: handing over so many arrays takes time.
            search = with_room(search, sentence.label_offsets_M1[last] - sentence.label_offsets_M1[first])
            stacks = stacks_with_room(stacks, 3 * (sentence.label_offsets_M1[last] - sentence.label_offsets_M1[first]))
            _extend(lm, sentence, numbers, search, stacks, (node, first, last))
    return finished(finish(lm, search, numbers, n))


@loop
def _extend(
    lm: NgramArrays,
    sentence: RuleSentence,
    numbers: RuleNumbers,
    search: Hypotheses,
    stacks: Stacks,
    place: tuple[int, int, int],
) -> None:
    """Adds the moves of one hypothesis over some matches that the beam may have a place for."""
    lm, sentence, numbers, search, stacks = lent(lm), lent(sentence), lent(numbers), lent(search), lent(stacks)
    node, first, last = place
    before, bars_L = search.nodes[node], search.bars_L
    before_score, lm_state, ending = before.score, before.second, before.third
    top = reached(sentence, stacks, before.first)
    glue = numbers.glue if top.glued else 0.0
    covered = covered_so_far(sentence, stacks, before.first)
    for match in range(first, last):
        level = covered + covered_by(sentence, match)
        base = base_of(sentence, stacks, top, match)
        label = sentence.label_offsets_M1[match] - sentence.begin_M[match]
        for at in range(sentence.begin_M[match], sentence.end_M[match]):
            swapped = sentence.swapped_T[at]
            stack = opened(sentence, stacks, base, match, swapped, sentence.structure.parent_T[at])
            future = stacks.future_N[stack]
            fixed = glue + sentence.backtrack_M2[match, 1 if swapped else 0]
            logprob, after = ask(lm, sentence, search.memo, lm_state, at)
            fixed += structure_score(sentence, ending, top.parent, at)
            score = sentence.static_T[at] + (fixed + numbers.lm_weight * logprob)
            if before_score + score + future >= bars_L[level]:
                key = key_of(stack, after, sentence.structure.ending_T[at])
                add_move(search, numbers.limits, node, key, level, future, score, label + at)

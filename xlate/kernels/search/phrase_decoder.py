"""Stack search of the phrase decoder as loops over plain arrays; `xlate.models.phrase.moves` is its readable form."""

from __future__ import annotations

from xlate.array_types import AnyArray
from xlate.compiled import lent, loop
from xlate.kernels.lm.ngram import NgramArrays
from xlate.kernels.memory.trie import Trie, new_trie, room
from xlate.kernels.search.hypotheses import Hypotheses, finished, survivors, with_room
from xlate.kernels.search.phrase_coverage import Coverages, expand_cover, new_coverages
from xlate.kernels.search.phrase_moves import (
    PhraseNumbers,
    PhraseSentence,
    add_option,
    ask,
    cover_of,
    finish,
    first_hypothesis,
    fixed_score,
    history_of,
    last_of,
    local_score,
    orient,
    reaches,
    shift_of,
    target_of,
)


@loop
def search_phrases(lm: NgramArrays, sentence: PhraseSentence, numbers: PhraseNumbers) -> tuple[AnyArray, AnyArray, int]:
    """Searches one sentence; returns what `hypotheses.finished` does."""
    n, options = sentence.words, len(sentence.static_O)
    coverages, stacks = new_coverages(n, sentence.future_nn), new_trie(64)
    search = first_hypothesis(coverages, numbers, n)
    for level in range(n):
        for node in survivors(search, numbers.limits, level):
            cover = cover_of(search.nodes[node])
            coverages = expand_cover(
                coverages,
                cover,
                n,
                sentence.longest,
                numbers.distortion_limit,
                sentence.cell_offsets_C1,
                sentence.future_nn,
            )
            described = coverages.covers[cover]
            # Growing seldom: handing over so many arrays takes time.
            search = with_room(search, options)
            stacks = room(stacks, described.edges_end - described.edges_begin + options)
            _extend(lm, sentence, numbers, search, coverages, stacks, node)
    return finished(finish(lm, search, numbers, n))


@loop
def _extend(
    lm: NgramArrays,
    sentence: PhraseSentence,
    numbers: PhraseNumbers,
    search: Hypotheses,
    coverages: Coverages,
    stacks: Trie,
    node: int,
) -> None:
    """Adds the moves of one hypothesis that the beam may have a place for."""
    lm, sentence, numbers, search = lent(lm), lent(sentence), lent(numbers), lent(search)
    coverages, stacks = lent(coverages), lent(stacks)
    before = search.nodes[node]
    before_score, lm_state, last = before.score, history_of(before), last_of(before)
    described = coverages.covers[cover_of(before)]
    for e in range(described.edges_begin, described.edges_end):
        edge = coverages.edges[e]
        if not reaches(search, numbers, node, edge.begin):
            continue
        placed = orient(search, numbers, coverages, stacks, node, edge.begin, edge.end)
        target = target_of(numbers, coverages, sentence.words, edge, placed.stack, placed.first)
        fixed = fixed_score(search, numbers, sentence.groups, node, edge.begin, edge.end, placed)
        shift = shift_of(sentence, coverages, edge)
        rest, bars_L = before_score + fixed + target.future, search.bars_L
        for option in range(sentence.cell_offsets_C1[edge.cell], sentence.cell_offsets_C1[edge.cell + 1]):
            local = local_score(sentence, numbers, last, option, placed.backward, shift)
            if rest + sentence.alone_O[option] + local < bars_L[target.level] + numbers.log_early_threshold:
                continue
            logprob, after = ask(lm, sentence, search.memo, lm_state, option)
            score = sentence.static_O[option] + local + (fixed + numbers.lm_weight * logprob)
            if before_score + score + target.future >= bars_L[target.level]:
                add_option(sentence, numbers, search, stacks, target, node, option, (after, score))

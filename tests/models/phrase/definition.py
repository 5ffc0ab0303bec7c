"""What a derivation of the phrase model scores, from the definitions: the oracle of all compiled code.

Spans are half-open. The word- and phrase-based models look at the phrase before (Koehn et al. 2005), the hierarchical
one at the group of phrases before and, in the forward direction, at what is covered (Galley & Manning 2008). Five
orientations refine those three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from xlate.array_types import AnyInts, Floats, Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.features.phrase_sparse import STEP, Steps
from xlate.kernels.pairs import (
    DISCONTINUOUS,
    DISCONTINUOUS_LEFT,
    DISCONTINUOUS_RIGHT,
    MONOTONE,
    MONOTONE_GLOBAL,
    SWAP,
)
from xlate.models.derivation import COPIED, Derivation, Span, Step
from xlate.models.phrase.model import (
    DISTORTION,
    LM,
    PHRASE_PENALTY,
    SPARSE_PLAIN,
    SPARSE_REORDERING,
    TABLE,
    UNKNOWN,
    WORD_PENALTY,
    PhraseModel,
)
from xlate.models.unit_model import UNKNOWN_PENALTY
from xlate.text.vocabulary import BEGIN_ID, END_ID


class Group(NamedTuple):
    """A source span that phrases next to each other in both languages cover; `first` tells its first target word."""

    start: int
    end: int
    first: int = 0

    @property
    def span(self) -> Span:
        """Its half-open source span."""
        return self.start, self.end


Stack = tuple[Group, ...]


def adjacent_orientation(before: Span | None, span: Span) -> int:
    """How a span lies to the one before it; the first phrase is monotone at the beginning of the sentence."""
    if span[0] == (before[1] if before else 0):
        return MONOTONE
    return SWAP if before and span[1] == before[0] else DISCONTINUOUS


def shift_reduce(stack: Stack, span: Span, first: int = 0) -> tuple[int, Stack]:
    """How a span lies to the group on top of the stack, and the stack with it, neighbouring groups joined."""
    orientation = adjacent_orientation(stack[-1].span if stack else None, span)
    while stack and adjacent_orientation(stack[-1].span, span) != DISCONTINUOUS:
        top = stack[-1]
        span, first = (min(top.start, span[0]), max(top.end, span[1])), top.first
        stack = stack[:-1]
    return orientation, (*stack, Group(*span, first))


def refine(orientation: int, *, behind: bool, everything: bool) -> int:
    """One of five orientations from one of three.

    Args:
        orientation: monotone, swap or discontinuous.
        behind: whether the later phrase in target order is further right in the source.
        everything: whether all phrases on the other side are one group.
    """
    if orientation == DISCONTINUOUS:
        return DISCONTINUOUS_LEFT if behind else DISCONTINUOUS_RIGHT
    return MONOTONE_GLOBAL if orientation == MONOTONE and everything else orientation


def forward_orientation(before: Span, span: Span, covered: Callable[[int], bool]) -> int:
    """How a span lies to the phrase before it, a gap directly beside that phrase counting as part of the next group.

    Args:
        before: the phrase before.
        span: the next phrase.
        covered: whether a source word is translated, `before` and what was earlier.
    """
    if span[0] == before[1] or (span[0] > before[1] and not covered(before[1])):
        return MONOTONE
    if span[1] == before[0] or (span[1] < before[0] and not covered(before[0] - 1)):
        return SWAP
    return DISCONTINUOUS


class Oriented(NamedTuple):
    """A phrase with respect to what is before it, what is before with respect to it, and the group before it."""

    backward: int
    forward: int
    group: Group | None


def orientations(model: PhraseModel, words: int, steps: Sequence[Step]) -> Iterator[Oriented]:
    """The orientations of the phrases of a derivation; a group's `first` is the number of its first phrase."""
    stack: Stack = ()
    covered: set[int] = set()
    before: Step | None = None
    for number, step in enumerate(steps):
        span = step.source_span
        backward = forward = adjacent_orientation(before.source_span if before else None, span)
        group = stack[-1] if stack else None
        if model.hierarchical:
            depth = len(stack)
            backward, stack = shift_reduce(stack, span, number)
            if before:
                forward = forward_orientation(before.source_span, span, covered.__contains__)
            if model.orientations > 3:
                backward = refine(backward, behind=span[0] >= (group.end if group else 0), everything=depth < 2)
                at = before.source_span[1] if before else 0
                rest = sorted(set(range(words)) - covered)
                forward = refine(forward, behind=span[0] >= at, everything=rest == list(range(at, at + len(rest))))
        yield Oriented(backward, forward, group)
        covered.update(range(*span))
        before = step


def sparse_ids(model: PhraseModel, source: Sequence[str], steps: Sequence[Step]) -> tuple[Ints, Ints32]:
    """The sparse features of each of N phrases of a derivation: offsets (N+1), and ids ascending within a phrase."""
    return model.sparse.ids(applied(model, source, steps))


def applied(model: PhraseModel, source: Sequence[str], steps: Sequence[Step]) -> Steps:
    """The phrases of a derivation as sparse features see them, and what is before each."""
    source_n = model.source_vocabulary.ids(source)
    first_n, last_n = (model.target_vocabulary.ids([step.target_words[i] for step in steps]) for i in (0, -1))
    seen = list(orientations(model, len(source), steps))
    spans = np.array([step.source_span for step in steps], np.int64).reshape(-1, 2)
    between = [_between(span, one.group) for span, one in zip(spans.tolist(), seen, strict=True)]
    groups = [one.group for one in seen]
    columns = [
        [step.unit for step in steps],
        source_n[spans[:, 0]],
        source_n[spans[:, 1] - 1],
        first_n,
        last_n,
        spans[:, 1] - spans[:, 0],
        [len(step.target_words) for step in steps],
        [one.backward for one in seen],
        [BEGIN_ID if g is None else source_n[g.start] for g in groups],
        [BEGIN_ID if g is None else source_n[g.end - 1] for g in groups],
        [BEGIN_ID if g is None else first_n[g.first] for g in groups],
        np.concatenate([[BEGIN_ID], last_n[:-1]])[: len(steps)],
        spans[:, 0],
    ]
    found: dict[str, AnyInts] = {n: np.array(column, np.int64) for n, column in zip(STEP, columns, strict=True)}
    found["between_offsets"] = offsets_of(np.array([len(words) for words in between], np.int64))
    found["between"] = np.array([source_n[i] for words in between for i in words], np.int64)
    return found


def _between(span: list[int], group: Group | None) -> range:
    """The source words between a phrase and the group before it, or the beginning of the sentence."""
    start, end = (-1, 0) if group is None else group.span
    return range(end, span[0]) if span[0] > end else range(span[1], max(start, span[1]))


PhraseDerivation = Derivation[Step]


def score_steps(
    model: PhraseModel, weights_D: Floats, source: Sequence[str], steps: Iterable[Step], sparse_F: Floats | None = None
) -> PhraseDerivation:
    """Adds up the features of a derivation from their definitions.

    Distortion is `-Σ |start of a span - end of the one before|`, the language model counts `</s>`, the word penalty
    -(target words), the phrase penalty +(phrases); orientation is scored backward for every phrase and forward for
    every one but the last (Moses's feature functions; docs/decisions/0010-phrase-decoder.md). Sparse features enter by
    their weighted sums, one per orientation, and one for those without.
    """
    steps = tuple(steps)
    features_D = np.zeros(model.size)
    lm_state, at = model.lm.begin_state, 0
    pair_S = np.array([step.unit for step in steps], np.int64)
    logs_S4 = model.log_scores(np.maximum(pair_S, 0))
    for step, logs_4 in zip(steps, logs_S4, strict=True):
        logprob, lm_state = model.lm.score_words(lm_state, model.lm.vocabulary.ids(step.target_words))
        features_D[LM] += logprob
        features_D[DISTORTION] -= abs(step.source_span[0] - at)
        features_D[WORD_PENALTY] -= len(step.target_words)
        features_D[PHRASE_PENALTY] += 1
        at = step.source_span[1]
        if step.unit == COPIED:
            features_D[UNKNOWN] += UNKNOWN_PENALTY
        else:
            features_D[TABLE] += logs_4
    features_D[LM] += model.lm.score(lm_state, END_ID)[0]
    if model.reordering is not None:
        _add_reordering(model, source, steps, pair_S, features_D)
    if model.sparse is not None and sparse_F is not None:
        *reordering, plain = model.sparse.sums(sparse_F, applied(model, source, steps)).sum(axis=0)
        features_D[model.slots[SPARSE_REORDERING]], features_D[model.slots[SPARSE_PLAIN]] = reordering, plain
    return Derivation(tuple(source), steps, features_D, float(weights_D @ features_D))


def _add_reordering(
    model: PhraseModel, source: Sequence[str], steps: tuple[Step, ...], pair_S: Ints, features_D: Floats
) -> None:
    k = model.orientations
    logs_SK2 = model.log_reordering(np.maximum(pair_S, 0))
    for at, seen in enumerate(orientations(model, len(source), steps)):
        if pair_S[at] != COPIED:
            features_D[model.backward][seen.backward] += logs_SK2[at, seen.backward]
        if at and pair_S[at - 1] != COPIED:
            features_D[model.forward][seen.forward] += logs_SK2[at - 1, k + seen.forward]


def force(
    model: PhraseModel,
    weights_D: Floats,
    source: Sequence[str],
    target: Sequence[str],
    cuts: Iterable[tuple[Span, Span]],
    sparse_F: Floats | None = None,
) -> PhraseDerivation:
    """Scores the derivation that cuts a sentence pair in a given way, whatever its search would have kept.

    Args:
        model: phrases, language model, reordering.
        weights_D: in the order of `PhraseModel.features`.
        source, target: the words.
        cuts: (source span, target span) of each phrase in target order, half-open; a pair that the model lacks is a
            source word that stands for itself.
        sparse_F: weights of the sparse features; without them they count 0.
    """
    steps = []
    for span, (a, b) in cuts:
        words = tuple(target[a:b])
        pair = model.pair_number(source[slice(*span)], words)
        assert pair is not None or words == tuple(source[slice(*span)])
        steps.append(Step(COPIED if pair is None else pair, (span,), words))
    return score_steps(model, weights_D, source, steps, sparse_F)


def read_segmentation(text: str) -> list[tuple[Span, Span]]:
    """Reads the segmentation field of a Moses n-best list, `source=target` spans, inclusive, from 0, in target order.

    Example: `0-1=0 2=1-2` gives [((0, 2), (0, 1)), ((2, 3), (1, 3))]
    """
    cuts = []
    for part in text.split():
        (a, b), (c, d) = ((int(side.split("-")[0]), int(side.split("-")[-1]) + 1) for side in part.split("="))
        cuts.append(((a, b), (c, d)))
    return cuts

"""Phrases where they stand in a derivation: orientations, the group before each, and their sparse features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from xlate.array_types import Ints, Ints32
from xlate.arrays.ragged import offsets_of
from xlate.features.phrase_sparse import Applications, Groups
from xlate.models.derivation import Step
from xlate.models.phrase.model import PhraseModel
from xlate.models.phrase.orientation import (
    Group,
    Stack,
    adjacent_orientation,
    forward_orientation,
    refine,
    shift_reduce,
)
from xlate.text.vocabulary import BEGIN_ID


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
    assert model.sparse is not None
    return model.sparse.ids(*applied(model, source, steps))


def applied(model: PhraseModel, source: Sequence[str], steps: Sequence[Step]) -> tuple[Applications, Groups]:
    """The phrases of a derivation as sparse features see them, and what is before each."""
    source_n = model.source_vocabulary.ids(source)
    first_n, last_n = (model.target_vocabulary.ids([step.target_words[i] for step in steps]) for i in (0, -1))
    seen = list(orientations(model, len(source), steps))
    spans = np.array([step.source_span for step in steps], dtype=np.int64).reshape(-1, 2)
    between = [_between(span, one.group) for span, one in zip(spans.tolist(), seen, strict=True)]
    applications = Applications(
        np.array([step.unit for step in steps], dtype=np.int64),
        source_n[spans[:, 0]],
        source_n[spans[:, 1] - 1],
        first_n,
        last_n,
        spans[:, 1] - spans[:, 0],
        np.array([len(step.target_words) for step in steps], dtype=np.int64),
    )
    groups = [one.group for one in seen]
    return (
        applications,
        Groups(
            np.array([one.backward for one in seen], dtype=np.int64),
            np.array([BEGIN_ID if g is None else source_n[g.start] for g in groups], dtype=np.int64),
            np.array([BEGIN_ID if g is None else source_n[g.end - 1] for g in groups], dtype=np.int64),
            np.array([BEGIN_ID if g is None else first_n[g.first] for g in groups], dtype=np.int64),
            np.concatenate([[BEGIN_ID], last_n[:-1]])[: len(steps)],
            offsets_of(np.array([len(words) for words in between], dtype=np.int64)),
            np.array([source_n[i] for words in between for i in words], dtype=np.int64),
        ),
    )


def _between(span: list[int], group: Group | None) -> range:
    """The source words between a phrase and the group before it, or the beginning of the sentence."""
    start, end = (-1, 0) if group is None else group.span
    return range(end, span[0]) if span[0] > end else range(span[1], max(start, span[1]))

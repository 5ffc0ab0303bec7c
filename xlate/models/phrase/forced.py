"""Phrase derivations with Moses's features: scoring given steps, and segmentations read from n-best lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from xlate.array_types import Floats, Ints
from xlate.errors import InputError
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
from xlate.models.phrase.parts import applied, orientations
from xlate.models.phrase.sentence_scores import SentencePhrases, shift_of
from xlate.models.unit_model import UNKNOWN_PENALTY
from xlate.text.numbers import parse_int
from xlate.text.vocabulary import END_ID

PhraseDerivation = Derivation[Step]


def score_steps(
    model: PhraseModel, weights_D: Floats, source: Sequence[str], steps: Iterable[Step], sparse_F: Floats | None = None
) -> PhraseDerivation:
    """Adds up the features of a derivation from their definitions.

    Distortion is `-Σ |start of a span - end of the one before|`, the language model counts `</s>`, the word penalty
    -(target words), the phrase penalty +(phrases); orientation is scored backward for every phrase and forward for
    every one but the last (Moses's feature functions; docs/decisions/0010-phrase-decoder.md). Sparse features enter by
    their weighted sums, one a orientation and one of those without.
    """
    steps = tuple(steps)
    features_D = np.zeros(model.size)
    lm_state, at = model.lm.begin_state, 0
    pair_S = np.array([step.unit for step in steps], dtype=np.int64)
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
    if model.in_sentence is not None:
        spans_S2 = np.array([step.source_span for step in steps], dtype=np.int64).reshape(-1, 2)
        more_SE = model.sentence_floats(SentencePhrases(source, spans_S2[:, 0], spans_S2[:, 1], pair_S))
        features_D[model.sentence_slots] = more_SE.sum(axis=0)
    if model.placed is not None:
        _add_places(model, source, steps, pair_S, features_D)
    if model.reordering is not None:
        _add_reordering(model, source, steps, pair_S, features_D)
    if model.sparse is not None and sparse_F is not None:
        _add_sparse(model, source, steps, sparse_F, features_D)
    return Derivation(tuple(source), steps, features_D, float(weights_D @ features_D))


def _add_places(
    model: PhraseModel, source: Sequence[str], steps: tuple[Step, ...], pair_S: Ints, features_D: Floats
) -> None:
    assert model.placed is not None
    spans_S2 = np.array([step.source_span for step in steps], dtype=np.int64).reshape(-1, 2)
    logs_SR, covered = model.place_logs(SentencePhrases(source, spans_S2[:, 0], spans_S2[:, 1], pair_S)), 0
    for logs_R, (start, end) in zip(logs_SR, spans_S2.tolist(), strict=True):
        features_D[model.place_slot] += logs_R[shift_of(model.placed.reach, covered, start)]
        covered += end - start


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


def _add_sparse(
    model: PhraseModel, source: Sequence[str], steps: tuple[Step, ...], sparse_F: Floats, features_D: Floats
) -> None:
    assert model.sparse is not None
    sums = model.sparse.sums(sparse_F, *applied(model, source, steps)).sum(axis=0)
    features_D[model.slots[SPARSE_REORDERING]] = sums[:-1]
    features_D[model.slots[SPARSE_PLAIN]] = sums[-1]


def force(
    model: PhraseModel,
    weights_D: Floats,
    source: Sequence[str],
    target: Sequence[str],
    segmentation: Iterable[tuple[Span, Span]],
    sparse_F: Floats | None = None,
) -> PhraseDerivation:
    """Scores the derivation that cuts a sentence pair in a given way, whatever its search would have kept.

    Args:
        model: phrases, language model, reordering.
        weights_D: in the order of `PhraseModel.features`.
        source, target: the words.
        segmentation: (source span, target span) of each phrase in target order, half-open.
        sparse_F: weights of the sparse features; without them they count 0.

    Raises:
        InputError: spans that do not cover both sides once, or a phrase pair the model lacks (a source word may stand
            for itself where no pair translates it alone).
    """
    source, target, cuts = tuple(source), tuple(target), list(segmentation)
    _check_cover([span for span, _ in cuts], len(source), "source", ordered=False)
    _check_cover([span for _, span in cuts], len(target), "target", ordered=True)
    steps = [_find_step(model, source, span, target[a:b]) for span, (a, b) in cuts]
    return score_steps(model, weights_D, source, steps, sparse_F)


def _check_cover(spans: list[Span], size: int, side: str, *, ordered: bool) -> None:
    covered = [position for span in spans for position in range(*span)]
    if (covered if ordered else sorted(covered)) != list(range(size)) or any(a >= b for a, b in spans):
        expected = f"every one of {size} words once" + (", in order" if ordered else "")
        raise InputError(f"a segmentation that does not cover the {side}", seen=spans, expected=expected)


def _find_step(model: PhraseModel, source: tuple[str, ...], span: Span, target_words: tuple[str, ...]) -> Step:
    pair = model.pair_number(source[span[0] : span[1]], target_words)
    if pair is None and target_words == source[span[0] : span[1]] and not model.translates(target_words):
        pair = COPIED
    if pair is None:
        raise InputError(
            "a phrase pair the model lacks",
            seen=f"{' '.join(source[span[0] : span[1]])} ||| {' '.join(target_words)}",
            expected="a pair of the phrase table, or an unknown word standing for itself",
            remedy="give the phrase table that the derivation was made with",
        )
    return Step(pair, (span,), target_words)


def read_segmentation(text: str) -> list[tuple[Span, Span]]:
    """Reads the segmentation field of a Moses n-best list, `source=target` spans, inclusive, from 0, in target order.

    Raises:
        InputError: anything else.

    Example: `0-1=0 2=1-2` gives [((0, 2), (0, 1)), ((2, 3), (1, 3))]
    """
    cuts = []
    for part in text.split():
        source, equals, target = part.partition("=")
        spans = [_read_span(side) for side in (source, target)]
        if not equals or spans[0] is None or spans[1] is None:
            raise InputError("malformed segmentation", seen=part, expected="spans like 0-1=0-2, from 0, inclusive")
        cuts.append((spans[0], spans[1]))
    return cuts


def _read_span(text: str) -> Span | None:
    first, dash, last = text.partition("-")
    try:
        return parse_int(first), parse_int(last if dash else first) + 1
    except ValueError:
        return None

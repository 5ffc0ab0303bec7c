"""The candidate stores of a classifier in context, made once for each work directory and settings of features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import balanced_folds
from xlate.array_types import AnyInts, Ints, Ints32
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.candidates.context_instances import DENSE, NO_PAIR, Choices, ContextInstances, Examples, Places, Translations
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.config.model_schema import DISTORTION, ContextModelConfig
from xlate.features.context import (
    UNLINKED,
    ContextFeatures,
    Distances,
    Layer,
    Spans,
    TargetFeatures,
    distance_classes,
    first_links,
)
from xlate.features.sparse_sets import word_values
from xlate.kernels.search.spans import span_rows
from xlate.memory import check_memory
from xlate.models.sparse_models import classes_of, side_of
from xlate.phrases.matching import phrase_finder
from xlate.phrases.occurrences import Occurrences, listed_pairs, occurrences_of
from xlate.phrases.table import PhraseTable
from xlate.progress import track
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import WHOLE, Folds
from xlate.work.stages import identity_of, read_stage, run_stage

TRAIN, HELDOUT, COUNTS = "train", "train.heldout", "counts"
KIND = "counts of predicted pairs"
LAYOUT = {"count_B": ("<i8", 1)}


@dataclass(frozen=True)
class ContextStores:
    """Instances of the training text and of its held-out sentences, and what makes them these.

    `count_N` says how often whatever may be predicted was seen in the training text: each pair of the table, or each
    class of distances of each source phrase.
    """

    train: CandidateStore
    heldout: CandidateStore
    count_N: Ints
    identity: str
    folder: Path

    def times_P(self, parts: ContextParts) -> Ints:
        """How often each source phrase of the table was seen with something that may be predicted, (P,)."""
        phrases = len(parts.table.source_phrases)
        if parts.distances is not None:
            return np.asarray(self.count_N.reshape(phrases, -1).sum(axis=1))
        return np.bincount(parts.table.source_B, weights=self.count_N, minlength=phrases).astype(np.int64)


@dataclass(frozen=True)
class ContextParts:
    """The phrase table of a work directory with the features of a classifier's settings."""

    work: WorkDirectory
    settings: ContextModelConfig
    table: PhraseTable
    contexts: ContextFeatures
    targets: TargetFeatures
    distances: Distances | None

    @classmethod
    def of(cls, work: WorkDirectory, settings: ContextModelConfig) -> ContextParts:
        """What settings ask for.

        Raises:
            InputError: a kind of words, of marks or of targets there is none of.
        """
        table = PhraseTable.load(work.path / "phrases" / "table", work.words)
        source = side_of(work, "source")
        found = [word_values(kind, source, classes_of(work, settings.class_seed)) for kind in settings.words]
        layers = tuple(Layer.of_words(kind, values) for kind, values in zip(settings.words, found, strict=True))
        layers += tuple(Layer(name, tuple(work.factor_vocabulary("source", name).words)) for name in settings.factors)
        contexts = ContextFeatures(layers, settings.window, settings.marks, len(table.source_phrases))
        targets = TargetFeatures(table, tuple(settings.target), len(work.target_vocabulary))
        distances = Distances(settings.reach) if settings.predicts == DISTORTION else None
        return cls(work, settings, table, contexts, targets, distances)

    @property
    def translations(self) -> TargetFeatures | None:
        """The features of translations that distances are predicted with, None where they are not looked at."""
        return self.targets if self.distances is not None and self.settings.target else None

    @property
    def candidates(self) -> int:
        """The number of features of candidates."""
        return len(self.targets) if self.distances is None else len(self.distances)

    def choices(self, count_N: AnyInts) -> Choices:
        """What is chosen among, by counts as `ContextStores` has them."""
        if self.distances is not None:
            count_PR = np.asarray(count_N).reshape(-1, len(self.distances))
            return Places(self.distances, self.distances.log_shares(count_PR))
        return Translations(listed_pairs(self.table, count_N, self.settings.alternatives), self.targets)

    def counts(self, seen: Examples) -> Ints:
        """How often whatever may be predicted was seen; see `ContextStores`."""
        if self.distances is None:
            return np.bincount(seen.number_X, minlength=len(self.table))
        size = len(self.distances)
        keys_X = np.asarray(seen.spans.phrase_I, np.int64) * size + seen.number_X
        return np.bincount(keys_X, minlength=len(self.table.source_phrases) * size)

    def examples(self) -> Examples:
        """What is learned from: pairs that were extracted, or how far the translations of their sources stand."""
        seen = self.occurrences()
        if self.distances is None:
            spans = Spans(seen.sentence_X, seen.start_X, seen.end_X, self.table.source_B[seen.pair_X])
            return Examples(spans, seen.pair_X.astype(np.int64), np.full(len(seen), NO_PAIR))
        texts, links = self.work.encoded, self.work.links
        first_T = first_links(texts[0], links)
        alone = self._unlinked_words(first_T)
        pairs = (seen.sentence_X, alone.sentence_I), (seen.start_X, alone.start_I), (seen.end_X, alone.end_I)
        sentence_X, start_X, end_X = (np.concatenate(both) for both in pairs)
        phrase_X = np.concatenate([self.table.source_B[seen.pair_X], alone.phrase_I])
        pair_X = np.append(seen.pair_X.astype(np.int64), np.full(len(alone), NO_PAIR))
        if self.translations is None:
            pair_X[:] = NO_PAIR
        number_X = distance_classes(self.distances, first_T, texts, sentence_X, start_X, end_X)
        order = np.lexsort((pair_X, end_X, start_X, sentence_X))
        spans = Spans(sentence_X[order], start_X[order], end_X[order], phrase_X[order])
        return Examples(spans, number_X[order], pair_X[order]).once()

    def _unlinked_words(self, first_T: Ints) -> Spans:
        """The words without links that are source phrases of the table."""
        source = self.work.encoded[0]
        row_T = span_rows(phrase_finder(self.table.source_phrases), source.ids_T, 1)
        at_I = np.flatnonzero((first_T == UNLINKED) & (row_T >= 0))
        sentence_I = np.searchsorted(source.offsets_S1, at_I, side="right") - 1
        start_I = at_I - source.offsets_S1[sentence_I]
        return Spans(sentence_I, start_I, start_I + 1, row_T[at_I])

    def occurrences(self) -> Occurrences:
        """Where pairs that may be predicted were extracted."""
        longest = self.work.settings("phrases", {"max_length": int})["max_length"]
        seen = occurrences_of(self.table, *self.work.encoded, self.work.links, longest)
        kept_X = seen.end_X - seen.start_X <= (1 if self.settings.unit == "word" else self.settings.longest)
        return seen.select(kept_X & seen.tight_X if self.settings.unit == "word" else kept_X)


def context_stores(work: WorkDirectory, settings: ContextModelConfig) -> ContextStores:
    """Opens the stores of a classifier's settings, making them first when they are not there.

    Translations of the phrases of a sentence, and their counts, are those of the folds that it is not in. A fold that
    is left out, of those that systems of lists are made without, is as if it were not in the text.
    """
    folds = Folds.of_events(work, settings.folds)
    made_from: dict[str, Any] = {
        **{
            name: getattr(settings, name)
            for name in ("unit", "longest", "alternatives", "class_seed", "window", "marks")
        },
        **{name: list(getattr(settings, name)) for name in ("words", "target")},
        **({"factors": list(settings.factors)} if settings.factors else {}),
        **({"predicts": DISTORTION, "reach": settings.reach} if settings.predicts == DISTORTION else {}),
        **({"left_out": settings.left_out, "of": settings.left_out_of} if settings.left_out is not None else {}),
        "on": [read_stage(work.path, name).identity for name in ("corpus", "align", "phrases")] + [folds.identity],
        "version": 2,
    }

    stage = run_stage(
        work.path,
        f"candidates/{identity_of(made_from)[:12]}",
        made_from,
        lambda folder: _write(ContextParts.of(work, settings), folds, folder),
    )
    train, heldout = (CandidateStore.open(stage.folder / name) for name in (TRAIN, HELDOUT))
    counts = open_arrays(stage.folder / COUNTS, KIND, LAYOUT, lambda _: None)
    return ContextStores(train, heldout, counts["count_B"], stage.identity, stage.folder)


def factors_of_text(work: WorkDirectory, settings: ContextModelConfig) -> list[Ints32]:
    """The factors of the source tokens of the training text that a classifier looks at, in their order.

    Raises:
        InputError: the text was prepared without one of them.
    """
    return [work.factor("source", name).ids_T for name in settings.factors]


def _write(parts: ContextParts, folds: Folds, folder: Path) -> dict[str, Any]:
    seen, source = parts.examples(), parts.work.encoded[0]
    if parts.settings.left_out is not None:
        fold_S = balanced_folds(parts.work.copies, parts.settings.left_out_of)
        seen = seen.select(fold_S[seen.spans.sentence_I] != parts.settings.left_out)
    factors = factors_of_text(parts.work, parts.settings)
    if parts.distances is not None:
        # Counts and their logarithms for each phrase; numbers, logarithms and places for each instance of a fold.
        rows = 2 * len(parts.table.source_phrases) + 3 * len(seen) // len(folds.numbers)
        size = 8 * len(parts.distances) * rows
        check_memory("the distances of source phrases", size, f"model.reach={parts.settings.reach}")
    count_N = parts.counts(seen)
    save_arrays(folder / COUNTS, KIND, {"count_B": count_N})
    sizes = {TRAIN: 0, HELDOUT: 0}
    with (
        StoreWriter(folder / TRAIN, DENSE, parts.candidates) as train,
        StoreWriter(folder / HELDOUT, DENSE, parts.candidates) as heldout,
    ):
        for fold in track(folds.numbers, "contexts: folds"):
            here = seen.select(folds.fold_S[seen.spans.sentence_I] == fold)
            choices = parts.choices(count_N if fold == WHOLE else count_N - parts.counts(here))
            instances = ContextInstances(parts.contexts, choices, source, factors, parts.translations)
            heldout_X = folds.heldout_S[here.spans.sentence_I]
            for name, writer, chosen_X in ((TRAIN, train, ~heldout_X), (HELDOUT, heldout, heldout_X)):
                batch = instances.events(here.select(chosen_X))
                writer.append(batch)
                sizes[name] += len(batch)
    return {"instances": sizes[TRAIN], "heldout": sizes[HELDOUT], "contexts": len(parts.contexts)}

"""The candidate stores of a classifier in context, made once for each work directory and settings of features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlate.arrays.stored import open_arrays, save_arrays
from xlate.candidates.context_instances import DENSE, ContextInstances
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.config.model_schema import ModelConfig
from xlate.features.context import ContextFeatures, Layer, TargetFeatures
from xlate.features.sparse_sets import word_values
from xlate.jobs.prepare.folds import WHOLE, Folds
from xlate.jobs.prepare.stages import identity_of, read_stage, run_stage
from xlate.jobs.prepare.work import WorkDirectory
from xlate.jobs.train.sparse_models import classes_of, side_of
from xlate.phrases.listed_pairs import listed_pairs
from xlate.phrases.occurrences import Occurrences, occurrences_of
from xlate.phrases.table import PhraseTable
from xlate.progress import track

TRAIN, HELDOUT, COUNTS = "train", "train.heldout", "counts"
KIND = "counts of predicted pairs"
LAYOUT = {"count_B": ("<i8", 1)}


@dataclass(frozen=True)
class ContextStores:
    """Instances of the training text and of its held-out sentences, and what makes them these.

    `count_B` says how often each pair that may be predicted was extracted from the training text, 0 for the others.
    """

    train: CandidateStore
    heldout: CandidateStore
    count_B: NDArray[np.int64]
    identity: str

    def times_P(self, table: PhraseTable) -> NDArray[np.int64]:
        """How often each source phrase of the table was extracted with a pair that may be predicted, (P,)."""
        counted = np.bincount(table.source_B, weights=self.count_B, minlength=len(table.source_phrases))
        return counted.astype(np.int64)


@dataclass(frozen=True)
class ContextParts:
    """The phrase table of a work directory with the features of a classifier's settings."""

    work: WorkDirectory
    settings: ModelConfig
    table: PhraseTable
    contexts: ContextFeatures
    targets: TargetFeatures

    @classmethod
    def of(cls, work: WorkDirectory, settings: ModelConfig) -> ContextParts:
        """What settings ask for.

        Raises:
            InputError: a kind of words, of marks or of targets there is none of.
        """
        table = PhraseTable.load(work.path / "phrases" / "table", work.words)
        source = side_of(work, "source")
        found = [word_values(kind, source, classes_of(work, settings.class_seed)) for kind in settings.words]
        layers = tuple(
            Layer(kind, values.labels, values.value_V) for kind, values in zip(settings.words, found, strict=True)
        )
        layers += tuple(Layer(name, tuple(work.factor_vocabulary("source", name).words)) for name in settings.factors)
        contexts = ContextFeatures(layers, settings.window, settings.marks, len(table.source_phrases))
        targets = TargetFeatures(table, tuple(settings.target), len(work.target_vocabulary))
        return cls(work, settings, table, contexts, targets)

    def occurrences(self) -> Occurrences:
        """Where pairs that may be predicted were extracted."""
        longest = self.work.settings("phrases", {"max_length": int})["max_length"]
        seen = occurrences_of(self.table, *self.work.encoded, self.work.links, longest)
        kept_X = seen.end_X - seen.start_X <= (1 if self.settings.unit == "word" else self.settings.longest)
        return seen.select(kept_X & seen.tight_X if self.settings.unit == "word" else kept_X)


def context_stores(work: WorkDirectory, settings: ModelConfig) -> ContextStores:
    """Opens the stores of a classifier's settings, making them first when they are not there.

    Translations of the phrases of a sentence, and their counts, are those of the folds that it is not in.
    """
    folds = Folds.of_events(work, settings.folds)
    made_from: dict[str, Any] = {
        "unit": settings.unit,
        "longest": settings.longest,
        "alternatives": settings.alternatives,
        "words": list(settings.words),
        "class_seed": settings.class_seed,
        "window": settings.window,
        "marks": settings.marks,
        **({"factors": list(settings.factors)} if settings.factors else {}),
        "target": list(settings.target),
        "on": [read_stage(work.path, name).identity for name in ("corpus", "align", "phrases")] + [folds.identity],
        "version": 2,
    }

    def build(folder: Path) -> dict[str, Any]:
        return _write(ContextParts.of(work, settings), folds, folder)

    stage = run_stage(work.path, f"candidates/{identity_of(made_from)[:12]}", made_from, build)
    train, heldout = (CandidateStore.open(stage.folder / name) for name in (TRAIN, HELDOUT))
    counts = open_arrays(stage.folder / COUNTS, KIND, LAYOUT, lambda _: None)
    return ContextStores(train, heldout, counts["count_B"], stage.identity)


def factors_of_text(work: WorkDirectory, settings: ModelConfig) -> list[NDArray[np.int32]]:
    """The factors of the source tokens of the training text that a classifier looks at, in their order.

    Raises:
        InputError: the text was prepared without one of them.
    """
    return [work.factor("source", name).ids_T for name in settings.factors]


def _write(parts: ContextParts, folds: Folds, folder: Path) -> dict[str, Any]:
    seen, source = parts.occurrences(), parts.work.encoded[0]
    factors = factors_of_text(parts.work, parts.settings)
    count_B = seen.counts(len(parts.table))
    save_arrays(folder / COUNTS, KIND, {"count_B": count_B})
    sizes = {TRAIN: 0, HELDOUT: 0}
    with (
        StoreWriter(folder / TRAIN, DENSE, len(parts.targets)) as train,
        StoreWriter(folder / HELDOUT, DENSE, len(parts.targets)) as heldout,
    ):
        for fold in track(folds.numbers, "contexts: folds"):
            here = seen.select(folds.fold_S[seen.sentence_X] == fold)
            elsewhere_B = count_B if fold == WHOLE else count_B - here.counts(len(parts.table))
            listed = listed_pairs(parts.table, elsewhere_B, parts.settings.alternatives)
            instances = ContextInstances(parts.contexts, parts.targets, listed, source, factors)
            heldout_X = folds.heldout_S[here.sentence_X]
            for name, writer, chosen_X in ((TRAIN, train, ~heldout_X), (HELDOUT, heldout, heldout_X)):
                batch = instances.events(here.select(chosen_X))
                writer.append(batch)
                sizes[name] += len(batch)
    return {"instances": sizes[TRAIN], "heldout": sizes[HELDOUT], "contexts": len(parts.contexts)}

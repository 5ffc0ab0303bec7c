"""The classifiers of a work directory: their features, the stores they learn from, and those of finished runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import balanced_folds
from xlate.array_types import AnyInts, Ints, Ints32
from xlate.arrays.stored import open_arrays, save_arrays
from xlate.candidates.context_instances import DENSE, NO_PAIR, Choices, ContextInstances, Examples, Places, Translations
from xlate.candidates.store import CandidateStore, StoreWriter
from xlate.config.model_schema import DISTORTION, TRANSLATION, ClassifierConfig, ContextModelConfig, ContextUseConfig
from xlate.errors import refuse_if
from xlate.features.context import (
    UNLINKED,
    ContextFeatures,
    Distances,
    TargetFeatures,
    distance_classes,
    first_links,
)
from xlate.features.word_values import NO_WORDS, word_values
from xlate.kernels.search.predictions import PhraseSpans
from xlate.kernels.search.spans import span_rows
from xlate.machine import check_memory
from xlate.models.context.model import Classifier, ContextModel, DistanceModel, FactorsOf
from xlate.models.context.predicted import OtherTable, PredictedPlaces, PredictedScores
from xlate.models.context.runs import KIND, classifier_config, classifier_runs, fold_classifier, predicted
from xlate.models.phrase.model import PhraseModel
from xlate.models.run_files import weights_of, with_located_words
from xlate.models.sparse_models import classes_of, side_of
from xlate.phrases.occurrences import Occurrences, listed_pairs, occurrences_of
from xlate.phrases.table import PhraseTable
from xlate.progress import track
from xlate.text.classes import POS
from xlate.text.factors import factor_values
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import WHOLE, Folds
from xlate.work.stages import identity_of, run_stage

log = logging.getLogger(__name__)
# The metadata key of a classifier trained further over lists: whether each candidate is judged on its own.
ALONE = "alone"
TRAIN, HELDOUT, COUNTS = "train", "train.heldout", "counts"
COUNTS_KIND = "counts of predicted pairs"
LAYOUT = {"count_B": ("<i8", 1)}


@dataclass(frozen=True)
class ContextStores:
    """Instances of the training text and of its held-out sentences, and what identifies them.

    `count_N` says how often each possible prediction was seen in the training text: each pair of the table, or each
    class of distances of each source phrase.
    """

    train: CandidateStore
    heldout: CandidateStore
    count_N: Ints
    identity: str
    folder: Path

    def times_P(self, parts: ContextParts) -> Ints:
        """How often each source phrase of the table was seen with a possible prediction, (P,)."""
        phrases = len(parts.table.source_phrases)
        if parts.distances is not None:
            return np.asarray(self.count_N.reshape(phrases, -1).sum(axis=1))
        return np.bincount(parts.table.source_B, self.count_N, minlength=phrases).astype(np.int64)


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
        """The parts that settings request.

        Raises:
            InputError: an unknown kind of words, of marks or of targets.
        """
        table = work.table
        source = side_of(work, "source")
        classes = classes_of(work, settings.class_seed)
        layers = tuple(replace(word_values(kind, source, classes), name=kind) for kind in settings.words)
        for name in settings.factors:
            layers += (replace(NO_WORDS, name=name, labels=tuple(work.factor_vocabulary("source", name).words)),)
        contexts = ContextFeatures(layers, settings.window, settings.marks, len(table.source_phrases))
        targets = TargetFeatures(table, tuple(settings.target), len(work.target_vocabulary))
        distances = Distances(settings.reach) if settings.predicts == DISTORTION else None
        return cls(work, settings, table, contexts, targets, distances)

    @property
    def translations(self) -> TargetFeatures | None:
        """The features of translations that distances are predicted with, None if they are not considered."""
        return self.targets if self.distances is not None and self.settings.target else None

    @property
    def candidates(self) -> int:
        """The number of features of candidates."""
        return len(self.targets) if self.distances is None else len(self.distances)

    def choices(self, count_N: AnyInts) -> Choices:
        """The possible choices, by counts as `ContextStores` has them."""
        if self.distances is not None:
            count_PR = np.asarray(count_N).reshape(-1, len(self.distances))
            return Places(self.distances, self.distances.log_shares(count_PR))
        return Translations(listed_pairs(self.table, count_N, self.settings.alternatives), self.targets)

    def counts(self, seen: Examples) -> Ints:
        """How often each possible prediction was seen; see `ContextStores`."""
        if self.distances is None:
            return np.bincount(seen.number_X, minlength=len(self.table))
        size = len(self.distances)
        keys_X = np.asarray(seen.spans.phrase_I, np.int64) * size + seen.number_X
        return np.bincount(keys_X, minlength=len(self.table.source_phrases) * size)

    def examples(self) -> Examples:
        """What is learned from: extracted pairs, or how far the translations of their sources are from their places."""
        seen = self.occurrences()
        if self.distances is None:
            spans = PhraseSpans(seen.sentence_X, seen.start_X, seen.end_X, self.table.source_B[seen.pair_X])
            return Examples(spans, seen.pair_X.astype(np.int64), np.full(len(seen.pair_X), NO_PAIR))
        texts, links = self.work.encoded, self.work.links
        source, first_T = texts[0], first_links(texts[0], links)
        # The words without links that are source phrases of the table.
        row_T = span_rows(self.table.source_finder, source.ids_T, 1)
        at_I = np.flatnonzero((first_T == UNLINKED) & (row_T >= 0))
        sentence_I = np.searchsorted(source.offsets_S1, at_I, side="right") - 1
        start_I = at_I - source.offsets_S1[sentence_I]
        alone = PhraseSpans(sentence_I, start_I, start_I + 1, row_T[at_I])
        pairs = (seen.sentence_X, alone.sentence_I), (seen.start_X, alone.start_I), (seen.end_X, alone.end_I)
        sentence_X, start_X, end_X = (np.concatenate(both) for both in pairs)
        phrase_X = np.concatenate([self.table.source_B[seen.pair_X], alone.phrase_I])
        pair_X = np.append(seen.pair_X.astype(np.int64), np.full(len(alone.start_I), NO_PAIR))
        if self.translations is None:
            pair_X[:] = NO_PAIR
        number_X = distance_classes(self.distances, first_T, texts, sentence_X, start_X, end_X)
        order = np.lexsort((pair_X, end_X, start_X, sentence_X))
        spans = PhraseSpans(sentence_X[order], start_X[order], end_X[order], phrase_X[order])
        return Examples(spans, number_X[order], pair_X[order]).once()

    def occurrences(self) -> Occurrences:
        """Where pairs that may be predicted were extracted."""
        longest = self.work.plan["phrases"]["max_length"]
        seen = occurrences_of(self.table, *self.work.encoded, self.work.links, longest)
        kept_X = seen.end_X - seen.start_X <= (1 if self.settings.unit == "word" else self.settings.longest)
        if self.settings.unit == "word":
            kept_X &= seen.tight_X
        return Occurrences._make(column_X[kept_X] for column_X in seen)


def context_stores(work: WorkDirectory, settings: ContextModelConfig) -> ContextStores:
    """Opens the stores of a classifier's settings, and makes them first if they do not exist.

    Translations of the phrases of a sentence, and their counts, are those of the folds that it is not in. A left-out
    fold, one of those that systems of lists are made without, is treated as if it were not in the text.
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
        "on": [*work.identities("corpus", "align", "phrases"), folds.identity],
        "version": 2,
    }

    stage = run_stage(
        work.path,
        f"candidates/{identity_of(made_from)[:12]}",
        made_from,
        lambda folder: _write(ContextParts.of(work, settings), folds, folder),
    )
    train, heldout = (CandidateStore.open(stage.folder / name) for name in (TRAIN, HELDOUT))
    counts = open_arrays(stage.folder / COUNTS, COUNTS_KIND, LAYOUT, lambda _: None)
    return ContextStores(train, heldout, counts["count_B"], stage.identity, stage.folder)


def factors_of_text(work: WorkDirectory, settings: ContextModelConfig) -> list[Ints32]:
    """The factors of the source tokens of the training text that a classifier considers, in their order.

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
        # Counts and their logarithms per phrase; numbers, logarithms and places per instance of a fold.
        rows = 2 * len(parts.table.source_phrases) + 3 * len(seen) // len(folds.numbers)
        size = 8 * len(parts.distances) * rows
        check_memory("the distances of source phrases", size, f"model.reach={parts.settings.reach}")
    count_N = parts.counts(seen)
    save_arrays(folder / COUNTS, COUNTS_KIND, {"count_B": count_N})
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


def context_model(run: Path, work: WorkDirectory) -> ContextModel:
    """The classifier of translations of a finished run.

    Raises:
        InputError: as `classifier_config`; or it predicts distances, or the run is of another work directory.
    """
    return ContextModel(**_made_of(run, work, TRANSLATION)[1])


def distance_model(run: Path, work: WorkDirectory) -> DistanceModel:
    """The classifier of distances of a finished run.

    Raises:
        InputError: as `classifier_config`; or it predicts translations, or the run is of another work directory.
    """
    parts, given = _made_of(run, work, DISTORTION)
    return DistanceModel(**given, target_vocabulary=work.target_vocabulary, beside=parts.translations)


def classifier(run: Path, work: WorkDirectory) -> Classifier:
    """The classifier of a finished run, whatever it predicts.

    Raises:
        InputError: as `classifier_config`; or the run is of another work directory.
    """
    return distance_model(run, work) if predicted(run) == DISTORTION else context_model(run, work)


def _made_of(run: Path, work: WorkDirectory, wanted: str) -> tuple[ContextParts, dict[str, Any]]:
    """The parts of a run's classifier, and what every classifier is made with."""
    config = classifier_config(run)
    seen, expected = f"model.predicts={config.model.predicts}", f"model.predicts={wanted}"
    refuse_if(seen != expected, f"not a classifier of {wanted}", seen, expected, file=run)
    file = weights_of(run, config)
    wrong, seen = file.metadata.get("work_identity") != work.identity, f"one trained on {config.work}"
    refuse_if(wrong, "a classifier of a different text", seen, f"one trained on {work.path}", file=run)
    # Its loss, or that of the classifier it began as, says whether it judges each candidate on its own.
    if config.loss.lists is not None:
        alone = bool(file.metadata[ALONE])
    else:
        # Translating needs it only here, and it imports PyTorch.
        from xlate.losses.loss import losses

        alone = losses()[config.loss.name].judges_each
    parts = ContextParts.of(work, with_located_words(run, config).model)
    weights = file.sets[KIND]
    given = {
        "contexts": parts.contexts,
        "choices": parts.choices(file.extra["count_B"]),
        "targets": parts.targets,
        "vocabulary": work.source_vocabulary,
        "longest": 1 if config.model.unit == "word" else config.model.longest,
        "weights": replace(weights, sparse_F=weights.sparse_F.astype(np.float32)),
        "factors": _factors_of(work, config.model.factors),
        "alone": alone,
    }
    return parts, given


def _factors_of(work: WorkDirectory, names: Sequence[str]) -> FactorsOf:
    """Finds the factors of a sentence's words: with the tagger of the work directory, or as given with the words.

    A value that the training text lacks is reported once, and counts as none.
    """
    vocabularies = {name: work.factor_vocabulary("source", name) for name in names}
    told: set[tuple[str, str]] = set()

    def ids(words: Sequence[str], name: str) -> Ints32:
        tagged = name == POS and "tagger" in work.preprocessing
        values, known = work.source_tags(words) if tagged else factor_values(words, name), vocabularies[name]
        for value in values:
            if value not in known and (name, value) not in told:
                told.add((name, value))
                log.warning("%s=%s: a value that the training text of %s lacks", name, value, work.path)
        return known.ids(values)

    return lambda words: [ids(words, name) for name in names]


def with_predictions(
    model: PhraseModel,
    use: ClassifierConfig | None,
    work: WorkDirectory,
    left_out: tuple[int, int] | None = None,
    own: OtherTable | None = None,
) -> PhraseModel:
    """The phrase model of a work directory with the predictions that its settings request.

    Args:
        model: the phrase model, of the whole text or without a fold.
        use: the classifiers of the whole text; those without a fold are trained in the same way.
        work: the work directory.
        left_out: the fold that neither the model nor the classifiers have seen, and the number of folds.
        own: the table of a model without a fold.

    Raises:
        InputError: as `classifier`; or the phrases are those of another table.
    """
    model = replace(model, in_sentence=None, placed=None)
    if not isinstance(use, ContextUseConfig):
        return model
    work.check()
    for whole in classifier_runs(use):
        run = whole if left_out is None else fold_classifier(whole, work, left_out)[1]
        if predicted(run) == DISTORTION:
            places = PredictedPlaces(distance_model(run, work), own)
            model, table = replace(model, placed=places), places.model.targets.table
        else:
            scores = PredictedScores(context_model(run, work), use.only, use.threshold, use.best, use.share, own)
            model, table = replace(model, in_sentence=scores), scores.model.targets.table
        refuse_if(
            own is None and len(table) != len(model.table),
            "the phrases and the classifier belong to different tables",
            f"{len(model.table)} pairs, {len(table)} there",
            "the phrase table of the work directory",
            "leave out base=RUN, or use one of the same work directory",
            file=run,
        )
    return model

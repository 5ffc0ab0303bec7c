"""The sparse features of a work directory's phrase model: word classes, counts, and weights on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from xlate.array_types import AnyFloats, Floats, Ints
from xlate.config.model_schema import PhraseModelConfig, SparseConfig, StructureConfig
from xlate.errors import InputError, refuse_if
from xlate.features.phrase_sparse import BIGRAM, GROUP, SparseFeatures, make_families
from xlate.features.structure import StructureFeatures, StructureTemplates
from xlate.features.word_values import ClassesOf, Side, word_values
from xlate.models.phrase.model import SIZE, SPARSE_PLAIN, SPARSE_REORDERING, TABLE, PhraseModel, Reordering
from xlate.phrases.table import PhraseTable
from xlate.scoring.weights import Weights
from xlate.text.classes import commonest_classes, read_classes, write_classes
from xlate.text.clustering import exchange_classes
from xlate.text.vocabulary import EncodedText
from xlate.work.directory import WorkDirectory, word_counts
from xlate.work.stages import run_stage


def sparse_features(
    work: WorkDirectory, settings: SparseConfig, table: PhraseTable, orientations: int
) -> SparseFeatures:
    """The features of a phrase table of this work directory.

    Raises:
        InputError: an unknown kind of words or template, or a file of classes that cannot be read.
    """
    return _made(settings, table, _sides_of(work), orientations, classes_of(work, settings.class_seed))


def _made(
    settings: SparseConfig, table: PhraseTable, sides: tuple[Side, Side], orientations: int, of_classes: ClassesOf
) -> SparseFeatures:
    source, target = ([word_values(kind, side, of_classes) for kind in settings.words] for side in sides)
    families = make_families(settings.reordering, settings.plain, source, target, table, orientations)
    return SparseFeatures(families, orientations, table, sides[0].vocabulary, sides[1].vocabulary)


def _sides_of(work: WorkDirectory) -> tuple[Side, Side]:
    return side_of(work, "source"), side_of(work, "target")


def side_of(work: WorkDirectory, name: str) -> Side:
    """The words of `source` or `target` with their counts in the training text."""
    vocabulary = work.source_vocabulary if name == "source" else work.target_vocabulary
    return Side(name, vocabulary, word_counts(work, name))


def classes_of(work: WorkDirectory, seed: int) -> ClassesOf:
    """Computed word classes of a work directory, made when requested if they do not exist."""

    def found(side: str, classes: int) -> Mapping[str, str]:
        settings = {"classes": classes, "seed": seed, "on": work.identities("corpus"), "version": 1}

        def build(folder: Path) -> dict[str, Any]:
            vocabulary = work.source_vocabulary if side == "source" else work.target_vocabulary
            class_V, likelihoods = exchange_classes(work.training_text(side), len(vocabulary), classes, seed)
            class_of = zip(vocabulary.words, class_V.tolist(), strict=True)
            write_classes(folder / "classes.txt", {word: str(c) for word, c in class_of if c >= 0})
            return {"log_likelihood": likelihoods[-1], "sweeps": len(likelihoods) - 1}

        stage = run_stage(work.path, f"classes/{side}.{classes}.{seed}", settings, build)
        return read_classes(stage.folder / "classes.txt")

    return found


def structure_features(work: WorkDirectory, settings: StructureConfig) -> StructureFeatures:
    """The structure features of a work directory's words, none of them seen yet.

    A factor that only one side of the text has is a kind of the words of that side: each word has the value that it
    has most often in the training text.

    Raises:
        InputError: an unknown family or kind of words.
    """
    of_classes = classes_of(work, settings.class_seed)

    def commonest(side: Side, name: str) -> Mapping[str, str]:
        tokens, values = work.training_text(side.name).ids_T, work.factor(side.name, name).ids_T
        return commonest_classes(side.vocabulary.words, tokens, values, work.factor_vocabulary(side.name, name).words)

    named = [(side, work.factor_names(side.name).names) for side in _sides_of(work)]
    sides = [replace(side, factors={name: partial(commonest, side, name) for name in names}) for side, names in named]
    factors = {name for side in sides for name in side.factors}
    source, target = (
        tuple(word_values(kind, side, of_classes) for kind in settings.words if kind not in factors - set(side.factors))
        for side in sides
    )
    return StructureFeatures(StructureTemplates(tuple(settings.families), source, target))


def check_orientations(model: PhraseModelConfig) -> None:
    """Checks that sparse reordering features have the stack of the hierarchical model, which they need.

    Raises:
        InputError: they do not.
    """
    kind = model.reordering or "none"
    if model.sparse is None or kind.startswith("hier"):
        return
    beyond = [template for template in model.sparse.reordering if template in GROUP]
    refuse_if(
        beyond or (model.sparse.reordering and kind == "none"),
        "sparse reordering features need the hierarchical model",
        f"model.reordering={kind}, templates {', '.join(beyond or model.sparse.reordering)}",
        "model.reordering=hier or hier5, or templates of the phrase itself and a model other than none",
    )


def imported_sparse_features(settings: SparseConfig, model: PhraseModel) -> SparseFeatures:
    """The features of an imported table; word counts are those of its one-word phrases.

    Raises:
        InputError: as `sparse_features`; computed classes, for which there is no text.
    """
    table = model.table
    source, target = model.source_vocabulary, model.target_vocabulary
    sides = (
        Side("source", source, _word_counts(table.source_phrases, table.source_count_P, len(source))),
        Side("target", target, _word_counts(table.target_phrases, table.target_count_Q, len(target))),
    )

    def no_text(side: str, classes: int) -> Mapping[str, str]:
        no_text_for(f"class{classes} of the {side}")

    return _made(settings, table, sides, model.orientations, no_text)


def no_text_for(words: str) -> NoReturn:
    """Raises InputError: an imported system has no text to compute these classes from."""
    raise InputError(
        "an imported system has no text to compute word classes from",
        words,
        "model.sparse.words of all, topN, or files of classes SOURCE,TARGET",
        "model.sparse.words=[top80], or classes that a work directory has computed, given as files",
    )


def _word_counts(phrases: EncodedText, count_P: AnyFloats, size: int) -> Ints:
    alone = np.flatnonzero(np.diff(phrases.offsets_S1) == 1)
    words = phrases.ids_T[phrases.offsets_S1[alone]]
    return np.bincount(words, count_P[alone], minlength=size).astype(np.int64)


def folded(model: PhraseModel, weights: Weights) -> tuple[PhraseModel, Floats]:
    """A model without sparse features that scores known words alike, and its float weights in Moses's order.

    Backward columns of the reordering table become e to the power of their full weighted score, and weigh 1; what a
    pair scores in any orientation is added to the table score of the largest weight. Moses has no table entry for a
    copied word, so its sparse features are lost.

    Raises:
        InputError: features that depend on more than the phrase, or five orientations: Moses has no column for them.
    """
    refuse_if(
        model.orientations != 3,
        "Moses has no five-way reordering",
        None,
        "a run with model.reordering=hier, wbe or none",
    )
    if model.sparse is None:
        return model, weights.dense_D
    beyond = [f.name for f in model.sparse.families if f.position in GROUP or f.position == BIGRAM]
    refuse_if(
        beyond,
        "Moses's tables cannot express sparse features that look beyond the phrase",
        ", ".join(beyond),
        "local templates only",
        "train with sparse=local",
    )
    weights_D = np.array(weights.dense_D[:SIZE])
    every = model.sparse.of_pairs(np.arange(len(model.table)))
    crossed_BK, plain_B = model.sparse.local_scores(weights.sparse_F, every)
    crossed_BK = crossed_BK * weights.dense_D[model.slots[SPARSE_REORDERING]]
    plain_B = plain_B * float(weights.dense_D[model.slots[SPARSE_PLAIN].start])
    reordering = model.reordering
    if crossed_BK.any():
        if reordering is None:
            raise InputError("sparse reordering features without a reordering table", expected="model.reordering=hier")
        logs_BK2 = model.log_reordering(np.arange(len(model.table)))
        logs_BK2[:, :3] = logs_BK2[:, :3] * weights_D[model.backward] + crossed_BK
        reordering = Reordering(reordering.kind, np.exp(logs_BK2))
        weights_D[model.backward] = 1.0
    table = model.table
    if plain_B.any():
        column = int(np.abs(weights_D[TABLE]).argmax())
        logs_B4 = model.log_scores(np.arange(len(model.table)))
        logs_B4[:, column] += plain_B / weights_D[TABLE][column]
        table = replace(table, scores_B4=np.exp(logs_B4))
    return replace(model, table=table, reordering=reordering, sparse=None), weights_D

"""The phrase model in training: its tuned weights, systems of the folds of a text, and sparse weights from lists.

Lists of folds use the word alignment of the whole text; phrases, reordering and language model are counted without the
fold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from xlate.align.copies import balanced_folds
from xlate.align.lexical import lexical_table
from xlate.array_types import AnyArray, Bools, Ints
from xlate.candidates.batch import CandidateBatch
from xlate.candidates.lists import Draw, decoded, with_steps
from xlate.config.schema import TrainConfig
from xlate.features.phrase_sparse import PHRASES, STEP, SparseFeatures
from xlate.lm.model import NgramModel
from xlate.models.context.classifiers import with_predictions
from xlate.models.context.predicted import OtherTable, rows_of
from xlate.models.context.runs import classifier_runs, fold_classifier, predicted_by
from xlate.models.kind import FoldSystem, Kind, ListedModel, Saved, ToTune, made_of
from xlate.models.phrase.decoder import PhraseDecoder
from xlate.models.phrase.kind import KIND, open_phrase_model, reordering_model
from xlate.models.phrase.lists import PhraseList
from xlate.models.phrase.model import SPARSE_PLAIN, SPARSE_REORDERING, PhraseModel, load_phrase_model, save_phrase_model
from xlate.models.run_files import weights_of
from xlate.models.tuned import TunedByFold, TunedSystem, TunedUnits, found_paths, with_sums
from xlate.phrases.extract import extract_phrases
from xlate.phrases.matching import TableRows
from xlate.phrases.table import score_phrases
from xlate.scoring.weights import Weights
from xlate.search.settings import DecoderSettings, PhraseSearch
from xlate.text.folders import awaited, remove_folder
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Folds, WithoutFold
from xlate.work.stages import Stage, identity_of, run_stage


class TunedPhrases(TunedUnits[PhraseDecoder, PhraseList]):
    """The phrase decoder; a reordering model that it lacks is not tuned, nor are sums without features."""

    @property
    def trained_D(self) -> Bools:
        trained_D, model = super().trained_D, self.system.model
        if model.reordering is None:
            trained_D[model.slots["LexicalReordering0"]] = False
        if model.sparse is not None:
            trained_D[model.slots[SPARSE_REORDERING]] &= any(family.crossed > 1 for family in model.sparse.families)
            trained_D[model.slots[SPARSE_PLAIN]] &= any(family.crossed == 1 for family in model.sparse.families)
        return trained_D

    @property
    def uniform(self) -> Weights:
        start, sparse = super().uniform, self.system.model.sparse
        return replace(start, sparse_F=np.zeros(len(sparse))) if self.tunes_sparse and sparse is not None else start

    def with_parts(self, found: PhraseList) -> CandidateBatch:
        """With sparse features as ids of the phrases."""
        assert found.model.sparse is not None
        part_L, steps = found.parts
        ids = found.model.sparse.ids(steps)
        return with_steps(decoded(found.floats_ND, found.words), found.paths.offsets_N1, part_L, ids=ids)


def with_units(
    decoder: PhraseDecoder, words: Sequence[str], draw: Draw | None = None, own: OtherTable | None = None
) -> CandidateBatch:
    """The n-best list of a sentence, or drawn derivations, with units; sums of sparse features are left out.

    The pairs of units are those of the decoder's table, or with `own`, which describes it, those of the whole text's.

    Raises:
        InputError: a sentence without words, or of more than the search can number.
    """
    space, paths, draws_C = found_paths(decoder, words, draw)
    found = decoder.list_of(space, paths)
    part_L, steps = found.told_apart(groups=True, last_words=True)
    listed = decoded(found.floats_ND[:, : found.model.sums.start], found.words)
    columns = {**steps, "pair": rows_of(own, steps["pair"])}
    return with_steps(
        replace(listed, draws_C=draws_C),
        found.paths.offsets_N1,
        part_L,
        units=np.stack([columns[name] for name in STEP], axis=1).astype(np.int32),
        between=(steps["between_offsets"].astype(np.int64), steps["between"].astype(np.int32)),
    )


def weights_to_tune(
    config: TrainConfig,
    work: WorkDirectory | None,
    decoder: PhraseDecoder,
    start: Weights | None,
    phi_F: AnyArray | None = None,
) -> ToTune:
    """All float weights of a decoder, and those of its sparse features, if any, unless these are to stay `phi_F`.

    Without a `start` all weights are equal.
    """
    sparse = decoder.model.sparse
    system = TunedPhrases(decoder, config.tune.processes, tunes_sparse=sparse is not None and phi_F is None)

    def saved(weights: Weights) -> Saved:
        if sparse is None:
            return Saved({KIND: weights}, {}, {})
        whole = weights if phi_F is None else replace(weights, sparse_F=phi_F)
        return Saved({KIND: whole.single()}, {KIND: sparse}, {})

    made = {**made_of(config, work), **predicted_by(config.model)}
    return ToTune(system, system.uniform if start is None else start, saved, made)


class PhraseLists(ListedModel):
    """The sparse features of a work directory's phrase model, the float weights of a run, and systems of folds.

    The model of a fold has not seen it, and is removed when the fold is decoded.

    Args:
        config: of the model and the decoder.
        work: the work directory.
        base: the run of the float weights.
        folds: how many.
    """

    def __init__(self, config: TrainConfig, work: WorkDirectory, base: Path, folds: int) -> None:
        self.config, self.work, self.base, self.count = config, work, base, folds
        self.use, self.reordering = config.model.context, config.model.reordering or "none"

    @cached_property
    def theta(self) -> Weights:
        """The float weights.

        Raises:
            InputError: the run has none.
        """
        return weights_of(self.base).sets[KIND]

    @cached_property
    def fold_I(self) -> Ints:
        """The fold of each sentence pair.

        Copies of a pair are in one fold; otherwise a system would have seen what it must translate. Pairs without
        copies make folds of neighbours, because neighbours may be alike.
        """
        return balanced_folds(self.work.copies, self.count)

    @cached_property
    def made_from(self) -> str:
        """What the models are made from."""
        on = self.work.identities("phrases", "lm")
        return identity_of({"on": on, "folds": self.count, "reordering": self.reordering, "version": 2})

    @property
    def identity(self) -> str:
        """What the models and their predictions are made from."""
        runs = classifier_runs(self.use)
        if not runs:
            return self.made_from
        # The settings of classifiers and how they are used, but not their paths.
        used = {k: v for k, v in asdict(self.use).items() if k not in ("run", "distortion")} if self.use else {}
        folders = [fold_classifier(run, self.work, (0, self.count))[1].name for run in runs]
        return identity_of({"models": self.made_from, "classifiers": folders, "use": used})

    @property
    def folder(self) -> Path:
        """Where the models are, below the work directory."""
        return Path("folds") / self.made_from[:16]

    @cached_property
    def rows(self) -> TableRows:
        """Finds the phrases and pairs of a fold's table in that of the whole text."""
        return TableRows(self.work.table)

    def stage(self, fold: int) -> Stage:
        """The model of everything except a fold, made if it does not exist."""
        settings = {"on": self.made_from, "fold": fold, "version": 1}
        return run_stage(self.work.path, f"{self.folder}/{fold}", settings, lambda folder: self._build(fold, folder))

    def kept(self, fold: int) -> contextlib.AbstractContextManager[None]:
        """Held while a fold's model is made and opened, so that another process that uses it does not remove it.

        Once it is open it may be removed, because its files stay until no process has them open.
        """
        return awaited(self.work.path / self.folder / f"{fold}-opened")

    def discard(self, fold: int) -> None:
        """Removes a fold's model, if it exists: it is large, and takes seconds to make."""
        folder = self.work.path / self.folder / str(fold)
        if folder.exists():
            with self.kept(fold):
                remove_folder(folder)

    def opened(self, fold: int, weights: Weights, sparse: Any, search: DecoderSettings) -> FoldSystem:
        """The system without a fold, with the sparse features of the whole text."""
        with self.kept(fold):
            model = load_phrase_model(self.stage(fold).folder / "model")
        rows = self.rows.of(model.table)
        own = OtherTable(model.table, rows.pair_B)
        model = with_predictions(model, self.use, self.work, (fold, self.count), own)
        if sparse is not None:
            features = replace(sparse, table=model.table, rows=dict(zip(PHRASES, rows, strict=True)))
            model = replace(model, sparse=features)
        assert isinstance(search, PhraseSearch)
        decoder = PhraseDecoder.opened(model, weights, search)
        return FoldSystem(decoder, partial(with_units, own=own), model.columns[: model.sums.start])

    def _build(self, fold: int, folder: Path) -> dict[str, Any]:
        kept = np.flatnonzero(self.fold_I != fold)
        source, target, links = self.work.pairs(kept)
        longest = self.work.plan["phrases"]["max_length"]
        lexical = lexical_table(source, target, links)
        counts = extract_phrases(source, target, links, longest)
        table = score_phrases(counts, lexical, smoothing=self.work.smoothing)
        # Pairs that the whole text's table lacks were filtered out there.
        table = table.select(self.rows.of(table).pair_B >= 0)
        reordering = reordering_model(table, source, target, links, self.reordering, longest)
        lm = NgramModel.from_arpa(self.work.estimated_lm(target))
        model = PhraseModel(table, self.work.source_vocabulary, self.work.target_vocabulary, lm, reordering)
        save_phrase_model(folder / "model", model)
        return {"pairs": len(table), "sentences": len(kept)}

    @cached_property
    def model(self) -> PhraseModel:
        """The model of the whole text."""
        return open_phrase_model(Path("."), self.config)

    @property
    def features(self) -> SparseFeatures:
        """Its sparse features."""
        assert self.model.sparse is not None
        return self.model.sparse

    def weighted(self, theta: Weights, phi_F: AnyArray) -> Weights:
        """Both together, sums of sparse features at 1."""
        return replace(with_sums(theta, self.model), sparse_F=phi_F)

    def to_tune(self, theta: Weights, phi_F: AnyArray) -> ToTune:
        """The floats and the sums of sparse features."""
        decoder = PhraseDecoder(self.model, np.zeros(self.model.size), self.config.decoder, sparse_F=np.asarray(phi_F))
        return weights_to_tune(self.config, self.work, decoder, with_sums(theta, self.model), phi_F)


def by_fold(config: TrainConfig, kind: Kind, work: WorkDirectory, whole: TunedSystem) -> TunedByFold:
    """Decodes sentences of the training text without their folds; missing models are made.

    Copies of a sentence are in one fold, so its words determine the fold.

    Raises:
        InputError: the text cannot be cut into folds, or there are no such models of this kind.
    """
    folds, source, rows = Folds.of_events(work, config.source.folds), work.encoded[0], TableRows(work.blocks.table)
    fold_of = {work.source_vocabulary.words_of(source[s]): fold for s, fold in enumerate(folds.fold_S.tolist())}
    parts = {fold: kind.without_fold(config, whole, WithoutFold(work, folds, fold, rows)) for fold in folds.numbers}
    return TunedByFold(parts, fold_of)

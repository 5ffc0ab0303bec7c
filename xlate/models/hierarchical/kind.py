"""The hierarchical model of a work directory: its rules, its decoder, and what it learns."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xlate.align.lexical import lexical_table
from xlate.array_types import Ints32
from xlate.cluster import ClusterConfig, uses_cluster
from xlate.config.model_schema import HierarchicalModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run
from xlate.errors import refuse_if
from xlate.features.index import FeatureIndex
from xlate.features.structure import StructureFeatures
from xlate.models.hierarchical.decoder import HierarchicalDecoder
from xlate.models.hierarchical.model import COLUMNS, HierarchicalModel
from xlate.models.kind import Kind, Saved, ToTune, made_of, needed
from xlate.models.run_files import weights_of
from xlate.models.sparse_models import structure_features
from xlate.models.system import AnySystem
from xlate.phrases.rule_extraction import extract_rules, rule_limits, score_rules
from xlate.phrases.runs import Runs
from xlate.phrases.settings import RuleSettings
from xlate.phrases.table import RuleTable, gaps_of
from xlate.scoring.weights import Weights, WeightsFile
from xlate.settings import Json
from xlate.text.folders import remove_folder
from xlate.tuners.settings import ONLINE
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates, WithoutFold
from xlate.work.stages import Stage, finished_stage, identity_of, make_parts, run_stage
from xlate.work.text_stages import save_runs, text_parts

if TYPE_CHECKING:
    # Only for training; translating does not need it.
    from xlate.models.hierarchical.decoder import TunedRules
    from xlate.models.tuned import TunedSystem

log = logging.getLogger(__name__)
KIND = "hierarchical"
TABLE = "table"
# The key of the structure features in a weights file.
FEATURES = f"{KIND}.features"


class Hierarchical(Kind):
    """Rules in target normal form, translated from left to right."""

    name = KIND
    free = ("structure",)
    without_lists = (
        "the hierarchical model learns no sparse features from lists of the training text",
        "loss=mira or another tuner",
    )

    def open(
        self,
        run: Path,  # noqa: ARG002
        config: TrainConfig,
        weights: WeightsFile,
        work: WorkDirectory | None,
    ) -> HierarchicalDecoder:
        model = hierarchical_model(work, config.model, weights.extra.get(FEATURES))
        return HierarchicalDecoder.opened(model, weights.sets[KIND], config.decoder)

    def saved(self, system: AnySystem, file: WeightsFile) -> Saved:  # noqa: ARG002
        return _saved_rules(system.weights, system.features)

    def to_tune(self, config: TrainConfig, work: WorkDirectory | None) -> ToTune:
        """The float weights; online, those of structure features too, else of the sum of those in the base run."""
        from xlate.models.hierarchical.decoder import TunedRules

        tune = config.tune
        learned, from_base = _same_features(config), tune.start == "base"
        fixed = config.model.structure is not None and config.loss.name != ONLINE
        refuse_if(
            fixed and learned is None,
            "only online training can number new structure features",
            f"structure=… and loss={config.loss.name}, and no base run with the same features",
            "source=online, structure=none, or base=RUN that has learned them",
            file=None if config.base is None else config.base_run,
        )
        described_F7 = learned.extra[FEATURES] if learned is not None and (fixed or from_base) else None
        model = hierarchical_model(work, config.model, described_F7, config.cluster)
        decoder = HierarchicalDecoder(model, np.zeros(model.size), config.decoder)
        if learned is not None and described_F7 is not None:
            decoder = HierarchicalDecoder.opened(model, learned.sets[KIND], config.decoder)
        tuned = TunedRules(decoder, tune.processes, tunes_sparse=model.sparse is not None and not fixed)
        start = tuned.uniform
        if from_base:
            start = (learned or weights_of(config.base_run)).sets[KIND]
            if fixed:
                start = replace(start, sparse_F=np.zeros(0))
            else:
                # The weight of the sum of the learned features is multiplied into their own weights.
                start = decoder.weights if learned is not None else _with_sum(start, model)

        def saved(weights: Weights) -> Saved:
            return _saved_rules(replace(weights, sparse_F=decoder.sparse_F) if fixed else weights, model.sparse)

        return ToTune(tuned, start, saved, made_of(config, work))

    def without_fold(self, config: TrainConfig, whole: TunedSystem, without: WithoutFold) -> TunedRules:
        """Rules and language model of the other folds, with the structure features of the whole text."""
        from xlate.models.hierarchical.decoder import TunedRules

        assert isinstance(whole, TunedRules)
        stage = rule_stage(without.work, config.model.rules, without)
        table = RuleTable.load(stage.folder / TABLE, without.work.words)
        model = replace(whole.system.model, table=table, lm=without.lm)
        return TunedRules(whole.system.changed(model=model), whole.processes, whole.tunes_sparse)


def _same_features(config: TrainConfig) -> WeightsFile | None:
    """The weights of the base run if it has learned the requested structure features, else None."""
    base, asked = config.base, config.model.structure
    trained = None if base is None else config_of_run(Path(base)).model.structure
    if base is None or asked is None or trained != asked:
        return None
    return weights_of(Path(base))


def _with_sum(weights: Weights, model: HierarchicalModel) -> Weights:
    """Float weights, perhaps of a model without structure features, and 1 for the sum of these: none is seen yet.

    Raises:
        InputError: they are of another model, or have sparse weights already.
    """
    from xlate.models.tuned import with_sums

    seen = f"{' '.join(weights.dense_names)} and {len(weights.sparse_F)} sparse weights"
    refuse_if(
        weights.dense_names[: len(COLUMNS)] != COLUMNS or len(weights.sparse_F),
        "the base run cannot be trained further",
        seen,
        " ".join(COLUMNS),
    )
    return with_sums(weights, model)


def _saved_rules(weights: Weights, features: FeatureIndex | None) -> Saved:
    """Weights as they are written: only those structure features that have one."""
    if not isinstance(features, StructureFeatures):
        return Saved({KIND: weights}, {}, {})
    sparse_F = features.padded(weights.sparse_F)
    used = np.flatnonzero(sparse_F)
    # Families one after the other, as readers of weights expect.
    used = used[np.argsort(features.described[used, 0], kind="stable")]
    kept = features.kept(used)
    single = replace(weights, sparse_F=sparse_F[used]).single()
    return Saved({KIND: single}, {KIND: kept}, {FEATURES: kept.described.copy()})


def hierarchical_model(
    work: WorkDirectory | None,
    settings: HierarchicalModelConfig,
    described_F7: Ints32 | None,
    cluster: ClusterConfig | None = None,
) -> HierarchicalModel:
    """The rules and the language model of a work directory; rules are extracted, perhaps in a cluster, if they do not
    exist.

    With structure features, those that `described_F7` describes are known from the start.

    Raises:
        InputError: there is no work directory, or settings are out of range.
    """
    work = needed(work, settings)
    stage = rule_stage(work, settings.rules, cluster=cluster)
    table = RuleTable.load(stage.folder / TABLE, work.words)
    model = HierarchicalModel(table, work.source_vocabulary, work.target_vocabulary, work.lm)
    if settings.structure is None:
        return model
    features = structure_features(work, settings.structure)
    if described_F7 is not None:
        features = StructureFeatures(features.templates, described_F7)
    return replace(model, sparse=features)


def rule_stage(
    work: WorkDirectory,
    settings: RuleSettings,
    without: WithoutFold | None = None,
    cluster: ClusterConfig | None = None,
) -> Stage:
    """The rule table of a work directory (`RuleTable.load(stage.folder / TABLE)`), made if it does not exist.

    Tables of several settings are stored side by side; the memory limit is not part of a table's identity. Rules may be
    those of the text without a fold; those of the whole text can be counted in a cluster.

    Raises:
        InputError: the work directory lacks its text or links; see `make_parts`.
    """
    asked = settings.identity()
    identity: dict[str, Any] = {
        "rules": asked,
        "on": work.identities("corpus", "align"),
        "version": 1,
    }
    if without is not None:
        identity["without"] = without.identity
    estimates = without or Estimates(work)
    name = str(estimates.folder / "rules" / identity_of(asked)[:12])
    parts: dict[str, dict[str, Any]] = {}
    if cluster and uses_cluster(cluster) and finished_stage(work.path, name, identity) is None:
        parts = text_parts(work, f"{name}-parts", {**identity, "memory_mb": settings.memory_mb})
        make_parts(work.path, cluster, rule_part, parts, "rules: parts")
    counted = [work.path / part for part in parts]
    stage = run_stage(work.path, name, identity, lambda folder: _build(estimates, settings, folder, counted))
    if counted:
        remove_folder(counted[0].parent)
    return stage


def rule_part(path: Path, made_from: Json, folder: Path) -> Json:
    """Counts the rules of a part of a training text."""
    settings = RuleSettings(**made_from["of"]["rules"], memory_mb=made_from["of"]["memory_mb"])
    return save_runs(WorkDirectory(path), made_from, folder, settings.memory_mb, rule_limits(settings))


def _build(estimates: Estimates, settings: RuleSettings, folder: Path, counted: Sequence[Path]) -> dict[str, Any]:
    text = estimates.text
    start = time.perf_counter()
    with Runs(settings.memory_mb, folder) as runs:
        table = score_rules(extract_rules(*text, settings, runs, counted), lexical_table(*text), settings)
    log.info("%d rules, %.0f rules/s", len(table), len(table) / (time.perf_counter() - start))
    table.save(folder / TABLE)
    by_gaps = np.bincount(gaps_of(table.source_sides)[table.source_B], minlength=settings.most_gaps + 1)
    return {"rules": len(table), "source_sides": len(table.source_sides), "rules_by_gaps": by_gaps.tolist()}

"""Training on stored events: float weights first, then binary ones (TZ07); and runs with untrained weights.

The events come from the training text or, for floats, from n-best lists (TZ07 section 5.2, the modified training): the
steps of the best-BLEU block sequence of each list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from xlate.candidates.block_instances import OracleStep, write_events
from xlate.candidates.lists import ngram_statistics
from xlate.candidates.store import CandidateStore
from xlate.config.schema import TrainConfig
from xlate.config.stored import config_of_run, to_yaml
from xlate.errors import check_choice, refuse_if
from xlate.features.block import MORE_FLOATS
from xlate.features.index import slots_of
from xlate.jobs.train.recipe import (
    DevBleu,
    EventRecipe,
    WorkRecipe,
    losses_of_events,
    measured_splits,
    phase_of,
    refuse_base,
    rounded,
    warn_if_all_zero,
    warn_if_unmoved,
    warn_of_few_steps,
    with_tuned,
)
from xlate.jobs.train.tuning import tuning_text
from xlate.kernels.features.blocks import Before, Placed
from xlate.learning.global_model import NAME as GLOBAL
from xlate.learning.loop import Phase, Standing
from xlate.learning.run import Run
from xlate.metrics.bleu import sentence_bleu
from xlate.models.block.lists import BlockStores, block_stores
from xlate.models.kind import event_kind, kind_of, made_of
from xlate.models.run_files import weights_of, weights_path
from xlate.models.system import AnySystem
from xlate.progress import track
from xlate.scoring.weights import Weights, centred, load_weights, save_weights, true_occurrences
from xlate.settings import Json
from xlate.text.vocabulary import WordNumbers
from xlate.tuners.settings import TuneConfig
from xlate.updates.rule import UpdateRule
from xlate.work.directory import WorkDirectory
from xlate.work.estimates import Estimates
from xlate.work.stages import identity_of, run_stage

FEATURES = "families 2"
UNIFORM = "uniform"


class Untrained(WorkRecipe):
    """Writes the initial weights of the kind of model, and measures the run."""

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        refuse_base(config, "no base, or a tuner: loss=mira")

    def learn(self, run: Run) -> Json:
        tuned = kind_of(self.config.model).to_tune(self.config, self.work)
        return with_tuned(self.config, self.work, run, tuned, tuned.start, 0)


class LocalTraining(EventRecipe):
    """Phases over stored events; what they need is in the work directory, or is made there.

    Raises:
        InputError: no prepared work directory, or the split or base run does not exist.
    """

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        floats = config.loss.floats
        if config.loss.name == UNIFORM or floats.data == "train":
            return
        if floats.data == "nbest":
            weights_path(config.base_run)
            check_split(self.work, "loss.floats.split", floats.split)
        else:
            check_split(self.work, "loss.floats.data", "dev")

    @classmethod
    def check(cls, config: TrainConfig) -> None:
        loss = config.loss
        check_choice("unknown value of loss.name", loss.name, [*losses_of_events(), UNIFORM, GLOBAL])
        if loss.floats.data != "nbest":
            refuse_base(config, "no base, or a loss that starts from a run: mira, another tuner, xbleu or global")
        if loss.name == UNIFORM:
            return
        for name, value in (("loss.l1", loss.l1), ("loss.l2", loss.l2)):
            refuse_if(
                value * loss.binary.eta >= 1,
                f"{name} is out of range",
                str(value),
                f"from 0 to below 1/{loss.binary.eta:g}",
            )
        penalties, bound = f"loss.l1={loss.l1} loss.l2={loss.l2}", loss.check_bound
        refuse_if(loss.l1 and loss.l2, "two penalties", penalties, "one of them")
        told = "the bound of Theorem A.1 does not allow penalties"
        refuse_if(bound and (loss.l1 or loss.l2), told, f"loss.check_bound=true {penalties}", "loss.l1=0 loss.l2=0")
        told = "the bound of Theorem A.1 needs one step per instance"
        refuse_if(
            bound and loss.batch,
            told,
            f"loss.check_bound=true loss.batch={loss.batch}",
            "loss.batch=0, the compiled pass",
        )
        refuse_if(
            loss.floats.data == "nbest" and config.base is None,
            "no run to decode n-best lists with",
            "loss.floats.data=nbest",
            "base=RUN",
        )

    def learn(self, run: Run) -> Json:
        """Trains all phases, writes the weights, and translates the dev set, and the test set if asked."""
        config = self.config
        with run.ranks.in_turn():
            stores = block_stores(self.work, config.model)
            if config.loss.floats.data == "nbest":
                stores = with_nbest_stores(stores, self.work, config, run.path)
        todo, initial = phases(config, stores), _initial(config, stores)
        warn_of_few_steps(todo, config.loss.batch)
        measuring = None
        if run.ranks.leads and config.dev_every and self.work.has_split("dev") and self.work.references("dev"):
            measuring = DevBleu(config, self.work, stores.features.keys_F, [p.settings for p in todo], run)
        families = slots_of(dict(stores.features.sizes))
        shown = {"families": families, "after_epoch": measuring}
        held = self.trained(run, todo, stores.identity, initial, **shown)
        sets = held.weights
        if any(phase.settings.train_sparse for phase in todo) and config.loss.binary.centred:
            # Centred with the events that they were learned from.
            count_F = true_occurrences(stores.stores["linked"].arrays, len(stores.features))
            sets = {**sets, "linked": centred(sets["linked"], families, count_F)}
        if todo:
            binary, floats = config.loss.binary, config.loss.floats
            steps = f"loss.floats.epochs={floats.epochs} loss.eta={config.loss.eta:g}"
            sparse = f"loss.binary.epochs={binary.epochs} loss.binary.eta={binary.eta:g} loss.l1={config.loss.l1:g}"
            warn_if_unmoved(initial, sets, f"{steps} {sparse}")
            if config.model.binary:
                warn_if_all_zero(sets["linked"].sparse_F, f"{sparse} model.threshold={config.model.threshold}")
        save_weights(
            run.weights,
            sets,
            features={"linked": stores.features},
            extra={"linked.keys": stores.features.keys_F},
            metadata={**made_of(config, self.work), "features": FEATURES},
        )
        figures = _summary(stores, held, load_weights(run.weights).sets)
        measured = measured_splits(config, self.work, run, held.state.seen)
        return {"work": config.work, **figures, **measured, "history": held.state.history}


def check_split(work: WorkDirectory, setting: str, split: str) -> None:
    """Checks that a split to train on exists.

    Raises:
        InputError: it does not, or has no references.
    """
    refuse_if(
        not work.has_split(split) or not work.references(split),
        f"no {split} set to train on",
        f"{setting}={split}",
        "a set with references",
        f"xlate prepare with data.{split}_source=FILE data.{split}_references=[FILE], or data.dev_pairs=N",
        file=work.path,
    )


def phases(config: TrainConfig, stores: BlockStores) -> list[Phase]:
    """The phases of a training: float weights, those of the neutral model, then binary weights."""
    loss, floats, kind = config.loss, config.model.floats, event_kind(config.model)
    if loss.name == UNIFORM:
        return []

    def phase(name: str, weights: str, trained: tuple[bool, ...], sparse: bool) -> Phase:
        settings = phase_of(
            config,
            name=name,
            weights=weights,
            trained=trained,
            train_sparse=sparse,
            use_sparse=sparse,
            epochs=loss.binary.epochs if sparse else loss.floats.epochs,
            eta_sparse=loss.binary.eta if sparse else 0.0,
            subset=1.0 if sparse else loss.floats.subset,
            patience=loss.patience if sparse else 0,
            loss_settings=(("sink", loss.sink),),
            rule=UpdateRule(
                l1=loss.l1 if sparse else 0.0,
                l2=loss.l2 if sparse else 0.0,
                average=loss.average,
                project=loss.project_sign,
            ),
        )
        # A language model knows its training text too well, so its weight would be too large there; dev sentences,
        # which it has not seen, give weights that are valid for other text.
        source = weights if sparse or loss.floats.data == "train" else f"{weights}.{loss.floats.data}"
        refuse_if(
            source not in stores.stores,
            "no dev set to train floats on",
            "loss.floats.data=dev",
            "a work directory with one",
        )
        return Phase(settings, stores.stores[source], stores.stores[f"{weights}.heldout"])

    names = kind.names(config.model)
    linked = tuple(name in floats and (name not in MORE_FLOATS or MORE_FLOATS[name].local) for name in names)
    neutral = tuple(used and name != "orientation" for name, used in zip(names, linked, strict=True))
    chosen = [phase("floats", "linked", linked, False)]
    if "neutral" in kind.sets:
        chosen.append(phase("neutral", "neutral", neutral, False))
    if config.model.binary:
        chosen.append(phase("binary", "linked", linked if loss.binary.joint else (False,) * len(names), True))
    return chosen


def _initial(config: TrainConfig, stores: BlockStores) -> dict[str, Weights]:
    """Zero weights, as in the paper; -1 for every chosen float if nothing is to be trained."""
    kind = event_kind(config.model)
    names = kind.names(config.model)
    sets = {name: Weights.zeros(names, 0 if name == "neutral" else len(stores.features)) for name in kind.sets}
    if config.loss.name == UNIFORM:
        for key, weights in sets.items():
            for column, name in enumerate(names):
                used = name in config.model.floats and not (key == "neutral" and name == "orientation")
                weights.dense_D[column] = -1.0 if used else 0.0
    return sets


def _summary(stores: BlockStores, held: Standing, sets: Mapping[str, Weights]) -> Json:
    """The summary of a training on events, without the quality of its translations."""
    last = {entry["phase"]: entry for entry in held.state.history}
    linked = last.get("binary") or last.get("floats") or {}
    return {
        "P": linked.get("P"),
        "valid_loss": linked.get("valid_loss"),
        "P_neutral": last.get("neutral", {}).get("P"),
        "features": len(stores.features),
        "active_features": sets["linked"].active,
        "instances": len(stores.stores["linked"]),
        "seen": held.state.seen,
        "weights": {name: rounded(weights) for name, weights in sets.items()},
    }


def with_nbest_stores(stores: BlockStores, work: WorkDirectory, config: TrainConfig, folder: Path) -> BlockStores:
    """Adds `linked.nbest` and `neutral.nbest` to the stores, from a split's n-best lists, decoded with the run `base`.

    They are made once in the folder of the run to train. The oracle of a sentence is the translation in its list with
    the highest sentence BLEU (add-1), the first of equals.

    Raises:
        InputError: no finished run at `base`.
    """
    base, floats = config.base_run, config.loss.floats
    trained, weights = config_of_run(base), weights_of(base)
    settings = {
        "base": identity_of({"weights": weights.metadata, "config": to_yaml(trained)}),
        "split": floats.split,
        "nbest": floats.nbest,
        "on": work.identities("blocks"),
        "version": 1,
    }

    def steps() -> Iterator[OracleStep]:
        """The oracle steps of all sentences of the split."""
        decoder = event_kind(trained.model).open(base, trained, weights, work).with_search(nbest=floats.nbest)
        text = tuning_text(TuneConfig("nbest", floats.split), work, trained.decoder.max_words)
        pairs = zip(text.sources, text.references, strict=True)
        for words, references in track(pairs, f"{floats.nbest}-best lists", total=len(text)):
            yield from _oracle_steps(decoder, words, references, work)

    def make(target: Path) -> dict[str, int]:
        kind, features = event_kind(config.model), stores.features
        arrays = kind.model(Estimates(work), config.model, features.keys_F).feature_arrays
        return write_events(target, list(steps()), arrays, work.lm, kind.names(config.model), len(features))

    stage = run_stage(folder, "events", settings, make)
    more = {f"{name}.nbest": CandidateStore.open(stage.folder / name) for name in ("linked", "neutral")}
    identity = identity_of({"on": [stores.identity, stage.identity]})
    return replace(stores, stores={**stores.stores, **more}, identity=identity)


def _oracle_steps(
    decoder: AnySystem, words: list[str], references: list[list[str]], work: WorkDirectory
) -> Iterator[OracleStep]:
    """The oracle's steps over known words, each with the blocks that the list uses for the same source span."""
    moves = decoder.space(words)
    listed = decoder.nbest_labels(moves)
    numbers = WordNumbers()
    wanted = numbers.encode(references)
    texts = numbers.encode([word for label in labels for word in moves.words_of(label)] for labels in listed)
    bleu_H = sentence_bleu(ngram_statistics(texts, np.array([0, len(texts)]), wanted, np.array([0, len(wanted)])))
    used: dict[tuple[int, int], set[int]] = defaultdict(set)
    for label in {label for labels in listed for label in labels}:
        used[moves.span(label)].add(int(moves.options.block_O[label // moves.LABELS]))
    lm, before_end = work.lm, 0
    state = int(lm.begin_state)
    for step in decoder.derivation(moves, listed[int(np.argmax(bleu_H))]).blocks:
        start, end = step.source_span
        if step.unit >= 0:
            others = sorted(b for b in used[start, end] if b >= 0 and b != step.unit)
            before = Before(step.predecessor, before_end, state)
            yield OracleStep(before, Placed(step.unit, start, step.orientation), others)
        for word in lm.vocabulary.ids(step.target_words).tolist():
            state = lm.score(state, word)[1]
        before_end = end

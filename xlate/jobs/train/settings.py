"""The settings of a training, all checked before anything is written: what no type can say of one or of several."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from xlate.config.loss_schema import ListsConfig
from xlate.config.schema import TrainConfig
from xlate.errors import InputError
from xlate.features.bigrams import FAMILIES
from xlate.features.sparse_sets import SparseSettings, check_sparse
from xlate.jobs.systems.phrase import KIND as PHRASE
from xlate.jobs.systems.phrase import REORDERINGS
from xlate.jobs.systems.registry import EVENT_KINDS, KINDS, event_kind
from xlate.jobs.train.list_settings import check_lists, list_settings
from xlate.jobs.train.rerank import KIND as RERANK
from xlate.jobs.train.sparse_models import check_orientations
from xlate.jobs.train.tuners import TUNERS, optimiser
from xlate.jobs.train.tuning import tuning_settings
from xlate.losses.loss import Needs, losses
from xlate.metrics.objective import Objective
from xlate.report.identity import flat
from xlate.scoring.device import DEVICES
from xlate.train.global_model import RULES

STARTS = ("uniform", "base")
# The files of conf/decoder that belong to a kind of model; lists are ranked without a decoder.
DECODERS = {
    "orientation": ("swap_or", "swap", "mon"),
    "distortion": ("distortion",),
    PHRASE: ("phrase",),
    RERANK: ("swap_or",),
}


def check_training(config: TrainConfig, decoder: str | None = None) -> None:
    """Checks every setting of a training; `decoder` is the file of conf/decoder that was chosen, if it is known.

    Raises:
        InputError: naming the setting, what it is and what it may be.
    """
    _check_numbers(config)
    _one_of("model.kind", [config.model.kind], tuple(KINDS))
    _one_of("device", [config.device], DEVICES)
    check_decoder(config, decoder)
    _check_model(config)
    if config.model.kind == RERANK:
        _check_rerank(config)
    elif config.loss.lists is not None:
        _check_sparse_lists(config, config.loss.lists)
    elif config.loss.name == "global" and config.model.kind not in EVENT_KINDS:
        _check_global(config)
    elif config.loss.tune is not None or config.model.kind == PHRASE:
        _check_tuning(config, config.loss.name)
    else:
        _check_local(config)


def check_decoder(config: TrainConfig, chosen: str | None = None) -> None:
    """Checks that the decoder is one of the model, and its settings.

    Raises:
        InputError: it is another model's, or a setting is out of range.
    """
    kind, right = config.model.kind, DECODERS[config.model.kind]
    others = {name for names in DECODERS.values() for name in names} - set(right)
    foreign = (config.decoder.algorithm is None) == (kind == PHRASE)
    if foreign or chosen in others:
        shown = chosen or ("of the phrase model" if config.decoder.algorithm else "of the block models")
        raise InputError(
            "the decoder belongs to another model",
            seen=f"model={config.model.name} decoder={shown}",
            expected=" or ".join(f"decoder={name}" for name in right)
            if kind != RERANK
            else "no decoder: lists are given",
            remedy=f"decoder={right[0]}" if kind != RERANK else "leave decoder= out",
        )
    # What the phrase decoder shares with the others, and what it has beside.
    (EVENT_KINDS.get(kind) or next(iter(EVENT_KINDS.values()))).search(config.decoder)
    if kind == PHRASE:
        KINDS[kind].search(config.decoder)


def _check_numbers(config: TrainConfig) -> None:
    for name, value in flat(asdict(config)).items():
        if isinstance(value, float) and math.isnan(value):
            raise InputError(f"{name} is not a number", seen=value, expected="a number")
    for name, least, number in (("dev_sentences", 1, config.dev_sentences), ("samples", 0, config.samples)):
        if number is not None and number < least:
            raise InputError(f"{name} is too small", seen=number, expected=f"{least} or more")


def _check_model(config: TrainConfig) -> None:
    model = config.model
    if model.kind == PHRASE:
        _one_of("model.reordering", [model.reordering or "none"], REORDERINGS)
        check_orientations(model)
    if model.sparse is not None:
        if model.kind != PHRASE:
            raise InputError("sparse features of phrases need the phrase model", seen=model.kind, expected=PHRASE)
        chosen = model.sparse
        check_sparse(SparseSettings(chosen.words, chosen.reordering, chosen.plain, chosen.class_seed))
    if model.kind == RERANK and model.rerank is not None:
        for name, least in (("ngrams", 0), ("class_ngrams", 0), ("min_lists", 1)):
            if getattr(model.rerank, name) < least:
                seen = f"model.rerank.{name}={getattr(model.rerank, name)}"
                raise InputError("a feature of reranking is out of range", seen=seen, expected=f"{least} or more")


def _check_rerank(config: TrainConfig) -> None:
    if config.nbest is None or not config.references:
        seen = f"nbest={config.nbest}, references={list(config.references)}"
        raise InputError("nothing to rank", seen=seen, expected="nbest=FILE references=[FILE,…]")
    if config.loss.lists is None:
        seen = f"loss={config.loss.name}"
        raise InputError("lists are ranked by a loss over lists", seen=seen, expected="loss=xbleu")
    _check_steps_of_lists(config, config.loss.lists)
    if config.loss.lists.candidates != "best" or config.loss.lists.rounds != 1:
        seen = f"loss.lists.candidates={config.loss.lists.candidates}, rounds={config.loss.lists.rounds}"
        raise InputError("lists that are given are not made again", seen=seen, expected="candidates best, one round")


def _check_sparse_lists(config: TrainConfig, lists: ListsConfig) -> None:
    if config.model.kind != PHRASE:
        raise InputError("sparse features of phrases need the phrase model", seen=config.model.kind, expected=PHRASE)
    if config.model.sparse is None:
        raise InputError("no sparse features to train", seen="sparse=none", expected="sparse=local, full or another")
    _check_steps_of_lists(config, lists)
    _check_tuning(config, lists.tuner, started=True)


def _check_steps_of_lists(config: TrainConfig, lists: ListsConfig) -> None:
    check_lists(lists)
    list_settings(lists, config.seed)
    Objective.of("bleu", lists.gain)
    if lists.sentences is not None and lists.sentences < lists.heldout_every:
        seen = f"loss.lists.sentences={lists.sentences}"
        raise InputError("too few lists", seen=seen, expected=f"{lists.heldout_every} or more: some are held out")


def _check_tuning(config: TrainConfig, tuner: str, *, started: bool = False) -> None:
    """`started`: there is a run to start from, or one is made."""
    tune = config.loss.tune
    if tune is None:
        raise InputError(
            "the phrase model is trained by tuning",
            seen=f"loss.name={config.loss.name}",
            expected="loss=" + ", ".join(TUNERS),
        )
    _one_of("loss.tune.start", [tune.start], STARTS)
    tuning_settings(tune, config.seed)
    optimiser(tuner, tune, np.ones(1, dtype=np.bool_), Objective.of(tune.metric, tune.gain))
    for name in ("nbest", "processes"):
        if getattr(tune, name) < 1:
            seen = f"loss.tune.{name}={getattr(tune, name)}"
            raise InputError("a setting of tuning is too small", seen=seen, expected="1 or more")
    for name, value in (("gamma", tune.gamma), ("C", tune.C)):
        if not 0 < value < math.inf:
            raise InputError(f"loss.tune.{name} is out of range", seen=value, expected="a positive number")
    if not tune.length_band >= 0:
        raise InputError("loss.tune.length_band is out of range", seen=tune.length_band, expected="0 or more")
    if config.base is None and not started and (tune.start == "base" or config.model.kind != PHRASE):
        raise InputError("no run to start from", seen="base is not set", expected="base=RUN")


def _check_local(config: TrainConfig) -> None:
    """Of the block models, which learn from events."""
    loss, model = config.loss, config.model
    _one_of("model.floats", model.floats, event_kind(model.kind).floats)
    _one_of("model.binary", model.binary, tuple(FAMILIES))
    local = (name for name, kind in losses().items() if kind.needs in (Needs.TRUTH, Needs.GAINS))
    _one_of("loss.name", [loss.name], (*local, "uniform", "global"))
    _one_of("loss.floats.data", [loss.floats.data], ("train", "dev", "nbest"))
    if not model.floats:
        some = ", ".join(event_kind(model.kind).floats)
        raise InputError("a model without floats", seen="model.floats=[]", expected=f"at least one of {some}")
    for name, value in (("loss.eta", loss.eta), ("loss.binary.eta", loss.binary.eta)):
        if not 0 < value < float("inf"):
            raise InputError(f"{name} is out of range", seen=value, expected="a positive number")
    _check_penalties(config)
    if not 0 < loss.floats.subset <= 1:
        raise InputError("loss.floats.subset is out of range", seen=loss.floats.subset, expected="above 0, at most 1")
    for name, number, least in (
        ("loss.floats.epochs", loss.floats.epochs, 0),
        ("loss.binary.epochs", loss.binary.epochs, 0),
        ("loss.patience", loss.patience, 0),
        ("loss.block", 1 if loss.block is None else loss.block, 1),
        ("loss.floats.nbest", loss.floats.nbest, 1),
        ("loss.decay", loss.decay, 0),
        ("model.alternatives", model.alternatives, 0),
    ):
        if not least <= number < math.inf:
            raise InputError(f"{name} is out of range", seen=number, expected=f"{least} or more")
    if loss.batch and loss.check_bound:
        raise InputError(
            "the bound of Theorem A.1 is about a step an instance",
            seen=f"loss.check_bound=true loss.batch={loss.batch}",
            expected="loss.batch=0, the compiled pass",
        )
    if loss.floats.data == "nbest" and config.base is None:
        raise InputError("no run to decode n-best lists with", seen="loss.floats.data=nbest", expected="base=RUN")
    if loss.name == "global":
        _check_global(config)


def _check_penalties(config: TrainConfig) -> None:
    loss = config.loss
    for name, value in (("loss.l1", loss.l1), ("loss.l2", loss.l2)):
        if not 0 <= value * loss.binary.eta < 1:
            raise InputError(f"{name} is out of range", seen=value, expected=f"from 0 to below 1/{loss.binary.eta:g}")
    if loss.l1 and loss.l2:
        raise InputError("two penalties", seen=f"loss.l1={loss.l1} loss.l2={loss.l2}", expected="one of them")
    if loss.check_bound and (loss.name != "local_softmax" or loss.l1 or loss.l2):
        raise InputError(
            "the bound of Theorem A.1 is not about this loss",
            seen=f"loss.name={loss.name} loss.l1={loss.l1} loss.l2={loss.l2}",
            expected="loss.name=local_softmax without penalties",
        )
    if loss.globally.heldout_every < 2:
        raise InputError("too few are held out", seen=loss.globally.heldout_every, expected="2 or more")
    if loss.batch < 0:
        raise InputError("loss.batch is out of range", seen=loss.batch, expected="0 (online) or a size of mini-batches")


def _check_global(config: TrainConfig) -> None:
    if config.base is None:
        raise InputError("the global model starts from a run of the local one", seen="no base", expected="base=RUN")
    g: Any = config.loss.globally
    _one_of("loss.globally.rule", [g.rule], tuple(RULES))
    for name, least in (("rounds", 0), ("epochs", 0), ("pull", 0), ("oracles", 1), ("margin", 0)):
        if not least <= getattr(g, name):
            seen = f"loss.globally.{name}={getattr(g, name)}"
            raise InputError("a setting of the global model is too small", seen=seen, expected=f"{least} or more")


def _one_of(name: str, values: list[str], allowed: tuple[str, ...]) -> None:
    strange = [value for value in values if value not in allowed]
    if strange:
        raise InputError(f"unknown value of {name}", seen=strange[0], expected=", ".join(allowed))

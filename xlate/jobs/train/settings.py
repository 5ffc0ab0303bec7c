"""The settings of a training, checked before anything is written, where no type or range can say what fits."""

from __future__ import annotations

import numpy as np

from xlate.config.loss_schema import ListsConfig
from xlate.config.model_schema import ModelConfig
from xlate.config.schema import TrainConfig
from xlate.config.source_schema import ONLINE
from xlate.config.tune_schema import TUNERS
from xlate.errors import InputError
from xlate.features.bigrams import FAMILIES
from xlate.features.sparse_sets import SparseSettings, check_sparse
from xlate.jobs.context.list_training import check_context_lists
from xlate.jobs.context.training import check_context
from xlate.jobs.ranking.given import given_list
from xlate.jobs.ranking.lists import ranking_objective
from xlate.jobs.systems.registry import EVENT_KINDS, event_kind, kind_of
from xlate.jobs.train.lists import check_lists, list_settings
from xlate.jobs.train.online import check_online
from xlate.jobs.train.tuning import optimiser, tuning_settings
from xlate.losses.loss import Needs, losses
from xlate.metrics.measures import MEASURES
from xlate.metrics.objective import Objective
from xlate.scoring.device import device_of
from xlate.train.global_model import RULES


def check_training(config: TrainConfig) -> None:
    """Checks the settings of a training against each other; ranges are in `config.limits`.

    Raises:
        InputError: naming the setting, what it is and what it may be.
    """
    device_of(config.device)
    _one_of("measures", config.measures, MEASURES)
    if "bleu" not in config.measures:
        raise InputError("runs are compared by BLEU", seen=f"measures={config.measures}", expected="bleu among them")
    _check_sparse(config)
    kind = kind_of(config.model.kind)
    if kind.ranks_lists:
        _refuse_base(config, "no base")
        _check_rerank(config)
    elif kind.predicts and config.loss.lists is not None:
        check_context_lists(config)
        _check_lists(config.loss.lists, config.seed)
    elif kind.predicts:
        _refuse_base(config, "no base, or loss=xbleu, which trains the classifier of a run on")
        check_context(config)
    elif config.nbest is not None:
        seen = f"nbest={config.nbest} model={config.model.name}"
        raise InputError("lists that are given are ranked", seen=seen, expected="model=rerank, or no nbest=")
    elif config.source.name == ONLINE:
        check_online(config)
    elif config.loss.lists is not None:
        _check_sparse_lists(config, config.loss.lists)
    elif config.loss.name == "global" and config.model.kind not in EVENT_KINDS:
        _check_global(config)
    elif kind.untrained and config.loss.name == "uniform":
        _refuse_base(config, "no base, or a tuner: loss=mira")
    elif config.loss.tune is not None or config.model.kind not in EVENT_KINDS:
        _check_tuning(config)
    else:
        _check_local(config)


def _check_sparse(config: TrainConfig) -> None:
    chosen = config.model.sparse
    kind_of(config.model.kind).check(config.model)
    if chosen is not None:
        check_sparse(SparseSettings(chosen.words, chosen.reordering, chosen.plain, chosen.class_seed))


def _check_rerank(config: TrainConfig) -> None:
    if config.nbest is None or not config.references:
        seen = f"nbest={config.nbest}, references={list(config.references)}"
        raise InputError(
            "lists of translations and their references are learned from",
            seen=seen,
            expected="both",
            remedy="nbest=FILE references=[FILE,…]",
        )
    given_list(config, config.nbest)
    if config.loss.lists is not None:
        list_settings(config.loss.lists, config.seed)
        ranking_objective(config)
        return
    tune = config.loss.tune
    if tune is None:
        seen, expected = f"loss={config.loss.name}", "loss=xbleu, or a tuner: " + ", ".join(TUNERS)
        raise InputError("lists are ranked by a loss over lists", seen=seen, expected=expected)
    if tune.metric != "bleu":
        seen, expected = f"loss.tune.metric={tune.metric}", f"model.rerank.metric={tune.metric}"
        raise InputError("lists are ranked for the metric of the model", seen=seen, expected=expected)
    if tune.weights:
        seen, expected = f"loss.tune.weights={tune.weights}", "no loss.tune.weights"
        raise InputError("of lists all weights are learned", seen=seen, expected=expected)
    optimiser(tune, np.ones(1, dtype=np.bool_), ranking_objective(config))


def _check_sparse_lists(config: TrainConfig, lists: ListsConfig) -> None:
    if config.model.kind in EVENT_KINDS:
        _check_event_model(config.model)
    kind_of(config.model.kind).check_lists(config)
    _check_lists(lists, config.seed)
    if config.loss.tune is not None and config.loss.tune.start != "uniform":
        seen, remedy = f"loss.tune.start={config.loss.tune.start}", "base=RUN begins with the weights of a run"
        raise InputError("float weights are tuned from the start", seen=seen, expected="uniform", remedy=remedy)
    _check_tuning(config, started=True)


def _check_lists(lists: ListsConfig, seed: int) -> None:
    check_lists(lists)
    list_settings(lists, seed)
    Objective.of("bleu", lists.gain)
    if lists.sentences is not None and lists.sentences < lists.heldout_every:
        seen = f"loss.lists.sentences={lists.sentences}"
        raise InputError("too few lists", seen=seen, expected=f"{lists.heldout_every} or more: some are held out")


def _check_tuning(config: TrainConfig, *, started: bool = False) -> None:
    """`started`: there is a run to start from, or one is made."""
    tune = config.loss.tune
    if tune is None:
        raise InputError(
            f"the {config.model.kind} model is trained by tuning",
            seen=f"loss.name={config.loss.name}",
            expected="loss=" + ", ".join(TUNERS),
        )
    tuning_settings(tune, config.seed)
    if config.loss.lists is None and tune.name != config.loss.name:
        seen = f"loss.name={config.loss.name} loss.tune.name={tune.name}"
        raise InputError("two tuners", seen=seen, expected=f"one: loss={config.loss.name} or loss={tune.name}")
    optimiser(tune, np.ones(1, dtype=np.bool_), Objective.of(tune.metric, tune.gain))
    if tune.weights and tune.start != "base":
        seen, expected = f"loss.tune.weights={tune.weights} loss.tune.start={tune.start}", "loss.tune.start=base"
        raise InputError("the weights that are not tuned are those of a run", seen=seen, expected=expected)
    from_run = kind_of(config.model.kind).tunes_from_run
    if config.base is None and not started and (tune.start == "base" or from_run):
        raise InputError("no run to start from", seen="base is not set", expected="base=RUN")


def _refuse_base(config: TrainConfig, expected: str) -> None:
    """For trainings that have no use for a run to start from."""
    if config.base is not None:
        raise InputError("this training starts from no run", seen=f"base={config.base}", expected=expected)


def _check_local(config: TrainConfig) -> None:
    """Of the block models, which learn from events."""
    loss = config.loss
    _check_event_model(config.model)
    local = (name for name, kind in losses().items() if kind.needs in (Needs.TRUTH, Needs.GAINS))
    _one_of("loss.name", [loss.name], (*local, "uniform", "global"))
    if loss.name == "global":
        _check_global(config)
        return
    if loss.floats.data != "nbest":
        _refuse_base(config, "no base, or what goes on from a run: loss=mira, another tuner, xbleu or global")
    if loss.name != "uniform":
        _check_steps(config)


def _check_event_model(model: ModelConfig) -> None:
    floats = event_kind(model.kind).choices
    _one_of("model.floats", model.floats, floats)
    _one_of("model.binary", model.binary, tuple(FAMILIES))
    if not model.floats:
        expected = f"at least one of {', '.join(floats)}"
        raise InputError("a model without floats", seen="model.floats=[]", expected=expected)


def _check_steps(config: TrainConfig) -> None:
    loss = config.loss
    for name, value in (("loss.l1", loss.l1), ("loss.l2", loss.l2)):
        if not 0 <= value * loss.binary.eta < 1:
            raise InputError(f"{name} is out of range", seen=value, expected=f"from 0 to below 1/{loss.binary.eta:g}")
    if loss.l1 and loss.l2:
        raise InputError("two penalties", seen=f"loss.l1={loss.l1} loss.l2={loss.l2}", expected="one of them")
    if loss.check_bound and (loss.l1 or loss.l2):
        seen = f"loss.check_bound=true loss.l1={loss.l1} loss.l2={loss.l2}"
        raise InputError("the bound of Theorem A.1 knows no penalties", seen=seen, expected="loss.l1=0 loss.l2=0")
    if loss.batch and loss.check_bound:
        raise InputError(
            "the bound of Theorem A.1 is about a step an instance",
            seen=f"loss.check_bound=true loss.batch={loss.batch}",
            expected="loss.batch=0, the compiled pass",
        )
    if loss.floats.data == "nbest" and config.base is None:
        raise InputError("no run to decode n-best lists with", seen="loss.floats.data=nbest", expected="base=RUN")


def _check_global(config: TrainConfig) -> None:
    if config.base is None:
        raise InputError("the global model starts from a run of the local one", seen="no base", expected="base=RUN")
    _one_of("loss.globally.rule", [config.loss.globally.rule], tuple(RULES))


def _one_of(name: str, values: list[str], allowed: tuple[str, ...]) -> None:
    strange = [value for value in values if value not in allowed]
    if strange:
        raise InputError(f"unknown value of {name}", seen=strange[0], expected=", ".join(allowed))

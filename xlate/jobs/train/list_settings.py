"""Settings of lists of the training text and of the steps over them, checked."""

from __future__ import annotations

from xlate.config.loss_schema import ListsConfig
from xlate.errors import InputError
from xlate.train.list_learner import ListSettings

CANDIDATES = ("best", "drawn")
LEAST = {"folds": 2, "nbest": 2, "shard": 1, "processes": 1, "parts": 1, "rounds": 1, "heldout_every": 2}


def check_lists(settings: ListsConfig) -> None:
    """Checks what the lists are made with; the steps are checked by `ListSettings`.

    Raises:
        InputError: too few folds, parts or held-out lists, or a part there is none of.
    """
    for name, least in LEAST.items():
        if getattr(settings, name) < least:
            seen = f"loss.lists.{name}={getattr(settings, name)}"
            raise InputError("a setting of the lists is too small", seen=seen, expected=f"{least} or more")
    if settings.candidates not in CANDIDATES:
        seen = f"loss.lists.candidates={settings.candidates}"
        raise InputError("no such way to choose candidates", seen=seen, expected=" or ".join(CANDIDATES))
    if settings.candidates == "drawn" and (settings.objective != "expected_bleu" or settings.joint):
        raise InputError(
            "candidates drawn by lot stand for expectations",
            seen=f"loss.lists.objective={settings.objective}, joint={settings.joint}",
            expected="objective expected_bleu, joint false",
            remedy="loss.lists.candidates=best",
        )
    if settings.rounds > 1 and (settings.candidates == "drawn" or settings.part is not None):
        raise InputError(
            "decoding again goes with lists of the best, and not with parts",
            seen=f"loss.lists.rounds={settings.rounds}, candidates={settings.candidates}, part={settings.part}",
            expected="loss.lists.rounds=1",
        )
    if settings.part is not None and not 0 <= settings.part < settings.parts:
        seen = f"loss.lists.part={settings.part}"
        raise InputError("no such part of the lists", seen=seen, expected=f"0 to {settings.parts - 1}")


def list_settings(settings: ListsConfig, seed: int) -> ListSettings:
    """The settings of the steps."""
    return ListSettings(
        loss=settings.objective,
        gamma=settings.gamma,
        margin=settings.margin,
        rate=settings.rate,
        adagrad=settings.adagrad,
        dense_rate=settings.dense_rate,
        l1=settings.l1,
        l2=settings.l2,
        batch=settings.batch,
        epochs=settings.epochs,
        tolerance=settings.tolerance,
        pairs=settings.pairs,
        seed=seed,
    )

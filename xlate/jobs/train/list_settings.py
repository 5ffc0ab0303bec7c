"""Settings of lists of the training text and of the steps over them, checked."""

from __future__ import annotations

from xlate.config.loss_schema import ListsConfig
from xlate.errors import InputError
from xlate.train.list_learner import ListSettings


def check_lists(settings: ListsConfig) -> None:
    """Checks what the lists are made with; the steps are checked by `ListSettings`.

    Raises:
        InputError: settings that do not go together.
    """
    if settings.candidates == "drawn" and (settings.objective != "expected_bleu" or settings.joint):
        raise InputError(
            "candidates drawn by lot stand for expectations",
            seen=f"loss.lists.objective={settings.objective}, joint={settings.joint}",
            expected="objective expected_bleu, joint false",
            remedy="loss.lists.candidates=best",
        )
    if settings.rounds > 1 and (settings.candidates == "drawn" or settings.machine is not None):
        raise InputError(
            "decoding again goes with lists of the best, on one machine",
            seen=f"loss.lists.rounds={settings.rounds}, candidates={settings.candidates}, machine={settings.machine}",
            expected="loss.lists.rounds=1",
        )
    if settings.machine is not None and not settings.machine < settings.machines:
        seen = f"loss.lists.machine={settings.machine}"
        raise InputError("no such machine", seen=seen, expected=f"0 to {settings.machines - 1}")


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

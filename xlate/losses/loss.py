"""The parts of a loss: a module, its compiled slope, its name, and what it needs to know of candidates."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from xlate.array_types import AnyFloats, Floats, Ints
from xlate.errors import InputError, refuse_if
from xlate.kernels.learning.slopes import Slope
from xlate.kernels.memory import best_of_each
from xlate.losses.lists import FlatLists, Lists
from xlate.scoring.linear import Resident


class Needs(Enum):
    """What a loss needs to know of each candidate.

    TRUTH: whether it is right, shown by a gain above 0. GAINS: how good it is, as one number. STATISTICS: the
        statistics for the score of a whole text. LATTICE: arcs and paths in place of candidates.
    """

    TRUTH = "truth"
    GAINS = "gains"
    STATISTICS = "statistics"
    LATTICE = "lattice"


def margin_of(value: float) -> float:
    """Checks and returns the score that a unit of gain is worth.

    Raises:
        InputError: it is below 0, or not finite.
    """
    refuse_if(not 0.0 <= value < math.inf, "margin out of range", f"margin={value}", "a finite number, 0 or more")
    return value


class Loss(nn.Module):
    """A loss over instances or lists of candidates. Importing the module of a class with a name registers it.

    Attributes:
        name: its name in configurations; empty for a class that is not registered.
        needs: what it needs to know of candidates.
        slope: the compiled form, None if there is only the module.
        judges_each: whether it judges each candidate on its own, so that a score of 0 has a meaning; such losses suit
            single decisions, not whole derivations.
        negatives: how many untrue candidates passes over instances use, drawn at random; 0: all.

    The arguments of the constructor are the settings of the loss: numbers with default values. A class defines only
    `each` or only `forward`; the other follows from it.
    """

    name: ClassVar[str] = ""
    needs: ClassVar[Needs] = Needs.GAINS
    slope: ClassVar[Slope | None] = None
    judges_each: ClassVar[bool] = False
    negatives: int = 0

    def forward(self, scores_C: Tensor, gain_C: Tensor, candidate_offsets_I1: Tensor) -> Tensor:
        """The summed loss; scalar.

        Args:
            scores_C: finite scores of C candidates.
            gain_C: what the loss needs to know of each of them; statistics have shape (C, K).
            candidate_offsets_I1: the first candidate of each of I instances, and C.
        """
        return self.total(scores_C, gain_C, FlatLists(candidate_offsets_I1, len(scores_C)))

    def each(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The loss of every list, 0 for an empty one; (I,).

        A loss that defines `forward` alone computes it list by list.
        """
        if type(self).forward is Loss.forward:
            raise NotImplementedError(f"{type(self).__name__} defines neither each nor forward")
        flat_C, offsets_I1 = lists.flat(scores_C)
        told_C, ends = lists.flat(gain_C)[0], offsets_I1.tolist()
        alone = [self.forward(flat_C[a:b], told_C[a:b], offsets_I1.new_tensor([0, b - a])) for a, b in pairwise(ends)]
        return torch.stack(alone) if alone else flat_C.sum().expand(0)

    def total(self, scores_C: Tensor, gain_C: Tensor, lists: Lists) -> Tensor:
        """The sum over all lists; scalar."""
        return self.each(scores_C, gain_C, lists).sum()

    def numbers(self) -> tuple[float, ...]:
        """The settings as the compiled slope takes them."""
        return ()

    @property
    def numbers_array(self) -> Floats:
        """`numbers` as an array with one extra number, because compiled code does not accept empty arrays."""
        return np.array([*self.numbers(), 0.0], np.float64)

    @property
    def pointer(self) -> Any:
        """The compiled slope in the form for compiled passes.

        Raises:
            InputError: there is none.
        """
        if self.slope is None:
            raise InputError("a loss without a compiled slope", self.name, "one with a function decorated with @Slope")
        return self.slope.pointer


class ScaledLoss(Loss):
    """A loss of scores times `gamma`.

    Raises:
        InputError: it is not above 0, or not finite.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        super().__init__()
        expected = "a finite number above 0"
        refuse_if(not 0.0 < gamma < math.inf, "scale of scores out of range", f"gamma={gamma}", expected)
        self.gamma = gamma

    def numbers(self) -> tuple[float, ...]:
        """The scale of the scores."""
        return (self.gamma,)


class MarginLoss(ScaledLoss):
    """A loss of scores times `gamma`, in which a unit of gain is worth `margin` units of score."""

    def __init__(self, gamma: float = 1.0, margin: float = 1.0) -> None:
        super().__init__(gamma)
        self.margin = margin_of(margin)

    def numbers(self) -> tuple[float, ...]:
        """The scale of the scores, and what a unit of gain is worth."""
        return self.gamma, self.margin


def gains_for(
    loss: Loss, statistics_CK: AnyFloats, candidate_offsets_I1: Ints, gains: Callable[[AnyFloats], AnyFloats]
) -> AnyFloats:
    """What a loss needs to know of candidates: their statistics, gains made of these, or the best ones as truth.

    Raises:
        InputError: it needs a lattice, not candidates, or judges each candidate on its own.
    """
    refuse_if(
        loss.judges_each,
        "a loss that judges each candidate on its own needs a 0, which scores of whole derivations lack",
        loss.name,
        "one that compares them: expected_bleu, cll, hinge …",
    )
    refuse_if(
        loss.needs is Needs.LATTICE, "a loss over lattices", loss.name, "one over lists: expected_bleu, cll, hinge …"
    )
    if loss.needs is Needs.STATISTICS:
        return statistics_CK
    gain_C = gains(statistics_CK)
    return best_as_truth(gain_C, candidate_offsets_I1) if loss.needs is Needs.TRUTH else gain_C


def best_as_truth(gain_C: AnyFloats, candidate_offsets_I1: Ints) -> AnyFloats:
    """1 for the candidate with the highest gain in each list, the first of equals, and 0 for the others, (C,)."""
    truth_C = np.zeros_like(gain_C)
    truth_C[best_of_each(gain_C, candidate_offsets_I1)] = 1.0
    return truth_C


def losses() -> dict[str, type[Loss]]:
    """All losses by name: those of this folder, and those of other imported modules."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{package}.{module.name}")
    found: dict[str, type[Loss]] = {}
    classes: list[type[Loss]] = [Loss]
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        if kind.name:
            found[kind.name] = kind
    return dict(sorted(found.items()))


def loss_of(name: str, /, **settings: Any) -> Loss:
    """The loss with this name; settings that it does not have are ignored.

    Raises:
        InputError: there is no loss of this name, or a setting is outside its range.
    """
    known = losses()
    refuse_if(name not in known, "no such loss", name, ", ".join(known))
    has = inspect.signature(known[name].__init__).parameters
    return known[name](**{key: value for key, value in settings.items() if key in has})


def slopes(loss: Loss, candidates: Resident, scores_C: Tensor, *, truth: bool) -> tuple[Tensor, Tensor]:
    """The loss of some candidates, and minus its derivative by each of their scores, (C,).

    With `truth`, gains above 0 mark true candidates; as in the compiled pass, each of them is compared with all untrue
    ones of its instance.
    """
    leaf_C = scores_C.detach().requires_grad_()
    if truth and loss.needs is not Needs.TRUTH:
        rows, true, offsets = candidates.one_truth_each()
        value = loss(leaf_C[rows], true.to(leaf_C.dtype), offsets)
    else:
        value = loss(leaf_C, candidates.gain_C.to(leaf_C.dtype), candidates.candidate_offsets_I1)
    (gradient_C,) = torch.autograd.grad(value, leaf_C, allow_unused=True)
    return value.detach(), torch.zeros_like(leaf_C) if gradient_C is None else -gradient_C

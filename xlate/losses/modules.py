"""The losses over lists by name, as modules for any training loop; each is a `ListLoss` of the registry's loss.

Scores s(e) of candidates e come from a model of yours, gains g(e) say how good they are; see `ListLoss.forward` for
shapes and masks.
"""

from __future__ import annotations

from xlate.losses import expected_bleu, hinge, local_softmax, pro, ramp, softmax_margin
from xlate.losses.list_loss import ListLoss, Reduction


class ExpectedBleu(ListLoss):
    """Minus the expected gain of a candidate drawn with p(e) ∝ exp γ s(e) (Auli, Galley & Gao 2014, section 5).

    Gains may be sentence BLEU or anything else that is better when it is higher; this is minimum risk training over
    lists. It can be differentiated any number of times.

    Args:
        gamma: the scale of the scores, above 0; the higher, the nearer to the gain of the best candidate alone.
        reduction: "mean" over lists, "sum", or "none" for one value a list.

    Example:
        >>> import torch
        >>> from xlate.losses import ExpectedBleu
        >>> scores = torch.tensor([[0.0, 0.0, 9.9], [1.0, 1.0, 1.0]], requires_grad=True)
        >>> gains = torch.tensor([[0.2, 0.4, 0.0], [0.3, 0.6, 0.9]])
        >>> mask = torch.tensor([[True, True, False], [True, True, True]])
        >>> loss = ExpectedBleu()(scores, gains, mask)
        >>> loss.backward()
        >>> round(loss.item(), 4)
        -0.45
        >>> scores.grad[0]
        tensor([ 0.0250, -0.0250,  0.0000])
    """

    def __init__(self, gamma: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(expected_bleu.ExpectedBleu(gamma), reduction)


class ExpectedCorpusBleu(ListLoss):
    """Minus BLEU of the expected statistics of all lists together (Rosti et al. 2010).

    What it takes for gains are the statistics that BLEU is computed from, in the order of `metrics.sentence_bleu`; its
    value is of all lists together, so there is no `reduction="none"`.

    Args:
        gamma: the scale of the scores, above 0.
        reduction: "mean" is minus BLEU from 0 to 1, "sum" that times the number of lists.
    """

    def __init__(self, gamma: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(expected_bleu.ExpectedCorpusBleu(gamma), reduction)


class ConditionalLikelihood(ListLoss):
    """-ln p of the candidate of the highest gain, p(e) ∝ exp γ s(e) (Auli, Galley & Gao 2014, section 5.2).

    Args:
        gamma: the scale of the scores, above 0.
        reduction: "mean" over lists, "sum", or "none" for one value a list.
    """

    def __init__(self, gamma: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(softmax_margin.ConditionalLikelihood(gamma), reduction)


class SoftmaxMargin(ListLoss):
    """-ln p of the candidate of the highest gain, the others given what they cost (Gimpel & Smith 2010).

    Args:
        gamma: the scale of the scores, above 0.
        margin: how much score a unit of gain is worth, 0 or more.
        reduction: "mean" over lists, "sum", or "none" for one value a list.
    """

    def __init__(self, gamma: float = 1.0, margin: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(softmax_margin.SoftmaxMargin(gamma, margin), reduction)


class Hinge(ListLoss):
    """Max-margin: the candidate of the highest gain leads each other one by their difference in gain.

    Args:
        gamma: the scale of the scores, above 0.
        margin: how much score a unit of gain is worth, 0 or more.
        reduction: "mean" over lists, "sum", or "none" for one value a list.
    """

    def __init__(self, gamma: float = 1.0, margin: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(hinge.Hinge(gamma, margin), reduction)


class Perceptron(ListLoss):
    """By how much another candidate leads the one of the highest gain (Rosenblatt 1958).

    Args:
        reduction: "mean" over lists, "sum", or "none" for one value a list.
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(hinge.Perceptron(), reduction)


class Ramp(ListLoss):
    """The difference of two maxima over a list, which is bounded (Gimpel & Smith 2012).

    Args:
        margin: how much score a unit of gain is worth, 0 or more.
        kind: 1 (fear less best), 2 (best less hope) or 3 (fear less hope).
        reduction: "mean" over lists, "sum", or "none" for one value a list.

    Raises:
        InputError: another kind.
    """

    def __init__(self, margin: float = 1.0, kind: int = 3, reduction: Reduction = "mean") -> None:
        super().__init__(ramp.Ramp(margin, kind), reduction)


class Pro(ListLoss):
    """Logistic loss of pairs of candidates drawn from each list (Hopkins & May 2011).

    The pairs are drawn anew from the same seed at every call. Which pairs there are depends on the gains, so this loss
    does not go through `torch.func`.

    Args:
        gamma: the scale of the scores, above 0.
        pairs: how many of each list.
        least_difference: by how much the gains of a pair must differ.
        seed: of the draws.
        reduction: "mean" over lists, "sum", or "none" for one value a list.

    Raises:
        InputError: no pairs, or no difference.
    """

    def __init__(
        self,
        gamma: float = 1.0,
        pairs: int = 20,
        least_difference: float = 0.05,
        seed: int = 1,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(pro.Pro(gamma, pairs, least_difference, seed), reduction)


class LocalSoftmax(ListLoss):
    """-ln of the share of each true candidate against all untrue ones and a sink (Tillmann & Zhang 2007, Eq. 7).

    Args:
        sink: the score of a state that cannot be reached; the lower, the less it counts.
        reduction: "mean" over lists, "sum", or "none" for one value a list.

    Example:
        >>> import torch
        >>> from xlate.losses import LocalSoftmax
        >>> true = torch.tensor([1.0, -1.0, -1.0, 1.0, -1.0])
        >>> LocalSoftmax(sink=-9.0, reduction="none")(torch.zeros(5), true, offsets=torch.tensor([0, 3, 5]))
        tensor([1.0987, 0.6932])
    """

    def __init__(self, sink: float = local_softmax.SINK, reduction: Reduction = "mean") -> None:
        super().__init__(local_softmax.LocalSoftmax(sink), reduction)

"""The keys of each choice of `loss=…` and of `source=…`, where candidates come from; tuners have their own module."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.settings import (
    ANY,
    BELOW_ONE,
    COUNT,
    ENDLESS,
    FOLDS,
    LISTED,
    NO_OR_FOLDS,
    NOT_NEGATIVE,
    POSITIVE,
    PROCESSES,
    SEED,
    SHARE,
    Range,
    asked,
    key,
)
from xlate.tuners.settings import ONLINE, MiraConfig, TuneConfig


@dataclass
class FloatPhaseConfig:
    """Training of the float weights."""

    data: str = key(
        "learn from events of train or dev, or nbest: lists of split, decoded with the run base",
        "dev",
        ("train", "dev", "nbest"),
    )
    split: str = key("data=nbest: the split whose lists are decoded", "dev")
    nbest: int = key("data=nbest: hypotheses per list", 1000, LISTED)
    subset: float = key("share of the instances used per epoch", 1.0, SHARE)
    epochs: int = key("passes", 5, Range(0))


class _BinaryKeys:
    """Keys that only some choices have, with their values for the other choices."""

    centred: bool = False


@dataclass
class BinaryConfig(_BinaryKeys):
    """Binary weights."""

    eta: float = key("step size of binary weights", 0.1, POSITIVE)


@dataclass
class BinaryPhaseConfig(BinaryConfig):
    """Training of the binary weights."""

    eta: float = key("step size of binary weights", 3.0e-2, POSITIVE)
    epochs: int = key("passes", 20, Range(0))
    joint: bool = key("train the float weights further, together with them", False)
    centred: bool = key("subtract from each family its mean over the true successors of the training text", False)


@dataclass
class GlobalConfig:
    """Training of the global model."""

    split: str = key("the split whose lattices to learn from; train: the training text, in folds", "dev")
    folds: int = key("split=train: number of folds, each decoded by a system that has not seen it", 10, FOLDS)
    sentences: int | None = key(
        "number of sentences: the first ones, or a sample if split=train; null: all", None, COUNT
    )
    heldout_every: int = key("hold out every N-th sentence", 5, Range(2))
    rounds: int = key("rounds of decoding", 3, COUNT)
    epochs: int = key("passes per round", 2, COUNT)
    rule: str = key("the update rule", "adagrad", ("sgd", "adagrad"))
    pull: float = key("L2 penalty towards the starting weights", 0.0, NOT_NEGATIVE)
    oracles: int = key("learn towards the derivations of the N translations with the highest sentence BLEU", 1, LISTED)
    margin: float = key("drop arcs that are on no path within this of the best", 15.0, ENDLESS)
    seed: int = asked(1, SEED)


class _FoldKeys:
    """Keys that only some choices have, with their values for the other choices."""

    candidates: str = "best"
    rounds: int = 1
    joint: bool = False


@dataclass
class ListsConfig(_FoldKeys):
    """How weights are learned from lists."""

    objective: str = key("expected_bleu, cll, softmax_margin, hinge, ramp or pro", "expected_bleu")
    heldout_every: int = key("hold out every N-th list", 20, Range(2))
    gain: str = key("smoothing of sentence BLEU: add-1, gao (brevity not clipped), floor, exp or none", "gao")
    gamma: float = key("scale of the scores; about 2 where float weights are not scaled to sum to 1", 20.0, POSITIVE)
    margin: float = key("score per unit of gain in softmax-margin, hinge and ramp", 10.0, NOT_NEGATIVE)
    rate: float = key("step size of sparse weights", 0.003, POSITIVE)
    dense_rate: float = key("step size of float weights, if they are trained too", 0.003, POSITIVE)
    adagrad: bool = key("use AdaGrad", True)
    l1: float = key("L1 penalty on the weights that a step moves", 0.0, NOT_NEGATIVE)
    l2: float = key("L2 penalty on the weights that a step moves", 0.0, NOT_NEGATIVE)
    batch: int = key("lists per step", 1, COUNT)
    epochs: int = key("the most passes", 30, COUNT)
    tolerance: float = key("stop when the held-out loss changes by a smaller share", 0.0003, NOT_NEGATIVE)
    pairs: int = key("PRO: pairs per list", 20, LISTED)
    # The least difference in gain within a pair of PRO.
    least_difference: float = asked(0.05, POSITIVE)
    # For the order of lists and the draw of pairs.
    seed: int = asked(1, SEED)


@dataclass
class FoldedListsConfig(ListsConfig):
    """Weights from n-best lists of the training text, decoded in folds by systems that have not seen it."""

    folds: int = key("number of folds in which the training text is decoded", 10, FOLDS)
    nbest: int = key("hypotheses per list", 100, Range(2, 10**6))
    shard: int = key("sentences per file of lists", 1000, COUNT)
    processes: int = key("processes that decode", 1, PROCESSES)
    sentences: int | None = key("number of lists to learn from, a random sample; null: all", None, COUNT)


@dataclass
class SparseListsConfig(FoldedListsConfig):
    """Sparse weights from such lists."""

    candidates: str = key(
        "best: the n best with different words; drawn: n sampled from the search graph", "best", ("best", "drawn")
    )
    rounds: int = key("times the training text is decoded, from the second on with the learned weights", 1, COUNT)
    joint: bool = key("train float weights together with the sparse ones", False)


class _LossKeys:
    """Keys that only some choices have, with their values for the other choices."""

    sink: float = 0.0
    negatives: int = 0
    batch: int = 0
    check_bound: bool = False
    floats: FloatPhaseConfig = FloatPhaseConfig(data="train", epochs=0)
    tune: TuneConfig | None = None
    lists: ListsConfig | None = None


@dataclass
class LossConfig(_LossKeys):
    """Keys of every loss."""

    name: str = key("the loss; the other keys depend on it")


@dataclass
class UniformLossConfig(LossConfig):
    """No training: float weights are -1, so costs are simply added up; for model=lcs 1 for the language model."""

    name: str = "uniform"


@dataclass
class EventLossConfig(LossConfig):
    """Keys of every loss of single decisions."""

    patience: int = key(
        "stop after this many epochs of sparse weights without a better error rate; 0: never", 0, Range(0)
    )
    block: int | None = key(
        "shuffle in blocks of this many instances, for stores larger than memory; null: all", None, COUNT
    )
    average: bool = key("average the weights over all steps of a phase", False)
    l1: float = key("before each step, sparse weights shrink by their step size times this", 0.0, NOT_NEGATIVE)
    l2: float = key("before each step, sparse weights shrink by their step size times this share", 0.0, NOT_NEGATIVE)
    batch: int = key("instances per step, on the device; 0: one step per instance, compiled, on the CPU", 0, Range(0))


@dataclass
class LocalLossConfig(EventLossConfig):
    """Losses of single decisions: of a block and its successors in the training text."""

    eta: float = key("step size of float weights", 1.0e-3, POSITIVE)
    decay: float = key("how fast the step size of float weights shrinks", 0.0, NOT_NEGATIVE)
    project_sign: bool = key("keep float weights at or below 0", True)
    floats: FloatPhaseConfig = key("float weights", FloatPhaseConfig())
    binary: BinaryConfig = key("binary weights", BinaryPhaseConfig())


@dataclass
class LocalSoftmaxConfig(LocalLossConfig):
    """Local softmax (Tillmann & Zhang 2007), with settings that work better than the paper's."""

    name: str = "local_softmax"
    sink: float = key("score of the sink state", -100.0, ANY)
    check_bound: bool = key("measure both sides of Theorem A.1 in every epoch (slower)", False)


@dataclass
class ContextLossConfig(EventLossConfig):
    """Losses of a phrase's translations in context: one_vs_rest, local_softmax, hinge, perceptron …"""

    name: str = "local_softmax"
    sink: float = key("local_softmax: score of the sink state", -100.0, ANY)
    margin: float = key("hinge: the score by which the right translation must lead", 1.0, NOT_NEGATIVE)
    negatives: int = key(
        "one_vs_rest: wrong candidates sampled per step and weighted to represent all; 0: all", 0, Range(0)
    )
    rate: float = key("step size of sparse weights", 0.02, POSITIVE)
    dense_rate: float = key("step size of the weight of ln p(e|f)", 0.001, NOT_NEGATIVE)
    decay: float = key("how fast step sizes shrink", 0.2, NOT_NEGATIVE)
    adagrad: bool = key("use AdaGrad", False)
    epochs: int = key("passes", 6, COUNT)


@dataclass
class NoiseLossConfig(LossConfig):
    """Likelihood of words, estimated by their contrast with noise that a mini-batch shares (model=joint)."""

    name: str = "nce"
    noise: int = key("noise words per step", 512, LISTED)
    epochs: int = key("passes", 10, COUNT)
    batch: int = key("words per step", 256, COUNT)
    rate: float = key("step size, with AdaGrad", 0.05, POSITIVE)


@dataclass
class EntropyLossConfig(LossConfig):
    """Likelihood of the pieces of words, with smoothed labels (model=transformer)."""

    name: str = "cross_entropy"
    smoothing: float = key("the share of probability that labels give to all pieces alike", 0.1, BELOW_ONE)
    epochs: int = key("passes", 10, COUNT)
    batch: int = key("pieces per step, at most", 1500, COUNT)
    rate: float = key("the largest step size, with Adam; it rises for `warmup` steps and falls to 0", 1e-3, POSITIVE)
    warmup: int = key("steps until the step size is largest", 500, COUNT)


@dataclass
class GlobalLossConfig(LossConfig):
    """The global model (Tillmann & Zhang 2007, Eq. 4): normalised over the translation graph; starts from base."""

    name: str = "global"
    eta: float = key("step size of float weights, with AdaGrad", 1.0e-2, POSITIVE)
    project_sign: bool = key("keep float weights at or below 0", False)
    binary: BinaryConfig = key("binary weights", BinaryConfig())
    globally: GlobalConfig = key("rounds and lattices", GlobalConfig())


@dataclass
class OnlineLossConfig(LossConfig):
    """The loss of source=online; source.update names it."""

    name: str = "online"


@dataclass
class TunedLossConfig(LossConfig):
    """Float weights, and sparse ones of the phrase model, for BLEU of a whole text."""

    tune: TuneConfig = key("the tuner", MiraConfig())


@dataclass
class RankingLossConfig(LossConfig):
    """Expected BLEU and other losses over given lists (model=rerank)."""

    name: str = "xbleu"
    lists: ListsConfig = key("how weights are learned", ListsConfig())


@dataclass
class ContextListLossConfig(LossConfig):
    """A classifier in context (model=context), trained further on lists of the training text.

    The lists are those of the run base, a phrase model that has the classifier as a feature.
    """

    name: str = "xbleu"
    lists: ListsConfig = key("how weights are learned", FoldedListsConfig())


@dataclass
class ListLossConfig(LossConfig):
    """Sparse features from lists of the training text (Auli, Galley & Gao 2014).

    Float weights of the phrase model are tuned; those of the models over blocks come from a run base. Sparse weights
    are then learned from lists of the training text, and float weights are tuned again.
    """

    name: str = "xbleu"
    tune: TuneConfig = key("the tuner of float weights, chosen by loss/tune=…")
    lists: ListsConfig = key("how sparse weights are learned", SparseListsConfig())


# Other names belong to losses of single decisions, or to tuners.
LOSSES: dict[str, type[LossConfig]] = {
    "local_softmax": LocalSoftmaxConfig,
    "uniform": UniformLossConfig,
    "global": GlobalLossConfig,
    "nce": NoiseLossConfig,
    "cross_entropy": EntropyLossConfig,
    "online": OnlineLossConfig,
}


@dataclass
class SourceConfig:
    """Keys of every source."""

    name: str = key("the source; the other keys depend on it")


@dataclass
class StoredSourceConfig(SourceConfig):
    """Makes candidates first, or round by round, and then learns from them as `loss=…` says."""

    name: str = "stored"


@dataclass
class OnlineSourceConfig(SourceConfig):
    """The decoder in the loop: each sentence is decoded with the current weights (Watanabe et al. 2007)."""

    name: str = ONLINE
    iterations: int = key("passes over the sentences", 50, COUNT)
    nbest: int = key("translations per list, from which oracles are chosen (the paper: 1000)", 100, LISTED)
    k: int = key("number of best translations compared with the oracles", 10, LISTED)
    m: int = key("oracles kept per sentence", 10, LISTED)
    hope: float = key(
        "gain per unit of score when choosing oracles; 0: by gain alone (the paper)",
        0.0,
        NOT_NEGATIVE,
    )
    update: str = key("mira, averaged_perceptron, tillmann_zhang, or a loss over lists such as expected_bleu", "mira")
    C: float = key("update=mira: the largest sum of the steps of a sentence's pairs", 0.01, POSITIVE)
    eta: float = key("the learning rate of tillmann_zhang and of losses", 0.01, POSITIVE)
    gamma: float = key("losses: scale of the scores", 1.0, POSITIVE)
    margin: float = key("score per unit of gain", 1.0, POSITIVE)
    rate: float = key("factor on the steps of sparse weights", 1.0, NOT_NEGATIVE)
    dense_rate: float = key("the same for float weights", 1.0, NOT_NEGATIVE)
    spread: float = key(
        "rescale scores so that those of a list have this standard deviation under the first weights (mean over "
        "lists); C, margin, eta, gamma and hope then mean the same for all first weights; 0: do not rescale",
        0.2,
        NOT_NEGATIVE,
    )
    adagrad: bool = key("losses: use AdaGrad", False)
    gain: str = key(
        "document: BLEU of the document of oracles with one oracle replaced by the translation (the paper's "
        "approximated BLEU); or the smoothing of sentence BLEU: add-1, gao, floor, exp or none",
        "document",
        ("document", "add-1", "gao", "floor", "exp", "none"),
    )
    metric: str = key("learn for bleu, chrf, ter, or a mixture like bleu:1,chrf:1", "bleu")
    batch: int = key("sentences decoded with the same weights; 1: the paper's", 1, COUNT)
    processes: int = key("processes that decode the sentences of a batch, or learn the shards", 1, PROCESSES)
    shards: int = key(
        "parts of the text trained separately; their weights are mixed after each iteration", 1, PROCESSES
    )
    select: str = key(
        "average (of all weights), last, or best (the average that translates best)",
        "average",
        ("average", "last", "best"),
    )
    heldout_every: int = key("hold out every N-th sentence for measuring; 0: none", 0, Range(0, but=(1,)))
    start: str = key(
        "weights of the first step: uniform, or base (those of the run base)", "uniform", ("uniform", "base")
    )
    split: str = key("learn from this split of the work directory", "dev")
    text: str | None = key("or from this file of tokens (raw text if base= reads it)", None)
    references: list[str] = key("and its references, in the same form", [])
    folds: int = key(
        "or from the training text in this many folds, each decoded by a system made without it; 0: no folds. text and "
        "references are then the raw training text and any number of its translations",
        0,
        NO_OR_FOLDS,
    )
    sentences: int = key("folds: number of sentences, spread evenly over the text", 1000, COUNT)
    seed: int = asked(1, SEED)


SOURCES: dict[str, type[SourceConfig]] = {"stored": StoredSourceConfig, ONLINE: OnlineSourceConfig}

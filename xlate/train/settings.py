"""The keys of each choice of `loss=…` and of `source=…`, where candidates come from; tuners have their own module."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.settings import (
    ANY,
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
        "learned from events of train or dev, or nbest: lists of split decoded with the run base",
        "dev",
        ("train", "dev", "nbest"),
    )
    split: str = key("data=nbest: the split whose lists are decoded", "dev")
    nbest: int = key("data=nbest: hypotheses of a list", 1000, LISTED)
    subset: float = key("share of the instances that an epoch sees", 1.0, SHARE)
    epochs: int = key("passes", 5, Range(0))


class _BinaryKeys:
    """Keys that only some choices have, with their values for the other choices."""

    centred: bool = False


@dataclass
class BinaryConfig(_BinaryKeys):
    """Binary weights."""

    eta: float = key("the step of binary weights", 0.1, POSITIVE)


@dataclass
class BinaryPhaseConfig(BinaryConfig):
    """Training of the binary weights."""

    eta: float = key("the step of binary weights", 3.0e-2, POSITIVE)
    epochs: int = key("passes", 20, Range(0))
    joint: bool = key("float weights are learned on with them", False)
    centred: bool = key("each family loses its mean over the true successors of the training text", False)


@dataclass
class GlobalConfig:
    """Training of the global model."""

    split: str = key("the split whose lattices are learned from; train: the training text, in folds", "dev")
    folds: int = key("split=train: each of so many folds is decoded by a system that has not seen it", 10, FOLDS)
    sentences: int | None = key(
        "the first so many sentences, of train so many drawn by the seed; null: all", None, COUNT
    )
    heldout_every: int = key("every so many sentences one is held out", 5, Range(2))
    rounds: int = key("rounds of decoding", 3, COUNT)
    epochs: int = key("passes in a round", 2, COUNT)
    rule: str = key("the update rule", "adagrad")
    pull: float = key("L2 towards the weights of the start", 0.0, NOT_NEGATIVE)
    oracles: int = key("wanted are the derivations of so many translations of the highest sentence BLEU", 1, LISTED)
    margin: float = key("arcs off all paths within this of the best are dropped", 15.0, ENDLESS)
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
    heldout_every: int = key("every so many lists one is held out", 20, Range(2))
    gain: str = key("smoothing of sentence BLEU: add-1, gao (brevity not clipped), floor, exp or none", "gao")
    gamma: float = key("scale of the scores; about 2 where float weights are not scaled to sum to 1", 20.0, POSITIVE)
    margin: float = key("what a unit of gain is worth in softmax-margin, hinge and ramp", 10.0, NOT_NEGATIVE)
    rate: float = key("the step of sparse weights", 0.003, POSITIVE)
    dense_rate: float = key("the step of float weights where they are learned too", 0.003, POSITIVE)
    adagrad: bool = key("steps by AdaGrad", True)
    l1: float = key("penalty on the size of the weights that a step moves", 0.0, NOT_NEGATIVE)
    l2: float = key("penalty on the square of the weights that a step moves", 0.0, NOT_NEGATIVE)
    batch: int = key("lists per step", 1, COUNT)
    epochs: int = key("the most passes", 30, COUNT)
    tolerance: float = key("stops when the held-out loss changes by a smaller share", 0.0003, NOT_NEGATIVE)
    pairs: int = key("PRO: pairs of a list", 20, LISTED)
    # The least difference in gain within a pair of PRO.
    least_difference: float = asked(0.05, POSITIVE)
    # For the order of lists and the draw of pairs.
    seed: int = asked(1, SEED)


@dataclass
class FoldedListsConfig(ListsConfig):
    """Weights from n-best lists of the training text, decoded in folds by systems that have not seen it."""

    folds: int = key("the training text is decoded in so many folds", 10, FOLDS)
    nbest: int = key("hypotheses of a list", 100, Range(2, 10**6))
    shard: int = key("sentences of one file of lists", 1000, COUNT)
    processes: int = key("processes that decode", 1, PROCESSES)
    machine: int | None = key(
        "decode every machines-th fold from this one on, and stop; null: all folds", None, Range(0)
    )
    machines: int = key("how many machines divide the folds among them", 1, COUNT)
    sentences: int | None = key("learn from so many lists, drawn by the seed; null for all", None, COUNT)


@dataclass
class SparseListsConfig(FoldedListsConfig):
    """Sparse weights from such lists."""

    candidates: str = key(
        "best: the n best of different words; drawn: n by lot from the search graph", "best", ("best", "drawn")
    )
    rounds: int = key("times the training text is decoded, after the first with what was learned", 1, COUNT)
    joint: bool = key("float weights are learned together with the sparse ones", False)


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

    name: str = key("the loss; which keys there are depends on it")


@dataclass
class UniformLossConfig(LossConfig):
    """No training: float weights are -1, which adds the costs up as they are; of model=lcs 1 for the language model."""

    name: str = key("the loss", "uniform")


@dataclass
class LocalLossConfig(LossConfig):
    """Losses of single decisions: of a block and its successors in the training text."""

    eta: float = key("the step of float weights", 1.0e-3, POSITIVE)
    decay: float = key("how fast the step of float weights shrinks", 0.0, NOT_NEGATIVE)
    project_sign: bool = key("float weights are kept at or below 0", True)
    patience: int = key("stop after so many epochs of binary weights without gain; 0 never", 0, Range(0))
    block: int | None = key("shuffle runs of so many neighbours, for stores larger than memory; null: all", None, COUNT)
    average: bool = key("keep the average of the weights over all steps of a phase", False)
    l1: float = key("before each step binary weights lose eta times this of their size", 0.0, NOT_NEGATIVE)
    l2: float = key("before each step binary weights lose eta times this share of themselves", 0.0, NOT_NEGATIVE)
    batch: int = key("instances per step, on the device; 0: one step per instance, compiled, on the CPU", 0, Range(0))
    floats: FloatPhaseConfig = key("float weights", FloatPhaseConfig())
    binary: BinaryConfig = key("binary weights", BinaryPhaseConfig())


@dataclass
class LocalSoftmaxConfig(LocalLossConfig):
    """Local softmax (Tillmann & Zhang 2007), with what held up better than the paper's settings."""

    name: str = key("the loss", "local_softmax")
    sink: float = key("score of the sink state", -100.0, ANY)
    check_bound: bool = key("measure both sides of Theorem A.1 in every epoch (slower)", False)


@dataclass
class ContextLossConfig(LossConfig):
    """Losses of a phrase's translations in context: one_vs_rest, local_softmax, hinge, perceptron …"""

    name: str = key("the loss", "local_softmax")
    sink: float = key("local_softmax: score of the sink state", -100.0, ANY)
    margin: float = key("hinge: the score by which the right translation must lead", 1.0, NOT_NEGATIVE)
    negatives: int = key(
        "one_vs_rest: wrong candidates per step, drawn by lot, each weighing as many; 0: all of them", 0, Range(0)
    )
    rate: float = key("the step of sparse weights", 0.02, POSITIVE)
    dense_rate: float = key("the step of the weight of ln p(e|f)", 0.001, NOT_NEGATIVE)
    decay: float = key("how fast steps shrink", 0.2, NOT_NEGATIVE)
    adagrad: bool = key("steps by AdaGrad", False)
    epochs: int = key("passes", 6, COUNT)
    patience: int = key("stop after so many epochs without a better error rate; 0 never", 0, Range(0))
    block: int | None = key("shuffle runs of so many neighbours, for stores larger than memory; null: all", None, COUNT)
    average: bool = key("keep the average of the weights over all steps", False)
    l1: float = key("before each step sparse weights lose rate times this of their size", 0.0, NOT_NEGATIVE)
    l2: float = key("before each step sparse weights lose rate times this share of themselves", 0.0, NOT_NEGATIVE)
    batch: int = key("instances per step, on the device; 0: one step per instance, compiled, on the CPU", 0, Range(0))


@dataclass
class GlobalLossConfig(LossConfig):
    """The global model (Tillmann & Zhang 2007, Eq. 4): normalised over the translation graph; starts from base."""

    name: str = key("the loss", "global")
    eta: float = key("the step of float weights, by AdaGrad", 1.0e-2, POSITIVE)
    project_sign: bool = key("float weights are kept at or below 0", False)
    binary: BinaryConfig = key("binary weights", BinaryConfig())
    globally: GlobalConfig = key("rounds and lattices", GlobalConfig())


@dataclass
class OnlineLossConfig(LossConfig):
    """What source=online learns by: source.update says it."""

    name: str = key("the loss", "online")


@dataclass
class TunedLossConfig(LossConfig):
    """Float weights, and sparse ones of the phrase model, for BLEU of a whole text."""

    tune: TuneConfig = key("the tuner", MiraConfig())


@dataclass
class RankingLossConfig(LossConfig):
    """Expected BLEU and other losses over given lists (model=rerank)."""

    name: str = key("the loss", "xbleu")
    lists: ListsConfig = key("how weights are learned", ListsConfig())


@dataclass
class ContextListLossConfig(LossConfig):
    """A classifier in context (model=context), trained further on lists of the training text.

    The lists are those of the run base, a phrase model that has the classifier as a feature.
    """

    name: str = key("the loss", "xbleu")
    lists: ListsConfig = key("how weights are learned", FoldedListsConfig())


@dataclass
class ListLossConfig(LossConfig):
    """Sparse features from lists of the training text (Auli, Galley & Gao 2014).

    Float weights of the phrase model are tuned; those of the models over blocks come from a run base. Sparse weights
    are then learned from lists of the training text, and float weights are tuned again.
    """

    name: str = key("the loss", "xbleu")
    tune: TuneConfig = key("the tuner of float weights, chosen by loss/tune=…")
    lists: ListsConfig = key("how sparse weights are learned", SparseListsConfig())


# Other names belong to losses of single decisions, or to tuners.
LOSSES: dict[str, type[LossConfig]] = {
    "local_softmax": LocalSoftmaxConfig,
    "uniform": UniformLossConfig,
    "global": GlobalLossConfig,
    "online": OnlineLossConfig,
}


@dataclass
class SourceConfig:
    """Keys of every source."""

    name: str = key("the source; which keys there are depends on it")


@dataclass
class StoredSourceConfig(SourceConfig):
    """Candidates are made first, or round by round, and then learned from; `loss=…` says how."""

    name: str = key("the source", "stored")


@dataclass
class OnlineSourceConfig(SourceConfig):
    """The decoder in the loop: each sentence is decoded with the weights of the moment (Watanabe et al. 2007)."""

    name: str = key("the source", ONLINE)
    iterations: int = key("passes over the sentences", 50, COUNT)
    nbest: int = key("translations of a list, among which oracles are looked for (the paper: 1000)", 100, LISTED)
    k: int = key("the first so many of them are held against the oracles", 10, LISTED)
    m: int = key("oracles kept of each sentence", 10, LISTED)
    hope: float = key(
        "what a unit of score is worth in gain where oracles are chosen; 0: by gain alone (the paper)",
        0.0,
        NOT_NEGATIVE,
    )
    update: str = key("mira, averaged_perceptron, tillmann_zhang, or a loss over lists such as expected_bleu", "mira")
    C: float = key("update=mira: what the steps of a sentence's pairs sum to at most", 0.01, POSITIVE)
    eta: float = key("the learning rate of tillmann_zhang and of losses", 0.01, POSITIVE)
    gamma: float = key("losses: scale of the scores", 1.0, POSITIVE)
    margin: float = key("what a unit of gain is worth in score", 1.0, POSITIVE)
    rate: float = key("how far sparse weights move, times the step", 1.0, NOT_NEGATIVE)
    dense_rate: float = key("the same of float weights", 1.0, NOT_NEGATIVE)
    spread: float = key(
        "scores are learned on a scale on which those of a list differ by so much under the first weights (standard "
        "deviation, mean over lists), so that C, margin, eta, gamma and hope mean the same for all of them; 0: as they "
        "are",
        0.2,
        NOT_NEGATIVE,
    )
    adagrad: bool = key("losses: steps by AdaGrad", False)
    gain: str = key(
        "document: BLEU of the document of oracles with a translation in its place (the paper's approximated BLEU); or "
        "the smoothing of BLEU of one sentence: add-1, gao, floor, exp or none",
        "document",
        ("document", "add-1", "gao", "floor", "exp", "none"),
    )
    metric: str = key("learned for bleu, chrf, ter, or a mixture like bleu:1,chrf:1", "bleu")
    batch: int = key("sentences decoded with the same weights; 1: the paper's", 1, COUNT)
    processes: int = key("processes that decode the sentences of a batch, or learn the shards", 1, PROCESSES)
    shards: int = key("parts of the text learned apart, whose weights are mixed after each iteration", 1, PROCESSES)
    select: str = key(
        "average (of all weights), last, or best (the average that translates best)",
        "average",
        ("average", "last", "best"),
    )
    heldout_every: int = key(
        "every so many sentences one is measured and not learned from; 0 for none", 0, Range(0, but=(1,))
    )
    start: str = key(
        "weights of the first step: uniform, or base (those of the run base)", "uniform", ("uniform", "base")
    )
    split: str = key("learned from this split of the work directory", "dev")
    text: str | None = key("or from this file of tokens (of raw text, where base= takes that)", None)
    references: list[str] = key("and its references, written as it is", [])
    folds: int = key(
        "or from the training text, each sentence decoded by a system made without its fold, of so many; 0: not so. "
        "text and references are then the raw training text and any number of its translations",
        0,
        NO_OR_FOLDS,
    )
    sentences: int = key("folds: from so many sentences, spread evenly over the text", 1000, COUNT)
    seed: int = asked(1, SEED)


SOURCES: dict[str, type[SourceConfig]] = {"stored": StoredSourceConfig, ONLINE: OnlineSourceConfig}

"""The keys of each choice of `source=…`: where the candidates come from that a training learns from."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.settings import COUNT, LISTED, NO_OR_FOLDS, NOT_NEGATIVE, POSITIVE, PROCESSES, Range, key

# What online training is called, also where it asks a kind of model for what is tuned.
ONLINE = "online"


@dataclass
class SourceConfig:
    """What every source has."""

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


SOURCES: dict[str, type[SourceConfig]] = {"stored": StoredSourceConfig, ONLINE: OnlineSourceConfig}

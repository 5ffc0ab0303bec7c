"""The keys of each tuner: `loss=mira` and the like, and `loss/tune=…` with `loss=xbleu`."""

from __future__ import annotations

from dataclasses import dataclass

from xlate.settings import (
    BELOW_ONE,
    COUNT,
    ENDLESS,
    LISTED,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    PROCESSES,
    SEED,
    SHARE,
    Range,
    asked,
    key,
)

# The name of online training, also when it asks a kind of model what is tuned.
ONLINE = "online"
SMOOTHING = "smoothing of sentence BLEU: add-1, gao, floor, exp or none"
CHANGE = "penalty on the squared change of a round; 0 for none, as always in model=rerank"


class _TuneKeys:
    """Keys that only some choices have, with their values for the other choices."""

    gain: str = "add-1"


@dataclass
class TuneConfig(_TuneKeys):
    """Keys of every tuner: each round decodes the text again, and weights are found on all lists so far."""

    name: str = key("the tuner")
    split: str = key("the split of the work directory to tune on", "dev")
    source: str | None = key("or a file of tokens to tune on (raw text if base= takes that)", None)
    references: list[str] = key("its references, in the same form", [])
    start: str = key(
        "weights of the first round: uniform, or base (those of the run base)", "uniform", ("uniform", "base")
    )
    weights: list[str] = key("the float weights to tune, while the others stay as in base; []: all", [])
    rounds: int = key("the most rounds", 10, COUNT)
    nbest: int = key("hypotheses per list", 100, LISTED)
    select: str = key(
        "best: weights with the highest score when decoded (held-out sentences if any); last", "best", ("best", "last")
    )
    metric: str = key("what to tune for: bleu, chrf, ter, or a mixture like bleu:1,chrf:1", "bleu")
    heldout_every: int = key("every N-th sentence is held out from tuning; 0 for none", 0, Range(0, but=(1,)))
    length_band: float = key(
        "prefer weights whose output length is within this share of the reference length", 0.1, ENDLESS
    )
    processes: int = key("processes that decode", 1, PROCESSES)
    tolerance: float = key("stop when no weight moves by more than this share of the largest", 1.0e-5, NOT_NEGATIVE)
    least_new: float = key("stop when less than this share of the pool is new", 1.0e-4, PROBABILITY)
    # Round r uses seed + r.
    seed: int = asked(1, SEED)


@dataclass
class EpochsConfig(TuneConfig):
    """Tuners that pass over the lists of a round."""

    epochs: int = key("passes over the lists per round", 60, COUNT)


@dataclass
class MiraConfig(EpochsConfig):
    """k-best MIRA (Cherry & Foster 2012)."""

    name: str = "mira"
    C: float = key("the longest step", 0.01, POSITIVE)
    decay: float = key("decay of the background corpus per list", 0.999, BELOW_ONE)
    sparse_rate: float = key("how much faster sparse weights move than float weights", 1.0, NOT_NEGATIVE)


@dataclass
class MertConfig(TuneConfig):
    """MERT (Och 2003): exact line searches for the score of the whole text."""

    name: str = "mert"
    restarts: int = key("random starting points besides the given one", 20, Range(0, 10**6))
    directions: int = key("random directions to try when no coordinate gains more", 2, Range(0, 10**6))
    coordinate_rounds: int = key("the most rounds of coordinates from one point", 20, COUNT)
    least_gain: float = key("the search from a point ends when a round of coordinates gains less", 0.02, NOT_NEGATIVE)
    window: int = key("intervals on either side to average over; 0 takes the highest peak", 3, Range(0))


@dataclass
class PenaltyConfig(EpochsConfig):
    """Tuners that descend on a loss of the lists."""

    gain: str = key(SMOOTHING, "add-1")
    penalty: float = key("penalty on the squared weights of standardised features", 1.0e-4, NOT_NEGATIVE)
    step_penalty: float = key(CHANGE, 1.0e-4, NOT_NEGATIVE)


@dataclass
class ProConfig(PenaltyConfig):
    """PRO (Hopkins & May 2011): a classifier of sampled pairs."""

    name: str = "pro"
    # BLEU+1 does not punish short sentences enough, and PRO makes them shorter (Nakov, Guzman & Vogel 2012).
    gain: str = key(SMOOTHING, "gao")
    # The classifier of pairs has a single minimum, wherever it starts.
    step_penalty: float = key(CHANGE, 0.0, NOT_NEGATIVE)
    samples: int = key("pairs drawn per list", 5000, LISTED)
    kept: int = key("how many of them are kept", 50, LISTED)
    least: float = key("the minimum difference of their sentence scores, from 0 to 1", 0.05, SHARE)
    share: float = key("share of the new weights in a round's interpolation with the old ones", 1.0, SHARE)


@dataclass
class ExpectedBleuConfig(PenaltyConfig):
    """Expected BLEU (Rosti et al. 2010)."""

    name: str = "expected_bleu"
    gamma: float = key("scale of the scores", 1.0, POSITIVE)


@dataclass
class MarginConfig(PenaltyConfig):
    """Losses with a margin."""

    margin: float = key("what a unit of gain is worth, in units of score", 1.0, NOT_NEGATIVE)


@dataclass
class SoftmaxMarginConfig(MarginConfig):
    """Softmax-margin (Gimpel & Smith 2010)."""

    name: str = "softmax_margin"


@dataclass
class RampConfig(MarginConfig):
    """Ramp loss (Gimpel & Smith 2012)."""

    name: str = "ramp"
    kind: int = key("1: fear against model best; 2: model best against hope; 3: fear against hope", 3, Range(1, 3))


@dataclass
class CllConfig(PenaltyConfig):
    """Conditional likelihood of the translations that gain most in their lists."""

    name: str = "cll"


@dataclass
class ListHingeConfig(MarginConfig):
    """The hinge: what gains most must lead by as much as it gains more (loss=hinge is that of single decisions)."""

    name: str = "list_hinge"


@dataclass
class ListPerceptronConfig(PenaltyConfig):
    """The perceptron over lists (loss=perceptron is that of single decisions)."""

    name: str = "list_perceptron"


TUNERS: dict[str, type[TuneConfig]] = {
    "mira": MiraConfig,
    "mert": MertConfig,
    "pro": ProConfig,
    "expected_bleu": ExpectedBleuConfig,
    "softmax_margin": SoftmaxMarginConfig,
    "ramp": RampConfig,
    "cll": CllConfig,
    "list_hinge": ListHingeConfig,
    "list_perceptron": ListPerceptronConfig,
}

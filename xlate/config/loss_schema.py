"""The shape of `loss=…`; the values are in conf/loss."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING


@dataclass
class FloatPhaseConfig:
    """Training of the float weights, on `data` = train, dev, or nbest: lists of `split` decoded with the run `base`."""

    data: str = MISSING
    split: str = MISSING
    nbest: int = MISSING
    subset: float = MISSING
    epochs: int = MISSING


@dataclass
class BinaryPhaseConfig:
    """Training of the binary weights."""

    epochs: int = MISSING
    eta: float = MISSING
    joint: bool = False


@dataclass
class GlobalConfig:
    """Training of the global model."""

    split: str = MISSING
    sentences: int | None = None
    heldout_every: int = MISSING
    rounds: int = MISSING
    epochs: int = MISSING
    rule: str = MISSING
    pull: float = MISSING
    oracles: int = MISSING
    margin: float = MISSING


@dataclass
class TuneConfig:
    """Tuning of float weights on n-best lists that are decoded anew each round."""

    split: str = MISSING
    source: str | None = None
    references: list[str] = field(default_factory=list)
    start: str = MISSING
    rounds: int = MISSING
    nbest: int = MISSING
    select: str = MISSING
    metric: str = "bleu"
    gain: str = "add-1"
    heldout_every: int = MISSING
    length_band: float = MISSING
    processes: int = MISSING
    restarts: int = MISSING
    epochs: int = MISSING
    C: float = MISSING
    decay: float = MISSING
    gamma: float = MISSING
    l2: float = MISSING
    samples: int = 5000
    kept: int = 50
    least: float = 0.05
    share: float = 1.0


@dataclass
class ListsConfig:
    """Sparse weights from n-best lists of the training text, decoded in folds by systems that have not seen it."""

    objective: str = MISSING
    folds: int = MISSING
    nbest: int = MISSING
    shard: int = MISSING
    processes: int = MISSING
    part: int | None = None
    parts: int = MISSING
    sentences: int | None = None
    heldout_every: int = MISSING
    gain: str = MISSING
    gamma: float = MISSING
    margin: float = MISSING
    rate: float = MISSING
    adagrad: bool = MISSING
    joint: bool = False
    dense_rate: float = 0.003
    l1: float = MISSING
    l2: float = MISSING
    batch: int = MISSING
    epochs: int = MISSING
    tolerance: float = MISSING
    pairs: int = MISSING
    tuner: str = MISSING
    candidates: str = "best"
    rounds: int = 1


@dataclass
class LossConfig:
    """The loss and the steps taken on it."""

    name: str = MISSING
    eta: float = MISSING
    decay: float = MISSING
    sink: float = MISSING
    project_sign: bool = MISSING
    patience: int = MISSING
    block: int | None = None
    average: bool = MISSING
    l1: float = MISSING
    l2: float = MISSING
    batch: int = MISSING
    check_bound: bool = MISSING
    floats: FloatPhaseConfig = field(default_factory=FloatPhaseConfig)
    binary: BinaryPhaseConfig = field(default_factory=BinaryPhaseConfig)
    globally: GlobalConfig = field(default_factory=GlobalConfig)
    tune: TuneConfig | None = None
    lists: ListsConfig | None = None

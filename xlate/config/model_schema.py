"""The shape of `model=…`; the values are in conf/model and conf/sparse."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING


@dataclass
class SparseConfig:
    """Sparse features of the phrase model: kinds of word values, templates with and without orientation."""

    words: list[str] = field(default_factory=list)
    reordering: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    class_seed: int = 1


@dataclass
class RerankConfig:
    """Features of hypotheses' words, for lists of any system."""

    ngrams: int = 2
    length: bool = True
    pairs: bool = True
    least_probability: float = 0.05
    classes: str | None = None
    class_ngrams: int = 3
    min_lists: int = 3


@dataclass
class ModelConfig:
    """Features of the block bigram model and how its alternatives are made."""

    name: str = MISSING
    kind: str = MISSING
    floats: list[str] = MISSING
    binary: list[str] = MISSING
    threshold: int = MISSING
    alternatives: int = MISSING
    listed_only: bool = MISSING
    by_span: bool = MISSING
    by_target: bool = MISSING
    orientation_smoothing: float = MISSING
    jump_reach: int = MISSING
    jump_smoothing: float = MISSING
    model1_iterations: int = MISSING
    reordering: str | None = None
    sparse: SparseConfig | None = None
    rerank: RerankConfig | None = None

"""The shape of the configuration of `xlate nbest`; the values are in conf/nbest.yaml."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING


@dataclass
class NbestConfig:
    """xlate nbest."""

    action: str = MISSING
    nbest: str = MISSING
    ref: list[str] = field(default_factory=list)
    weights: str | None = None
    run: str | None = None
    source: str | None = None
    first_id: int | None = None
    out: str | None = None
    debug: bool = False

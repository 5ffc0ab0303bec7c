"""The shape of the configuration of `xlate events`; the values are in conf/events.yaml."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING


@dataclass
class EventsConfig:
    """xlate events."""

    action: str = MISSING
    events: str = MISSING
    out: str = MISSING
    debug: bool = False

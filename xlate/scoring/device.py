"""The device that a configuration names."""

from __future__ import annotations

import torch

from xlate.errors import InputError

DEVICES = ("cpu", "cuda", "auto")


def device_of(name: str) -> torch.device:
    """The device a configuration names; `auto` is CUDA where there is some, and `cuda` falls back to the CPU.

    Raises:
        InputError: no such name.
    """
    if name not in DEVICES:
        raise InputError("unknown device", seen=name, expected=", ".join(DEVICES))
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")

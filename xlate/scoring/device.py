"""The device that a configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xlate.errors import InputError, check_choice

if TYPE_CHECKING:
    import torch

# Completion asks for these names, and does not wait for PyTorch.
DEVICES = ("cpu", "cuda", "auto")


def device_of(name: str) -> torch.device:
    """The device a configuration names; `auto` is CUDA where there is some, else the CPU.

    Raises:
        InputError: no such name, or `cuda` where there is none.
    """
    import torch

    check_choice("unknown device", name, DEVICES)
    there = name != "cpu" and torch.cuda.is_available()
    if name == "cuda" and not there:
        raise InputError(
            "no GPU that PyTorch can use",
            seen="device=cuda, and torch.cuda.is_available() is false",
            expected="an NVIDIA GPU, its driver, and a PyTorch made for CUDA",
            remedy="device=auto takes the CPU where there is no GPU",
        )
    return torch.device("cuda" if there else "cpu")

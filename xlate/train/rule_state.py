"""The weights of a PyTorch update rule and what it remembers of its steps, as arrays and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from xlate.array_types import AnyArray


def rule_arrays(rule: torch.optim.Optimizer) -> dict[str, AnyArray]:
    """Copies of the parameters, `0` and so on in the order of the rule's groups, and of their states, `0.sum`."""
    arrays = {}
    for number, parameter in enumerate(_parameters(rule)):
        arrays[str(number)] = _array(parameter)
        for name, value in rule.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                arrays[f"{number}.{name}"] = _array(value)
    return arrays


def restore_rule(rule: torch.optim.Optimizer, arrays: Mapping[str, AnyArray]) -> None:
    """Takes back what `rule_arrays` gave of a rule of the same kind over parameters of the same shapes."""
    with torch.no_grad():
        for number, parameter in enumerate(_parameters(rule)):
            _fill(parameter, arrays[str(number)])
            for name, value in rule.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    _fill(value, arrays[f"{number}.{name}"])


def _parameters(rule: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in rule.param_groups for parameter in group["params"]]


def _fill(tensor: torch.Tensor, array: AnyArray) -> None:
    # A file makes a row of a single number.
    tensor.copy_(torch.as_tensor(np.array(array)).reshape(tensor.shape))


def _array(tensor: torch.Tensor) -> AnyArray:
    return tensor.detach().cpu().numpy().copy()

"""XNNPACK in 16-bit floating point; the program's floating inputs and outputs become half."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.exir import EdgeProgramManager

from frameworks.executorch.recipes import xnnpack_fp32


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],
) -> EdgeProgramManager:
    """Lower the module and its inputs in half precision."""
    halves = tuple(tensor.half() if tensor.is_floating_point() else tensor for tensor in example_inputs)
    return xnnpack_fp32.lower(module.half(), halves, calibration)

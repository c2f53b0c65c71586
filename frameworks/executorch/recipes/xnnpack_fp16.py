"""XNNPACK in 16-bit floating point; the program's floating inputs and outputs become half."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.exir import EdgeProgramManager

from frameworks.executorch.recipes import xnnpack_fp32
from frameworks.exporting.capture import capture


def export_program(module: torch.nn.Module, example_inputs: tuple[torch.Tensor, ...]) -> torch.export.ExportedProgram:
    """Export the module with weights and inputs in half precision."""
    halves = tuple(tensor.half() if tensor.is_floating_point() else tensor for tensor in example_inputs)
    return capture(module.half(), halves)


def lower_program(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    """Lower what XNNPACK takes; the rest stays portable."""
    return xnnpack_fp32.lower_program(program)


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],  # noqa: ARG001 - nothing is quantised
) -> EdgeProgramManager:
    """Export in half precision and lower."""
    return lower_program(export_program(module, example_inputs))

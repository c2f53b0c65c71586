"""No delegate: every operator runs in the portable kernels."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower

from frameworks.exporting.capture import capture


def lower_program(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    """Lower without a partitioner."""
    return to_edge_transform_and_lower(program)


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],  # noqa: ARG001 - nothing is quantised
) -> EdgeProgramManager:
    """Export and lower."""
    return lower_program(capture(module, example_inputs))

"""XNNPACK in 8-bit integers, static, weights per channel; upstream's quantiser as it is."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager

from frameworks.executorch.recipes import _quantisation


def quantise(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],
) -> torch.export.ExportedProgram:
    """Learn the ranges of activations from the calibration data, and quantise."""
    return _quantisation.quantise(module, example_inputs, calibration)


def lower_program(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    """Lower what XNNPACK takes; the rest stays portable."""
    return _quantisation.lower_quantised(program, [XnnpackPartitioner()])


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],
) -> EdgeProgramManager:
    """Quantise and lower."""
    return lower_program(quantise(module, example_inputs, calibration))

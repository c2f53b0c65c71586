"""XNNPACK in 8-bit integers, dynamic: weights per channel, ranges of activations taken in each call."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.exir import EdgeProgramManager

from frameworks.executorch.recipes import _quantisation


def quantise(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],  # noqa: ARG001 - ranges are not learnt
) -> torch.export.ExportedProgram:
    """Quantise weights; one pass over the example inputs lets the weights' observers see them."""
    return _quantisation.quantise(module, example_inputs, [example_inputs], is_dynamic=True)


def lower_program(program: torch.export.ExportedProgram) -> EdgeProgramManager:
    """Lower dynamically quantised layers first, then what else XNNPACK takes; the rest stays portable."""
    return _quantisation.lower_quantised(program, [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()])


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],
) -> EdgeProgramManager:
    """Quantise and lower."""
    return lower_program(quantise(module, example_inputs, calibration))

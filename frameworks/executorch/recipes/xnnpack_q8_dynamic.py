"""XNNPACK in 8-bit integers, dynamic: weights per channel, ranges of activations taken in each call."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.exir import EdgeProgramManager

from frameworks.executorch.recipes._quantisation import lower_quantised, quantise


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],  # noqa: ARG001 - ranges are not learnt
) -> EdgeProgramManager:
    """Quantise weights and lower; one pass over the example inputs lets the weights' observers see them."""
    program = quantise(module, example_inputs, [example_inputs], is_dynamic=True)
    return lower_quantised(program, [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()])

"""XNNPACK in 8-bit integers, static, weights per channel; upstream's quantiser as it is."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager

from frameworks.executorch.recipes._quantisation import lower_quantised, quantise


def lower(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],
) -> EdgeProgramManager:
    """Learn the ranges of activations from the calibration data, quantise and lower."""
    return lower_quantised(quantise(module, example_inputs, calibration), [XnnpackPartitioner()])

"""XNNPACK for language models: fully connected layers with 4-bit weights in groups, and 8-bit activations, dynamic.

Everything else keeps 32 bits, embeddings too, as in ExecuTorch's own exports in this mode.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.exir import EdgeProgramManager
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup

from frameworks.executorch.recipes import _quantisation
from frameworks.exporting.capture import capture
from harness.core.errors import ExportFailed

_GROUP_SIZE: Final = 32
"""Weights that share a scale; the least that XNNPACK takes."""


def quantise(
    module: torch.nn.Module,
    example_inputs: tuple[torch.Tensor, ...],
    calibration: Iterable[tuple[torch.Tensor, ...]],  # noqa: ARG001 - ranges are not learnt
) -> torch.export.ExportedProgram:
    """Round the weights of the layers whose inputs fill groups; the module keeps the rounded ones.

    Raises:
        ExportFailed: There is no such layer.
    """
    if not any(_is_quantised(layer) for layer in module.modules()):
        raise ExportFailed(
            f"the model has no fully connected layer with a multiple of {_GROUP_SIZE} inputs",
            hint="take another recipe, such as `xnnpack_q8_dynamic`",
        )
    config = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4,  # type: ignore[attr-defined] # not in torch's type information
        weight_granularity=PerGroup(_GROUP_SIZE),
    )
    quantize_(module, config, filter_fn=lambda layer, _: _is_quantised(layer))
    return capture(module, example_inputs)


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


def _is_quantised(layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and layer.in_features % _GROUP_SIZE == 0

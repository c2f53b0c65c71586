"""32-bit floating point: the model as it is."""

from __future__ import annotations

import openvino
from torch import nn

from frameworks.exporting.example_folder import Inputs
from frameworks.openvino.recipes.conversion import CalibrationBatches, convert_module


def convert(module: nn.Module, example_inputs: Inputs, batches: CalibrationBatches) -> openvino.Model:  # noqa: ARG001 - a recipe
    """Convert the model."""
    return convert_module(module, example_inputs)

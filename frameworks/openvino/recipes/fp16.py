"""Weights in 16-bit floating point: half the file. What is computed in is the option `precision` of the runner."""

from __future__ import annotations

import openvino
from torch import nn

from frameworks.exporting.example_folder import Inputs
from frameworks.openvino.recipes.conversion import CalibrationBatches, convert_module
from frameworks.openvino.serialisation import deserialise, serialise


def convert(module: nn.Module, example_inputs: Inputs, batches: CalibrationBatches) -> openvino.Model:  # noqa: ARG001 - a recipe
    """Convert the model, and compress its weights as OpenVINO does where it saves a model."""
    return deserialise(serialise(convert_module(module, example_inputs), compress_to_fp16=True))

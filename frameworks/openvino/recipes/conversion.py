"""From torch to OpenVINO, for all recipes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import openvino
import torch
from torch import nn

if TYPE_CHECKING:
    from frameworks.exporting.example_folder import Inputs

CalibrationBatches = Callable[[], "Iterator[Inputs]"]
"""Yields the examples to calibrate with."""


def convert_module(module: nn.Module, example_inputs: Inputs) -> openvino.Model:
    """Return the model that torch.export captures, in OpenVINO's operations, with the shapes of the example inputs."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # about names of torch's own that it will change
        program = torch.export.export(module, example_inputs)
        model = openvino.convert_model(program, example_input=example_inputs)
    # The conversion leaves dimensions open that the program has fixed.
    shapes = dict(zip(model.inputs, (list(tensor.shape) for tensor in example_inputs), strict=True))
    model.reshape(shapes)
    return model

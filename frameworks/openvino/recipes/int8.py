"""Weights and activations in 8 bits, by NNCF's post-training quantisation with the calibration examples."""

from __future__ import annotations

import nncf
import openvino
from torch import nn

from frameworks.exporting.example_folder import Inputs
from frameworks.openvino.recipes.conversion import Batches, convert_module
from harness.core.errors import ExportFailed


def convert(module: nn.Module, example_inputs: Inputs, batches: Batches) -> openvino.Model:
    """Convert the model and quantise it.

    Raises:
        ExportFailed: There is nothing to calibrate with.
    """
    model = convert_module(module, example_inputs)
    examples = [tuple(tensor.numpy() for tensor in batch) for batch in batches()]
    if not examples:
        raise ExportFailed("there is nothing to calibrate with", hint="set `calibration` of the export to 8 or more")
    return nncf.quantize(model, nncf.Dataset(examples), subset_size=len(examples))

"""Weights and activations in 8 bits, by NNCF's post-training quantisation with the calibration examples."""

from __future__ import annotations

import openvino
from torch import nn

from frameworks.exporting.example_folder import Inputs
from frameworks.openvino.recipes.conversion import CalibrationBatches, convert_module
from frameworks.packages import install_command
from harness.core.errors import EnvironmentProblem, ExportFailed


def convert(module: nn.Module, example_inputs: Inputs, batches: CalibrationBatches) -> openvino.Model:
    """Convert the model and quantise it.

    Raises:
        EnvironmentProblem: NNCF is not installed.
        ExportFailed: There is nothing to calibrate with.
    """
    try:
        import nncf  # noqa: PLC0415 - an extra of its own; by name, because its version is part of the provenance
    except ImportError as error:
        hint = install_command("nncf", extras={"nncf": "openvino-int8"})
        raise EnvironmentProblem(f"the recipe needs NNCF: {error}", hint=hint) from error
    model = convert_module(module, example_inputs)
    examples = [tuple(tensor.numpy() for tensor in batch) for batch in batches()]
    if not examples:
        raise ExportFailed("there is nothing to calibrate with", hint="set `calibration` of the export to 8 or more")
    return nncf.quantize(model, nncf.Dataset(examples), subset_size=len(examples))

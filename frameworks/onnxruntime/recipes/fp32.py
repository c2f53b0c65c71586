"""Floating point, as torch exports it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch

from harness.core.errors import ExportFailed

if TYPE_CHECKING:
    import onnx

Inputs = tuple[torch.Tensor, ...]


def export(
    module: torch.nn.Module, example_inputs: Inputs, batches: Iterable[Inputs], names: Sequence[str]
) -> onnx.ModelProto:
    """Return the model that `torch.onnx.export` makes; it reads no batches."""
    del batches
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter's own, on nearly every model
        program = torch.onnx.export(module, example_inputs, dynamo=True, verbose=False, input_names=list(names) or None)
    if program is None:
        raise ExportFailed("torch.onnx.export returned no model")
    return program.model_proto

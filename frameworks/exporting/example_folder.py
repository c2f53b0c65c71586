"""Examples of a folder as tensors. Runs in processes that export or run models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from harness.core.errors import DataUnavailable, ExportFailed
from harness.core.examples import TensorInfo
from harness.files.examples import read_examples
from harness.files.tensors import Array

Inputs = tuple[torch.Tensor, ...]
"""One tensor for each positional argument of a module."""


class ModelExamples:
    """Examples as torch reads them, in the types of a model.

    Args:
        folder: The example folder.
        like: The model's example inputs.

    Raises:
        ExportFailed: The examples do not fit the model.
    """

    def __init__(self, folder: Path, like: Inputs) -> None:
        try:
            self._examples = read_examples(folder)
        except DataUnavailable as error:
            raise ExportFailed(error.message, hint=error.hint) from error
        self.manifest = self._examples.manifest
        self._like = like
        shapes = [tuple(tensor.shape) for tensor in like]
        if [tensor.shape for tensor in self.manifest.inputs] != shapes:
            given = ", ".join(str(list(tensor.shape)) for tensor in self.manifest.inputs)
            wanted = ", ".join(str(list(shape)) for shape in shapes)
            raise ExportFailed(
                f"the examples have inputs of shape {given}; the model takes {wanted}",
                hint="give the provider's options, or the model's `inputs`, the same shapes",
            )

    def __iter__(self) -> Iterator[Inputs]:
        """Yield the inputs of one example after the other; floating-point inputs in the precision of the model's."""
        for arrays in self._examples:
            yield tuple(map(_as_tensor, arrays, self.manifest.inputs, self._like))


def _as_tensor(array: Array, info: TensorInfo, like: torch.Tensor) -> torch.Tensor:
    tensor = torch.from_numpy(np.array(array))  # a copy: what is mapped from a file cannot be written
    if tensor.dtype == like.dtype:
        return tensor
    if tensor.is_floating_point() and like.is_floating_point():
        return tensor.to(like.dtype)
    raise ExportFailed(
        f"the examples have inputs of type {info.dtype}; the model takes {str(like.dtype).removeprefix('torch.')}"
    )

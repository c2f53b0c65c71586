"""Examples of a folder as tensors. Runs in processes that export or run models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import torch

from harness.core.errors import ExportFailed
from harness.core.examples import MANIFEST, ExampleManifest, TensorInfo

Inputs = tuple[torch.Tensor, ...]
"""One tensor for each positional argument of a module."""


class ExampleFolder:
    """Examples as torch reads them, in the types of a model.

    Args:
        folder: The example folder.
        like: The model's example inputs.

    Raises:
        ExportFailed: The examples do not fit the model.
    """

    def __init__(self, folder: Path, like: Inputs) -> None:
        self.manifest = ExampleManifest.model_validate_json((folder / MANIFEST).read_bytes())
        self._folder = folder
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
        with ExitStack() as files:
            streams = [
                files.enter_context((self._folder / f"input-{number}.bin").open("rb"))
                for number in range(len(self._like))
            ]
            for _ in range(self.manifest.count):
                yield tuple(map(_read, streams, self.manifest.inputs, self._like))


def _read(stream: BinaryIO, info: TensorInfo, like: torch.Tensor) -> torch.Tensor:
    content = stream.read(info.size_bytes)
    if len(content) != info.size_bytes:
        raise ExportFailed(f"{stream.name} ends early", hint="delete the folder; it is made again when it is needed")
    dtype: torch.dtype = getattr(torch, info.dtype)
    if not content:
        return torch.empty(info.shape, dtype=like.dtype)
    tensor = torch.frombuffer(bytearray(content), dtype=dtype).reshape(info.shape)
    if tensor.dtype == like.dtype:
        return tensor
    if tensor.is_floating_point() and like.is_floating_point():
        return tensor.to(like.dtype)
    raise ExportFailed(
        f"the examples have inputs of type {info.dtype}; the model takes {str(like.dtype).removeprefix('torch.')}"
    )

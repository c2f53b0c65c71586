"""Outputs of forms of a model on a folder of examples, one example at a time. Runs in the process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import torch

from frameworks.executorch.exporting.model import Inputs, dtype_name, prepare, weights_md5
from frameworks.executorch.exporting.process import Say
from frameworks.executorch.exporting.program import versions
from frameworks.executorch.references.process import ReferenceRequest
from frameworks.executorch.references.stages import Forward, flatten, make_stage
from harness.core.errors import ExportFailed
from harness.core.examples import MANIFEST, ExampleManifest, OutputManifest, Stage, TensorInfo
from harness.files.atomic import write_atomically


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


def write_references(request: ReferenceRequest, say: Say) -> None:
    """Make the model as its export does, and write the outputs of each stage.

    Raises:
        ExportFailed: The model or the recipe cannot be used, or the examples do not fit.
    """
    say(f"making {request.export.definition}")
    prepared = prepare(request.export)
    weights = weights_md5(prepared.module)
    examples = ExampleFolder(request.examples, prepared.example_inputs)
    for stage in sorted(request.stages, key=tuple(Stage).index):  # Quantising, which is last, may change the module.
        say(f"preparing {request.export.definition}, {stage}")
        forward = make_stage(stage, request.export, prepared)
        folder = request.destination / stage
        folder.mkdir()
        outputs = _run(forward, examples, folder, stage, say)
        manifest = OutputManifest(
            stage=stage,
            outputs=outputs,
            count=examples.manifest.count,
            examples=examples.manifest.digest,
            versions=versions(request.export),
            weights_md5=weights,
        )
        write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=2).encode())


def _run(forward: Forward, examples: ExampleFolder, folder: Path, stage: Stage, say: Say) -> tuple[TensorInfo, ...]:
    """Run every example once and append its outputs to the files of the folder."""
    described: tuple[TensorInfo, ...] | None = None
    with ExitStack() as files, torch.no_grad():
        streams: list[BinaryIO] = []
        for number, inputs in enumerate(examples, start=1):
            say(f"{stage} outputs {number}/{examples.manifest.count}")
            tensors = tuple(flatten(forward(*inputs)))
            described = described or _describe(tensors)
            if not streams:
                streams = [
                    files.enter_context((folder / f"output-{index}.bin").open("wb")) for index in range(len(tensors))
                ]
            if _describe(tensors) != described:
                raise ExportFailed(
                    f"{stage}: outputs of example {number - 1} have other shapes or types than those of example 0",
                    hint="outputs of varying shape cannot be evaluated",
                )
            for stream, tensor in zip(streams, tensors, strict=True):
                stream.write(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return described or ()


def _describe(tensors: Sequence[torch.Tensor]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(name=f"output_{number}", dtype=dtype_name(tensor.dtype), shape=tuple(tensor.shape))
        for number, tensor in enumerate(tensors)
    )


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
    raise ExportFailed(f"the examples have inputs of type {info.dtype}; the model takes {dtype_name(like.dtype)}")

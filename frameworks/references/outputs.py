"""Outputs of forms of a model on a folder of examples, one example at a time. Runs in the process of its own."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import torch

from frameworks.exporting.child import Say
from frameworks.exporting.example_folder import ModelExamples
from frameworks.exporting.models import Prepared, dtype_name, prepare, weights_md5
from frameworks.references.process import ReferenceRequest
from frameworks.references.stages import Forward, flatten
from harness.core.errors import ExportFailed
from harness.core.examples import ITEM_BYTES, MANIFEST, OutputManifest, Stage, TensorInfo
from harness.files.atomic import write_atomically

StageMaker = Callable[[Stage, ReferenceRequest, Prepared, Say], Forward]
"""Makes a form of a model, which it may change."""


def write_references(request: ReferenceRequest, make_stage: StageMaker, say: Say) -> None:
    """Make the model as its export does, and write the outputs of each stage.

    Args:
        request: The request.
        make_stage: Makes a stage.
        say: Reports progress.

    Raises:
        ExportFailed: The model or the recipe cannot be used, or the examples do not fit.
    """
    for stage in sorted(request.stages, key=tuple(Stage).index):
        _write_stage(stage, request, make_stage, say)  # of a model of its own: there is never more than one


def _write_stage(stage: Stage, request: ReferenceRequest, make_stage: StageMaker, say: Say) -> None:
    """Write the outputs of a stage of a model that is made for it: one with a state changes its buffers as it runs."""
    say(f"making {request.export.definition}")
    prepared = prepare(request.export)
    weights = weights_md5(prepared.module)
    examples = ModelExamples(request.examples, prepared.example_inputs)
    say(f"preparing {request.export.definition}, {stage}")
    forward = make_stage(stage, request, prepared, say)
    folder = request.destination / stage
    folder.mkdir()
    outputs = _run(forward, examples, folder, stage, say)
    manifest = OutputManifest(
        stage=stage,
        outputs=outputs,
        count=examples.manifest.count,
        examples=examples.manifest.digest,
        versions=_versions(),
        weights_md5=weights,
    )
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=2).encode())


def _run(forward: Forward, examples: ModelExamples, folder: Path, stage: Stage, say: Say) -> tuple[TensorInfo, ...]:
    """Run every example once and append its outputs to the files of the folder."""
    described: tuple[TensorInfo, ...] | None = None
    with ExitStack() as files, torch.no_grad():
        streams: list[BinaryIO] = []
        for number, inputs in enumerate(examples, start=1):
            say(f"{stage} outputs {number}/{examples.manifest.count}")
            tensors = tuple(flatten(forward(*inputs)))
            described = described or _describe(tensors)
            if not streams:
                _check_types(stage, described)
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


def _check_types(stage: Stage, outputs: Sequence[TensorInfo]) -> None:
    """Refuse outputs whose elements cannot be compared, such as complex numbers."""
    for output in outputs:
        if output.dtype not in ITEM_BYTES:
            raise ExportFailed(
                f"{stage}: {output.name} of the model is of type {output.dtype}, which cannot be compared",
                hint=f"let the model return one of: {', '.join(ITEM_BYTES)}",
            )


def _describe(tensors: Sequence[torch.Tensor]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(name=f"output_{number}", dtype=dtype_name(tensor.dtype), shape=tuple(tensor.shape))
        for number, tensor in enumerate(tensors)
    )


def _versions() -> dict[str, str]:
    """Return what the outputs depend on beside the model: torch, and the instruction set that it uses."""
    return {
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }

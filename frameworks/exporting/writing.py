"""What every export process does around a framework's own part: make the model, then write file and report."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterator, Mapping

import psutil
import torch
from msgspec import Struct
from torch import nn

from frameworks.exporting.capture import Constant
from frameworks.exporting.child import ExportTask
from frameworks.exporting.companions import REPORT, beside
from frameworks.exporting.example_folder import Inputs
from frameworks.exporting.exporter import FileExporter
from frameworks.exporting.models import calibration_batches, dtype_name, prepare, weights_md5
from frameworks.python_runner.machine import memory_bytes
from harness.core.benchmark import Export
from harness.core.cached_files import Delegation, ExportReport
from harness.core.examples import TensorInfo
from harness.files.atomic import write_atomically


class ExportedModel(Struct, frozen=True):
    """Model of an export, with what identifies it.

    Attributes:
        module: The module, in evaluation mode. A recipe may change it.
        example_inputs: Example inputs.
        weights_md5: MD5 of its parameters and buffers, as they were before.
        parameters: Number of its parameters.
    """

    module: nn.Module
    example_inputs: Inputs
    weights_md5: str
    parameters: int


def make_model(task: ExportTask) -> ExportedModel:
    """Make the model of an export: for equal requests the same in every framework.

    Raises:
        ExportFailed: The definition cannot be used.
    """
    with task.phase("model", f"making {task.export.definition}"):
        prepared = prepare(task.export)
        parameters = sum(parameter.numel() for parameter in prepared.module.parameters())
        return ExportedModel(prepared.module, prepared.example_inputs, weights_md5(prepared.module), parameters)


def read_batches(task: ExportTask, example_inputs: Inputs) -> Iterator[Inputs]:
    """Yield the batches to calibrate with, and report the progress. Errors as for `calibration_batches`."""
    count = task.export.calibration
    for number, batch in enumerate(calibration_batches(example_inputs, task.export, task.calibration), start=1):
        task.say(f"quantising {number}/{count}")
        yield batch
    if count:
        task.say("lowering the quantised model")


def write_model(
    task: ExportTask,
    exporter: FileExporter,
    model: ExportedModel,
    content: bytes,
    *,
    inputs: tuple[TensorInfo, ...] = (),
    outputs: tuple[TensorInfo, ...] = (),
    delegation: Delegation | None = None,
    sections: dict[str, int] | None = None,
    constants: Mapping[str, Constant] | None = None,
    versions: dict[str, str] | None = None,
) -> None:
    """Write the report, and last the file. Arguments as the attributes of `ExportReport`.

    Args:
        task: The export.
        exporter: Exporter of the framework.
        model: The model.
        content: Bytes of the file.
        inputs: Tensors that it takes; by default the example inputs, by the names of the request.
        outputs: Tensors that it returns.
        delegation: Delegated operators, where the framework tells them.
        sections: Bytes of each part of the file, likewise.
        constants: Values that the file tells who loads it.
        versions: Further versions, of what lies in another environment.
    """
    report = ExportReport(
        export=task.export,
        versions={**list_versions(exporter, task.export), **(versions or {})},
        md5=hashlib.md5(content, usedforsecurity=False).hexdigest(),
        size_bytes=len(content),
        sections=sections or {},
        constants=dict(constants or {}),
        weights_md5=model.weights_md5,
        parameters=model.parameters,
        delegation=delegation,
        inputs=inputs or describe_inputs(task.export, model.example_inputs),
        outputs=outputs,
        seconds={phase: round(spent, 3) for phase, spent in task.seconds.items()},
        peak_memory_bytes=_peak_memory_bytes(),
    )
    write_atomically(beside(task.destination, REPORT), report.model_dump_json(indent=2).encode())
    write_atomically(task.destination, content)


def describe_inputs(export: Export, example_inputs: Inputs) -> tuple[TensorInfo, ...]:
    """Describe example inputs, by the names of the request where it has them."""
    names = [tensor.name for tensor in export.inputs] or [f"input_{index}" for index in range(len(example_inputs))]
    return tuple(
        TensorInfo(name=name, dtype=dtype_name(tensor.dtype), shape=tuple(tensor.shape))
        for name, tensor in zip(names, example_inputs, strict=True)
    )


def list_versions(exporter: FileExporter, export: Export) -> dict[str, str]:
    """Return versions, and the instruction set that torch uses, on which sums and thus quantised models depend."""
    return {
        **exporter.versions(export),
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def _peak_memory_bytes() -> int:
    """Return the peak resident memory of this process; where unknown, of this and the parent process."""
    if (peak := memory_bytes("VmHWM")) is not None:
        return peak
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource  # noqa: PLC0415 - not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

"""Examples in the types that a program takes: a recipe may lower a model to other types than it was written in."""

from __future__ import annotations

from pathlib import Path

from harness.core.errors import BenchmarkFailed
from harness.core.examples import TensorInfo
from harness.core.measurement import Job

_FLOATING = frozenset({"float16", "bfloat16", "float32", "float64"})


def fit_examples(job: Job, examples: Path, folder: Path) -> Path:
    """Return the example folder of a job's program: the given one, or one with its numbers in the program's precision.

    Args:
        job: The job, whose export report says what its program takes; without one the examples are taken as they are.
        examples: The examples of the model.
        folder: Folder for the converted examples.

    Raises:
        BenchmarkFailed: The program takes inputs of another kind.
    """
    from harness.files.examples import read_examples, write_examples  # noqa: PLC0415 - NumPy, which only this needs

    wanted = _program_inputs(job)
    given = read_examples(examples)
    types = [tensor.dtype for tensor in given.tensors]
    if not wanted or [tensor.dtype for tensor in wanted] == types:
        return examples
    if len(wanted) != len(types) or any(
        tensor.dtype != dtype and not {tensor.dtype, dtype} <= _FLOATING
        for tensor, dtype in zip(wanted, types, strict=True)
    ):
        needs = ", ".join(tensor.dtype for tensor in wanted)
        raise BenchmarkFailed(
            f"{job.benchmark.title}: the examples are {', '.join(types)}, and its program takes {needs}"
        )
    fitted = [
        tensor.model_copy(update={"dtype": program.dtype})
        for tensor, program in zip(given.tensors, wanted, strict=True)
    ]
    manifest, labels = given.manifest, given.manifest.labels
    description = f"{manifest.description}; as {', '.join(tensor.dtype for tensor in fitted)}"
    with write_examples(
        folder,
        fitted,
        request=manifest.request,
        split=manifest.split,
        description=description,
        classes=manifest.classes,
    ) as writer:
        for number, arrays in enumerate(given):
            converted = [
                array.astype("float32" if tensor.dtype == "bfloat16" else tensor.dtype)
                for array, tensor in zip(arrays, fitted, strict=True)
            ]
            writer.add(converted, None if labels is None else labels[number])
    return folder


def _program_inputs(job: Job) -> tuple[TensorInfo, ...]:
    return next((file.report.inputs for file in job.files.values() if file.report is not None), ())

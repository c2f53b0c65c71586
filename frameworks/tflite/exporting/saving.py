"""Saving of a model for the converter, and its conversion. Runs in the export process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch

from frameworks.exporting.child import ExportTask
from frameworks.exporting.writing import ExportedModel, make_model, read_batches, write_model
from frameworks.tflite.exporting import converter, exporter
from frameworks.tflite.exporting.conversion import Conversion
from frameworks.tflite.exporting.packages import describe_converter
from harness import shell
from harness.core.command import Command, Completed
from harness.core.errors import ExportFailed
from harness.core.examples import TensorInfo
from harness.files.drafts import open_scratch_folder

_TIMEOUT_S: Final = 1800.0
_NOISE: Final = ("W0000", "I0000", "INFO:", "WARNING:")
"""Beginnings of lines by which the converter's libraries tell what they do."""


def write_file(task: ExportTask) -> None:
    """Make the model, save it, let the converter make the file, and write the report.

    Raises:
        ExportFailed: The definition or the recipe cannot be used, or the converter fails.
    """
    conversion = _load_recipe(task)
    model = make_model(task)
    with open_scratch_folder(task.destination.parent) as folder:
        with task.phase("save", "saving the model for the converter"):
            request = _save(task, model, conversion, folder)
        with task.phase("convert", f"converting by {task.export.recipe}"):
            completed = _convert(request, folder, task)
        file = folder / _FILE
        if not completed.ok or not file.is_file():
            raise ExportFailed(f"litert-torch cannot convert the model: {_last_message(completed)}")
        content = file.read_bytes()
    write_model(
        task,
        exporter.EXPORTER,
        model,
        content,
        outputs=_describe_outputs(model),
        versions={name: version for name, version in _versions().items() if name != "torch"},
    )


_FILE: Final = "model.tflite"


def _load_recipe(task: ExportTask) -> Conversion:
    name = task.export.recipe
    conversion = exporter.EXPORTER.recipes.find(name).load()()
    if not isinstance(conversion, Conversion):
        raise ExportFailed(
            f"recipe `{name}` returned {type(conversion).__name__}",
            hint="it must return a `frameworks.tflite.exporting.conversion.Conversion`",
        )
    return conversion


def _save(task: ExportTask, model: ExportedModel, conversion: Conversion, folder: Path) -> Path:
    """Write the module, the batches to calibrate with, and the request for the converter; return the last."""
    program = folder / "model.pt2"
    torch.export.save(torch.export.export(model.module, model.example_inputs), program)
    batches = _save_batches(task, model, folder) if conversion.quantisation == "static" else ()
    request = folder / "request.json"
    request.write_text(
        json.dumps(
            {
                "program": str(program),
                "destination": str(folder / _FILE),
                "quantisation": conversion.quantisation,
                "channels_last": conversion.channels_last,
                "calibration": [str(path) for path in batches],
            }
        ),
        encoding="utf-8",
    )
    return request


def _save_batches(task: ExportTask, model: ExportedModel, folder: Path) -> Iterator[Path]:
    for number, batch in enumerate(read_batches(task, model.example_inputs)):
        path = folder / f"batch-{number}.pt"
        torch.save(list(batch), path)
        yield path


def _convert(request: Path, folder: Path, task: ExportTask) -> Completed:
    python, packages = os.environ[exporter.PYTHON], os.environ.get(exporter.FOLDER)
    # -P: the folder of the script must not come before the packages.
    argv = (python, "-P", str(Path(converter.__file__)), str(request))
    variables = {"PYTHONPATH": packages} if packages else {}

    def tell(line: str) -> None:
        if line.startswith("progress: "):
            task.say(line.removeprefix("progress: "))

    return shell.run(Command(argv, env=variables, timeout_s=_TIMEOUT_S, cwd=folder), on_line=tell)


def _last_message(completed: Completed) -> str:
    """Return the last line that says something; the rest is in the log."""
    sys.stderr.write(f"{completed.stdout}\n{completed.stderr}\n")
    lines = [line.strip() for line in completed.stderr.splitlines() if line.strip() and not line.startswith(_NOISE)]
    return lines[-1][:300] if completed.exit_code and lines else completed.describe()


def _versions() -> dict[str, str]:
    folder = os.environ.get(exporter.FOLDER)
    python = None if folder else Path(os.environ[exporter.PYTHON])
    return dict(describe_converter(python, Path()).versions)


def _describe_outputs(model: ExportedModel) -> tuple[TensorInfo, ...]:
    with torch.no_grad():
        outputs = model.module(*model.example_inputs)
    tensors = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return tuple(
        TensorInfo(name=f"output_{index}", dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape))
        for index, tensor in enumerate(tensors)
        if isinstance(tensor, torch.Tensor)
    )

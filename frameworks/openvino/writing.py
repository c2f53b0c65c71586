"""A model as a file that OpenVINO loads: runs in the export process."""

from __future__ import annotations

from typing import Final

import openvino

from frameworks.exporting.catalogue import recipes_of
from frameworks.exporting.child import ExportTask
from frameworks.exporting.writing import describe_inputs, make_model, read_batches, write_model
from frameworks.openvino.archive import pack
from frameworks.openvino.element_types import DTYPES
from frameworks.openvino.framework import EXPORTER
from frameworks.openvino.serialisation import serialise
from harness.core.errors import ExportFailed
from harness.core.examples import TensorInfo

_RECIPES: Final = recipes_of("openvino")


def write_archive(task: ExportTask) -> None:
    """Make the model, convert it by its recipe, and write it.

    Raises:
        ExportFailed: The definition or the recipe cannot be used.
    """
    model = make_model(task)
    with task.phase("lower", f"converting by {task.export.recipe}"):
        convert = _RECIPES.find(task.export.recipe).load()
        converted = convert(model.module, model.example_inputs, lambda: read_batches(task, model.example_inputs))
        if not isinstance(converted, openvino.Model):
            kind = type(converted).__name__
            raise ExportFailed(f"recipe `{task.export.recipe}` returned {kind}", hint="return an openvino.Model")
        files = serialise(converted)
    sections = {"graph": len(files.graph), "weights": len(files.weights)}
    inputs = describe_inputs(task.export, model.example_inputs)
    outputs = tuple(_describe(index, output) for index, output in enumerate(converted.outputs))
    write_model(task, EXPORTER, model, pack(files), inputs=inputs, outputs=outputs, sections=sections)


def _describe(index: int, output: openvino.Output) -> TensorInfo:
    dtype = output.element_type.get_type_name()
    if output.partial_shape.is_dynamic or dtype not in DTYPES:
        raise ExportFailed(
            f"output {index} is {dtype} {output.partial_shape}", hint="its shape and type have to be fixed"
        )
    return TensorInfo(name=f"output_{index}", dtype=DTYPES[dtype], shape=tuple(output.shape))

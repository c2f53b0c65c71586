"""A model as a file that torch loads again: runs in the export process."""

from __future__ import annotations

from typing import Final

import torch

from frameworks.exporting.catalogue import recipes_of
from frameworks.exporting.child import ExportTask
from frameworks.exporting.models import dtype_name
from frameworks.exporting.writing import describe_inputs, make_model, write_model
from frameworks.pytorch.framework import EXPORTER
from frameworks.references.stages import flatten
from harness.core.errors import ExportFailed
from harness.core.examples import TensorInfo

_RECIPES: Final = recipes_of("pytorch")


def write_module(task: ExportTask) -> None:
    """Make the model and write it by its recipe, which returns the bytes of the file.

    Raises:
        ExportFailed: The definition or the recipe cannot be used.
    """
    model = make_model(task)
    with task.phase("lower", f"writing by {task.export.recipe}"):
        content = _RECIPES.find(task.export.recipe).load()(model.module, model.example_inputs)
    if not isinstance(content, bytes):
        raise ExportFailed(f"recipe `{task.export.recipe}` returned {type(content).__name__}", hint="return bytes")
    with torch.no_grad():  # last: a model that has a state changes it
        outputs = tuple(flatten(model.module(*model.example_inputs)))
    described = tuple(
        TensorInfo(name=f"output_{index}", dtype=dtype_name(tensor.dtype), shape=tuple(tensor.shape))
        for index, tensor in enumerate(outputs)
    )
    inputs = describe_inputs(task.export, model.example_inputs)
    write_model(task, EXPORTER, model, content, inputs=inputs, outputs=described)

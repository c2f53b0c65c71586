"""From a model to an ONNX file, by a recipe: runs in the export process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import onnx

from frameworks.exporting.catalogue import recipes_of
from frameworks.exporting.child import ExportTask
from frameworks.exporting.writing import make_model, read_batches, write_model
from frameworks.onnxruntime.framework import EXPORTER
from harness.core.errors import ExportFailed
from harness.core.examples import TensorInfo

_RECIPES: Final = recipes_of("onnxruntime")

_KEPT: Final = ("namespace",)
"""Metadata of nodes that stay: the others are paths and texts of the machine that exported."""


def write_onnx(task: ExportTask) -> None:
    """Make the model and write it by its recipe.

    Raises:
        ExportFailed: The definition or the recipe cannot be used.
    """
    model = make_model(task)
    recipe = _RECIPES.find(task.export.recipe).load()
    with task.phase("lower", f"exporting by {task.export.recipe}"):
        batches = read_batches(task, model.example_inputs)
        names = [tensor.name for tensor in task.export.inputs]
        made = recipe(model.module, model.example_inputs, batches, names)
    if not isinstance(made, onnx.ModelProto):
        raise ExportFailed(
            f"recipe `{task.export.recipe}` returned {type(made).__name__}", hint="it must return an onnx.ModelProto"
        )
    with task.phase("emit", "writing the model"):
        _strip(made)
        content: bytes = made.SerializeToString(deterministic=True)
    write_model(
        task,
        EXPORTER,
        model,
        content,
        inputs=_describe(task, made.graph.input),
        outputs=_describe(task, made.graph.output),
    )


def _strip(model: onnx.ModelProto) -> None:
    """Remove what would differ between machines that export the same."""
    for node in (*model.graph.node, *(node for function in model.functions for node in function.node)):
        kept = [entry for entry in node.metadata_props if entry.key in _KEPT]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        node.doc_string = ""
    del model.graph.metadata_props[:]
    del model.metadata_props[:]
    model.graph.doc_string = model.doc_string = ""


def _describe(task: ExportTask, values: Iterable[Any]) -> tuple[TensorInfo, ...]:
    """Describe inputs or outputs.

    Raises:
        ExportFailed: A shape is dynamic.
    """
    infos = []
    for value in values:
        tensor = value.type.tensor_type
        if any(dimension.dim_param for dimension in tensor.shape.dim):
            reason = f"`{value.name}` of `{task.export.definition}` has a dynamic shape"
            raise ExportFailed(reason, hint="give the export inputs of fixed shapes")
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        shape = tuple(int(dimension.dim_value) for dimension in tensor.shape.dim)
        infos.append(TensorInfo(name=value.name, dtype=str(dtype), shape=shape))
    return tuple(infos)

"""Models of OpenVINO as bytes. Runs in processes that import it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import openvino

from frameworks.openvino.archive import GRAPH, WEIGHTS, ArchivedModel


def serialise(model: openvino.Model, *, compress_to_fp16: bool = False) -> ArchivedModel:
    """Return the two files that OpenVINO writes. Equal models give equal files.

    Args:
        model: The model.
        compress_to_fp16: Whether floating-point weights are written in half their size.
    """
    _number_nodes(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, GRAPH)
        openvino.save_model(model, path, compress_to_fp16=compress_to_fp16)
        return ArchivedModel(path.read_bytes(), path.with_name(WEIGHTS).read_bytes())


def deserialise(model: ArchivedModel) -> openvino.Model:
    """Return the model of two files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, GRAPH)
        path.write_bytes(model.graph)
        path.with_name(WEIGHTS).write_bytes(model.weights)
        return openvino.Core().read_model(path).clone()


def _number_nodes(model: openvino.Model) -> None:
    """Name nodes that were given no name by their place: OpenVINO counts all that the process has made until then."""
    for place, node in enumerate(model.get_ordered_ops()):
        if re.fullmatch(rf"{re.escape(node.get_type_name())}_\d+", node.get_friendly_name()):
            node.set_friendly_name(f"{node.get_type_name()}_{place}")

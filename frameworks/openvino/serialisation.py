"""Models of OpenVINO as bytes. Runs in processes that import it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import openvino

from frameworks.openvino.archive import GRAPH, WEIGHTS, Model


def serialise(model: openvino.Model, *, compress_to_fp16: bool = False) -> Model:
    """Return the two files that OpenVINO writes, as it names its constants and not as this process happened to.

    Args:
        model: The model.
        compress_to_fp16: Whether floating-point weights are written in half their size.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, GRAPH)
        openvino.save_model(model, path, compress_to_fp16=compress_to_fp16)
        return Model(path.read_bytes(), path.with_name(WEIGHTS).read_bytes())


def deserialise(model: Model) -> openvino.Model:
    """Return the model of two files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, GRAPH)
        path.write_bytes(model.graph)
        path.with_name(WEIGHTS).write_bytes(model.weights)
        return openvino.Core().read_model(path).clone()

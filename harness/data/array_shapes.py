"""Arrays of files as examples: which axis the examples are, and which types may become which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from harness.core.errors import DataUnavailable
from harness.core.examples import TensorInfo
from harness.files.tensors import Array


def split_examples(array: Array, tensor: TensorInfo, file: Path) -> Array:
    """Return an array whose first axis are the examples, [N, *shape]; a view.

    An array of the input's own shape is one example. So are others with a further axis in front, [N, *shape], and those
    that lack the axis of the batch: [N * batch, *shape[1:]], and [*shape[1:]] where the batch is 1.

    Raises:
        DataUnavailable: It has another shape.
    """
    shape = tensor.shape
    if array.shape == shape:
        return array[np.newaxis]
    if array.shape[1:] == shape and array.ndim:
        return array
    batch = shape[0] if shape else 1
    if shape and array.ndim and array.shape[1:] == shape[1:] and len(array) >= batch:
        count = len(array) // batch
        return array[: count * batch].reshape(count, *shape)
    if shape and batch == 1 and array.shape == shape[1:]:
        return array[np.newaxis, np.newaxis]
    raise DataUnavailable(
        f"{file}: an array of {array.dtype} {list(array.shape)} for input `{tensor.name}`, expected {tensor.dtype} "
        f"{_text(shape)} for one example, or [N, {_text(shape)[1:]} for N",
        hint="change the file, or `inputs` of the test",
    )


def convert_type(array: Array, tensor: TensorInfo, example: str) -> Array:
    """Return an array in the type of an input, where that keeps what it means.

    Floating-point numbers may be rounded to another floating-point type, and integers become another integer type that
    holds them. Nothing else is converted: bytes of pixels are not values that a network was trained on.

    Raises:
        DataUnavailable: It is of another kind, or does not fit.
    """
    wanted = np.dtype(tensor.dtype)
    if array.dtype == wanted:
        return array
    is_float = array.dtype.kind == wanted.kind == "f"
    is_integer = array.dtype.kind in "iu" and wanted.kind in "iu"
    if is_float:
        with np.errstate(over="ignore"):
            return array.astype(wanted)
    if is_integer and _holds(wanted, array):
        return array.astype(wanted)
    problem = "its values do not fit into" if is_integer else "the input is"
    raise DataUnavailable(
        f"{example}, input `{tensor.name}`: the file has {array.dtype}, {problem} {tensor.dtype}",
        hint=f"save {tensor.dtype} in the file, or change `type` of the input",
    )


def _holds(wanted: np.dtype[Any], array: Array) -> bool:
    limits = np.iinfo(wanted)
    return not array.size or limits.min <= int(array.min()) <= int(array.max()) <= limits.max


def _text(shape: tuple[int, ...]) -> str:
    return str(list(shape))

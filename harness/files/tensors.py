"""Tensors as raw little-endian bytes, and as NumPy arrays.

NumPy has no `bfloat16`: such tensors are read as `float32`, which holds each of their values, and written from
`float32`, rounded to the nearest value (ties to even).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import DataUnavailable
from harness.core.examples import TensorInfo

Array = NDArray[Any]

BFLOAT16: Final = "bfloat16"


def map_tensor(file: Path, tensor: TensorInfo, count: int) -> Array:
    """Map a file with one tensor of several examples: an array whose first axis are the examples, of stored elements.

    Raises:
        DataUnavailable: The file cannot be read.
    """
    shape = (count, *tensor.shape)
    if count * tensor.size_bytes == 0:  # an empty file cannot be mapped
        return np.empty(shape, _stored_dtype(tensor))
    try:
        return np.asarray(np.memmap(file, _stored_dtype(tensor), "r", shape=shape))
    except OSError as error:
        raise DataUnavailable(f"{file}: {error.strerror or error}") from error


def decode(stored: Array, tensor: TensorInfo) -> Array:
    """Return the values of stored elements: the same array, unless they are `bfloat16`."""
    if tensor.dtype != BFLOAT16:
        return stored
    bits = np.asarray(stored, np.uint32).reshape(-1) << 16
    return bits.view(np.float32).reshape(stored.shape)


def encode(array: Array, tensor: TensorInfo, example: str) -> bytes:
    """Return the bytes of one tensor.

    Args:
        array: Its values, `float32` for `bfloat16`.
        tensor: Its type and shape.
        example: The example that it belongs to, for messages.

    Raises:
        DataUnavailable: The array has another type or shape.
    """
    expected = "float32" if tensor.dtype == BFLOAT16 else tensor.dtype
    if array.dtype.name != expected or array.shape != tensor.shape:
        actual = f"{array.dtype.name} {list(array.shape)}"
        raise DataUnavailable(f"{example}, `{tensor.name}`: {actual}, expected {expected} {list(tensor.shape)}")
    stored = _round_to_bfloat16(array) if tensor.dtype == BFLOAT16 else array
    return np.ascontiguousarray(stored, _stored_dtype(tensor)).tobytes()


def _stored_dtype(tensor: TensorInfo) -> np.dtype[Any]:
    """Return the type of the file's elements; those of `bfloat16` are its bits."""
    return np.dtype("uint16" if tensor.dtype == BFLOAT16 else tensor.dtype).newbyteorder("<")


def _round_to_bfloat16(array: Array) -> Array:
    """Return the upper half of each number's bits, rounded; of what is not a number, one that is none either."""
    values = np.ascontiguousarray(array, np.float32).reshape(-1)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)

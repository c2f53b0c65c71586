"""Streams of outputs for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.analysis.accuracy.arrays import OutputStream
from harness.core.examples import TensorInfo


def stream(*outputs: NDArray[Any], dtypes: Sequence[str] = ()) -> OutputStream:
    """Return a stream of outputs, each an array whose first dimension is the example."""
    names = dtypes or [array.dtype.name for array in outputs]
    tensors = [
        TensorInfo(name=f"output_{index}", dtype=name, shape=array.shape[1:])
        for index, (array, name) in enumerate(zip(outputs, names, strict=True))
    ]
    count = len(outputs[0]) if outputs else 0
    return OutputStream(tensors, count, ([array[index] for array in outputs] for index in range(count)))


def floats(*rows: Iterable[float], dtype: str = "float32") -> NDArray[Any]:
    return np.array([list(row) for row in rows], dtype=dtype)


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the bits of bfloat16, cut off."""
    return (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)

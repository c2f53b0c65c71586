"""Outputs as streams of examples, and their elements as bits and as 64-bit floats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from harness.core.examples import TensorInfo

Array = NDArray[Any]
Floats = NDArray[np.float64]
OutputArrays = Sequence[Array]
"""The outputs of one example, in the order of their descriptions; `bfloat16` as bits in `uint16` or as `float32`."""

FLOATING: Final = frozenset({"float16", "bfloat16", "float32", "float64"})


class OutputStream(Struct, frozen=True):
    """Outputs of one stage or build, one example at a time.

    Attributes:
        tensors: Description of each output.
        count: Number of examples.
        examples: The outputs of each example. Consumed once; only one example is kept at a time.
    """

    tensors: Sequence[TensorInfo]
    count: int
    examples: Iterable[OutputArrays]


class OutputMismatch(ValueError):
    """Outputs that are not of the described form, or that have no counterpart; the message is for users."""


def describe_mismatch(reference: OutputStream, other: OutputStream, *, same_precision: bool = True) -> str | None:
    """Return in words why two streams cannot be compared element by element; None where they can.

    Names are not compared: runtimes number the outputs that a program names.

    Args:
        reference: The outputs that were expected.
        other: The outputs to compare with them.
        same_precision: Whether floating-point and integer types of another size are a mismatch.
    """
    if len(reference.tensors) != len(other.tensors):
        return f"{_count(len(other.tensors), 'output')} instead of {len(reference.tensors)}"
    for index, (expected, actual) in enumerate(zip(reference.tensors, other.tensors, strict=True)):
        if tuple(expected.shape) != tuple(actual.shape):
            return f"output {index} has the shape {list(actual.shape)} instead of {list(expected.shape)}"
        kinds = [tensor.dtype if same_precision else _kind(tensor.dtype) for tensor in (expected, actual)]
        if kinds[0] != kinds[1]:
            return f"output {index} has the element type {actual.dtype} instead of {expected.dtype}"
    if reference.count != other.count:
        return f"{_count(other.count, 'example')} instead of {reference.count}"
    return None


def check_example(tensors: Sequence[TensorInfo], example: OutputArrays) -> None:
    """Check that arrays are of the described form.

    Raises:
        OutputMismatch: They are not.
    """
    if len(example) != len(tensors):
        raise OutputMismatch(f"{_count(len(example), 'output')} instead of {len(tensors)}")
    for index, (tensor, array) in enumerate(zip(tensors, example, strict=True)):
        if array.shape != tuple(tensor.shape):
            raise OutputMismatch(f"output {index} has the shape {list(array.shape)} instead of {list(tensor.shape)}")
        if array.dtype.name not in _stored_as(tensor.dtype):
            raise OutputMismatch(f"output {index} is stored as {array.dtype.name} instead of {tensor.dtype}")


def pair_examples(reference: OutputStream, other: OutputStream) -> Iterator[tuple[OutputArrays, OutputArrays]]:
    """Yield the outputs of each example from two streams.

    Raises:
        OutputMismatch: An array is not as described, or one stream does not have the described number of examples.
    """
    paired = 0
    for expected, actual in zip_longest(reference.examples, other.examples):
        if expected is None or actual is None:
            raise OutputMismatch(f"outputs end after {_count(paired, 'example')} of {reference.count}")
        check_example(reference.tensors, expected)
        check_example(other.tensors, actual)
        paired += 1
        yield expected, actual
    if paired != reference.count:
        raise OutputMismatch(f"outputs have {_count(paired, 'example')} instead of {reference.count}")


def to_float64(array: Array, dtype: str) -> Floats:
    """Convert elements to 64-bit floats, which is exact but for integers beyond 2**53.

    Args:
        array: The elements.
        dtype: Their type.
    """
    return _decode(array, dtype).astype(np.float64)


def unequal_elements(reference: Array, other: Array, dtype: str) -> NDArray[np.bool_]:
    """Return for each element whether its bits differ; all values that are not a number count as the same one."""
    before, after = (np.ascontiguousarray(_decode(array, dtype)) for array in (reference, other))
    bits = np.dtype(f"u{before.dtype.itemsize}")
    unequal = (before.view(bits) != after.view(bits)).reshape(reference.shape)
    if dtype in FLOATING and unequal.any():
        unequal &= ~(np.isnan(to_float64(reference, dtype)) & np.isnan(to_float64(other, dtype)))
    return np.asarray(unequal)


def _decode(array: Array, dtype: str) -> Array:
    """Return an array whose elements are numbers: bits of `bfloat16` are the upper half of those of `float32`."""
    if dtype == "bfloat16" and array.dtype == np.uint16:
        return np.asarray((array.astype(np.uint32) << 16).view(np.float32))
    return array


def _kind(dtype: str) -> str:
    if dtype in FLOATING:
        return "floating"
    return dtype if dtype == "bool" else "integer"


def _stored_as(dtype: str) -> frozenset[str]:
    return frozenset({"uint16", "float32"}) if dtype == "bfloat16" else frozenset({dtype})


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

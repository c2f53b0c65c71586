"""Raw numbers of inputs: of files, or ones."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Final

from frameworks.python_runner.engine import Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure

_ONES: Final = MappingProxyType(
    {
        "bool": b"\x01",
        "int8": b"\x01",
        "uint8": b"\x01",
        "int16": struct.pack("<h", 1),
        "uint16": struct.pack("<H", 1),
        "int32": struct.pack("<i", 1),
        "uint32": struct.pack("<I", 1),
        "int64": struct.pack("<q", 1),
        "uint64": struct.pack("<Q", 1),
        "float16": struct.pack("<e", 1.0),
        "bfloat16": b"\x80\x3f",
        "float32": struct.pack("<f", 1.0),
        "float64": struct.pack("<d", 1.0),
    }
)
"""A one of each element type, little-endian."""


def size_bytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor in one example.

    Raises:
        RunnerFailure: Its element type is not known.
    """
    return prod(tensor.shape) * len(_one(tensor))


def read_inputs(tensors: Sequence[Tensor], files: Sequence[Path]) -> list[bytes]:
    """Return the inputs: the contents of files, or ones.

    Raises:
        RunnerFailure: Files do not fit, naming file, expected and actual bytes.
    """
    if not files:
        return [_one(tensor) * prod(tensor.shape) for tensor in tensors]
    check_input_count(files, len(tensors))
    contents = []
    for index, (tensor, file) in enumerate(zip(tensors, files, strict=True)):
        check_file(file, ExitStatus.USAGE)
        content = file.read_bytes()
        if len(content) != size_bytes(tensor):
            sentence = f"{file} has {len(content)} bytes; input {index} of the method needs {size_bytes(tensor)}"
            raise RunnerFailure(ExitStatus.USAGE, sentence)
        contents.append(content)
    return contents


def check_input_count(files: Sequence[Path], count: int) -> None:
    """Check that there is a file for each input.

    Raises:
        RunnerFailure: There are more, or fewer.
    """
    if len(files) != count:
        sentence = f"argument --inputs: {len(files)} files given; the method has {count} inputs"
        raise RunnerFailure(ExitStatus.USAGE, sentence)


def check_file(path: Path, status: ExitStatus) -> None:
    """Check that there is a file.

    Raises:
        RunnerFailure: There is none, with this status.
    """
    if not path.exists():
        raise RunnerFailure(status, f"no such file: {path}")
    if not path.is_file():
        raise RunnerFailure(status, f"not a file: {path}")


def _one(tensor: Tensor) -> bytes:
    if tensor.dtype not in _ONES:
        sentence = f"input `{tensor.name}` is of type {tensor.dtype}, which the runner cannot feed"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    return _ONES[tensor.dtype]

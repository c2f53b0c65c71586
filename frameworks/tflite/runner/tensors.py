"""Names, shapes and layouts of the tensors of a model, alike for both ways of loading it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from frameworks.python_runner.engine import Tensor

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

IMAGE = 4
"""Dimensions of a batch of images."""

_NUMBERED = re.compile(r"(?:args|output)(?:_\d{1,6})+")


def sort_arguments(names: Sequence[str]) -> list[int]:
    """Return the places of names in the order of a function's arguments.

    litert-torch numbers them (`args_0`, `args_10`, `output_1`), and signatures list them by the alphabet. Names of
    another form keep their order.
    """
    if not all(_NUMBERED.fullmatch(name) for name in names):
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda index: [int(part) for part in re.findall(r"\d+", names[index])])


def described(tensor: Tensor, layout: str) -> Tensor:
    """Return an input as the caller gives it: images as NCHW where the model takes them as NHWC."""
    if layout != "nhwc" or len(tensor.shape) != IMAGE:
        return tensor
    batch, height, width, channels = tensor.shape
    return tensor._replace(shape=(batch, channels, height, width))


def arrange(content: bytes, tensor: Tensor, dtype: np.dtype[np.generic], layout: str) -> npt.NDArray[np.generic]:
    """Return the numbers of an input as the model takes them.

    Args:
        content: Raw numbers, as `described` says.
        tensor: The input as the model takes it.
        dtype: Its element type.
        layout: The option `layout`.
    """
    import numpy as np  # noqa: PLC0415 - the engine is imported without it

    given = np.frombuffer(content, dtype).reshape(described(tensor, layout).shape)
    if layout == "nhwc" and len(tensor.shape) == IMAGE:
        return np.ascontiguousarray(given.transpose(0, 2, 3, 1))
    return given

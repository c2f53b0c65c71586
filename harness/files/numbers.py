"""Numbers in files: NumPy's format, raw bytes of a given element type, or text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.core.examples import DTYPES, ITEM_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]

TEXT: Final = "text"
"""Element type of files with numbers as text; they are read as `float64`."""

NPY: Final = ".npy"
_SEPARATORS: Final = str.maketrans(",;[](){}", " " * 8)


class UnreadableNumbers(ValueError):
    """A file does not hold the numbers that it should; the message is for users."""


def element_types() -> tuple[str, ...]:
    """Return the names of element types that a file of numbers may have."""
    return (*sorted({*DTYPES, *ITEM_BYTES}), TEXT)


def is_self_describing(path: Path | str) -> bool:
    """Return whether a file of this name says itself what its numbers are."""
    return str(path).endswith(NPY)


def read_numbers(path: Path, dtype: str | None = None) -> tuple[Array, str]:
    """Read all numbers of a file.

    Args:
        path: The file; one that ends in `.npy` is of NumPy's format whatever the element type.
        dtype: Element type of raw little-endian numbers, as specifications or NumPy name it; `text` or None for text:
            numbers between white space, commas and brackets.

    Returns:
        The numbers (`bfloat16` as its bits, in `uint16`), and the name of their element type.

    Raises:
        UnreadableNumbers: It cannot be read, or does not hold such numbers.
    """
    import numpy as np  # noqa: PLC0415 - specifications are read without it

    try:
        if is_self_describing(path):
            numbers = np.load(path, allow_pickle=False)
            return numbers.astype(numbers.dtype.newbyteorder("="), copy=False), numbers.dtype.name
        if dtype is None or dtype == TEXT:
            return _parse_text(path), "float64"
        return _read_raw(path, DTYPES.get(dtype, dtype))
    except OSError as error:
        raise UnreadableNumbers(f"{path.name} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, AttributeError) as error:
        if isinstance(error, UnreadableNumbers):
            raise
        raise UnreadableNumbers(f"{path.name} is no array in NumPy's format: {error}") from error


def _parse_text(path: Path) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415

    words = path.read_text(encoding="utf-8", errors="replace").translate(_SEPARATORS).split()
    try:
        return np.array([float(word) for word in words], dtype=np.float64)
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        raise UnreadableNumbers(f"{path.name} is no list of numbers: it has `{wrong[:40]}`") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _read_raw(path: Path, dtype: str) -> tuple[Array, str]:
    import numpy as np  # noqa: PLC0415

    if dtype not in ITEM_BYTES:
        known = ", ".join(element_types())
        raise UnreadableNumbers(f"{path.name}: there is no element type `{dtype}`; known are {known}")
    size = path.stat().st_size
    if size % ITEM_BYTES[dtype]:
        raise UnreadableNumbers(f"{path.name} has {size} bytes, which is no whole number of {dtype}")
    stored = "uint16" if dtype == "bfloat16" else dtype
    return np.fromfile(path, dtype=np.dtype(stored).newbyteorder("<")), dtype

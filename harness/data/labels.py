"""Labels: the class of each example, in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.core.errors import DataUnavailable


def read_labels(file: Path, count: int) -> list[int]:
    """Return the labels of a file: an array of integers (`.npy`), or text with one number a line.

    Raises:
        DataUnavailable: It cannot be read, is no such file, or has another number of labels than there are examples.
    """
    labels = _read_array(file) if file.suffix == ".npy" else _read_text(file)
    if len(labels) != count:
        raise DataUnavailable(f"{file} has {len(labels)} labels for {count} examples")
    negative = next((number for number, label in enumerate(labels) if label < 0), None)
    if negative is not None:
        raise DataUnavailable(f"{file}: label {negative} is {labels[negative]}", hint="classes count from 0")
    return labels


def _read_array(file: Path) -> list[int]:
    try:
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataUnavailable(f"{file}: {error}") from error
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataUnavailable(f"{file} is {array.dtype} {list(array.shape)}, labels are integers [N]")
    return [int(label) for label in array]


def _read_text(file: Path) -> list[int]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataUnavailable(f"{file}: {error}", hint="labels are `.npy`, or text with one number a line") from error
    labels = []
    for number, line in enumerate(lines, start=1):
        try:
            labels.append(int(line))
        except ValueError as error:
            raise DataUnavailable(f"{file}:{number}: {line[:40]!r} is no whole number") from error
    return labels

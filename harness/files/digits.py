"""Scikit-learn's digits: 1797 images of 8 x 8 pixels, read from the installed package without importing it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.core.errors import DataUnavailable
from harness.core.examples import Split
from harness.files.installation import install_command

_FIFTH: Final = 5
"""Each fifth image is for evaluation; the others are for training and calibration. Models are trained by this rule."""


def digits_file() -> Path:
    """Return the file of the images.

    Raises:
        DataUnavailable: Scikit-learn is not installed.
    """
    spec = find_spec("sklearn")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        file = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if file.is_file():
            return file
    raise DataUnavailable("the digits are part of scikit-learn, which is not installed", hint=install_command({"data"}))


def read_digits(split: Split) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the images of a split, [N, 1, 8, 8] in 0..1, and their digits, [N].

    Raises:
        DataUnavailable: Scikit-learn is not installed.
    """
    table = np.loadtxt(digits_file(), delimiter=",", dtype=np.float32)
    is_evaluation = np.arange(len(table)) % _FIFTH == 0
    rows = table[is_evaluation if split is Split.EVALUATION else ~is_evaluation]
    return (rows[:, :-1] / 16).reshape(-1, 1, 8, 8), rows[:, -1].astype(np.int64)

"""Files of two programs: the same numbers are the same, however they are stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.analysis.accuracy.files import compare_files
from harness.core.verdict import OutputVerdict


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_the_order_of_bytes_and_axes_is_no_difference(dtype: str, tmp_path: Path) -> None:
    numbers = np.arange(6, dtype=dtype).reshape(2, 3)
    files = tmp_path / "control.npy", tmp_path / "treatment.npy"
    np.save(files[0], numbers)
    np.save(files[1], np.asfortranarray(numbers.astype(numbers.dtype.newbyteorder(">"))))
    assert compare_files("scores", *files).verdict is OutputVerdict.IDENTICAL

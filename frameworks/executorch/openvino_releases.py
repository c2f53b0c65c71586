"""Releases of OpenVINO that ExecuTorch's delegate can use. Standard library alone: the Python runner uses it."""

from __future__ import annotations

import re
from typing import Final

VARIABLE: Final = "OPENVINO_LIB_PATH"
"""Environment variable in which the delegate looks for the library (backends/openvino/runtime/OpenvinoBackend.cpp)."""

FIRST_UNUSABLE: Final = 2026
"""Year of the first release that uses weights which the delegate has freed (docs/decisions/0037)."""

REMEDY: Final = (
    "install the extra `openvino`, whose command `harness doctor` shows, or name the library of an older release in "
    f"{VARIABLE}"
)
"""What to do about it."""


def find_problem(version: str) -> str | None:
    """Return why the delegate cannot use a release, as a sentence without its end; None where it can."""
    year = re.match(r"\d{4}(?=\.)", version)
    if year is None or int(year[0]) < FIRST_UNUSABLE:
        return None
    release = version.partition("-")[0]
    return f"OpenVINO {release} reads the model's weights from memory that ExecuTorch's delegate has freed"

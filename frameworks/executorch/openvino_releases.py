"""Releases of OpenVINO that ExecuTorch's delegate can use. Standard library alone: the Python runner uses it."""

from __future__ import annotations

import ctypes
import os
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


class _Version(ctypes.Structure):
    """`ov_version_t` of openvino/c/ov_common.h."""

    _fields_ = (("build", ctypes.c_char_p), ("description", ctypes.c_char_p))


def find_problem(version: str) -> str | None:
    """Return why the delegate cannot use a release, as a sentence without its end; None where it can."""
    year = re.match(r"\d{4}(?=\.)", version)
    if year is None or int(year[0]) < FIRST_UNUSABLE:
        return None
    release = version.partition("-")[0]
    return f"OpenVINO {release} reads the model's weights from memory that ExecuTorch's delegate has freed"


def find_library_problem() -> str | None:
    """Return why the delegate cannot use the library that it would load; None where it can, or says itself why not."""
    try:
        library = ctypes.CDLL(os.environ.get(VARIABLE) or "libopenvino_c.so", mode=ctypes.RTLD_GLOBAL)
        version = _Version()
        if library.ov_get_openvino_version(ctypes.byref(version)) != 0:
            return None
        text = (version.build or b"").decode(errors="replace")
        library.ov_version_free(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return find_problem(text)

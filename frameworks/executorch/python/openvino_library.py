"""Release of the OpenVINO library that ExecuTorch's delegate would load."""

from __future__ import annotations

import ctypes
import os

from frameworks.executorch.openvino_releases import VARIABLE, find_problem


class _Version(ctypes.Structure):
    """`ov_version_t` of openvino/c/ov_common.h."""

    _fields_ = (("build", ctypes.c_char_p), ("description", ctypes.c_char_p))


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

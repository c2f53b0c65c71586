"""Import of torchvision beside any build of torch of its release.

The torchvision on PyPI is the CUDA build. Beside a CPU-only torch its extension `_C.so` does not load, which it
ignores silently; then it registers Python kernels for two operators that only the extension declares, and the
import ends in `RuntimeError: operator torchvision::nms does not exist`. Declaring the two operators beforehand lets
the import pass. They still cannot be computed, and no classification model needs them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import torch

from frameworks.definitions._torchvision_release import is_installed
from frameworks.packages import install_command
from harness.core.errors import EnvironmentProblem

_UNDECLARED = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def models() -> ModuleType:
    """Import `torchvision.models`.

    Raises:
        EnvironmentProblem: torchvision is not installed.
    """
    if not is_installed():
        raise EnvironmentProblem(
            "this model definition needs torchvision, which is not installed",
            hint=install_command("torchvision"),
        )
    _declare_operators()
    return importlib.import_module("torchvision.models")


@functools.cache  # The declaration lives as long as the library object that this keeps.
def _declare_operators() -> torch.library.Library | None:
    """Declare the operators of the extension, unless it loads and declares them itself."""
    if _extension_loads():
        return None
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call] # torch's
    for operator in _UNDECLARED:
        library.define(f"{operator}{_SCHEMA}")  # type: ignore[no-untyped-call] # torch's
    return library


def _extension_loads() -> bool:
    spec = importlib.util.find_spec("torchvision")
    folders = [] if spec is None else spec.submodule_search_locations or []
    for library in (file for folder in folders for file in sorted(Path(folder).glob("_C.*"))):
        try:
            torch.ops.load_library(library)  # type: ignore[no-untyped-call] # torch's
        except OSError:
            continue
        return True
    return False

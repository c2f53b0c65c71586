"""Installed release of torchvision, and whether it fits torch. Only metadata are read: nothing is imported."""

from __future__ import annotations

import importlib.util
import re
from importlib import metadata

from frameworks.packages import install_command
from harness.core.protocols import Finding
from harness.files.distributions import find_version


def is_installed() -> bool:
    """Return whether torchvision is installed."""
    return importlib.util.find_spec("torchvision") is not None


def diagnose() -> Finding:
    """Examine whether it can be imported with the workaround of `_torchvision`: whether it is made for this torch."""
    version, torch = find_version("torchvision"), find_version("torch")
    if version is None:
        return _lacking("not installed: some built-in models cannot be exported")
    if find_version("pillow") is None:
        return _lacking(f"{version}, which needs pillow")
    made_for = _made_for()
    if torch is not None and made_for is not None and made_for != torch.partition("+")[0]:
        return _lacking(f"{version}, which is made for torch {made_for} and not for {torch}")
    return Finding("torchvision", True, version)


def _lacking(found: str) -> Finding:
    return Finding("torchvision", None, found, install_command("torchvision"))


def _made_for() -> str | None:
    """Return the release of torch that its metadata require: `torch (==2.13.0)`, or the same without parentheses."""
    matches = (re.match(r"torch\s*\(?\s*==\s*([0-9.]+)", line) for line in metadata.requires("torchvision") or ())
    return next((match[1] for match in matches if match), None)

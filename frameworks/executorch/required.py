"""Packages that ExecuTorch needs."""

from __future__ import annotations

from typing import Final

RUNNER: Final = ("executorch",)
"""Packages that the native runner needs: it is compiled against the first, and starts without the others."""

EXPORTS: Final = ("executorch", "torch", "torchao")
"""Packages that every export needs."""

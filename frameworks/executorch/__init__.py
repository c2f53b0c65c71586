"""ExecuTorch: its runners, how they are started and read, and its exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frameworks.executorch.framework import ExecuTorch
    from harness.settings import Settings


def create(settings: Settings) -> ExecuTorch:
    """The plug-in's entry point."""
    from frameworks.executorch.framework import ExecuTorch  # noqa: PLC0415 - listing frameworks imports none of them

    return ExecuTorch(settings)

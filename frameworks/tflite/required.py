"""Packages that this framework needs, and the extra that brings them."""

from __future__ import annotations

from typing import Final

EXTRAS: Final = {"ai-edge-litert": "tflite", "torch": "tflite"}
"""The extra that brings a package."""

RUNNER: Final = ("ai-edge-litert",)
"""Packages that the runner needs. They are those of the harness's own interpreter."""

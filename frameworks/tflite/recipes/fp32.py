"""Recipe `fp32`."""

from __future__ import annotations

from frameworks.tflite.exporting.conversion import Conversion


def convert() -> Conversion:
    """Keep the numbers of the module."""
    return Conversion()

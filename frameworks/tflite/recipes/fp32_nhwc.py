"""Recipe `fp32_nhwc`."""

from __future__ import annotations

from frameworks.tflite.exporting.conversion import Conversion


def convert() -> Conversion:
    """Keep the numbers of the module; images enter as NHWC."""
    return Conversion(channels_last=True)

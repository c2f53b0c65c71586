"""Recipe `q8`."""

from __future__ import annotations

from frameworks.tflite.exporting.conversion import Conversion


def convert() -> Conversion:
    """Quantise weights and activations to 8 bits, calibrated."""
    return Conversion(quantisation="static")

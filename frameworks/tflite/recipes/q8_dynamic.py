"""Recipe `q8_dynamic`."""

from __future__ import annotations

from frameworks.tflite.exporting.conversion import Conversion


def convert() -> Conversion:
    """Quantise weights to 8 bits, and activations while the model runs."""
    return Conversion(quantisation="dynamic")

"""What a recipe asks of the converter."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Conversion(Struct, frozen=True):
    """Conversion of a module to a `.tflite` file.

    Attributes:
        quantisation: `static`: weights and activations of 8 bits, calibrated; inputs and outputs keep their type.
            `dynamic`: weights of 8 bits, activations quantised while the model runs. `none`: neither.
        channels_last: Whether images enter the model as NHWC, as TensorFlow has them, instead of torch's NCHW.
    """

    quantisation: Literal["none", "static", "dynamic"] = "none"
    channels_last: bool = False

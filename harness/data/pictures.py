"""Pictures as arrays: decoded and resized by Pillow as torchvision does, then cropped, scaled and normalised."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from harness.core.errors import DataUnavailable
from harness.files.tensors import Array

SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".tif", ".tiff")
"""Endings of files that are images."""


class Preprocessing(Struct, frozen=True):
    """Way from a picture to an input.

    Attributes:
        resize: Length of the shorter side after resizing, pixels.
        height: Height of the centre crop.
        width: Its width.
        scale: Factor of the values 0 to 255.
        mean: Subtracted from each channel, then.
        std: Divisor of each channel, at last.
        channels: `RGB`, `BGR`, or `L` for grey.
        layout: `NCHW` or `NHWC`.
        interpolation: `nearest`, `bilinear` or `bicubic`.
        dtype: Element type; integers are rounded.
    """

    resize: int
    height: int
    width: int
    scale: float
    mean: tuple[float, ...]
    std: tuple[float, ...]
    channels: str
    layout: str
    interpolation: str
    dtype: str

    def __str__(self) -> str:
        mean, std = (" ".join(f"{value:g}" for value in values) for values in (self.mean, self.std))
        return (
            f"shorter side resized to {self.resize} ({self.interpolation}), centre crop {self.height} x {self.width}, "
            f"scale {self.scale:.6g}, mean {mean}, std {std}, {self.channels}, {self.layout}"
        )


def read_picture(file: Path, preprocessing: Preprocessing) -> Array:
    """Return the input of one picture, a batch of one.

    Raises:
        DataUnavailable: It cannot be decoded, has more than 8 bits a channel, or its values do not fit the element
            type.
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - of an extra

    try:
        with Image.open(file) as picture:
            _check_depth(picture.mode, file)
            pixels = _resize(picture, preprocessing)
    except UnidentifiedImageError as error:
        raise DataUnavailable(f"{file} is no image that Pillow can read", hint="remove it, or save it anew") from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataUnavailable(f"{file} cannot be decoded: {error}", hint="remove it, or save it anew") from error
    return normalise(pixels, preprocessing, file)


def normalise(pixels: Array, preprocessing: Preprocessing, file: Path) -> Array:
    """Return the input of a cropped picture, a batch of one.

    Args:
        pixels: Values 0 to 255, `[height, width]` or `[height, width, channels]`.
        preprocessing: The way to the input.
        file: The picture, for messages.

    Raises:
        DataUnavailable: Values do not fit the element type.
    """
    values = pixels.astype(np.float32).reshape(preprocessing.height, preprocessing.width, -1)
    if preprocessing.channels == "BGR":
        values = values[:, :, ::-1]
    mean, std = (np.asarray(numbers, np.float32) for numbers in (preprocessing.mean, preprocessing.std))
    values = (values * np.float32(preprocessing.scale) - mean) / std
    if preprocessing.layout == "NCHW":
        values = values.transpose(2, 0, 1)
    return _convert(values[np.newaxis], preprocessing.dtype, file)


def _check_depth(mode: str, file: Path) -> None:
    """Refuse pixels of more than 8 bits, which Pillow cuts off at 255 and torchvision's transforms with it."""
    if mode.partition(";")[0] in {"I", "F"}:
        raise DataUnavailable(
            f"{file} has pixels of more than 8 bits (Pillow's mode {mode}); all above 255 would become white",
            hint="scale its values to 0 to 255 and save them with 8 bits, or give arrays by the provider `files`",
        )


def _resize(picture: object, preprocessing: Preprocessing) -> Array:
    from PIL import Image  # noqa: PLC0415

    if not isinstance(picture, Image.Image):
        raise TypeError(picture)
    colours = picture.convert("L" if preprocessing.channels == "L" else "RGB")
    width, height = colours.size
    shorter = min(width, height)
    size = (preprocessing.resize * width // shorter, preprocessing.resize * height // shorter)
    resized = colours.resize(size, Image.Resampling[preprocessing.interpolation.upper()])
    left = round((size[0] - preprocessing.width) / 2)
    top = round((size[1] - preprocessing.height) / 2)
    cropped = resized.crop((left, top, left + preprocessing.width, top + preprocessing.height))
    return np.asarray(cropped, np.uint8)


def _convert(values: Array, dtype: str, file: Path) -> Array:
    wanted = np.dtype(dtype)
    if wanted.kind == "f":
        return values.astype(wanted)
    rounded = np.rint(values)
    limits = np.iinfo(wanted)
    if rounded.min() < limits.min or rounded.max() > limits.max:
        raise DataUnavailable(
            f"{file}: values from {rounded.min():g} to {rounded.max():g} do not fit into {dtype}",
            hint="for raw pixels give `scale` 1, `mean` [0, 0, 0] and `std` [1, 1, 1]",
        )
    return rounded.astype(wanted)

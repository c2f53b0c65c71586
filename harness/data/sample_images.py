"""Provider `sample_images`: crops of photographs that scikit-image and scikit-learn bring, without a download."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.data.options import ProviderOptions, one_input, parse_options
from harness.data.pictures import Preprocessing, normalise
from harness.data.provider import DataSet, Example
from harness.files.digests import sha256_of_file, sha256_of_texts
from harness.files.distributions import find_version
from harness.files.installation import install_command

if TYPE_CHECKING:
    from harness.files.tensors import Array

_IMAGE: Final = TensorInfo(name="input", dtype="float32", shape=(1, 3, 224, 224))
_DEFAULT_COUNT: Final = 56
_MEAN: Final = (0.485, 0.456, 0.406)
_STD: Final = (0.229, 0.224, 0.225)

PHOTOGRAPHS: Final = MappingProxyType(
    {
        Split.EVALUATION: (
            "skimage/data/chelsea.png",
            "skimage/data/coffee.png",
            "skimage/data/rocket.jpg",
            "skimage/data/motorcycle_left.png",
            "skimage/data/retina.jpg",
            "sklearn/datasets/images/china.jpg",
            "sklearn/datasets/images/flower.jpg",
        ),
        Split.CALIBRATION: (
            "skimage/data/astronaut.png",
            "skimage/data/hubble_deep_field.jpg",
            "skimage/data/ihc.png",
            "skimage/data/motorcycle_right.png",
        ),
    }
)
"""Colour photographs by split. What is learnt in calibration is not evaluated."""


class SampleImageOptions(ProviderOptions):
    """Options of `sample_images`; the defaults are what is usual with ImageNet.

    Attributes:
        smallest: Smallest side of a crop, as a share of the photograph's shorter side.
        largest: Largest side.
        scale: Factor of the values 0 to 255, before mean and std.
        mean: Subtracted from each channel.
        std: Divisor of each channel.
    """

    smallest: float = 0.5
    largest: float = 1.0
    scale: float = 1 / 255
    mean: list[float] | None = None
    std: list[float] | None = None


class Crop(NamedTuple):
    """Square crop of a photograph, pixels."""

    file: Path
    left: int
    top: int
    side: int


class SampleImages:
    """Square crops of the photographs in turn, at seeded sizes and positions, resized to the input. No labels."""

    def fingerprint(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> Mapping[str, str]:
        """Return the digests of the photographs, and the versions of what draws, decodes and resizes."""
        self._check(request, inputs)
        digests = {file.name: sha256_of_file(file) for file in _photographs(split)}
        return {
            "photographs": sha256_of_texts(digests),
            "pillow": find_version("pillow") or "",
            "numpy": np.__version__,
        }

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        """Return 56 crops, or as many as are asked for: more of them begin with the same."""
        options, tensor, preprocessing = self._check(request, inputs)
        files = _photographs(split)
        count = request.count or _DEFAULT_COUNT

        def examples() -> Iterator[Example]:
            for crop in draw_crops(files, count, request.seed, options):
                yield Example((_read(crop, preprocessing),))

        photographs = ", ".join(file.stem for file in files)
        description = (
            f"square crops of photographs ({photographs}) in turn, sides {options.smallest:g} to {options.largest:g} "
            f"of the shorter side, resized to {preprocessing.height} x {preprocessing.width} (bilinear), scale "
            f"{options.scale:.6g}, mean {_words(preprocessing.mean)}, std {_words(preprocessing.std)}, RGB, NCHW, "
            f"seed {request.seed}"
        )
        return DataSet((tensor,), count, description, examples())

    def _check(
        self, request: DataRequest, inputs: tuple[Input, ...]
    ) -> tuple[SampleImageOptions, TensorInfo, Preprocessing]:
        options = parse_options(request, SampleImageOptions)
        tensor = one_input(request, inputs, _IMAGE)
        shape = tensor.shape
        if len(shape) != 4 or shape[:2] != (1, 3):
            raise DataUnavailable(
                f"data `sample_images`: input `{tensor.name}` is {list(shape)}, expected [1, 3, height, width]",
                hint="change `inputs` of the test, or its data",
            )
        if not 0 < options.smallest <= options.largest <= 1:
            raise DataUnavailable(
                f"data `sample_images`: {options.smallest:g} to {options.largest:g} is no range of sides within 0 to 1",
                hint="give `smallest` and `largest` above 0, up to 1",
            )
        for name, values in (("mean", options.mean), ("std", options.std)):
            if values is not None and (len(values) != 3 or (name == "std" and 0 in values)):
                raise DataUnavailable(
                    f"data `sample_images`: `{name}` is {values}", hint="give three values; those of `std` are not 0"
                )
        preprocessing = Preprocessing(
            resize=min(shape[2:]),
            height=shape[2],
            width=shape[3],
            scale=options.scale,
            mean=tuple(options.mean or _MEAN),
            std=tuple(options.std or _STD),
            channels="RGB",
            layout="NCHW",
            interpolation="bilinear",
            dtype=tensor.dtype,
        )
        return options, tensor, preprocessing


def create(_settings: object) -> SampleImages:
    """Return the provider."""
    return SampleImages()


def draw_crops(files: tuple[Path, ...], count: int, seed: int, options: SampleImageOptions) -> Iterator[Crop]:
    """Yield crops of the photographs in turn."""
    from PIL import Image  # noqa: PLC0415 - of an extra

    stream = hashlib.sha256(f"sample_images {seed}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(stream, "big")))
    for number in range(count):
        file = files[number % len(files)]
        with Image.open(file) as picture:
            width, height = picture.size
        side = max(1, round(min(width, height) * generator.uniform(options.smallest, options.largest)))
        left, top = (int(generator.integers(0, room, endpoint=True)) for room in (width - side, height - side))
        yield Crop(file, left, top, side)


def _read(crop: Crop, preprocessing: Preprocessing) -> Array:
    from PIL import Image  # noqa: PLC0415 - of an extra

    box = (crop.left, crop.top, crop.left + crop.side, crop.top + crop.side)
    size = (preprocessing.width, preprocessing.height)
    with Image.open(crop.file) as picture:
        resized = picture.convert("RGB").resize(size, Image.Resampling.BILINEAR, box=box)
    return normalise(np.asarray(resized, np.uint8), preprocessing, crop.file)


def _photographs(split: Split) -> tuple[Path, ...]:
    """Return the files of a split, without importing their packages.

    Raises:
        DataUnavailable: A package that brings them, or Pillow, is not installed.
    """
    if find_version("pillow") is None:
        raise DataUnavailable(
            "data `sample_images` needs Pillow, which is not installed", hint=install_command({"efficientnet"})
        )
    return tuple(map(_find, PHOTOGRAPHS[split]))


def _find(name: str) -> Path:
    package, _, below = name.partition("/")
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        file = Path(folder) / below
        if file.is_file():
            return file
    distribution = {"skimage": "scikit-image", "sklearn": "scikit-learn"}[package]
    problem = "which is not installed" if spec is None else f"whose version {find_version(distribution)} lacks it"
    raise DataUnavailable(
        f"data `sample_images` needs {below.rpartition('/')[2]} of {distribution}, {problem}",
        hint=install_command({"efficientnet"}),
    )


def _words(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)

"""Provider `images`: pictures of a folder, with a preprocessing that is stated."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.data.choice import choose
from harness.data.options import ProviderOptions, one_input, parse_options
from harness.data.pictures import SUFFIXES, Preprocessing, read_picture
from harness.data.provider import DataSet, Example
from harness.files.digests import sha256_of_file, sha256_of_texts
from harness.files.distributions import find_version
from harness.files.installation import install_command

_IMAGE: Final = TensorInfo(name="input", dtype="float32", shape=(1, 3, 224, 224))
_MEAN: Final = (0.485, 0.456, 0.406)
_STD: Final = (0.229, 0.224, 0.225)
_RESIZED: Final = 256 / 224


class ImageOptions(ProviderOptions):
    """Options of `images`; the defaults are what is usual with ImageNet.

    Attributes:
        path: The folder of the images; folders in it are classes.
        labels: JSON file with the class of each image, by its path within the folder.
        classes: Names of the folders, or of the classes, in the order of their numbers.
        resize: Length of the shorter side after resizing, pixels; default 256/224 of the crop.
        scale: Factor of the values 0 to 255, before mean and std.
        mean: Subtracted from each channel.
        std: Divisor of each channel.
        channels: Order of the channels.
        layout: Order of the axes.
        interpolation: Interpolation when resizing.
    """

    path: str
    labels: str | None = None
    classes: list[str] | None = None
    resize: int | None = None
    scale: float = 1 / 255
    mean: list[float] | None = None
    std: list[float] | None = None
    channels: Literal["RGB", "BGR", "L"] = "RGB"
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    interpolation: Literal["nearest", "bilinear", "bicubic"] = "bilinear"


class Images:
    """Images of a folder: resized by the shorter side, cropped in the centre to the input, scaled and normalised."""

    def fingerprint(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> Mapping[str, str]:
        """Return the digests of the chosen images, and the version of Pillow, which decodes and resizes them."""
        options, _, _ = self._check(request, inputs)
        folder = Path(options.path)
        files = self._files(folder)
        chosen = [files[number] for number in choose(request, len(files), split)]
        digests = {file.relative_to(folder).as_posix(): sha256_of_file(file) for file in chosen}
        labels = sha256_of_file(Path(options.labels)) if options.labels else "none"
        # All names count: they decide what is drawn, and which class has which number.
        names = sha256_of_texts({file.relative_to(folder).as_posix(): "" for file in files})
        return {
            "images": sha256_of_texts(digests),
            "names": names,
            "labels": labels,
            "pillow": find_version("pillow") or "",
        }

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        """Return all images in the order of their names, or as many as are asked for in an order by the seed."""
        options, tensor, preprocessing = self._check(request, inputs)
        folder = Path(options.path)
        files = self._files(folder)
        chosen = [files[number] for number in choose(request, len(files), split)]
        labels, classes = _labels(options, folder, files)

        def examples() -> Iterator[Example]:
            for file in chosen:
                array = read_picture(file, preprocessing)
                yield Example((array,), None if labels is None else labels[file])

        description = f"images of {folder.name}: {len(chosen)} of {len(files)}; {preprocessing}"
        return DataSet((tensor,), len(chosen), description, examples(), classes)

    def _check(self, request: DataRequest, inputs: tuple[Input, ...]) -> tuple[ImageOptions, TensorInfo, Preprocessing]:
        if find_version("pillow") is None:
            raise DataUnavailable("data `images` needs Pillow, which is not installed", hint=install_command({"data"}))
        options = parse_options(request, ImageOptions)
        tensor = one_input(request, inputs, _IMAGE)
        is_first = options.layout == "NCHW"
        channels = 1 if options.channels == "L" else 3
        shape = tensor.shape
        if len(shape) != 4 or shape[0] != 1 or shape[1 if is_first else 3] != channels:
            expected = f"[1, {channels}, height, width]" if is_first else f"[1, height, width, {channels}]"
            raise DataUnavailable(
                f"data `images`: input `{tensor.name}` is {list(shape)}, expected {expected} for {options.channels} "
                f"in {options.layout}",
                hint="change the options `layout` and `channels`, or `inputs` of the test",
            )
        height, width = shape[2:] if is_first else shape[1:3]
        mean, std = options.mean, options.std
        if channels == 1 and (mean is None or std is None):
            raise DataUnavailable("data `images`: grey images have no usual mean and std", hint="give `mean` and `std`")
        for name, values in (("mean", mean), ("std", std)):
            if values is not None and len(values) != channels:
                raise DataUnavailable(f"data `images`: `{name}` has {len(values)} values for {channels} channels")
        if std is not None and 0 in std:
            raise DataUnavailable("data `images`: `std` contains 0", hint="values are divided by it")
        resize = options.resize or round(max(height, width) * _RESIZED)
        if resize < max(height, width):
            raise DataUnavailable(f"data `images`: `resize` is {resize}, less than the input's {height} x {width}")
        preprocessing = Preprocessing(
            resize=resize,
            height=height,
            width=width,
            scale=options.scale,
            mean=tuple(mean or _MEAN),
            std=tuple(std or _STD),
            channels=options.channels,
            layout=options.layout,
            interpolation=options.interpolation,
            dtype=tensor.dtype,
        )
        return options, tensor, preprocessing

    def _files(self, folder: Path) -> list[Path]:
        if not folder.is_dir():
            raise DataUnavailable(
                f"data `images`: there is no folder {folder}", hint="paths are relative to the specification"
            )
        files = sorted(file for file in _walk(folder) if file.suffix.lower() in SUFFIXES and file.is_file())
        if not files:
            raise DataUnavailable(f"data `images`: no file in {folder} ends in {', '.join(SUFFIXES)}")
        return files


def create(_settings: object) -> Images:
    """Return the provider."""
    return Images()


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and those in it, linked ones too; what is hidden are copies of editors."""
    for parent, folders, names in os.walk(folder, followlinks=True):
        here = Path(parent)
        folders[:] = [name for name in folders if not (name.startswith(".") or _leads_back(here / name))]
        yield from (here / name for name in names if not name.startswith("."))


def _leads_back(folder: Path) -> bool:
    """Return whether a folder is a link to one through which the walk came to it, so that the walk would not end."""
    target, parent = folder.resolve(), folder.parent.resolve()
    if target == parent / folder.name:  # no link; junctions of Windows are links that `is_symlink` does not know
        return False
    return any(each.resolve().is_relative_to(target) for each in folder.parents)


def _labels(
    options: ImageOptions, folder: Path, files: list[Path]
) -> tuple[dict[Path, int] | None, tuple[str, ...] | None]:
    """Return the class of each image, and the names of the classes."""
    classes = None if options.classes is None else tuple(options.classes)
    if options.labels is not None:
        given = _read_labels(Path(options.labels))
        missing = [file for file in files if file.relative_to(folder).as_posix() not in given]
        if missing:
            raise DataUnavailable(f"{options.labels} has no label for {missing[0].relative_to(folder)}")
        return {file: given[file.relative_to(folder).as_posix()] for file in files}, classes
    folders = {file: file.relative_to(folder).parts[0] for file in files if file.parent != folder}
    if not folders:
        return None, classes
    if len(folders) < len(files):
        beside = next(file for file in files if file not in folders)
        raise DataUnavailable(
            f"{beside} lies beside folders of classes", hint="put it into one of them, or into another folder"
        )
    names = sorted(set(folders.values()))
    numbers = [name for name in names if name.isdecimal()]
    if numbers == names:  # folders named by the numbers of the classes
        return {file: int(name) for file, name in folders.items()}, classes
    if numbers and classes is None:
        other = next(name for name in names if name not in numbers)
        raise DataUnavailable(
            f"data `images`: the folder {numbers[0]} is called by the number of its class, and {other} is not",
            hint=f"move {other} elsewhere, or give `classes`: the names of all folders in the order of the classes",
        )
    order = classes or tuple(names)
    if unknown := set(names) - set(order):
        raise DataUnavailable(
            f"data `images`: `classes` has no {', '.join(sorted(unknown))}", hint=f"folders of {folder} are classes"
        )
    return {file: order.index(name) for file, name in folders.items()}, order


def _read_labels(file: Path) -> dict[str, int]:
    try:
        labels = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise DataUnavailable(f"{file}: {error}", hint='labels are JSON: {"cat.jpg": 285}') from error
    if not isinstance(labels, dict) or not all(
        isinstance(label, int) and not isinstance(label, bool) and label >= 0 for label in labels.values()
    ):
        raise DataUnavailable(f"{file} is no table of classes, 0 or more", hint='labels are JSON: {"cat.jpg": 285}')
    return labels

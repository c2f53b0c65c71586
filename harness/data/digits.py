"""Provider `digits`: scikit-learn's handwritten digits, which need no download."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.data.options import ProviderOptions, one_input, parse_options
from harness.data.provider import DataSet, Example
from harness.files.digests import sha256_of_file
from harness.files.digits import digits_file, read_digits

_IMAGE: Final = TensorInfo(name="input", dtype="float32", shape=(1, 1, 8, 8))


class Digits:
    """The digits: each fifth image for evaluation, the others for calibration, both in a seeded order."""

    def fingerprint(
        self,
        request: DataRequest,
        inputs: tuple[Input, ...],
        split: Split,  # noqa: ARG002 - the same file holds both
    ) -> Mapping[str, str]:
        """Return the digest of scikit-learn's file."""
        self._check(request, inputs)
        return {"digits": sha256_of_file(digits_file()), "numpy": np.__version__}

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        """Return all images of the split, or the first of them in the order of the seed."""
        image = self._check(request, inputs)
        images, labels = read_digits(split)
        order = np.random.Generator(np.random.PCG64(request.seed)).permutation(len(images))
        batch = image.shape[0]
        count = request.count or len(order) // batch
        if count * batch > len(order):
            raise DataUnavailable(
                f"data `digits` has {len(order)} images for {split}, {count} examples of {batch} are asked for",
                hint=f"ask for {len(order) // batch} or fewer",
            )

        def examples() -> Iterator[Example]:
            for chosen in order[: count * batch].reshape(count, batch):
                yield Example((images[chosen],), int(labels[chosen[0]]) if batch == 1 else None)

        part = "each fifth image" if split is Split.EVALUATION else "four of five images, those that models train on"
        description = f"digits of scikit-learn: {part}; values 0 to 1, order of seed {request.seed}"
        return DataSet((image,), count, description, examples(), tuple("0123456789"))

    def _check(self, request: DataRequest, inputs: tuple[Input, ...]) -> TensorInfo:
        parse_options(request, ProviderOptions)
        image = one_input(request, inputs, _IMAGE)
        if image.dtype != _IMAGE.dtype or image.shape[1:] != _IMAGE.shape[1:]:
            raise DataUnavailable(
                f"data `digits`: input `{image.name}` is {image.dtype} {list(image.shape)}, expected "
                f"{_IMAGE.dtype} {list(_IMAGE.shape)}",
                hint="change `inputs` of the test, or its data",
            )
        return image


def create(_settings: object) -> Digits:
    """Return the provider."""
    return Digits()

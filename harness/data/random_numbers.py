"""Provider `random`: seeded normal numbers, and integers of a stated range."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.data.options import ProviderOptions, describe_inputs, parse_options
from harness.data.provider import DataSet, Example
from harness.files.tensors import Array

_DEFAULT_COUNT: Final = 32


class RandomOptions(ProviderOptions):
    """Options of `random`.

    Attributes:
        low: Smallest integer; the default range are valid indices of any table.
        high: Largest integer.
        mean: Mean of floating-point numbers.
        std: Their standard deviation.
    """

    low: int = 0
    high: int = 1
    mean: float = 0.0
    std: float = 1.0


class RandomNumbers:
    """Normal numbers in the shapes of the inputs; each input and each split has a stream of its own."""

    def fingerprint(
        self,
        request: DataRequest,
        inputs: tuple[Input, ...],
        split: Split,  # noqa: ARG002 - part of the key anyway
    ) -> Mapping[str, str]:
        """Return the version of NumPy, whose streams may change with it."""
        self._check(request, inputs)
        return {"numpy": np.__version__}

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        """Return 32 examples, or as many as are asked for: more of them begin with the same."""
        options, tensors = self._check(request, inputs)
        count = request.count or _DEFAULT_COUNT
        floats = f"normal numbers, mean {options.mean:g}, standard deviation {options.std:g}"
        integers = f"integers from {options.low} to {options.high}"
        kinds = {tensor.dtype for tensor in tensors}
        words = [
            words
            for words, is_used in ((floats, any(map(_is_float, kinds))), (integers, not all(map(_is_float, kinds))))
            if is_used
        ]
        generators = [_generator(request.seed, split, number) for number in range(len(tensors))]

        def examples() -> Iterator[Example]:
            for _ in range(count):
                pairs = zip(tensors, generators, strict=True)
                yield Example(tuple(_draw(tensor, generator, options) for tensor, generator in pairs))

        return DataSet(tensors, count, f"random: {' and '.join(words)}, seed {request.seed}", examples())

    def _check(self, request: DataRequest, inputs: tuple[Input, ...]) -> tuple[RandomOptions, tuple[TensorInfo, ...]]:
        options = parse_options(request, RandomOptions)
        if not inputs:
            raise DataUnavailable(
                "data `random` needs the shapes of the model's inputs", hint="name them in `inputs` of the test"
            )
        tensors = describe_inputs(inputs)
        for tensor in tensors:
            if not _is_float(tensor.dtype) and tensor.dtype != "bool":
                limits = np.iinfo(tensor.dtype)
                if not limits.min <= options.low <= options.high <= limits.max:
                    raise DataUnavailable(
                        f"data `random`: {options.low} to {options.high} is no range of {tensor.dtype} (input "
                        f"`{tensor.name}`)",
                        hint=f"`low` and `high` lie between {limits.min} and {limits.max}",
                    )
        if options.std < 0:
            raise DataUnavailable(f"data `random`: `std` is {options.std:g}", hint="give 0 or more")
        return options, tensors


def create(_settings: object) -> RandomNumbers:
    """Return the provider."""
    return RandomNumbers()


def _is_float(dtype: str) -> bool:
    return "float" in dtype


def _draw(tensor: TensorInfo, generator: np.random.Generator, options: RandomOptions) -> Array:
    if _is_float(tensor.dtype):
        return np.asarray(generator.normal(options.mean, options.std, tensor.shape)).astype(tensor.dtype)
    if tensor.dtype == "bool":
        return np.asarray(generator.integers(0, 1, tensor.shape, endpoint=True)).astype(np.bool_)
    drawn = generator.integers(options.low, options.high, tensor.shape, tensor.dtype, endpoint=True)
    return np.asarray(drawn, tensor.dtype)


def _generator(seed: int, split: Split, number: int) -> np.random.Generator:
    stream = hashlib.sha256(f"{split} {number} {seed}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(stream, "big")))

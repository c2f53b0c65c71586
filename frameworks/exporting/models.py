"""Model of a request: seeded weights, initialised statistics, example inputs and calibration data.

Runs in processes that make model files or reference outputs. Everything random is drawn from the request's seed, each
purpose from a stream of its own, so that a further input changes no weight.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from msgspec import Struct
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from frameworks.exporting.catalogue import DEFINITIONS
from frameworks.exporting.example_folder import Inputs, ModelExamples
from harness.core.benchmark import Export, Input
from harness.core.errors import ExportFailed
from harness.core.placeholders import suggest

_DTYPES = {
    "float": torch.float32,
    "half": torch.float16,
    "double": torch.float64,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "int16": torch.int16,
    "int": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
}

_INITIAL_BATCHES, _INITIAL_BATCH_SIZE = 2, 4
"""Enough that activations neither vanish nor explode; more than one sample, because batch statistics need two."""


class Prepared(Struct, frozen=True):
    """Model that is ready to be lowered.

    Attributes:
        module: The module, in evaluation mode.
        example_inputs: Example inputs; their shapes and types become the program's.
    """

    module: nn.Module
    example_inputs: Inputs


def prepare(export: Export) -> Prepared:
    """Make the model of a request.

    Leaves torch with one thread: sums of floating-point numbers, hence statistics, depend on the number of threads.

    Raises:
        ExportFailed: The definition cannot be found, called or used.
    """
    torch.set_num_threads(1)
    function = DEFINITIONS.find(export.definition).load()
    _check_options(export, function)
    random.seed(export.seed)
    np.random.seed(export.seed % 2**32)
    torch.manual_seed(export.seed)
    module, own_inputs = _parts(function(**export.options), export.definition)
    example_inputs = _example_inputs(export) if export.inputs else own_inputs
    if example_inputs is None:
        raise ExportFailed(
            f"`{export.definition}` has no example inputs",
            hint="give the export `inputs`, or let the function return (module, example_inputs)",
        )
    module.eval()
    module.requires_grad_(
        False
    )  # With gradients, a program could not write what weights were multiplied with to a buffer.
    _initialise_batch_norms(module, example_inputs, export.seed)
    return Prepared(module, example_inputs)


def calibration_batches(example_inputs: Inputs, export: Export, examples: Path | None = None) -> Iterator[Inputs]:
    """Return the batches of an export in the shapes of the example inputs: of examples, or random numbers.

    Args:
        example_inputs: The model's example inputs.
        export: The request: how many, and the seed of random ones.
        examples: The example folder; None for random numbers.

    Raises:
        ExportFailed: The examples do not fit the model, or there are fewer.
    """
    if examples is None and export.calibration_data is not None:
        raise ExportFailed(f"the data set `{export.calibration_data.provider}`, to calibrate with, was not given")
    if examples is None:
        generator = _generator(export.seed, "calibration")
        return (tuple(_random_like(tensor, generator) for tensor in example_inputs) for _ in range(export.calibration))
    folder = ModelExamples(examples, example_inputs)
    if folder.manifest.count < export.calibration:
        raise ExportFailed(
            f"the calibration data have {folder.manifest.count} examples, `calibration` asks for {export.calibration}",
            hint="lower `calibration`, or give more examples",
        )
    return itertools.islice(iter(folder), export.calibration)


def dtype_name(dtype: torch.dtype) -> str:
    """Return the name of an element type, as in `harness.core.examples`: `float32`."""
    return str(dtype).removeprefix("torch.")


def weights_md5(module: nn.Module) -> str:
    """Return the MD5 over names and bytes of all parameters and buffers, in the order of the names."""
    digest = hashlib.md5(usedforsecurity=False)
    for name, tensor in sorted(module.state_dict().items()):
        if isinstance(tensor, torch.Tensor):  # A module may keep other things in its state.
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _check_options(export: Export, function: Callable[..., object]) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(**export.options)
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "none"
        raise ExportFailed(f"options of `{export.definition}`: {error}", hint=f"it takes: {takes}") from error


def _parts(made: object, definition: str) -> tuple[nn.Module, Inputs | None]:
    """Split what a definition returned into the module and its example inputs, if any."""
    if isinstance(made, nn.Module):
        return made, None
    if isinstance(made, tuple) and len(made) == 2:
        module, inputs = made
        inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
        if isinstance(module, nn.Module) and isinstance(inputs, (tuple, list)):
            tensors = tuple(tensor for tensor in inputs if isinstance(tensor, torch.Tensor))
            if len(tensors) == len(inputs):
                return module, tensors
    raise ExportFailed(
        f"`{definition}` returned {type(made).__name__}",
        hint="it must return a torch.nn.Module, or (module, tuple of example tensors)",
    )


def _example_inputs(export: Export) -> Inputs:
    generator = _generator(export.seed, "example inputs")
    return tuple(_example(tensor, generator) for tensor in export.inputs)


def _example(tensor: Input, generator: torch.Generator) -> torch.Tensor:
    """Draw normal numbers; integers are 0 or 1, which are valid indices into any table."""
    if tensor.dtype not in _DTYPES:
        known = f"known: {', '.join(_DTYPES)}"
        similar = suggest(tensor.dtype, _DTYPES)
        raise ExportFailed(
            f"input `{tensor.name}`: unknown type `{tensor.dtype}`", hint=f"{similar}; {known}" if similar else known
        )
    dtype = _DTYPES[tensor.dtype]
    if dtype.is_floating_point:
        return torch.randn(tensor.shape, generator=generator).to(dtype)
    return torch.randint(0, 2, tensor.shape, generator=generator).to(dtype)


def _random_like(example: torch.Tensor, generator: torch.Generator, batch: int = 1) -> torch.Tensor:
    """Draw numbers of the same kind in a batch of at least the given size; integers within the example's range."""
    shape = (max(batch, example.shape[0]), *example.shape[1:]) if example.dim() else example.shape
    if example.is_floating_point():
        return torch.randn(shape, generator=generator).to(example.dtype)
    low, high = int(example.min()), int(example.max())
    return torch.randint(low, high + 1, shape, generator=generator).to(example.dtype)


def _initialise_batch_norms(module: nn.Module, example_inputs: Inputs, seed: int) -> None:
    """Compute the statistics of batch normalisations that never processed data.

    With random weights and the initial statistics (mean 0, variance 1) activations shrink from layer to layer to
    nothing; then neither accuracy nor quantisation can be assessed. Those of a trained model are left unchanged.
    """
    untouched = [layer for layer in module.modules() if isinstance(layer, _BatchNorm) and _is_untouched(layer)]
    if not untouched:
        return
    momenta = [layer.momentum for layer in untouched]
    for layer in untouched:
        layer.momentum = None  # A plain average over all batches.
        layer.train()
    generator = _generator(seed, "batch normalisation")
    with torch.no_grad():
        for _ in range(_INITIAL_BATCHES):
            module(*(_random_like(tensor, generator, _INITIAL_BATCH_SIZE) for tensor in example_inputs))
    for layer, momentum in zip(untouched, momenta, strict=True):
        layer.momentum = momentum
        layer.eval()


def _is_untouched(layer: _BatchNorm) -> bool:
    mean, variance = layer.running_mean, layer.running_var
    return mean is not None and variance is not None and bool((mean == 0).all()) and bool((variance == 1).all())


def _generator(seed: int, purpose: str) -> torch.Generator:
    stream = hashlib.sha256(f"{purpose} {seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(stream[:7], "big"))

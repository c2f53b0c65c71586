"""Capture of a module as a program of torch, and what a module tells about it besides its example inputs.

A module may have two methods, both optional, which every recipe of ours respects:

    dynamic_shapes() -> tuple of one entry for each input, as `torch.export.export` takes them
    constant_methods() -> values by name, which an ExecuTorch program returns from methods of these names
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch

from harness.core.errors import ExportFailed
from harness.core.scalars import Scalar

Constant = Scalar | tuple[int, ...]
"""Value that a program carries for those who load it."""

DynamicShapes = tuple[Mapping[int, object] | None, ...]
"""For each input the dimensions whose sizes vary, by index; None where all are fixed."""


@runtime_checkable
class DynamicModule(Protocol):
    """Module some of whose inputs vary in size."""

    def dynamic_shapes(self) -> DynamicShapes:
        """Return the dimensions that vary, each as a `torch.export.Dim`."""
        ...


@runtime_checkable
class DescribedModule(Protocol):
    """Module that has values for those who load its program, such as the length of its context."""

    def constant_methods(self) -> Mapping[str, Scalar | Sequence[int]]:
        """Return each value under the name of the method that will return it."""
        ...


def find_dynamic_shapes(module: torch.nn.Module) -> DynamicShapes | None:
    """Return the dimensions that vary; None where the module tells none."""
    return module.dynamic_shapes() if isinstance(module, DynamicModule) else None


def find_constants(module: torch.nn.Module) -> Mapping[str, Constant]:
    """Return the values that the program of a module has to carry; empty where the module tells none.

    Raises:
        ExportFailed: Names or values cannot stand in a program.
    """
    constants = module.constant_methods() if isinstance(module, DescribedModule) else {}
    return {name: _check_constant(name, value) for name, value in constants.items()}


def _check_constant(name: str, value: object) -> Constant:
    if name.isidentifier() and name != "forward":
        if isinstance(value, str | bool | int | float):
            return value
        if isinstance(value, list | tuple) and value and all(type(part) is int for part in value):
            return tuple(value)
    raise ExportFailed(
        f"the constant method `{name}` cannot stand in a program",
        hint="give it a name other than `forward`, and a number, a truth value, a text or a list of whole numbers",
    )


def capture(
    module: torch.nn.Module, example_inputs: tuple[torch.Tensor, ...], shapes: DynamicShapes | None = None
) -> torch.export.ExportedProgram:
    """Export a module as torch does, with the dimensions that vary.

    Args:
        module: The module, in evaluation mode.
        example_inputs: One tensor for each argument.
        shapes: The dimensions that vary, of a module that was made of another one; by default those that it tells.
    """
    return torch.export.export(module, example_inputs, dynamic_shapes=shapes or find_dynamic_shapes(module))

"""Steps of a recipe: exporting (with quantisation, if it quantises) and lowering, where its module defines both.

The program between the steps can be run by torch and examined. It is the one that is lowered, not another one made
alike. What a module defines is read from its source, because importing it imports torch.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from frameworks.exporting import provenance
from frameworks.exporting.catalogue import CatalogueEntry
from harness.core.errors import ExportFailed

if TYPE_CHECKING:
    import torch
    from executorch.exir import EdgeProgramManager

    Inputs = tuple[torch.Tensor, ...]
    Calibration = Iterable[Inputs]

LOWER: Final = "lower"
"""Name of the recipes that may have steps: a module with steps is the module of one recipe."""

LOWER_PROGRAM: Final = "lower_program"
"""Name of the second step."""

_QUANTISE, _EXPORT = "quantise", "export_program"


class Steps(Struct, frozen=True):
    """Steps of a recipe.

    Attributes:
        make_program: Exports the module, and quantises the program if the recipe quantises.
        lower_program: Lowers that program.
        quantises: Whether the recipe quantises.
    """

    make_program: Callable[[torch.nn.Module, Inputs, Calibration], torch.export.ExportedProgram]
    lower_program: Callable[[torch.export.ExportedProgram], EdgeProgramManager]
    quantises: bool


def quantises(recipe: CatalogueEntry) -> bool:
    """Return whether a recipe has a step that quantises. Imports nothing.

    Raises:
        ExportFailed: Its module cannot be found or read.
    """
    return has_steps(recipe) and _QUANTISE in _defined(recipe)


def has_steps(recipe: CatalogueEntry) -> bool:
    """Return whether the module of a recipe defines its steps. Imports nothing.

    Raises:
        ExportFailed: Its module cannot be found or read.
    """
    return recipe.function == LOWER and LOWER_PROGRAM in _defined(recipe)


def load_steps(recipe: CatalogueEntry) -> Steps | None:
    """Import the steps of a recipe; None where it has none."""
    if not has_steps(recipe):
        return None
    module = importlib.import_module(recipe.module)
    return Steps(_first_step(module), getattr(module, LOWER_PROGRAM), quantises(recipe))


def load(recipe: CatalogueEntry) -> Callable[[torch.nn.Module, Inputs, Calibration], object]:
    """Return the function that lowers a module: the steps one after the other, or the recipe itself."""
    steps = load_steps(recipe)
    if steps is None:
        return recipe.load()

    def lower(module: torch.nn.Module, example_inputs: Inputs, calibration: Calibration) -> object:
        return steps.lower_program(steps.make_program(module, example_inputs, calibration))

    return lower


def _first_step(
    module: object,
) -> Callable[[torch.nn.Module, Inputs, Calibration], torch.export.ExportedProgram]:
    import torch  # noqa: PLC0415 - the recipe has imported it

    from frameworks.exporting.capture import capture  # noqa: PLC0415 - imports torch

    quantise = getattr(module, _QUANTISE, None)
    export = getattr(module, _EXPORT, capture)

    def make_program(
        model: torch.nn.Module, example_inputs: Inputs, calibration: Calibration
    ) -> torch.export.ExportedProgram:
        program = export(model, example_inputs) if quantise is None else quantise(model, example_inputs, calibration)
        if isinstance(program, torch.export.ExportedProgram):
            return program
        raise ExportFailed(
            f"the first step of the recipe returned {type(program).__name__}",
            hint=f"`{_QUANTISE}` and `{_EXPORT}` must return an ExportedProgram, as torch.export.export does",
        )

    return make_program


def _defined(recipe: CatalogueEntry) -> frozenset[str]:
    """Return the names of the functions that the recipe's module defines."""
    file = provenance.sources(recipe.module)[recipe.module]
    tree = ast.parse(file.read_bytes(), str(file))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))

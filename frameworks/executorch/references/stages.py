"""Forms of a model that torch runs: as it is, exported, and quantised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

from frameworks.executorch.exporting import recipe_steps
from frameworks.executorch.exporting.catalogue import RECIPES
from frameworks.executorch.exporting.example_folder import Inputs
from frameworks.executorch.exporting.model import Prepared, calibration_batches
from frameworks.executorch.exporting.process import Say
from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.examples import Stage

Forward = Callable[..., object]
"""A form of a model: takes the inputs of one example, and returns tensors in any nesting."""


def make_stage(stage: Stage, export: Export, prepared: Prepared, calibration: Path | None, say: Say) -> Forward:
    """Return a form of a model.

    Args:
        stage: `eager`, `exported` or `quantised`.
        export: The request.
        prepared: The model. Quantising may change it: ask for that stage last.
        calibration: Folder of the examples to calibrate with; random numbers without it.
        say: Reports progress.

    Raises:
        ExportFailed: The stage is none of them, or the recipe has no step that quantises.
    """
    if stage is Stage.EAGER:
        return prepared.module
    if stage is Stage.EXPORTED:
        return program_module(torch.export.export(prepared.module, prepared.example_inputs))
    if stage is Stage.QUANTISED:
        return program_module(calibrated_program(export, prepared, find_steps(export), calibration, say))
    raise ExportFailed(f"stage `{stage}` is not computed by torch")


def find_steps(export: Export) -> recipe_steps.Steps:
    """Return the steps of the recipe.

    Raises:
        ExportFailed: Its module does not define them.
    """
    steps = recipe_steps.load_steps(RECIPES.find(export.recipe))
    if steps is None:
        raise ExportFailed(
            f"recipe `{export.recipe}` is one function: the program that it lowers cannot be examined",
            hint="let its module define the steps `quantise` (or `export_program`) and `lower_program`",
        )
    return steps


def calibrated_program(
    export: Export, prepared: Prepared, steps: recipe_steps.Steps, calibration: Path | None, say: Say
) -> torch.export.ExportedProgram:
    """Return the first step of a recipe, with the calibration data of the export.

    Args:
        export: The request.
        prepared: The model. The recipe may change it.
        steps: The steps of the recipe.
        calibration: Folder of the examples to calibrate with; random numbers without it.
        say: Reports progress.
    """
    batches = calibration_batches(prepared.example_inputs, export, calibration)

    def with_progress() -> Iterator[Inputs]:
        for number, batch in enumerate(batches, start=1):
            say(f"quantising {number}/{export.calibration}")
            yield batch

    return steps.make_program(prepared.module, prepared.example_inputs, with_progress())


def program_module(program: torch.export.ExportedProgram) -> torch.fx.GraphModule:
    """Return a module that runs a program."""
    return program.module(check_guards=False)


def flatten(result: object) -> Iterator[torch.Tensor]:
    """Yield the tensors of a result of any nesting, in the order in which a program returns them.

    Raises:
        ExportFailed: Something in it is not a tensor.
    """
    for leaf in pytree.tree_leaves(result):
        if leaf is None:
            continue
        if not isinstance(leaf, torch.Tensor):
            raise ExportFailed(f"an output of the model is of type {type(leaf).__name__}; only tensors can be compared")
        yield leaf

"""The quantised form of a model, beside those that every framework has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from frameworks.executorch.exporting import recipe_steps
from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.exporting.child import Say
from frameworks.exporting.example_folder import Inputs
from frameworks.exporting.models import Prepared, calibration_batches
from frameworks.references import stages
from frameworks.references.process import ReferenceRequest
from frameworks.references.stages import Forward, program_module
from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.examples import Stage


def make_stage(stage: Stage, request: ReferenceRequest, prepared: Prepared, say: Say) -> Forward:
    """Return a form of a model; quantising may change the model.

    Raises:
        ExportFailed: The stage is none that torch computes, or the recipe has no step that quantises.
    """
    if stage is Stage.QUANTISED:
        return program_module(
            calibrated_program(request.export, prepared, find_steps(request.export), request.calibration, say)
        )
    return stages.make_stage(stage, request, prepared, say)


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

"""Reference outputs and gaps of layers as the harness sees them: the stages, and the process that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from frameworks.executorch.exporting import recipe_steps
from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.executorch.references.process import LayerRequest
from frameworks.exporting.catalogue import DEFINITIONS
from frameworks.exporting.companions import LOG
from frameworks.exporting.exporter import child_command, explain_failure, progress_parser
from frameworks.references import maker
from harness import shell
from harness.core.benchmark import Export
from harness.core.evaluation import LayerGaps
from harness.core.examples import Stage
from harness.core.protocols import Task

_PROCESS = "frameworks.executorch.references.process"


def reference_stages(export: Export) -> Sequence[Stage]:
    """Return the stages whose outputs can be computed: `quantised` only if the recipe defines the step that quantises.

    Raises:
        ExportFailed: There is no such definition or recipe, or it cannot be read.
    """
    DEFINITIONS.find(export.definition)
    quantised = (Stage.QUANTISED,) if recipe_steps.quantises(RECIPES.find(export.recipe)) else ()
    return (Stage.EAGER, Stage.EXPORTED, *quantised)


def make_references(
    export: Export,
    examples: Path,
    stages: Sequence[Stage],
    destination: Path,
    progress: Task,
    *,
    calibration: Path | None = None,
) -> None:
    """Compute the outputs of stages, as `frameworks.references.maker` does, with those that quantise."""
    maker.make_references(
        EXPORTER,
        export,
        examples=examples,
        stages=stages,
        destination=destination,
        progress=progress,
        calibration=calibration,
        process=_PROCESS,
    )


def compare_layers(
    export: Export, examples: Path, progress: Task, *, calibration: Path | None = None, limit: int = 8
) -> LayerGaps:
    """Compare the layers of a program in a process of its own; not if its recipe does not show the program.

    Raises:
        ExportFailed: With the last message of the process, and what to do about it.
        EnvironmentProblem: A package is missing.
    """
    if (problem := EXPORTER.find_problem(export)) is not None:
        raise problem
    if not recipe_steps.has_steps(RECIPES.find(export.recipe)):
        reason = f"recipe `{export.recipe}` does not show the program that it lowers"
        return LayerGaps(unavailable=f"{reason}: its module defines no `{recipe_steps.LOWER_PROGRAM}`")
    with TemporaryDirectory(prefix="harness-layers-") as folder:
        scratch = Path(folder)
        wanted = LayerRequest(
            export=export,
            examples=examples.absolute(),
            limit=limit,
            scratch=scratch,
            calibration=calibration.absolute() if calibration else None,
        )
        request, result = scratch / "request.json", scratch / "gaps.json"
        request.write_text(wanted.model_dump_json(indent=2), encoding="utf-8")
        completed = shell.run(child_command(_PROCESS, request, result), on_line=progress_parser(progress))
        if completed.ok and result.is_file():
            return LayerGaps.model_validate_json(result.read_bytes())
        purpose = f"compare the layers of `{export.definition}` ({export.recipe})"
        log = Path(gettempdir()) / f"harness-layers{LOG}"
        raise explain_failure(purpose, "the gaps of layers", completed, log)

"""Reference outputs and gaps of layers as the harness sees them: the stages, and the process that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from frameworks.executorch.exporting import exporter, recipe_steps
from frameworks.executorch.exporting.catalogue import DEFINITIONS, RECIPES
from frameworks.executorch.exporting.process import LOG
from frameworks.executorch.references.process import LayerRequest, ReferenceRequest
from harness import shell
from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.evaluation import LayerGaps
from harness.core.examples import MANIFEST, Stage
from harness.core.protocols import Task
from harness.files.drafts import open_scratch_folder

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
    """Compute the outputs of stages in a process of its own.

    After a failure there is only what the process printed (`references.log` in the destination).

    Raises:
        ExportFailed: With the last message of the process, and what to do about it.
        EnvironmentProblem: A package is missing.
    """
    if (problem := exporter.find_problem(export)) is not None:
        raise problem
    try:
        with open_scratch_folder(destination) as staging:
            request = staging / "request.json"
            wanted = ReferenceRequest(
                export=export,
                examples=examples.absolute(),
                stages=tuple(stages),
                destination=staging,
                calibration=calibration.absolute() if calibration else None,
            )
            request.write_text(wanted.model_dump_json(indent=2), encoding="utf-8")
            completed = shell.run(exporter.child_command(_PROCESS, request), on_line=exporter.progress_parser(progress))
            if not completed.ok or not all((staging / stage / MANIFEST).is_file() for stage in stages):
                purpose = f"compute reference outputs of `{export.definition}` ({export.recipe})"
                raise exporter.explain_failure(purpose, "all outputs", completed, destination / f"references{LOG}")
            for stage in stages:
                (staging / stage).replace(destination / stage)
    except OSError as error:
        raise ExportFailed(f"cannot write outputs to {destination}: {error}") from error


def compare_layers(
    export: Export, examples: Path, progress: Task, *, calibration: Path | None = None, limit: int = 8
) -> LayerGaps:
    """Compare the layers of a program in a process of its own; not if its recipe does not show the program.

    Raises:
        ExportFailed: With the last message of the process, and what to do about it.
        EnvironmentProblem: A package is missing.
    """
    if (problem := exporter.find_problem(export)) is not None:
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
        completed = shell.run(
            exporter.child_command(_PROCESS, request, result), on_line=exporter.progress_parser(progress)
        )
        if completed.ok and result.is_file():
            return LayerGaps.model_validate_json(result.read_bytes())
        purpose = f"compare the layers of `{export.definition}` ({export.recipe})"
        log = Path(gettempdir()) / f"harness-layers{LOG}"
        raise exporter.explain_failure(purpose, "the gaps of layers", completed, log)

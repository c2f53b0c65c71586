"""Reference outputs as the harness sees them: the stages, and the process that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from frameworks.exporting.catalogue import DEFINITIONS
from frameworks.exporting.companions import LOG
from frameworks.exporting.exporter import FileExporter, child_command, explain_failure, progress_parser
from frameworks.references.process import ReferenceRequest
from harness import shell
from harness.core.benchmark import Export
from harness.core.errors import ExportFailed
from harness.core.examples import MANIFEST, Stage
from harness.core.protocols import Task
from harness.files.drafts import open_scratch_folder

PROCESS: Final = "frameworks.references.process"
"""The process of a framework that has no stages of its own."""


def reference_stages(exporter: FileExporter, export: Export) -> Sequence[Stage]:
    """Return the stages that torch computes of any model.

    Raises:
        ExportFailed: There is no such definition or recipe.
    """
    DEFINITIONS.find(export.definition)
    exporter.recipes.find(export.recipe)
    return (Stage.EAGER, Stage.EXPORTED)


def make_references(
    exporter: FileExporter,
    export: Export,
    *,
    examples: Path,
    stages: Sequence[Stage],
    destination: Path,
    progress: Task,
    calibration: Path | None = None,
    process: str = PROCESS,
) -> None:
    """Compute the outputs of stages in a process of its own.

    After a failure there is only what the process printed (`references.log` in the destination).

    Args:
        exporter: Exporter of the framework.
        export: The request of the model file.
        examples: The example folder.
        stages: The stages to compute.
        destination: An existing folder; `destination / stage` becomes an output folder for each of them.
        progress: Told what happens.
        calibration: Folder of the examples that the file was calibrated with, if it was.
        process: Module of the process.

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
            completed = shell.run(child_command(process, request), on_line=progress_parser(progress))
            if not completed.ok or not all((staging / stage / MANIFEST).is_file() for stage in stages):
                purpose = f"compute reference outputs of `{export.definition}` ({export.recipe})"
                raise explain_failure(purpose, "all outputs", completed, destination / f"references{LOG}")
            for stage in stages:
                (staging / stage).replace(destination / stage)
    except OSError as error:
        raise ExportFailed(f"cannot write outputs to {destination}: {error}") from error

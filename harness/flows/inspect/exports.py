"""`harness export`: export model files and show what was lowered, without measuring."""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec import Struct

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Export, Model, ModelFile, SpecificationPlace
from harness.core.errors import ExitCode, ExportFailed, UsageError, most_severe
from harness.core.protocols import Exporter, Progress
from harness.files.atomic import replacing
from harness.flows.measure.fetching import describe_file, fetch, files_exit_code
from harness.flows.measure.named_parts import check_export
from harness.flows.measure.plan import Failure
from harness.flows.measure.workload import load_workload
from harness.models.cache import ModelCache
from harness.presentation.documents import ExportDocument, ExportedFile


class ExportRequest(Struct, frozen=True):
    """Program to export.

    Attributes:
        definition: Name of an installed model definition, or `package.module:function`.
        recipe: Name of an installed recipe, or `package.module:function`.
        seed: Seed of weights and calibration data.
        calibration: Number of calibration batches.
        output: File to write.
    """

    definition: str
    recipe: str
    seed: int
    calibration: int
    output: Path


def export_model(request: ExportRequest, settings: Settings, progress: Progress) -> ExportDocument:
    """Export one definition, or take it from the cache, and write the output.

    Raises:
        UsageError: The framework cannot export, or none can.
        ExportFailed: With the reason and a remedy.
        EnvironmentProblem: A package that the export needs is missing.
    """
    name, exporter = _find_exporter(settings)
    export = Export(
        definition=request.definition, recipe=request.recipe, seed=request.seed, calibration=request.calibration
    )
    try:
        check_export(export, exporter)
    except ExportFailed as error:
        raise UsageError(error.message, hint=error.hint) from error
    file = ModelFile(
        key="files.model", filename=request.output.name, export=export, origin=SpecificationPlace(file=Path("export"))
    )
    cached = ModelCache(settings.model_cache).fetch(
        file,
        model=Model(name=request.definition.replace(":", "."), format=name),
        exporter=exporter,
        progress=progress,
        force=settings.force_export,
    )
    progress.say(describe_file(cached))
    _copy(cached.path, request.output)
    progress.say(f"{request.output}  md5 {cached.md5}")
    return ExportDocument(files=(ExportedFile(file=cached, output=str(request.output)),))


def _find_exporter(settings: Settings) -> tuple[str, Exporter]:
    """Return the framework that was asked for, or else the first one that can export, with its name."""
    names = plugins.installed_names("framework") if settings.framework is None else (settings.framework,)
    for name in names:
        framework = plugins.framework(name, settings)
        if isinstance(framework, Exporter):
            return name, framework
    raise UsageError(f"no framework can export: {', '.join(names)}", hint="name another one with --framework")


def export_files(settings: Settings, progress: Progress, folder: Path | None) -> tuple[ExportDocument, ExitCode]:
    """Bring every file of a specification into the cache, as a run would; return them with the exit code.

    Args:
        settings: Which specification.
        progress: Shows what happens.
        folder: Folder for copies, if any.
    """
    files = fetch(load_workload(settings).plan(progress), settings, progress)
    failed = sum(isinstance(file, Failure) for file in files.values())
    exported: list[ExportedFile] = []
    copied: dict[str, str] = {}
    for file in files.values():
        if isinstance(file, Failure):
            continue
        if folder is not None and copied.setdefault(file.filename, file.md5) != file.md5:
            progress.warn(f"✗ {folder / file.filename} is another file of that name; this one stays at {file.path}")
            failed += 1
            continue
        if folder is not None:
            _copy(file.path, folder / file.filename)
        progress.say(f"{folder / file.filename if folder else file.path}  md5 {file.md5}")
        exported.append(ExportedFile(file=file, output=str(folder / file.filename) if folder is not None else None))
    codes = (files_exit_code(files), ExitCode.BENCHMARK_FAILED if failed else ExitCode.OK)
    return ExportDocument(files=tuple(exported), failed=failed), most_severe(codes)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as draft:
        shutil.copyfile(source, draft)

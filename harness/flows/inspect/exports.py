"""`harness export`: make model files and say what was lowered, without measuring."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Export, Model, ModelFile, Origin
from harness.core.errors import ExitCode, ExportFailed, UsageError
from harness.core.protocols import Exporter, Progress
from harness.files.atomic import replacing
from harness.flows.measure.fetching import describe_file, fetch
from harness.flows.measure.plan import Failure
from harness.flows.measure.workload import load_workload
from harness.models.cache import ModelCache

_FRAMEWORK = "executorch"
"""The framework that exports when nobody names one: the only one of ours that can."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One program that a person asked for.

    Attributes:
        definition: Built-in model or `package.module:function`.
        recipe: How to lower it.
        seed: Seed of weights and calibration data.
        calibration: Number of calibration batches.
        output: Where to put it.
    """

    definition: str
    recipe: str
    seed: int
    calibration: int
    output: Path


def export_model(wanted: Wanted, settings: Settings, progress: Progress) -> ExitCode:
    """Export one definition, or take it from the cache, and copy it to where it is wanted.

    Raises:
        UsageError: The framework cannot export.
        ExportFailed: With the reason and a remedy.
    """
    exporter = plugins.framework(settings.framework or _FRAMEWORK, settings)
    if not isinstance(exporter, Exporter):
        raise UsageError(f"the framework `{exporter.name}` cannot export")
    request = Export(
        definition=wanted.definition, recipe=wanted.recipe, seed=wanted.seed, calibration=wanted.calibration
    )
    try:
        exporter.fingerprint(request)
    except ExportFailed as error:
        raise UsageError(error.message, hint=error.hint) from error
    file = ModelFile(key="files.model", filename=wanted.output.name, export=request, origin=Origin(file=Path("export")))
    name = wanted.definition.replace(":", ".")
    cached = ModelCache(settings.model_cache).fetch(
        file,
        model=Model(name=name, format=exporter.name),
        exporter=exporter,
        progress=progress,
        force=settings.force_export,
    )
    progress.say(describe_file(cached))
    _copy(cached.path, wanted.output)
    progress.say(f"{wanted.output}  md5 {cached.md5}")
    return ExitCode.OK


def export_files(settings: Settings, progress: Progress, folder: Path | None) -> ExitCode:
    """Bring every file of a specification into the cache, as a run would.

    Args:
        settings: Which specification.
        progress: Told what happens.
        folder: Where copies are wanted, if anywhere.
    """
    files = fetch(load_workload(settings).plan(), settings, progress)
    failed = any(isinstance(file, Failure) for file in files.values())
    copied: dict[str, str] = {}
    for file in files.values():
        if isinstance(file, Failure):
            continue
        if folder is not None and copied.setdefault(file.filename, file.md5) != file.md5:
            progress.say(f"✗ {folder / file.filename} is another file of that name; this one stays at {file.path}")
            failed = True
            continue
        if folder is not None:
            _copy(file.path, folder / file.filename)
        progress.say(f"{folder / file.filename if folder else file.path}  md5 {file.md5}")
    return ExitCode.BENCHMARK_FAILED if failed else ExitCode.OK


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as draft:
        shutil.copyfile(source, draft)

"""Exported programs: made once per request and exporter, kept with their report, moved into the cache whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import ValidationError

from harness.core.benchmark import Export, ModelFile
from harness.core.cached_files import ExportReport
from harness.core.errors import ExportFailed
from harness.core.protocols import CalibratedExporting, Exporter, Progress, Task
from harness.files.atomic import sync
from harness.models.errors import os_errors_as_unavailable
from harness.models.fingerprints import (
    FileFingerprint,
    fingerprint_file,
    inspect_place,
    refresh_fingerprint,
    write_fingerprint,
)
from harness.models.layout import EXPORT_REPORT, CachePlace, ExportPlace

_LOG: Final = ".log"
"""Suffix of what exporters write about a failure."""


class Exported(Struct, frozen=True):
    """Exported program whose content matches its report."""

    report: ExportReport
    fingerprint: FileFingerprint


def find(file: ModelFile, place: ExportPlace) -> Exported | None:
    """Return the export in the cache, or None where it is missing or damaged.

    Raises:
        FileUnavailable: The cache cannot be read.
    """
    with os_errors_as_unavailable(file, "reading the cache"):
        report = _report_in(place.folder)
        inspection = inspect_place(place.program)
        if report is None or inspection is None or inspection.actual.md5 != report.md5:
            return None
        refresh_fingerprint(place.program, inspection)
    return Exported(report, inspection.actual)


def make(
    file: ModelFile,
    export: Export,
    exporter: Exporter,
    place: ExportPlace,
    progress: Progress,
    *,
    calibration: Path | None = None,
) -> Exported:
    """Export, and replace an export that is there. The caller holds the lock of the place.

    A failed export leaves nothing in the cache but its log, in a hidden folder that the next one removes; so does a
    killed one with all that it wrote.

    Raises:
        ExportFailed: There is no program, or another one than its report says.
        FileUnavailable: The cache cannot be written.
    """
    program = CachePlace(place.partial / place.filename)
    with os_errors_as_unavailable(file, "preparing the export"):
        _clear(place)
        program.path.parent.mkdir(parents=True)
    try:
        with progress.task(f"exporting {export.definition} with {export.recipe}") as task:
            exported = _export(file, export, exporter, program, task, calibration=calibration)
        with os_errors_as_unavailable(file, "keeping the export"):
            write_fingerprint(program, exported.fingerprint)
            report = place.partial / EXPORT_REPORT
            report.write_text(exported.report.model_dump_json(indent=2) + "\n", encoding="utf-8")
            _publish(place)
    finally:
        _discard_all_but_logs(place.partial)
    return exported


def _export(
    file: ModelFile, export: Export, exporter: Exporter, program: CachePlace, task: Task, *, calibration: Path | None
) -> Exported:
    if calibration is None:
        report = exporter.export(export, program.path, task)
    elif isinstance(exporter, CalibratedExporting):
        report = exporter.export_calibrated(export, calibration, program.path, task)
    else:
        raise ExportFailed(
            f"{file.filename}: this framework calibrates with no data of yours", hint="remove `calibration_data`"
        )
    if not program.path.is_file():
        raise ExportFailed(f"{file.filename}: the exporter says it is done, but wrote no program")
    with os_errors_as_unavailable(file, "reading the export"):
        fingerprint = fingerprint_file(program.path)
    if fingerprint.md5 != report.md5:
        raise ExportFailed(
            f"{file.filename}: the exporter reports MD5 {report.md5}, but wrote a file with {fingerprint.md5}"
        )
    return Exported(report, fingerprint)


def _report_in(folder: Path) -> ExportReport | None:
    try:
        return ExportReport.model_validate_json((folder / EXPORT_REPORT).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _publish(place: ExportPlace) -> None:
    for path in place.partial.rglob("*"):
        if path.is_file():
            sync(path)
    if place.folder.exists():
        place.folder.rename(place.old)
    place.partial.rename(place.folder)
    shutil.rmtree(place.old, ignore_errors=True)


def _discard_all_but_logs(folder: Path) -> None:
    """Remove what a failed export wrote; the message of its failure names the log, which stays."""
    for path in (path for path in folder.rglob("*") if path.is_file() and path.suffix != _LOG):
        path.unlink(missing_ok=True)
    if not any(path.is_file() for path in folder.rglob("*")):
        shutil.rmtree(folder, ignore_errors=True)


def _clear(place: ExportPlace) -> None:
    """Remove what a killed export left."""
    for leftover in (place.partial, place.old):
        if leftover.exists():
            shutil.rmtree(leftover)

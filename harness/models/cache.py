"""Cache of all files that benchmarks need: downloads, copies and exports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from harness.core.benchmark import Export, Model, ModelFile
from harness.core.cached_files import CachedFile
from harness.core.errors import ExportFailed
from harness.core.protocols import Exporter, Progress
from harness.files.examples import read_manifest
from harness.files.locks import FileLock
from harness.models import exports, fetch
from harness.models.errors import os_errors_as_unavailable, wrong_md5
from harness.models.layout import CachePlace, ExportPlace, choose_export_place, choose_place
from harness.models.locations import DIRECTORY, FileLocation, parse_location
from harness.shell import poll_until


class CalibrationSource(Protocol):
    """Examples that exports calibrate with."""

    def find(self, export: Export) -> Path | None:
        """Return the example folder of an export with `calibration_data`; None where it is not made yet."""

    def prepare(self, export: Export, progress: Progress) -> Path:
        """Return the example folder, made where it is not there yet.

        Raises:
            DataUnavailable: It cannot be made.
            EnvironmentProblem: A plug-in cannot be imported.
        """


class ModelCache:
    """Files that are downloaded, copied or exported once, and verified before every use.

    The layout is described in `harness.models.layout`. Several threads and several processes may use one cache folder
    at the same time; each file is fetched by one of them. Everything in the folder may be deleted and is fetched again.

    Args:
        folder: Folder of the files; made when needed.
        calibration: The examples that exports calibrate with; without it such exports fail.
    """

    def __init__(self, folder: Path, calibration: CalibrationSource | None = None) -> None:
        self.folder = folder
        self._calibration = calibration
        self._exported_anew: set[Path] = set()

    def fetch(
        self,
        file: ModelFile,
        *,
        model: Model,
        exporter: Exporter | None,
        progress: Progress,
        force: bool = False,
    ) -> CachedFile:
        """Return a file, complete and verified; fetch it first where the cache does not have it.

        Args:
            file: File entry of the specification.
            model: Model that it belongs to; its folder has this name.
            exporter: Makes exports; None when the framework makes none.
            progress: Receives messages.
            force: Export even when the cache has the program; once for each program in the life of this object,
                however many benchmarks share it. Does not concern downloads.

        Raises:
            FileUnavailable: It cannot be fetched, or has another MD5 than the specification promises.
            ExportFailed: It cannot be exported.
            EnvironmentProblem: A package that the export needs is missing.
        """
        if file.export is not None:
            return self._fetch_export(file, file.export, _require_exporter(file, exporter), progress, force=force)
        source = parse_location(file)
        if file.md5 == DIRECTORY:
            return fetch.find_directory(file, source)
        place = self._place(file, model, source)
        if (ready := fetch.find(file, source, place)) is not None:
            return ready
        with _locked(place.lock, file, progress):
            # Another process may have fetched it meanwhile.
            return fetch.find(file, source, place) or fetch.fetch_new(file, source, place, progress)

    def peek(self, file: ModelFile, *, model: Model, exporter: Exporter | None) -> CachedFile | None:
        """Return what the cache has, or None where `fetch` would have to download, copy or export. No network.

        Raises:
            FileUnavailable: `fetch` would refuse the file as well.
            ExportFailed: There is no such definition or recipe.
        """
        if file.export is not None:
            examples = self._require_calibration(file, file.export)
            calibration = None if examples is None else examples.find(file.export)
            if examples is not None and calibration is None:
                return None
            place = self._export_place(file, file.export, _require_exporter(file, exporter), calibration)
            if (exported := exports.find(file, place)) is None:
                return None
            return _cached_export(file, file.export, place, exported, fresh=False)
        source = parse_location(file)
        if file.md5 == DIRECTORY:
            return fetch.find_directory(file, source)
        return fetch.find(file, source, self._place(file, model, source))

    def _place(self, file: ModelFile, model: Model, source: FileLocation) -> CachePlace:
        with os_errors_as_unavailable(file, f"looking at {source.shown}"):
            return choose_place(self.folder, file, model, source)

    def _fetch_export(
        self, file: ModelFile, export: Export, exporter: Exporter, progress: Progress, *, force: bool
    ) -> CachedFile:
        examples = self._require_calibration(file, export)
        calibration = None if examples is None else examples.prepare(export, progress)
        place = self._export_place(file, export, exporter, calibration)
        if not self._must_export(place, force=force) and (exported := exports.find(file, place)):
            return _cached_export(file, export, place, exported, fresh=False)
        with _locked(place.lock, file, progress):
            if not self._must_export(place, force=force):
                if exported := exports.find(file, place):
                    return _cached_export(file, export, place, exported, fresh=False)
                if place.folder.exists():
                    progress.say(f"{file.filename}: the export in the cache is damaged; exporting again")
            exported = exports.make(file, export, exporter, place, progress, calibration=calibration)
            self._exported_anew.add(place.folder)
        return _cached_export(file, export, place, exported, fresh=True)

    def _export_place(
        self, file: ModelFile, export: Export, exporter: Exporter, calibration: Path | None
    ) -> ExportPlace:
        """Return the place of an export. The content of its calibration data counts, not where they come from."""
        fingerprint = dict(exporter.fingerprint(export))
        if calibration is not None:
            fingerprint["calibration data"] = read_manifest(calibration).digest
        return choose_export_place(self.folder, file, export.model_copy(update={"calibration_data": None}), fingerprint)

    def _require_calibration(self, file: ModelFile, export: Export) -> CalibrationSource | None:
        """Return the source of an export's calibration data; None where it has none."""
        if export.calibration_data is not None and self._calibration is None:
            raise ExportFailed(f"{file.filename}: there are no calibration data for exports here")
        return None if export.calibration_data is None else self._calibration

    def _must_export(self, place: ExportPlace, *, force: bool) -> bool:
        return force and place.folder not in self._exported_anew


@contextlib.contextmanager
def _locked(path: Path, file: ModelFile, progress: Progress) -> Iterator[None]:
    """Hold a lock file, so that one process, and one thread of it, fetches a file, and the others wait for it."""
    lock = FileLock(path)
    with os_errors_as_unavailable(file, "locking its place in the cache"):
        if not lock.acquire():
            progress.say(f"{file.filename}: waiting for another harness that is fetching it")
            poll_until(lock.acquire)
    with lock:
        yield


def _require_exporter(file: ModelFile, exporter: Exporter | None) -> Exporter:
    if exporter is None:
        raise ExportFailed(
            f"{file.filename}: this framework exports no models (wanted by {file.origin})",
            hint="give a `location` instead of an `export`",
        )
    return exporter


def _cached_export(
    file: ModelFile, export: Export, place: ExportPlace, exported: exports.Exported, *, fresh: bool
) -> CachedFile:
    """Return an export, if its MD5 is the one that the specification promises.

    Another one stays in the cache: it is right for its request, and exporting again would give the same.
    """
    source = f"export of {export.definition} with {export.recipe}"
    if file.md5 not in {None, exported.fingerprint.md5}:
        versions = ", ".join(f"{name} {version}" for name, version in sorted(exported.report.versions.items()))
        raise wrong_md5(
            file,
            source,
            exported.fingerprint.md5,
            f'promise `"md5": "{exported.fingerprint.md5}"` if this program is meant, or export with the versions that '
            f"made the promised one; these were {versions}",
        )
    return CachedFile(
        key=file.key,
        filename=file.filename,
        path=place.program.path,
        md5=exported.fingerprint.md5,
        size_bytes=exported.fingerprint.size_bytes,
        source=source,
        report=exported.report,
        fresh=fresh,
    )

"""The model cache: one door for every file that a benchmark needs."""

from __future__ import annotations

from pathlib import Path

from harness.core.benchmark import Export, Model, ModelFile
from harness.core.errors import ExportFailed
from harness.core.files import CachedFile
from harness.core.protocols import Exporter, Progress
from harness.models import exports, fetch
from harness.models.failures import told_as_unavailable, wrong_md5
from harness.models.layout import ExportPlace, Place, export_place_of, place_of
from harness.models.local import directory
from harness.models.locks import locked
from harness.models.sources import DIRECTORY, Source, source_of


class ModelCache:
    """Files by what they are: downloaded, copied or exported once, verified before every use.

    The layout is described in `harness.models.layout`. Several threads and several processes may use one cache folder
    at the same time; each file is brought by one of them. Everything in the folder can be deleted and comes back.

    Args:
        folder: Where the files are kept; made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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
        """Have a file in the cache, whole and verified.

        Args:
            file: What the specification asks for.
            model: The model it belongs to; names its folder.
            exporter: Makes exports; None when the framework makes none.
            progress: Told what happens.
            force: Export even when the cache has the program; once for each program in the life of this object,
                however many benchmarks share it. Does not concern downloads.

        Raises:
            FileUnavailable: It cannot be had, or is not what the specification promises.
            ExportFailed: It cannot be exported.
        """
        if file.export is not None:
            return self._fetch_export(file, file.export, _needed(file, exporter), progress, force=force)
        source = source_of(file)
        if file.md5 == DIRECTORY:
            return directory(file, source)
        place = self._place(file, model, source)
        if (ready := fetch.find(file, source, place)) is not None:
            return ready
        with locked(place.lock, file, progress):
            # Somebody else may have brought it while this one waited.
            return fetch.find(file, source, place) or fetch.bring(file, source, place, progress)

    def peek(self, file: ModelFile, *, model: Model, exporter: Exporter | None) -> CachedFile | None:
        """What the cache has, or None where `fetch` would have to bring it. No network, no export.

        Raises:
            FileUnavailable: `fetch` would refuse the file as well.
            ExportFailed: There is no such definition or recipe.
        """
        if file.export is not None:
            place = export_place_of(self.folder, file, file.export, _needed(file, exporter).fingerprint(file.export))
            if (exported := exports.find(file, place)) is None:
                return None
            return _cached_export(file, file.export, place, exported, fresh=False)
        source = source_of(file)
        if file.md5 == DIRECTORY:
            return directory(file, source)
        return fetch.find(file, source, self._place(file, model, source))

    def _place(self, file: ModelFile, model: Model, source: Source) -> Place:
        with told_as_unavailable(file, f"looking at {source.shown}"):
            return place_of(self.folder, file, model, source)

    def _fetch_export(
        self, file: ModelFile, export: Export, exporter: Exporter, progress: Progress, *, force: bool
    ) -> CachedFile:
        place = export_place_of(self.folder, file, export, exporter.fingerprint(export))
        if not self._must_export(place, force=force) and (exported := exports.find(file, place)):
            return _cached_export(file, export, place, exported, fresh=False)
        with locked(place.lock, file, progress):
            if not self._must_export(place, force=force):
                if exported := exports.find(file, place):
                    return _cached_export(file, export, place, exported, fresh=False)
                if place.folder.exists():
                    progress.say(f"{file.filename}: the export in the cache is damaged; exporting again")
            exported = exports.make(file, export, exporter, place, progress)
            self._exported_anew.add(place.folder)
        return _cached_export(file, export, place, exported, fresh=True)

    def _must_export(self, place: ExportPlace, *, force: bool) -> bool:
        return force and place.folder not in self._exported_anew


def _needed(file: ModelFile, exporter: Exporter | None) -> Exporter:
    if exporter is None:
        raise ExportFailed(
            f"{file.filename}: this framework exports no models (wanted by {file.origin})",
            hint="give a `location` instead of an `export`",
        )
    return exporter


def _cached_export(
    file: ModelFile, export: Export, place: ExportPlace, exported: exports.Exported, *, fresh: bool
) -> CachedFile:
    """Hand out an export, if it is the one that the specification pins.

    Another one stays in the cache: it is right for its request, and making it again would make the same.
    """
    source = f"export of {export.definition} with {export.recipe}"
    if file.md5 not in {None, exported.stamp.md5}:
        versions = ", ".join(f"{name} {version}" for name, version in sorted(exported.report.versions.items()))
        raise wrong_md5(
            file,
            source,
            exported.stamp.md5,
            f"promise `md5: {exported.stamp.md5}` if this program is meant, or export with the versions that made"
            f" the promised one; these were {versions}",
        )
    return CachedFile(
        key=file.key,
        filename=file.filename,
        path=place.program.path,
        md5=exported.stamp.md5,
        size_bytes=exported.stamp.size_bytes,
        source=source,
        report=exported.report,
        fresh=fresh,
    )

"""Files that somebody else made: downloaded or copied, verified, kept."""

from __future__ import annotations

from harness.core.benchmark import ModelFile
from harness.core.files import CachedFile
from harness.core.protocols import Progress
from harness.files.atomic import sync
from harness.models.failures import told_as_unavailable, wrong_md5
from harness.models.fingerprints import Stamp, confirm, inspect, remember, stamp_of
from harness.models.layout import Place
from harness.models.local import copy
from harness.models.sources import Local, Source


def find(file: ModelFile, source: Source, place: Place) -> CachedFile | None:
    """The file as it is in the cache, or None where it is missing or damaged.

    Raises:
        FileUnavailable: The cache cannot be read.
    """
    with told_as_unavailable(file, "reading the cache"):
        inspection = inspect(place)
        if inspection is None:
            return None
        remembered = inspection.remembered
        # A file without promise and without stamp was not put there by us: nobody knows what it should be.
        expected = file.md5 or (remembered and remembered.md5)
        if inspection.actual.md5 != expected:
            return None
        confirm(place, inspection)
    return _cached(file, source, place, inspection.actual, fresh=False)


def bring(file: ModelFile, source: Source, place: Place, progress: Progress) -> CachedFile:
    """Bring the file to its place. The caller holds the place's lock.

    Raises:
        FileUnavailable: It cannot be had, or is not what the specification promises; then nothing of it is kept.
    """
    if place.path.exists():
        progress.say(f"{file.filename}: the copy in the cache is damaged; fetching it again from {source.shown}")
    stamp = _received(file, source, place, progress)
    with told_as_unavailable(file, "keeping it in the cache"):
        if file.md5 not in {None, stamp.md5}:
            place.discard_part()
            raise wrong_md5(
                file,
                source.shown,
                stamp.md5,
                f"if it was meant to change, promise `md5: {stamp.md5}`; otherwise find out who changed it",
            )
        sync(place.part)
        # The stamp comes first: a file that is there always has one.
        remember(place, stamp)
        place.part.replace(place.path)
        place.part_note.unlink(missing_ok=True)
    if file.md5 is None:
        progress.say(f"{file.filename}: no MD5 promised; pin it with `md5: {stamp.md5}` ({file.origin})")
    return _cached(file, source, place, stamp, fresh=True)


def _received(file: ModelFile, source: Source, place: Place, progress: Progress) -> Stamp:
    """Bring the content to the place's part."""
    if isinstance(source, Local):
        with progress.task(f"copying {file.filename}") as task:
            copy(file, source.path, place.part, task)
        return _stamp(file, place)
    from harness.models.download import download  # noqa: PLC0415 - imports the network, which few runs need

    with progress.task(f"downloading {file.filename}") as task:
        pieced = download(file, source, place, task)
        stamp = _stamp(file, place)
        if pieced and file.md5 not in {None, stamp.md5}:
            progress.say(f"{file.filename}: the continued download is damaged; starting over")
            place.discard_part()
            download(file, source, place, task)
            stamp = _stamp(file, place)
    return stamp


def _stamp(file: ModelFile, place: Place) -> Stamp:
    with told_as_unavailable(file, "reading what was brought"):
        return stamp_of(place.part)


def _cached(file: ModelFile, source: Source, place: Place, stamp: Stamp, *, fresh: bool) -> CachedFile:
    return CachedFile(
        key=file.key,
        filename=file.filename,
        path=place.path,
        md5=stamp.md5,
        size_bytes=stamp.size_bytes,
        source=source.shown,
        fresh=fresh,
    )

"""`harness builds`: lists the build cache, and makes room in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from harness.builders.cache import BuildCache, CachedBuild
from harness.core.build import BuildInfo
from harness.core.errors import ExitCode
from harness.display.documents import print_document
from harness.display.tables import draw_rows
from harness.presentation.documents import BuildsDocument, ListedBuild
from harness.presentation.numbers import format_quantity

_DAY_S = 86_400


def show(cache: BuildCache, console: Console, *, as_json: bool = False) -> ExitCode:
    """List every build of the cache, the longest unused first."""
    entries = cache.entries()
    if as_json:
        print_document(_document(cache), console)
        return ExitCode.OK
    rows = []
    for entry in sorted(entries, key=lambda entry: entry.last_used):
        build = entry.record.build
        used = datetime.fromtimestamp(entry.last_used, UTC).strftime("%Y-%m-%d %H:%M")
        size = format_quantity(entry.record.size_bytes, "bytes")
        rows.append((build.source, build.commit, build.recipe, size, used))
    header = ("source", "commit", "recipe", "size", "last used (UTC)")
    console.print(draw_rows(header, rows, title=str(cache.folder), right={"size"}))
    console.print(f"{len(entries)} kept, {format_quantity(sum(entry.record.size_bytes for entry in entries), 'bytes')}")
    return ExitCode.OK


def prune(
    cache: BuildCache, console: Console, *, keep_mib: float | None, unused_days: float | None, as_json: bool = False
) -> ExitCode:
    """Remove builds that are not in use, the longest unused first."""
    limit = int(keep_mib * 2**20) if keep_mib is not None else 0 if unused_days is None else None
    removed = cache.prune(limit_bytes=limit, unused_for_s=unused_days * _DAY_S if unused_days is not None else None)
    if as_json:
        print_document(_document(cache, removed), console)
        return ExitCode.OK
    console.print(
        f"{len(removed)} removed, {format_quantity(sum(entry.record.size_bytes for entry in removed), 'bytes')}"
    )
    return ExitCode.OK


def _document(cache: BuildCache, removed: Sequence[CachedBuild] = ()) -> BuildsDocument:
    return BuildsDocument(
        folder=str(cache.folder),
        builds=tuple(map(_listed, cache.entries())),
        removed=tuple(map(_listed, removed)),
    )


def _listed(entry: CachedBuild) -> ListedBuild:
    return ListedBuild(
        build=BuildInfo(**entry.record.build.model_dump(include=set(BuildInfo.model_fields))),
        folder=str(entry.folder),
        size_bytes=entry.record.size_bytes,
        last_used=entry.last_used,
    )

"""`harness builds`: lists the build cache, and makes room in it."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console

from harness.builders.cache import BuildCache
from harness.core.errors import ExitCode
from harness.display.tables import draw_rows
from harness.presentation.numbers import format_quantity

_DAY_S = 86_400


def show(cache: BuildCache, console: Console) -> ExitCode:
    """List every build of the cache, the longest unused first."""
    entries = cache.entries()
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


def prune(cache: BuildCache, console: Console, *, keep_mib: float | None, unused_days: float | None) -> ExitCode:
    """Remove builds that are not in use, the longest unused first."""
    limit = int(keep_mib * 2**20) if keep_mib is not None else 0 if unused_days is None else None
    removed = cache.prune(limit_bytes=limit, unused_for_s=unused_days * _DAY_S if unused_days is not None else None)
    console.print(
        f"{len(removed)} removed, {format_quantity(sum(entry.record.size_bytes for entry in removed), 'bytes')}"
    )
    return ExitCode.OK

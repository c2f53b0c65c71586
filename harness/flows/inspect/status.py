"""`harness status`: what a watcher is at, read from its state while it works."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.core.culprit import SearchResult
from harness.core.errors import ExitCode
from harness.flows.inspect.showing import cell, show
from harness.watch.status import WatchStatus, status_of
from harness.watch.store.records import Alarm, Entry, Point

_LONG = 80


def tell(path: Path, console: Console, *, as_json: bool) -> ExitCode:
    """Show it.

    Args:
        path: The state file.
        console: Where.
        as_json: The whole document instead of what a person needs.

    Raises:
        UsageError: There is none.
        EnvironmentProblem: It is damaged, or of a newer harness.
    """
    status = status_of(path)
    if as_json:
        show(cell(status.model_dump_json(indent=2)), console)
        return ExitCode.OK
    for line in _lines(status):
        show(cell(line), console)
    if status.done:
        table = Table("commit", "when", "became", "benchmark", "device", "difference", "verdict", pad_edge=False)
        for done in status.done:
            for row in _rows(done.entry, done.points):
                table.add_row(*map(cell, row))
        show(table, console)
    for alarm in (*status.alarms, *status.standing):
        show(cell(f"alarm: {_named(alarm)}"), console)
    for letter in status.undelivered:
        what = f"{letter.news.event} of {letter.news.alarm.sign.identity}"
        tried = "1 attempt" if letter.attempts == 1 else f"{letter.attempts} attempts"
        show(cell(f"not delivered by {letter.courier} ({tried}): {what}: {letter.said}"), console)
    return ExitCode.OK


def _lines(status: WatchStatus) -> Iterator[str]:
    if status.holder is None or status.alive is False:
        yield "no watcher runs"
    else:
        sure = "" if status.alive else " (cannot be seen from here)"
        yield f"watcher {status.holder.pid} on {status.holder.host}{sure}"
    if status.doing is not None:
        yield f"{status.doing.what}, since {_time(status.doing.since)}"
    if status.polled is not None:
        yield f"looked for new commits: {_time(status.polled.success)}"
        if status.polled.error:
            times = "once" if status.polled.failures == 1 else f"{status.polled.failures} times"
            yield f"  it has failed {times} since: {status.polled.error}"
    if status.trouble is not None:
        yield f"trouble: {status.trouble.error}"
    counts = ", ".join(f"{count} {progress.replace('_', ' ')}" for progress, count in status.counts.items() if count)
    yield f"commits: {counts or 'none yet'}"
    if status.waiting:
        yield "next: " + ", ".join(f"{entry.commit.short} {entry.commit.subject}" for entry in status.waiting[:3])
    yield f"alarms: {len(status.alarms)} in work, {len(status.standing)} told and not made good"


def _rows(entry: Entry, points: tuple[Point, ...]) -> Iterator[tuple[str, ...]]:
    first = (entry.commit.short, _time(entry.finished), entry.progress.replace("_", " "))
    if not points:
        yield (*first, _first_line(entry.why), "", "", "")
    for number, point in enumerate(points):
        difference = "" if point.log_ratio is None else f"{math.expm1(point.log_ratio):+.2%}"
        lead = first if number == 0 else ("", "", "")
        yield (*lead, point.title, point.device, difference, point.verdict.value)


def _named(alarm: Alarm) -> str:
    sign = alarm.sign
    size = sign.document.get("size")
    by = f" of {size:+.2%}" if isinstance(size, int | float) else ""
    why = f" ({alarm.why})" if alarm.why else ""
    title = sign.document.get("title", sign.benchmark)
    culprits = ", ".join(commit[:12] for commit in _culprits(alarm))
    where = f"culprit {culprits}" if culprits else f"{sign.first[:12]}..{sign.last[:12]}"
    return f"{sign.kind}{by} in {title} on {sign.device}, {where}: {alarm.stage}{why}"


def _culprits(alarm: Alarm) -> Sequence[str]:
    """The commits that the search named, if it did."""
    searched = alarm.document.get("search")
    found = searched.get("finding") if isinstance(searched, dict) else None
    culprits = () if found is None else SearchResult.model_validate(found).culprits
    return [commit for culprit in culprits for commit in culprit.commits]


def _first_line(text: str) -> str:
    """Whole reasons are in the document (`--json`)."""
    line = text.partition("\n")[0]
    return line if len(line) <= _LONG else line[: _LONG - 1] + "…"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")

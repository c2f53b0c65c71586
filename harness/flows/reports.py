"""`harness report`: look at what was kept, and send what could not be delivered."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from harness.core.errors import ExitCode
from harness.core.protocols import Progress
from harness.settings import Settings
from reporters import local, remote

_LATEST = 25
"""Results that are listed: a screenful."""


def latest(settings: Settings, console: Console) -> ExitCode:
    """The newest results of the local tree, oldest first."""
    entries = local.read_index(settings.local_reporter)
    if not entries:
        console.print(f"no results in {settings.local_reporter}")
        return ExitCode.OK
    table = Table(title=str(settings.local_reporter), title_justify="left", header_style="bold", pad_edge=False)
    for name in ("time (UTC)", "benchmark", "device", "commit", "outcome"):
        table.add_column(name)
    table.add_column("median", justify="right")
    for entry in sorted(entries, key=lambda one: one.time)[-_LATEST:]:
        when = datetime.fromtimestamp(entry.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
        outcome = entry.outcome.value if entry.trusted or entry.outcome != "ok" else "ok, doubtful"
        median = "" if entry.median is None else f"{entry.median:,.6g} {entry.unit or ''}".rstrip()
        title = f"{entry.model}/{entry.identifier}"
        table.add_row(when, title, entry.device_name or "", (entry.commit or "")[:12], outcome, median)
    console.print(table)
    return ExitCode.OK


def flush(settings: Settings, progress: Progress) -> ExitCode:
    """Send what waits for the remote reporter; anything left is a failure of the environment."""
    outcome = remote.flush(settings, progress)
    progress.say(f"{outcome.sent} sent, {outcome.left} waiting, {outcome.dead} refused")
    for reason in outcome.reasons:
        progress.say(f"  {reason}")
    return ExitCode.ENVIRONMENT if outcome.left or outcome.dead else ExitCode.OK

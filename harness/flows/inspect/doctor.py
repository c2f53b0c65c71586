"""`harness doctor`: what is installed, what is missing, and the remedy. Every plug-in is asked about what it needs."""

from __future__ import annotations

import platform as python_platform
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

import harness
from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Diagnosable, Finding
from harness.flows.compare import self_check
from harness.flows.inspect.showing import cell

_ROOM_BYTES = 2 * 2**30
"""Free disk below which exports of usual models begin to fail."""


def examine(settings: Settings, console: Console) -> ExitCode:
    """Show every finding; the exit code tells whether something needed is missing."""
    findings = [*_ours(settings), *_plugged_in(settings)]
    table = Table(show_header=False, box=None, pad_edge=False)
    for finding in findings:
        mark = {True: "[green]✓", None: "[yellow]·", False: "[bold red]✗"}[finding.ok]
        table.add_row(mark, cell(finding.name), cell(finding.found))
        if finding.ok is not True and finding.remedy:
            remedy = cell(f"remedy: {finding.remedy}")
            remedy.stylize("dim")
            table.add_row("", "", remedy)
    console.print(table)
    missing = sum(finding.ok is False for finding in findings)
    console.print(f"{missing} thing{'s' if missing != 1 else ''} missing" if missing else "ready to measure")
    return ExitCode.ENVIRONMENT if missing else ExitCode.OK


def _ours(settings: Settings) -> Iterator[Finding]:
    yield Finding("edge-harness", True, harness.__version__)
    yield Finding("Python", True, python_platform.python_version())
    for package in ("torch", "executorch", "torchao"):
        yield _package(package, f"pip install {package}", needed=True)
    for label, folder in (("cache", settings.cache_dir), ("results", settings.local_reporter)):
        yield _folder(label, folder)


def _plugged_in(settings: Settings) -> Iterator[Finding]:
    for name in plugins.names("platform"):
        yield from _of_platform(name, settings)
    for name in plugins.names("framework"):
        yield from _of_plug_in(f"framework {name}", partial(plugins.framework, name, settings))


def _of_platform(name: str, settings: Settings) -> Iterator[Finding]:
    yield from _of_plug_in(f"platform {name}", partial(plugins.platform, name, settings))
    try:
        devices = plugins.platform(name, settings).devices()
    except HarnessError as error:
        yield Finding("  devices", None, error.message, error.hint or "")
        return
    for device in devices:
        found = self_check.diagnose(settings, device)
        yield found._replace(name=f"  {found.name}")


def _of_plug_in(what: str, make: Callable[[], object]) -> Iterator[Finding]:
    try:
        plug_in = make()
    except HarnessError as error:
        yield Finding(what, False, error.message, error.hint or "")
        return
    yield Finding(what, True, "")
    for finding in plug_in.diagnose() if isinstance(plug_in, Diagnosable) else ():
        yield finding._replace(name=f"  {finding.name}")


def _package(name: str, remedy: str, *, needed: bool) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False if needed else None, "not installed", remedy)


def _folder(label: str, folder: Path) -> Finding:
    """Whether a folder can be written and has room."""
    name = f"{label} folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(name, False, f"{folder}: {error.strerror}", "make it writable, or name another place")
    room = f"{folder}, {free / 2**30:.0f} GiB free"
    return Finding(name, free > _ROOM_BYTES or None, room, "free some space: exports need up to 2 GiB")

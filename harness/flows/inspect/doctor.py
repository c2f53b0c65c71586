"""`harness doctor`: checks of what is installed and what is missing, those of every plug-in among them."""

from __future__ import annotations

import platform as python_platform
import shutil
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.table import Table

import harness
from harness import plugins
from harness.builders.toolchain import find_program
from harness.config.settings import Settings
from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Diagnosable, Finding, Platform
from harness.display.documents import print_document
from harness.display.tables import plain_text, print_output, style_line
from harness.flows.compare import self_check
from harness.presentation.documents import DoctorDocument, ListedFinding
from harness.presentation.text import Line, Span, Tone

PlugInT = TypeVar("PlugInT")

_MARKS: Final = {
    True: style_line(Line.of(Span("✓", Tone.GOOD))),
    None: style_line(Line.of(Span("·", Tone.WARNING))),
    False: style_line(Line.of(Span("✗", Tone.BAD))),
}

_ROOM_BYTES = 2 * 2**30
"""Free disk below which exports of usual models begin to fail."""


_BUILD_TOOLS = {
    "ninja": "apt install ninja-build, or pip install ninja: builds of commits show their steps and are faster",
    "ccache": "apt install ccache: building the neighbour of a commit takes a tenth of the time",
}
"""Programs that only make builds of commits faster."""


def examine(
    settings: Settings, console: Console, *, mistake: HarnessError | None = None, as_json: bool = False
) -> ExitCode:
    """Show every finding.

    Args:
        settings: The settings.
        console: Where to show the findings.
        mistake: What is wrong with files or variables that should have set something.
        as_json: Show them as JSON.

    Returns:
        `ENVIRONMENT` if something that is needed is missing.
    """
    tools = (_check_build_tool(name, remedy) for name, remedy in _BUILD_TOOLS.items())
    wrong = [] if mistake is None else [Finding("settings", False, mistake.message, mistake.hint or "")]
    findings = [*wrong, *_check_harness(settings), *tools, *_check_plug_ins(settings)]
    missing = sum(finding.ok is False for finding in findings)
    code = ExitCode.ENVIRONMENT if missing else ExitCode.OK
    if as_json:
        listed = tuple(ListedFinding(**finding._asdict()) for finding in findings)
        print_document(DoctorDocument(findings=listed, missing=missing), console)
        return code
    table = Table(show_header=False, box=None, pad_edge=False)
    for finding in findings:
        table.add_row(_MARKS[finding.ok], plain_text(finding.name), plain_text(finding.found))
        if finding.ok is not True and finding.remedy:
            remedy = plain_text(f"remedy: {finding.remedy}")
            remedy.stylize("dim")
            table.add_row("", "", remedy)
    print_output(table, console)
    trouble = "missing" if mistake is None else "missing or wrong"
    verdict = f"{missing} thing{'s' if missing != 1 else ''} {trouble}" if missing else "ready to measure"
    if not missing and any(finding.ok is None for finding in findings):
        verdict += "; some things need what is marked ·"
    print_output(plain_text(verdict), console)
    return code


def _check_harness(settings: Settings) -> Iterator[Finding]:
    yield Finding("edge-harness", True, harness.__version__)
    yield Finding("Python", True, python_platform.python_version())
    for kind in plugins.KINDS:
        installed = plugins.installed_names(kind)
        yield Finding(f"{kind}s", bool(installed), ", ".join(installed) or "none", plugins.REINSTALL)
    for label, folder in (("cache", settings.cache_dir), ("results", settings.local_reporter)):
        yield _check_folder(label, folder)


def _check_build_tool(name: str, remedy: str) -> Finding:
    """Look for a program without which builds of commits work too."""
    path = find_program(name)
    return Finding(name, True, str(path)) if path else Finding(name, None, "not installed", remedy)


def _check_plug_ins(settings: Settings) -> Iterator[Finding]:
    for name in plugins.installed_names("platform"):
        platform = yield from _check_plug_in(f"platform {name}", partial(plugins.platform, name, settings))
        if platform is not None:
            yield from _check_devices(platform, settings)
    for name in plugins.installed_names("framework"):
        yield from _check_plug_in(f"framework {name}", partial(plugins.framework, name, settings))


def _check_plug_in(label: str, load: Callable[[], PlugInT]) -> Generator[Finding, None, PlugInT | None]:
    """Check a plug-in; returns it when it can be loaded."""
    try:
        plug_in = load()
    except HarnessError as error:
        yield Finding(label, False, error.message, error.hint or "")
        return None
    yield Finding(label, True, "")
    for finding in plug_in.diagnose() if isinstance(plug_in, Diagnosable) else ():
        yield finding._replace(name=f"  {finding.name}")
    return plug_in


def _check_devices(platform: Platform, settings: Settings) -> Iterator[Finding]:
    """Look up the self-check of each device."""
    try:
        devices = platform.devices()
    except HarnessError as error:
        yield Finding("  devices", None, error.message, error.hint or "")
        return
    for device in devices:
        finding = self_check.diagnose(settings, device)
        yield finding._replace(name=f"  {finding.name}")


def _check_folder(label: str, folder: Path) -> Finding:
    """Check that a folder can be written and has room."""
    name = f"{label} folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(name, False, f"{folder}: {error.strerror}", "make it writable, or name another folder")
    room = f"{folder}, {free / 2**30:.0f} GiB free"
    return Finding(name, free > _ROOM_BYTES or None, room, "free some space: exports need up to 2 GiB")

"""Crash reports of an iPhone, through go-ios."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem
from platforms.ios.link.client import CrashReport
from platforms.ios.link.crash_names import process_of
from platforms.ios.link.go_ios.causes import ask
from platforms.ios.link.go_ios.documents import CrashList, parse_document
from platforms.ios.link.go_ios.program import GoIosProgram
from platforms.ios.link.words import shorten

_MOST_BYTES: Final = 16 << 20
"""A report has some 100 kB; what is longer is cut."""


def list_crash_reports(program: GoIosProgram, udid: str) -> Sequence[CrashReport]:
    """List crash reports. See `PhoneClient.list_crash_reports`."""
    doing = "its crash reports were listed"
    names = parse_document(CrashList, ask(program, udid, "crash", "ls", doing=doing).stdout, doing).files or ()
    return tuple(CrashReport(name, process_of(name)) for name in names)


def read_crash_report(program: GoIosProgram, udid: str, report: CrashReport) -> str:
    """Return the text of a crash report. See `PhoneClient.read_crash_report`.

    Raises:
        EnvironmentProblem: It is gone.
    """
    file_name = report.name.rpartition("/")[2]
    doing = f"the crash report {shorten(file_name)} was read"
    with tempfile.TemporaryDirectory(prefix="crash-report-") as folder:
        ask(program, udid, "crash", "cp", pattern_of(file_name), folder, doing=doing)
        copies = [file for file in Path(folder).iterdir() if file.is_file()]
        if len(copies) != 1:
            raise EnvironmentProblem(f"{udid} has no crash report {shorten(file_name)} any more")
        with copies[0].open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")


def pattern_of(file_name: str) -> str:
    """Return the pattern that fits this name alone (Go's `filepath.Match`), and is no option of a command line."""
    return re.sub(r"[^0-9A-Za-z_.]", r"\\\g<0>", file_name)

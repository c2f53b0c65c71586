"""Crash reports (`.ips`), as iOS 15 and later write them: a line of JSON about the report, then a JSON document."""

from __future__ import annotations

import json
import re
import signal
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.testing.phones.ios.developer.processes import StandInProcess
    from harness.testing.phones.ios.phone import StandInIPhone

_QUIET: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT})
"""Signals by which others end an app: that is no crash, and leaves no report."""
_EXCEPTIONS: Final = {
    signal.SIGSEGV: ("EXC_BAD_ACCESS", "KERN_INVALID_ADDRESS at 0x0000000000000000"),
    signal.SIGBUS: ("EXC_BAD_ACCESS", "KERN_PROTECTION_FAILURE at 0x0000000000000000"),
    signal.SIGILL: ("EXC_BAD_INSTRUCTION", ""),
    signal.SIGTRAP: ("EXC_BREAKPOINT", ""),
    signal.SIGFPE: ("EXC_ARITHMETIC", ""),
}
_INDICATORS: Final = {
    signal.SIGABRT: "Abort trap: 6",
    signal.SIGSEGV: "Segmentation fault: 11",
    signal.SIGBUS: "Bus error: 10",
    signal.SIGILL: "Illegal instruction: 4",
    signal.SIGTRAP: "Trace/BPT trap: 5",
    signal.SIGFPE: "Floating point exception: 8",
}
_ABORTED: Final = ("__pthread_kill", "pthread_kill", "abort")
_BUG_TYPE: Final = "309"
_LAST_LINES: Final = 3
_MOST_REPORTS: Final = 1000


def write_crash_report(phone: StandInIPhone, process: StandInProcess, number: int) -> None:
    """Write the report of a process that a signal ended; none for signals by which others end it.

    Of a program of this machine no stack is known: the frames are those that every such end has on an iPhone.

    Raises:
        OSError: It cannot be written.
    """
    if number in _QUIET:
        return
    now = datetime.now(UTC)
    header, body = _header(phone, process, now), _body(phone, process, number, now)
    text = f"{json.dumps(header)}\n{json.dumps(body, indent=2)}\n"
    stem = f"{re.sub(r'[^A-Za-z0-9_.-]', '_', process.name)}-{now.strftime('%Y-%m-%d-%H%M%S')}"
    for attempt in range(_MOST_REPORTS):
        file = phone.crash_reports / (f"{stem}.{attempt:03d}.ips" if attempt else f"{stem}.ips")
        try:
            with file.open("x") as stream:
                stream.write(text)
        except FileExistsError:
            continue
        phone.write_log("ReportCrash", 61, f"Saved crash report for {process.name}[{process.pid}] to {file.name}")
        return


def _header(phone: StandInIPhone, process: StandInProcess, now: datetime) -> dict[str, object]:
    return {
        "app_name": process.name,
        "timestamp": _stamp(now),
        "app_version": str(process.app.info.get("CFBundleShortVersionString", "")),
        "build_version": str(process.app.info.get("CFBundleVersion", "")),
        "bundleID": process.app.bundle,
        "bug_type": _BUG_TYPE,
        "os_version": f"iPhone OS {phone.model.version} ({phone.model.build})",
        "name": process.name,
        "incident_id": str(uuid.uuid4()).upper(),
    }


def _body(phone: StandInIPhone, process: StandInProcess, number: int, now: datetime) -> dict[str, object]:
    names = {each.value: each for each in signal.Signals}
    known = names.get(number)
    name = known.name if known is not None else f"SIG{number}"
    exception, subtype = _EXCEPTIONS.get(known, ("EXC_CRASH", "")) if known is not None else ("EXC_CRASH", "")
    indicator = _INDICATORS.get(known, f"{name}: {number}") if known is not None else f"{name}: {number}"
    symbols = (*(_ABORTED if known is signal.SIGABRT else ()), "main", "start")
    frames = [{"imageOffset": 0, "symbol": symbol, "symbolLocation": 0, "imageIndex": 0} for symbol in symbols]
    return {
        "uptime": 0,
        "procRole": "Foreground",
        "version": 2,
        "userID": 501,
        "modelCode": phone.model.product,
        "procName": process.name,
        "procPath": str(process.app.folder / process.name),
        "bundleInfo": {"CFBundleIdentifier": process.app.bundle},
        "captureTime": _stamp(now),
        "pid": process.pid,
        "cpuType": "ARM-64",
        "exception": {"type": exception, "signal": name, **({"subtype": subtype} if subtype else {})},
        "termination": {
            "flags": 0,
            "code": number,
            "namespace": "SIGNAL",
            "indicator": indicator,
            "byProc": process.name,
            "byPid": process.pid,
        },
        "asi": {process.name: list(process.last_lines(_LAST_LINES))},
        "faultingThread": 0,
        "threads": [{"id": 1, "triggered": True, "queue": "com.apple.main-thread", "frames": frames}],
        "usedImages": [{"name": process.name, "path": str(process.app.folder / process.name), "base": 0, "size": 0}],
    }


def _stamp(now: datetime) -> str:
    return f"{now.strftime('%Y-%m-%d %H:%M:%S')}.{now.microsecond // 10_000:02d} +0000"

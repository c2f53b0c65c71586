"""Watch over the crash reports of one phone: which of them are new since an app was started."""

from __future__ import annotations

import time
from typing import Final

from harness import shell
from platforms.ios.apps.crashes import Crash, parse_crash
from platforms.ios.apps.pauses import growing_pauses
from platforms.ios.link.client import CrashReport, PhoneClient

_WRITTEN_S: Final = 10.0
"""Time that iOS may take to write a crash report."""


class CrashWatch:
    """Crash reports of one phone that are new.

    Args:
        client: Reaches the phone.
        udid: Its UDID.
    """

    def __init__(self, client: PhoneClient, udid: str) -> None:
        self._client = client
        self._udid = udid
        self._known: frozenset[str] | None = None

    def begin(self) -> None:
        """Remember what is there; called before each launch, and asks the phone once.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The phone refuses.
        """
        if self._known is None:
            self._known = frozenset(report.name for report in self._client.list_crash_reports(self._udid))

    def find(self, process: str) -> Crash | None:
        """Return what the report of a process that just crashed says; None if iOS writes none in time.

        Args:
            process: Name of the process; empty where it is unknown, for any.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The phone refuses.
        """
        known = self._known or frozenset()
        reports: list[CrashReport] = []
        end = time.monotonic() + _WRITTEN_S
        for pause_s in growing_pauses():
            listed = self._client.list_crash_reports(self._udid)
            reports = [each for each in listed if each.name not in known and process in {"", each.process}]
            left_s = end - time.monotonic()
            if reports or left_s <= 0:
                break
            shell.pause(min(pause_s, left_s))
        if not reports:
            return None
        self._known = known | {report.name for report in reports}
        return parse_crash(self._client.read_crash_report(self._udid, reports[-1]))

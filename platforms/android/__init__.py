"""Phones with Android, through adb.

platform    lists phones, opens one          session     a phone while it is locked: what flows see
options     flags of this platform           devices     identity and parts of a phone
link/       reaching a phone: adb server, protocol, scripts and files, device lock, reconnection, root
files/      content-addressed store on it: nothing is transferred twice
launch/     programs and apps on it: CPUs, start, report, log
settings/   settings that are fixed while measuring, and their undo log
state/      heat, battery, clocks, energy, readiness
scripts/    shell scripts that run on it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.android.options import AndroidOptions

if TYPE_CHECKING:
    from harness.config.settings import Settings
    from platforms.android.platform import Android


def create(settings: Settings) -> Android:
    """Entry point of the platform `android`.

    Raises:
        UsageError: An invalid option.
    """
    from platforms.android.link.adb import AdbServer  # noqa: PLC0415 - adbutils takes a tenth of a second
    from platforms.android.platform import Android  # noqa: PLC0415 - as above

    return Android(settings, AdbServer(settings.of(AndroidOptions).adb_server))

"""Phones with Android, through adb."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.settings import Settings
    from platforms.android.platform import Android


def create(settings: Settings) -> Android:
    """Entry point of the platform `android`.

    Raises:
        UsageError: A setting that cannot be meant.
    """
    from platforms.android.adb import AdbServer  # noqa: PLC0415 - adbutils takes a tenth of a second
    from platforms.android.platform import Android  # noqa: PLC0415 - as above

    return Android(settings, AdbServer(settings.adb_server))

"""Phones with Android, through adb.

platform     lists phones, opens one          session      a phone while it is held: what flows see
reaching it                                   files on it
  adb, devices   server, who a phone is         store, digests, kept    content-addressed, nothing moved twice
  phone          the one wrapper: scripts       folders                 ours and a session's
  wire, stream, transfer   below it           programs on it
  faults         foreign errors in our words    launching, conversation   one shell line, one round trip
  root           whether and how                placement                 which CPUs
  holding        against other hosts            app, logcat               apps; what the log says
  returning      after it was away            stable numbers
what is known                                   preparation, changes, journals   fixed, written down, put back
  state, readings   heat, battery, clocks       clocks, gates                    cores and clocks; fit or not
  energy, rails     what a program cost       checkup   for `harness doctor`
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
        UsageError: A setting that cannot be meant.
    """
    from platforms.android.link.adb import AdbServer  # noqa: PLC0415 - adbutils takes a tenth of a second
    from platforms.android.platform import Android  # noqa: PLC0415 - as above

    return Android(settings, AdbServer(settings.of(AndroidOptions).adb_server))

"""Reports of alarms, for a person with half a minute: a page, a picture of the series, and the same as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.config.settings import Settings
    from harness.core.alarm_protocols import AlarmReporter


def create(settings: Settings) -> AlarmReporter:
    """Create the reporter of alarms: its folder is `alarms`, beside the results."""
    from reporters.alarms.folder import AlarmFolder  # noqa: PLC0415 - imported when it is used

    return AlarmFolder(settings.local_reporter / "alarms")

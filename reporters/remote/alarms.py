"""Post the reports of alarms to the server that `--remote-reporter` names, if it is a server of the harness.

It is one if its address has no path, or the one that results are posted to: `/api/v1/results`. Alarms are posted beside
that, to `/api/v1/alarms`. What cannot be sent waits in the outbox of the watcher, as for every receiver.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from harness.config.remote_target import RemoteTarget, find_token
from harness.core.errors import ReporterFailed
from harness.core.values import replace_surrogates
from harness.store.canonical_json import to_json_line
from reporters.remote.endpoint import Endpoint, find_route
from reporters.remote.spool import SendStatus

if TYPE_CHECKING:
    from harness.config.settings import Settings
    from harness.core.alarm import AlarmReport
    from harness.core.alarm_protocols import AlarmReporter

_ALARMS: Final = "/api/v1/alarms"
_POST_S: Final = 30.0


class ServerAlarms:
    """Reporter of alarms that posts each to a server (`AlarmReporter`).

    Args:
        endpoint: Where alarms are posted to.
    """

    name = "remote"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def report(self, report: AlarmReport) -> str:
        """Post a report; the server keeps the latest event of each alarm.

        Returns:
            The address that it was posted to, without secrets.

        Raises:
            ReporterFailed: It was not received; it is tried again.
        """
        body = to_json_line(replace_surrogates(report)).encode()
        try:
            answer = self._endpoint.post(f"{report.alarm.identity}-{report.event.value}", body, _POST_S)
        finally:
            self._endpoint.close()
        if answer.status is not SendStatus.SENT:
            raise ReporterFailed(f"the report of an alarm was not received: {answer.reason}")
        return self._endpoint.target.shown


def find_alarm_target(target: RemoteTarget) -> RemoteTarget | None:
    """Return where the server of a target takes alarms; None if it is no server of the harness."""
    return find_route(target, _ALARMS)


def create(settings: Settings) -> AlarmReporter | None:
    """Create the reporter of alarms for `--remote-reporter`, if that is a server of the harness.

    Raises:
        UsageError: It is not `URL|category`, or the token cannot be one.
        EnvironmentProblem: The token's file cannot be read, or others can read it.
    """
    from harness.config.settings import default_config_dir  # noqa: PLC0415 - a watcher without a server does without

    if settings.remote_reporter is None:
        return None
    target = find_alarm_target(RemoteTarget.parse(settings.remote_reporter))
    return None if target is None else ServerAlarms(Endpoint(target, find_token(os.environ, default_config_dir())))

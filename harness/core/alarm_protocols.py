"""Protocols of what brings alarms to people: reporters that write pages, and channels that send messages.

Found by entry point (groups `edge_harness.alarm_reporters`, `edge_harness.alarm_channels`). `harness.testing` has a
contract suite of channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from harness.core.alarm import AlarmReport
from harness.core.alarm_message import AlarmMessage


class AlarmReporter(Protocol):
    """Writer of the reports of alarms. Used by one thread.

    Entry points of the group `edge_harness.alarm_reporters` name a factory `create(settings: Settings)`.
    """

    @property
    def name(self) -> str:
        """Name of the reporter, the same after a restart: it gets each report until it was written."""

    def report(self, report: AlarmReport) -> str:
        """Write a report in place of an earlier one of the same alarm; a later one that is there already stays.

        Returns:
            Where the report can be found.

        Raises:
            ReporterFailed: It could not be written; it is tried again.
        """


@runtime_checkable
class AlarmGroupReporter(AlarmReporter, Protocol):
    """A reporter of alarms that also writes one page for all alarms with one cause."""

    def group_place(self, group: str) -> str:
        """Return the path of the page of a group (`AlarmMessage.group`), relative to the folder of results. Pure."""

    def report_group(self, message: AlarmMessage) -> str:
        """Write the page in place of an earlier one.

        Returns:
            Where it can be found.

        Raises:
            ReporterFailed: It could not be written; it is tried again.
        """


class AlarmChannel(Protocol):
    """Way to send messages about alarms to people. Used by one thread."""

    @property
    def place(self) -> str:
        """Name of the receiver for people, without secrets: `https://hooks.slack.com`."""

    def send(self, message: AlarmMessage) -> str:
        """Send a message once. The same key is the same message: where the receiver allows it, it is there once.

        Where the receiver allows it, a later message of the same group updates the earlier one or is in its thread.
        A channel with several receivers leaves out those in `message.received`.

        Returns:
            The receiver's answer, in words, without secrets.

        Raises:
            DeliveryFailed: It was not sent to everybody; it says whether and when another attempt may fare better, and
                who has it.
        """


class AlarmChannelFactory(Protocol):
    """Factory of an entry point of the group `edge_harness.alarm_channels`; its name is the form, as in `slack:URL`."""

    def __call__(self, target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:
        """Open a channel.

        Args:
            target: What stands behind `FORM:`, or all of it where the user named no form.
            environment: Variables, which contain passwords and tokens. Those that are read before the channel is
                returned are a part of what identifies the receiver: where one changes, what the receiver refused
                is sent once more.
            is_named: Whether the user named this form.

        Returns:
            The channel; None where no form was named and the target is not certainly of this one.

        Raises:
            UsageError: The target is wrong, or a variable is missing. The message shows nothing secret.
        """

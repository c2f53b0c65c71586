"""Channels of alarms as the command line names them: `--on-alarm COMMAND` and `--hook [FORM:]TARGET`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.core.alarm import Alarm, AlarmEvent, AlarmReport, AlarmStage
from harness.core.alarm_message import AlarmMessage
from harness.core.change import Change, ChangeKind
from harness.core.commit import Commit
from harness.core.effect import effect_of
from harness.core.errors import DeliveryFailed, UsageError
from harness.core.metric import LATENCY, MetricInfo
from harness.core.protocols import AlarmChannel
from harness.flows.watch.alarm_reports import AlarmReports, map_errors, origin
from harness.plugins import alarm_channel, installed_names
from harness.watch.notify.channels import Channel, command_channel, webhook_channel
from harness.watch.store.notifications import Notification

JSON_FORM: Final = "json"
"""Form of a web hook for programs, which gets each notification as a document."""
_NAMED: Final = re.compile(r"(?P<form>[a-z][a-z0-9-]*):(?P<target>.*)", re.DOTALL)
_WEB: Final = frozenset({"http", "https"})
_OF_CHANNELS: Final = ("HARNESS_", "GITHUB_TOKEN", "GITHUB_API_URL")
"""Beginnings of the names of variables that channels read."""
_VARIABLE: Final = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<plain>\w+))")


@dataclass(frozen=True, slots=True)
class Hook:
    """A `--hook` as the user wrote it.

    Attributes:
        name: Name of its channel: `hook`, `hook 2`, ... by place, so that what waits for a hook goes to its successor.
        form: Form that the user named; None where the target shall show it.
        target: The rest; a secret.
    """

    name: str
    form: str | None
    target: str = field(repr=False)


def parse_hooks(texts: Sequence[str], environment: Mapping[str, str]) -> Sequence[Hook]:
    """Return the hooks of a command line. `$NAME` is the value of a variable: arguments are seen by all users.

    Raises:
        UsageError: A variable is not set. No text is shown, since URLs of hooks are secrets.
    """
    return [
        _parse(text, "hook" if number == 1 else f"hook {number}", environment) for number, text in enumerate(texts, 1)
    ]


def _parse(text: str, name: str, environment: Mapping[str, str]) -> Hook:
    text = _resolve(text, environment)
    match = _NAMED.fullmatch(text)
    if match is None or match["form"] in _WEB or match["target"].startswith("//"):
        return Hook(name, None, text)
    return Hook(name, match["form"], _resolve(match["target"], environment))


def _resolve(text: str, environment: Mapping[str, str]) -> str:
    match = _VARIABLE.fullmatch(text)
    if match is None:
        return text
    variable = match["braced"] or match["plain"]
    if not environment.get(variable):
        raise UsageError(f"--hook ${variable}: the variable is not set", hint="export it before the harness starts")
    return environment[variable]


@dataclass(frozen=True, slots=True)
class MessageChannel:
    """Sends messages to people: notifications with one cause are one message (`GroupingChannel`).

    Attributes:
        hook: As the user wrote it.
        channel: Sends.
        reports: Makes messages; None where only tests are sent.
        credentials: Variables that a channel may read: what was refused for want of a right may be taken with another
            token.
    """

    hook: Hook
    channel: AlarmChannel
    reports: AlarmReports | None = None
    credentials: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """Name of the hook."""
        return self.hook.name

    @property
    def configuration(self) -> str:
        """Return form, target and credentials."""
        return f"{self.hook.form or ''}:{self.hook.target}\n{self.credentials}"

    def deliver(self, notification: Notification) -> str:
        """Send a message about one notification."""
        return self.deliver_together([notification])

    def deliver_together(self, notifications: Sequence[Notification]) -> str:
        """Send one message about all alarms with the cause of some notifications.

        Raises:
            DeliveryFailed: The commits cannot be read, or the message was not sent.
        """
        reports = self.reports
        if reports is None:
            raise DeliveryFailed("this channel is for tests")
        return self.send(lambda: reports.message_of(notifications, self.name))

    def send(self, message: Callable[[], AlarmMessage]) -> str:
        """Send a message.

        Raises:
            DeliveryFailed: It cannot be made, or was not sent.
        """
        return map_errors(lambda: self.channel.send(message()), f"the channel {self.name}")

    def waits_for(self, notification: Notification, in_progress: Sequence[Alarm]) -> bool:
        """Return whether alarms in progress may soon belong into the same message."""
        return self.reports is not None and self.reports.waits_for(notification, in_progress)


def open_channels(
    on_alarm: str | None,
    hooks: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    reports: AlarmReports | None = None,
) -> Sequence[Channel]:
    """Return the channels of a command line.

    Args:
        on_alarm: Command to run for each notification.
        hooks: Targets, with or without their form.
        environment: Variables, which contain passwords and tokens.
        folder: Folder of the documents for the command.
        reports: Makes messages.

    Raises:
        UsageError: One of them is wrong, or misses a variable.
    """
    commands = [command_channel(on_alarm, folder)] if on_alarm is not None else []
    return [*commands, *(_open(hook, environment, reports) for hook in parse_hooks(hooks, environment))]


def _open(hook: Hook, environment: Mapping[str, str], reports: AlarmReports | None) -> Channel:
    if hook.form == JSON_FORM:
        return webhook_channel(hook.target, environment, hook.name)
    if hook.form is not None:
        channel = alarm_channel(hook.form, hook.target, environment, is_named=True)
        if channel is None:
            raise UsageError(f"the form {hook.form} does not take this target", hint="see `docs/watching.md`")
        return MessageChannel(hook, channel, reports, _credentials(environment))
    for form in installed_names("alarm channel"):
        channel = alarm_channel(form, hook.target, environment, is_named=False)
        if channel is not None:
            return MessageChannel(hook, channel, reports, _credentials(environment))
    return webhook_channel(hook.target, environment, hook.name)


def _credentials(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(pair for pair in environment.items() if pair[0].startswith(_OF_CHANNELS)))


def notification_of_test(time: float) -> Notification:
    """Return a notification that is no alarm, and says so in every field that a person may read."""
    change = Change(
        identity="test",
        benchmark="test",
        title="TEST, no benchmark",
        device="TEST, no device",
        metric=MetricInfo(name=LATENCY, unit="us"),
        kind=ChangeKind.STEP,
        before="0" * 40,
        before_order=0,
        after="0" * 40,
        after_order=0,
        last_without="0" * 40,
        first_with="0" * 40,
        effect=effect_of(0.0),
        score=0.0,
        detected_with="0" * 40,
    )
    alarm = Alarm(change=change, stage=AlarmStage.CLOSED, reason="this is a test", opened=time, updated=time)
    return Notification(key=f"test-{time:.0f}", event=AlarmEvent.TEST, time=time, alarm=alarm)


def message_of_test(notification: Notification, page: str) -> AlarmMessage:
    """Return the message of a test, with a link to the folder of results if others see it."""
    report = AlarmReport(
        event=AlarmEvent.TEST,
        alarm=notification.alarm,
        device_name=notification.alarm.change.device,
        before=Commit(source="", id="0" * 40),
        discovery=origin(notification.time),
    )
    return AlarmMessage(
        key=notification.key, group=notification.key, event=AlarmEvent.TEST, reports=(report,), page=page
    )


def send_tests(channels: Sequence[Channel], time: float, page: str) -> Iterator[tuple[str, str, DeliveryFailed | None]]:
    """Send a test through each channel.

    Args:
        channels: The channels.
        time: Unix seconds.
        page: Address of the folder of results; empty where others do not see it.

    Yields:
        Name and receiver of each channel in words, the receiver's answer, and the error where there is one.
    """
    notification = notification_of_test(time)
    message = message_of_test(notification, page)
    for channel in channels:
        place = f" ({channel.channel.place})" if isinstance(channel, MessageChannel) else ""
        try:
            if isinstance(channel, MessageChannel):
                answer = channel.send(lambda: message)
            else:
                answer = channel.deliver(notification)
        except DeliveryFailed as error:
            yield f"{channel.name}{place}", error.message, error
        else:
            yield f"{channel.name}{place}", answer, None

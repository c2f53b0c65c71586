"""Channels of alarms as the command line names them: `--on-alarm COMMAND` and `--hook [FORM:]TARGET`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.core.alarm import Alarm
from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import DeliveryFailed, UsageError
from harness.flows.watch.alarm_reports import AlarmReports, map_errors
from harness.plugins import alarm_channel, installed_names
from harness.watch.notify.channels import Channel, command_channel, hook_channel, webhook_channel
from harness.watch.store.notifications import Notification

JSON_FORM: Final = "json"
"""Form of a web hook for programs, which gets each notification as a document."""
_NAMED: Final = re.compile(r"(?P<form>[a-z][a-z0-9-]*):(?P<target>.*)", re.DOTALL)
_WEB: Final = frozenset({"http", "https"})
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
    return [_parse(text, hook_channel(number), environment) for number, text in enumerate(texts, 1)]


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
        credentials: Variables that the channel read when it was opened: what was refused for want of a right may be
            taken with another token.
    """

    hook: Hook
    channel: AlarmChannel
    reports: AlarmReports | None = None
    credentials: tuple[tuple[str, str | None], ...] = field(default=(), repr=False)

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
        return self.deliver_to_rest(notifications, ())

    def deliver_to_rest(self, notifications: Sequence[Notification], received: tuple[str, ...]) -> str:
        """Send the message as `deliver_together` does, but to none of the addresses in `received`."""
        reports = self.reports
        if reports is None:
            raise DeliveryFailed("this channel is for tests")
        return self.send(lambda: reports.message_of(notifications, self.name).model_copy(update={"received": received}))

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


class _ReadVariables(Mapping[str, str]):
    """Variables that remember which of them were asked for.

    Args:
        variables: All variables.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self._names.add(name)
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        self._names.update(self._variables)
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    @property
    def read(self) -> tuple[tuple[str, str | None], ...]:
        """Return names and values, None for a variable that is not set."""
        return tuple((name, self._variables.get(name)) for name in sorted(self._names))


def _open(hook: Hook, environment: Mapping[str, str], reports: AlarmReports | None) -> Channel:
    if hook.form == JSON_FORM:
        return webhook_channel(hook.target, environment, hook.name)
    forms = installed_names("alarm channel") if hook.form is None else (hook.form,)
    for form in forms:
        variables = _ReadVariables(environment)
        channel = alarm_channel(form, hook.target, variables, is_named=hook.form is not None)
        if channel is not None:
            return MessageChannel(hook, channel, reports, variables.read)
    if hook.form is not None:
        raise UsageError(
            f"the form {hook.form} does not take this target", hint="`harness watch --help` lists the forms of --hook"
        )
    return webhook_channel(hook.target, environment, hook.name)

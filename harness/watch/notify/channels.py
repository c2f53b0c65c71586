"""Channels that deliver notifications about alarms: a command of the user's, and a web hook.

`--on-alarm COMMAND` gets the document as one line on its standard input, the path of the same document in
`HARNESS_ALARM_FILE` and its key in `HARNESS_ALARM_KEY`. Exit status 0 means delivered.

`--hook URL` gets

    POST <URL>
    Content-Type: application/json
    Idempotency-Key: <key>
    X-Harness-Event: confirmed | bisected | reopened | recovered | closed
    X-Harness-Signature-256: sha256=<HMAC-SHA256 of the body under the secret, in hexadecimal digits>

Any 2xx means delivered. 401, 403, 408, 429, 5xx, redirects and silence are tried again, any other 4xx is final. There
is a signature when there is a secret; it is made as GitHub's `X-Hub-Signature-256`
(https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct
from pydantic import SecretStr

from harness import shell
from harness.core.alarm import Alarm
from harness.core.command import Command, Completed
from harness.core.errors import DeliveryFailed, EnvironmentProblem, UsageError
from harness.files.atomic import write_atomically
from harness.files.http import is_web_url, send_request
from harness.watch.store.notifications import Notification

COMMAND_CHANNEL: Final = "command"
HOOK_CHANNEL: Final = "hook"
"""Names of the channels of `--on-alarm` and of the first `--hook`; further hooks have a number behind it."""

FILE_VARIABLE: Final = "HARNESS_ALARM_FILE"
KEY_VARIABLE: Final = "HARNESS_ALARM_KEY"
SECRET_VARIABLE: Final = "HARNESS_HOOK_SECRET"  # noqa: S105 - the name of a variable, not a secret

COMMAND_S: Final = 300.0
"""Time limit of a command."""
_HOOKS: Final = re.compile(rf"{HOOK_CHANNEL}( \d+)?")
_PIPE_BYTES: Final = 60_000
"""Bytes that a pipe takes unread (64 KiB on Linux and macOS). Longer documents are in the file only."""


def hook_channel(number: int) -> str:
    """Return the name of the channel of a `--hook`, counted from 1."""
    return HOOK_CHANNEL if number == 1 else f"{HOOK_CHANNEL} {number}"


def sends_messages(channel: str) -> bool:
    """Return whether a channel of this name is a command or a hook of the user's; all others keep reports of alarms."""
    return channel == COMMAND_CHANNEL or _HOOKS.fullmatch(channel) is not None


class Channel(Protocol):
    """Way to deliver notifications, each at least once. Used by one thread."""

    @property
    def name(self) -> str:
        """Name of the channel, the same after a restart: each channel has each document once."""

    def deliver(self, notification: Notification) -> str:
        """Deliver one document; the same key is the same document.

        Returns:
            The receiver's answer, in words.

        Raises:
            DeliveryFailed: It was not delivered.
            Interrupted: The harness is being stopped.
        """


@runtime_checkable
class GroupingChannel(Channel, Protocol):
    """A channel that brings notifications with one cause together, as one message."""

    def deliver_together(self, notifications: Sequence[Notification]) -> str:
        """Deliver one message about all of them; obligations as in `deliver`."""

    def waits_for(self, notification: Notification, in_progress: Sequence[Alarm]) -> bool:
        """Return whether alarms that are being verified or searched may soon belong into the same message."""


@runtime_checkable
class AddressingChannel(GroupingChannel, Protocol):
    """A channel that may have several addresses, of which some can refuse what others take."""

    def deliver_to_rest(self, notifications: Sequence[Notification], received: tuple[str, ...]) -> str:
        """Deliver one message to those addresses that are not in `received`; obligations as in `deliver`."""


@runtime_checkable
class ConfiguredChannel(Channel, Protocol):
    """A channel whose receiver the user may change."""

    @property
    def configuration(self) -> str:
        """Return everything that determines the receiver, secrets among it: never shown, and stored as a digest."""


class CommandChannel(Struct, frozen=True):
    """Runs a command of the user's (`Channel`).

    Attributes:
        argv: Program and arguments.
        folder: Folder where documents are kept for the command.
        timeout_s: Time limit of the command.
    """

    argv: tuple[str, ...]
    folder: Path
    timeout_s: float = COMMAND_S
    name: str = COMMAND_CHANNEL

    @property
    def configuration(self) -> str:
        """Return the command."""
        return shlex.join(self.argv)

    def deliver(self, notification: Notification) -> str:
        """Write the document into the folder, then run the command."""
        body = notification.model_dump_json()
        file = self.folder / f"{notification.key}.json"
        try:
            write_atomically(file, f"{body}\n")
        except OSError as error:
            raise DeliveryFailed(f"{file} cannot be written: {error.strerror or error}") from error
        # A command of the user's needs no secret of the hook; `shell` withholds other secrets itself.
        env = {FILE_VARIABLE: str(file), KEY_VARIABLE: notification.key, SECRET_VARIABLE: ""}
        try:
            completed = _run_with_input(Command(self.argv, env=env, timeout_s=self.timeout_s), body)
        except EnvironmentProblem as error:
            raise DeliveryFailed(error.message) from error
        if not completed.ok:
            raise DeliveryFailed(f"{self.argv[0]} {completed.describe()}")
        return "exit status 0"


def command_channel(text: str, folder: Path) -> CommandChannel:
    """Return the channel of `--on-alarm COMMAND`, which is split as a POSIX shell would and never given to one.

    Raises:
        UsageError: It is empty, a quotation is not closed, or there is no such program: an alarm may be months away.
    """
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on-alarm {text!r}: {error}", hint="close every quotation mark") from error
    if not argv:
        raise UsageError("--on-alarm names no command", hint="for example --on-alarm 'notify --channel perf'")
    if shell.which(argv[0]) is None:
        raise UsageError(
            f"--on-alarm {argv[0]}: there is no such program",
            hint="check the path, and that it may be executed; `sh FILE` runs one that may not",
        )
    return CommandChannel(tuple(argv), folder)


class WebhookChannel(Struct, frozen=True):
    """Posts to a web hook (`Channel`). Redirects are not followed; neither the URL's query nor the secret is shown.

    Attributes:
        url: URL of the hook.
        secret: Signs the body; None leaves it unsigned.
    """

    url: str
    secret: SecretStr | None = None
    name: str = HOOK_CHANNEL

    @property
    def configuration(self) -> str:
        """Return the form and the URL."""
        return f"json:{self.url}"

    def deliver(self, notification: Notification) -> str:
        """Post the document once."""
        body = notification.model_dump_json().encode()
        return send_request("POST", self.url, body=body, headers=self._headers(notification, body)).description

    def _headers(self, notification: Notification, body: bytes) -> dict[str, str]:
        headers = {
            "Idempotency-Key": notification.key,
            "X-Harness-Event": notification.event.value,
        }
        if self.secret is not None:
            digest = hmac.new(self.secret.get_secret_value().encode(), body, hashlib.sha256).hexdigest()
            headers["X-Harness-Signature-256"] = f"sha256={digest}"
        return headers


def webhook_channel(url: str, environment: Mapping[str, str], name: str = HOOK_CHANNEL) -> WebhookChannel:
    """Return the channel of `--hook json:URL`; its secret is `HARNESS_HOOK_SECRET`.

    Raises:
        UsageError: It is no URL. The message shows nothing of it.
    """
    if not is_web_url(url):
        raise UsageError("the web hook is no http(s) URL", hint="for example https://chat.example.org/hooks/perf")
    secret = environment.get(SECRET_VARIABLE)
    return WebhookChannel(url, SecretStr(secret) if secret else None, name)


def _run_with_input(command: Command, line: str) -> Completed:
    with shell.start(command) as running:
        if len(line.encode()) < _PIPE_BYTES:
            running.write_line(line)
        return running.finish()

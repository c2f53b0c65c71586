"""Channels that deliver notifications about alarms: a command of the user's, and a web hook.

`--on-alarm COMMAND` gets the document as one line on its standard input, the path of the same document in
`HARNESS_ALARM_FILE` and its key in `HARNESS_ALARM_KEY`. Exit status 0 means delivered.

`--hook URL` gets

    POST <URL>
    Content-Type: application/json
    Idempotency-Key: <key>
    X-Harness-Event: confirmed | bisected | closed
    X-Harness-Signature-256: sha256=<HMAC-SHA256 of the body under the secret, in hexadecimal digits>

Any 2xx means delivered. 401, 403, 408, 429, 5xx, redirects and silence are tried again, any other 4xx is final. There
is a signature when there is a secret; it is made as GitHub's `X-Hub-Signature-256`
(https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
"""

from __future__ import annotations

import hashlib
import hmac
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from harness import __version__, shell
from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal
from harness.files.atomic import write_atomically
from harness.watch.store.notifications import Notification

if TYPE_CHECKING:
    import requests

FILE_VARIABLE: Final = "HARNESS_ALARM_FILE"
KEY_VARIABLE: Final = "HARNESS_ALARM_KEY"
SECRET_VARIABLE: Final = "HARNESS_HOOK_SECRET"  # noqa: S105 - the name of a variable, not a secret

COMMAND_S: Final = 300.0
"""Time limit of a command."""
_PIPE_BYTES: Final = 60_000
"""Bytes that a pipe takes unread (64 KiB on Linux and macOS). Longer documents are in the file only."""
_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 30.0


class DeliveryFailed(EnvironmentProblem):
    """A notification could not be delivered.

    Args:
        message: Why; without credentials.
        final: Whether another attempt would fare no better.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


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


@dataclass(frozen=True, slots=True)
class CommandChannel:
    """Runs a command of the user's (`Channel`).

    Attributes:
        argv: Program and arguments.
        folder: Folder where documents are kept for the command.
        timeout_s: Time limit of the command.
    """

    argv: tuple[str, ...]
    folder: Path
    timeout_s: float = COMMAND_S
    name: str = "command"

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


@dataclass(frozen=True, slots=True)
class WebhookChannel:
    """Posts to a web hook (`Channel`). Redirects are not followed; neither the URL's query nor the secret is shown.

    Attributes:
        url: URL of the hook.
        secret: Signs the body; None leaves it unsigned.
    """

    url: str
    secret: SecretStr | None = None
    name: str = "hook"

    def deliver(self, notification: Notification) -> str:
        """Post the document once."""
        import requests  # noqa: PLC0415 - a tenth of a second that a watcher without alarms need not pay

        body = notification.model_dump_json().encode()
        try:
            with requests.post(
                self.url,
                data=body,
                headers=self._headers(notification, body),
                auth=None if urlsplit(self.url).username else _add_nothing,  # ours, or none: never ~/.netrc
                timeout=(_CONNECT_S, _ANSWER_S),
                allow_redirects=False,
                stream=True,
            ) as response:
                status = response.status_code
        except requests.RequestException as error:
            why = describe_cause(error, "no answer in time, or the connection was cut")
            raise DeliveryFailed(f"{self._host} cannot be reached: {why}") from None
        answer = f"{self._host} answered {format_status(status)}"
        if not 200 <= status < 300:
            raise DeliveryFailed(answer, final=is_permanent_refusal(status))
        return answer

    def _headers(self, notification: Notification, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": notification.key,
            "X-Harness-Event": notification.event.value,
            "User-Agent": f"edge-harness/{__version__}",
        }
        if self.secret is not None:
            digest = hmac.new(self.secret.get_secret_value().encode(), body, hashlib.sha256).hexdigest()
            headers["X-Harness-Signature-256"] = f"sha256={digest}"
        return headers

    @property
    def _host(self) -> str:
        """The URL without the parts that may be secret: paths of web hooks often are."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}"


def webhook_channel(url: str, environment: Mapping[str, str]) -> WebhookChannel:
    """Return the channel of `--hook URL`; its secret is `HARNESS_HOOK_SECRET`.

    Raises:
        UsageError: It is no URL. The message shows nothing of it.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise UsageError("the web hook is no http(s) URL", hint="for example https://chat.example.org/hooks/perf")
    secret = environment.get(SECRET_VARIABLE)
    return WebhookChannel(url, SecretStr(secret) if secret else None)


def _run_with_input(command: Command, line: str) -> Completed:
    with shell.start(command) as running:
        if len(line.encode()) < _PIPE_BYTES:
            running.write_line(line)
        return running.finish()


def _add_nothing(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """An authentication that adds nothing."""
    return request

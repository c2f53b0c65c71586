"""What the chat channels share: one JSON document to the URL of a web hook."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from harness.core.alarm_message import AlarmMessage
from harness.core.errors import UsageError
from harness.files.http import is_web_url, send_request, show_host
from harness.presentation.alarm_messages import MessageText, message_text

ChatDocument = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ChatHook:
    """Posts messages to a web hook in the form of a chat service (`AlarmChannel`).

    Such hooks can neither update a message nor answer in its thread: a later message is an update of its own.

    Attributes:
        url: URL of the hook, which is a secret.
        form: Draws a message as the service's document.
    """

    url: str = field(repr=False)
    form: Callable[[MessageText], ChatDocument]

    @property
    def place(self) -> str:
        """Host of the hook."""
        return show_host(self.url)

    def send(self, message: AlarmMessage) -> str:
        """Post the message once."""
        body = json.dumps(self.form(message_text(message)), ensure_ascii=False).encode()
        return send_request("POST", self.url, body=body).description


def open_hook(url: str, form: Callable[[MessageText], ChatDocument], example: str) -> ChatHook:
    """Open a hook whose form is known.

    Raises:
        UsageError: It is no URL. The message shows nothing of it.
    """
    if not is_web_url(url):
        raise UsageError("the web hook is no http(s) URL", hint=f"for example {example}")
    return ChatHook(url, form)


def host_of(url: str) -> str:
    """Return the host of a URL; empty where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""

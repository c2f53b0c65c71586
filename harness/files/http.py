"""HTTP requests of notifications: one attempt, whose failure says whether and when another may fare better.

Neither path nor query of an address is shown: those of web hooks are secrets. Redirects are not followed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct

from harness import __version__
from harness.core.errors import DeliveryFailed
from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal
from harness.core.protocols import Clock

if TYPE_CHECKING:
    import requests

_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 30.0
_MOST_BYTES: Final = 8 << 20
_REASON: Final = 200
"""Characters of an answer's text that are shown."""


class HttpAnswer(Struct, frozen=True):
    """Answer to a request that was accepted.

    Attributes:
        description: Host and status, in words.
        body: The body.
        headers: The headers; names in any case.
    """

    description: str
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> object:
        """Return the document of the body.

        Raises:
            DeliveryFailed: It is none.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise DeliveryFailed(f"{self.description} without a JSON document") from error


def show_host(url: str) -> str:
    """Return the URL without the parts that may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}"


def is_web_url(url: str) -> bool:
    """Return whether a text is an http(s) URL of one line."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False


def send_request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    clock: Clock = time.time,
) -> HttpAnswer:
    """Send one request, and return its answer if that accepts it (2xx).

    Args:
        method: `POST`, ...
        url: The address; a user and password in it are sent as HTTP's basic authentication.
        body: A JSON document.
        headers: Further headers.
        clock: Tells when a limit of requests is over that the answer gives as a moment.

    Raises:
        DeliveryFailed: There is no answer, or it refuses. What is shown of it contains no part of the URL but the host.
    """
    import requests  # noqa: PLC0415 - a tenth of a second that a watcher without alarms need not pay

    host = show_host(url)
    sent = {"User-Agent": f"edge-harness/{__version__}", **({"Content-Type": "application/json"} if body else {})}
    try:
        with requests.request(
            method,
            url,
            data=body,
            headers={**sent, **(headers or {})},
            auth=None if urlsplit(url).username else _add_nothing,  # ours, or none: never ~/.netrc
            timeout=(_CONNECT_S, _ANSWER_S),
            allow_redirects=False,
            stream=True,
        ) as response:
            status, found = response.status_code, response.headers
            content = b"".join(_limited(response))
    except requests.RequestException as error:
        why = describe_cause(error, "no answer in time, or the connection was cut")
        raise DeliveryFailed(f"{host} cannot be reached: {why}") from None
    description = f"{host} answered {format_status(status)}"
    if 200 <= status < 300:
        return HttpAnswer(description, content, dict(found))
    reason = _reason(content, url, headers or {}) if status >= 400 else "redirects are not followed"
    retry_after_s = _retry_after_s(found, clock())
    raise DeliveryFailed(
        f"{description}{f': {reason}' if reason else ''}",
        final=is_permanent_refusal(status) and retry_after_s is None,
        retry_after_s=retry_after_s,
        status=status,
    )


def _limited(response: requests.Response) -> list[bytes]:
    parts, left = [], _MOST_BYTES
    for part in response.iter_content(1 << 16):
        parts.append(part[:left])
        left -= len(part)
        if left <= 0:
            break
    return parts


def _retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Return the pause that an answer asks for: `Retry-After` (RFC 9110, 10.2.3), or GitHub's limit of requests."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    if text:
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isascii() and reset.isdigit():
        return max(0.0, float(reset[:12]) - now)
    return None


def _reason(content: bytes, url: str, headers: Mapping[str, str]) -> str:
    """Return the beginning of an answer's text on one line, without secrets should it repeat them."""
    text = content[:4096].decode(errors="replace")
    try:
        document = json.loads(text)
        text = str(document["message"]) if isinstance(document, dict) and "message" in document else text
    except ValueError:
        pass
    parts = urlsplit(url)
    secrets = {parts.path, parts.query, parts.password or "", *parts.path.split("/"), *parts.query.split("&")}
    secrets |= {word for value in headers.values() for word in value.split()}
    for secret in sorted((secret for secret in secrets if len(secret) > 5), key=len, reverse=True):
        text = text.replace(secret, "***")
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = " ".join(printable.split())
    return "" if line.startswith("<") else line[:_REASON]


def _add_nothing(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Leave the request as it is: an authentication that adds nothing."""
    return request

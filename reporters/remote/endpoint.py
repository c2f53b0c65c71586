"""HTTP client of the remote reporter: posts bodies to a target and classifies the answers.

Credentials are never shown, stored or sent elsewhere: redirects are not followed.
"""

from __future__ import annotations

import base64
import gzip
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from pydantic import SecretStr

from harness import __version__
from harness.config.remote_target import RESULTS_PATH, TOKEN_VARIABLE, RemoteTarget
from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal
from reporters.remote.spool import SendResult, SendStatus

if TYPE_CHECKING:
    import requests

_PAUSES_S: Final = (0.2, 0.8)
"""Pauses before the second and third attempt, for a server's restart or a closed connection, not for an outage."""

_LEAST_S: Final = 0.5
"""Least time of an attempt, even where waiting for other processes took all the time."""

_BLOCKING: Final = frozenset({401, 403, 429})
"""Statuses that the next result would get too."""

RETRIED: Final = frozenset({502, 503, 504})
"""Statuses of a proxy while the server behind it restarts."""

_REASON_BYTES: Final = 2048
_REASON_CHARACTERS: Final = 300
_STATES_BYTES: Final = 4 << 20
"""Longest answer to a batch that is read."""


class PostAnswer(Struct, frozen=True):
    """Answer to a request.

    Attributes:
        result: What it means for all that was in the request.
        status: HTTP status; None where there was no answer.
        content: Body of a 2xx, as far as it arrived, where it was asked for.
    """

    result: SendResult
    status: int | None = None
    content: bytes = b""


@dataclass(slots=True)
class Endpoint:
    """Client of one target, which keeps a connection until it is closed."""

    target: RemoteTarget
    token: SecretStr | None = None
    _session: requests.Session | None = field(default=None, init=False, repr=False)

    def post(self, key: str, body: bytes, within_s: float) -> SendResult:
        """Transmit one body, with a few quick attempts. Network failures are no exceptions."""
        return self._exchange(body, {"Idempotency-Key": key}, within_s).result

    def post_batch(self, body: bytes, within_s: float) -> PostAnswer:
        """Transmit a body with several results, compressed, as `post` does; the content of a 2xx is in the answer."""
        compressed = gzip.compress(body, compresslevel=1, mtime=0)
        return self._exchange(compressed, {"Content-Encoding": "gzip"}, within_s, read=True)

    def judge(self, status: int, text: str) -> SendResult:
        """Return what a status means for one result, with the text that came with it."""
        return self._classify(status, self._clean(text))

    def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _exchange(self, body: bytes, headers: Mapping[str, str], within_s: float, *, read: bool = False) -> PostAnswer:
        deadline = time.monotonic() + within_s
        for pause_s in (*_PAUSES_S, math.inf):
            answer, retry = self._attempt(body, headers, max(_LEAST_S, deadline - time.monotonic()), read=read)
            if not retry or time.monotonic() + pause_s >= deadline:
                break
            time.sleep(pause_s)
        return answer

    def _attempt(
        self, body: bytes, headers: Mapping[str, str], within_s: float, *, read: bool
    ) -> tuple[PostAnswer, bool]:
        """Send one request; also return whether a retry may succeed soon."""
        import requests  # noqa: PLC0415 - a tenth of a second that runs without a server need not pay

        self._session = self._session or requests.Session()
        connect_s, answer_s = within_s / 3, within_s * 2 / 3
        try:
            with self._session.post(
                self.target.url,
                data=body,
                headers={
                    "Content-Type": "application/json",
                    "User-Agent": f"edge-harness/{__version__}",
                    **headers,
                },
                auth=self._authorise,
                timeout=(connect_s, answer_s),
                allow_redirects=False,
                stream=True,
            ) as response:
                status = response.status_code
                result = self._classify(status, "" if status < 300 else self._answer_text(response))
                content = _read_content(response) if read and 200 <= status < 300 else b""
                return PostAnswer(result, status, content), status in RETRIED
        except requests.ConnectTimeout:
            return self._unreachable(f"accepted no connection within {connect_s:.1f} s"), False
        except requests.Timeout:
            return self._unreachable(f"did not answer within {answer_s:.1f} s"), False
        except requests.RequestException as error:
            return self._unreachable(f"cannot be reached: {describe_cause(error, 'the connection was cut')}"), True
        except ValueError:  # of `urllib.parse`: requests looks at the target of a redirect that it does not follow
            return self._unreachable("answered with a redirect to a malformed address"), False

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add our credentials; being there, it also keeps requests from adding those of ~/.netrc."""
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token.get_secret_value()}"
        elif self.target.login is not None:
            request.headers["Authorization"] = f"Basic {_basic(self.target.login)}"
        return request

    def _classify(self, status: int, text: str) -> SendResult:
        if 200 <= status < 300:
            return SendResult(SendStatus.SENT)
        reason = f"{self.target.shown} answered {format_status(status)}" + (f": {text}" if text else "")
        if status in (401, 403) and self.token is None and self.target.login is None:
            reason += f" (there is no token: set {TOKEN_VARIABLE})"
        blocked = status in _BLOCKING or status < 400
        return SendResult(
            SendStatus.REFUSED if is_permanent_refusal(status) else SendStatus.KEPT, reason, blocked=blocked
        )

    def _unreachable(self, problem: str) -> PostAnswer:
        return PostAnswer(SendResult(SendStatus.KEPT, f"{self.target.shown} {problem}", blocked=True, unreachable=True))

    def _answer_text(self, response: requests.Response) -> str:
        """Return the beginning of an answer's text on one line, without our credentials should it repeat them."""
        import requests  # noqa: PLC0415 - loaded already

        if 300 <= response.status_code < 400:
            return "redirects are not followed; name the final address"
        try:
            text = next(response.iter_content(_REASON_BYTES), b"").decode(errors="replace")
        except requests.RequestException:
            return ""  # the status says what matters
        return self._clean(text)

    def _clean(self, text: str) -> str:
        """Return the beginning of a text on one line, without our credentials."""
        for secret in self._secrets():
            text = text.replace(secret, "***")
        printable = "".join(character if character.isprintable() else " " for character in text)
        return " ".join(printable.split())[:_REASON_CHARACTERS]

    def _secrets(self) -> list[str]:
        """Return every form in which a server could repeat our credentials, longest first."""
        secrets = [self.token.get_secret_value()] if self.token is not None else []
        if self.target.login is not None:
            login = self.target.login.get_secret_value()
            secrets += [login, login.partition(":")[2], _basic(self.target.login)]
        return sorted(filter(None, secrets), key=len, reverse=True)


def find_route(target: RemoteTarget, route: str) -> RemoteTarget | None:
    """Return another route of the server of a target, such as `/api/v1/alarms`; None if it is no server of the harness.

    It is one if the address has no path, or the one that results are posted to.
    """
    parts = urlsplit(target.url)
    path = parts.path.rstrip("/")
    if path and not path.endswith(RESULTS_PATH):
        return None
    return replace(target, url=parts._replace(path=path.removesuffix(RESULTS_PATH) + route, query="").geturl())


def _read_content(response: requests.Response) -> bytes:
    """Return the content of an answer, as far as it arrives and is not too long."""
    import requests  # noqa: PLC0415 - loaded already

    content = b""
    try:
        for part in response.iter_content(1 << 16):
            content += part
            if len(content) > _STATES_BYTES:
                break
    except requests.RequestException:
        pass  # what is cut off is no answer to a batch, and found to be none
    return content


def _basic(login: SecretStr) -> str:
    """Encode `user:password` as in RFC 7617."""
    return base64.b64encode(login.get_secret_value().encode()).decode()

"""Posts bodies to a destination over HTTP, and judges the answers.

Credentials are never shown, stored or sent elsewhere: redirects are not followed.
"""

from __future__ import annotations

import base64
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from harness import __version__
from harness.config.remote_target import TOKEN_VARIABLE, Target
from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal
from reporters.remote.spool import Answer, Fate

if TYPE_CHECKING:
    import requests

_PAUSES_S: Final = (0.2, 0.8)
"""Before the second and third attempt. They bridge a server's restart or a closed connection, not an outage."""

_LEAST_S: Final = 0.5
"""An attempt gets at least so long, also when waiting for other processes took all the time."""

_FULL_STOP: Final = frozenset({401, 403, 429})
"""Answers that the next result would get too."""

_AGAIN: Final = frozenset({502, 503, 504})
"""What a proxy says while the server behind it restarts."""

_REASON_BYTES: Final = 2048
_REASON_CHARACTERS: Final = 300


@dataclass(slots=True)
class Endpoint:
    """Posts bodies to a target. Holds a connection until it is closed."""

    target: Target
    token: SecretStr | None = None
    _session: requests.Session | None = field(default=None, init=False, repr=False)

    def post(self, key: str, body: bytes, within_s: float) -> Answer:
        """Transmit one body, with a few quick attempts. Never raises for what the network does."""
        deadline = time.monotonic() + within_s
        for pause_s in (*_PAUSES_S, math.inf):
            answer, again = self._attempt(key, body, max(_LEAST_S, deadline - time.monotonic()))
            if not again or time.monotonic() + pause_s >= deadline:
                break
            time.sleep(pause_s)
        return answer

    def close(self) -> None:
        """Let the connection go."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _attempt(self, key: str, body: bytes, within_s: float) -> tuple[Answer, bool]:
        """One request; also whether another one soon may fare better."""
        import requests  # noqa: PLC0415 - a tenth of a second that runs without a server need not pay

        self._session = self._session or requests.Session()
        connect_s, answer_s = within_s / 3, within_s * 2 / 3
        try:
            with self._session.post(
                self.target.url,
                data=body,
                headers={
                    "Content-Type": "application/json",
                    "Idempotency-Key": key,
                    "User-Agent": f"edge-harness/{__version__}",
                },
                auth=self._authorise,
                timeout=(connect_s, answer_s),
                allow_redirects=False,
                stream=True,
            ) as response:
                status = response.status_code
                return self._judge(status, "" if status < 300 else self._said(response)), status in _AGAIN
        except requests.ConnectTimeout:
            return self._silent(f"accepted no connection within {connect_s:.1f} s"), False
        except requests.Timeout:
            return self._silent(f"did not answer within {answer_s:.1f} s"), False
        except requests.RequestException as error:
            return self._silent(f"cannot be reached: {describe_cause(error, 'the connection was cut')}"), True

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Put our credentials in, and by being there keep those of ~/.netrc out."""
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token.get_secret_value()}"
        elif self.target.login is not None:
            request.headers["Authorization"] = f"Basic {_basic(self.target.login)}"
        return request

    def _judge(self, status: int, said: str) -> Answer:
        if 200 <= status < 300:
            return Answer(Fate.SENT)
        reason = f"{self.target.shown} answered {format_status(status)}" + (f": {said}" if said else "")
        if status in (401, 403) and self.token is None and self.target.login is None:
            reason += f" (there is no token: set {TOKEN_VARIABLE})"
        blocked = status in _FULL_STOP or status < 400
        return Answer(Fate.REFUSED if is_permanent_refusal(status) else Fate.KEPT, reason, blocked=blocked)

    def _silent(self, what: str) -> Answer:
        return Answer(Fate.KEPT, f"{self.target.shown} {what}", blocked=True, unreachable=True)

    def _said(self, response: requests.Response) -> str:
        """The beginning of an answer's text, on one line, without our credentials should it repeat them."""
        import requests  # noqa: PLC0415 - loaded already

        if 300 <= response.status_code < 400:
            return "redirects are not followed; name the place itself"
        try:
            text = next(response.iter_content(_REASON_BYTES), b"").decode(errors="replace")
        except requests.RequestException:
            return ""  # the status has told what matters
        for secret in self._secrets():
            text = text.replace(secret, "***")
        printable = "".join(character if character.isprintable() else " " for character in text)
        return " ".join(printable.split())[:_REASON_CHARACTERS]

    def _secrets(self) -> list[str]:
        """Every form in which a server could repeat our credentials, longest first."""
        secrets = [self.token.get_secret_value()] if self.token is not None else []
        if self.target.login is not None:
            login = self.target.login.get_secret_value()
            secrets += [login, login.partition(":")[2], _basic(self.target.login)]
        return sorted(filter(None, secrets), key=len, reverse=True)


def _basic(login: SecretStr) -> str:
    """`user:password` as RFC 7617 sends it."""
    return base64.b64encode(login.get_secret_value().encode()).decode()

"""Post every result to a server, and lose none: `--remote_reporter 'URL|category'`.

    POST <URL>
    Authorization: Bearer <token>
    Content-Type: application/json
    Idempotency-Key: <uid of the result>
    User-Agent: edge-harness/<version>

    {"schema_version": "1.0", "category": "<category>", "result": {the canonical result}}

Any 2xx means received. A result is on the disk before it is posted (`reporters.spool`, below
`<cache_dir>/spool/<digest of URL and category>`), so what cannot be sent now is sent at the end of the run, by a later
one, or by `harness report --flush`. 401, 403, 408, 429, 5xx, redirects and silence keep it there; any other 4xx means
that it will never be accepted, and moves it to `dead/` with the reason. A server sees the key again when an answer was
lost, and answers 2xx then too.

The token is `HARNESS_REMOTE_TOKEN`, or the content of the file that `HARNESS_REMOTE_TOKEN_FILE` names, or of
`remote_token` in the configuration folder; such a file must be nobody else's to read. A user and password in the URL
serve where there is no token. Neither is ever shown, stored or sent elsewhere: redirects are not followed. Over `http://`
they travel in the clear; that is for servers on this machine or in a closed network.
"""

from __future__ import annotations

import base64
import math
import os
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from harness import __version__
from harness.core.errors import EnvironmentProblem, ReporterFailed, UsageError
from harness.core.protocols import Progress, Reporter
from harness.core.result import Report, Result
from harness.core.values import Value
from harness.settings import Settings, default_config_dir
from reporters.local import one_line
from reporters.spool import Answer, Fate, FlushOutcome, Spool

if TYPE_CHECKING:
    import requests

__all__ = ["Envelope", "FlushOutcome", "RemoteReporter", "Target", "create", "find_token", "flush"]

TOKEN_VARIABLE: Final = "HARNESS_REMOTE_TOKEN"  # noqa: S105 - the name of a variable, not a token
TOKEN_FILE_VARIABLE: Final = "HARNESS_REMOTE_TOKEN_FILE"  # noqa: S105 - likewise

_RUN_S: Final = 10.0
"""The longest that one result may hold up a run, and the longest that its end may take."""

_FLUSH_S: Final = 120.0
"""For one result when somebody waits for exactly that: megabytes over a slow line arrive too."""

_PAUSES_S: Final = (0.2, 0.8)
"""Before the second and third attempt. They bridge a server's restart or a closed connection, not an outage."""

_LEAST_S: Final = 0.5
"""An attempt gets at least so long, also when waiting for other processes took all the time."""

_KEEP: Final = frozenset({401, 403, 408, 429})
"""4xx that say nothing against the result; another token or a later hour mends them."""

_FULL_STOP: Final = frozenset({401, 403, 429})
"""Answers that the next result would get too."""

_AGAIN: Final = frozenset({502, 503, 504})
"""What a proxy says while the server behind it restarts."""

_REASON_BYTES: Final = 2048
_REASON_CHARACTERS: Final = 300


class Envelope(Value):
    """What is posted.

    Attributes:
        schema_version: Of the envelope; the result has its own.
        category: What the user calls this series of results; the server may file by it.
        result: The canonical result, as measured: nothing rounded, nothing left out.
    """

    schema_version: Literal["1.0"] = "1.0"
    category: str | None = None
    result: Result


@dataclass(frozen=True, slots=True)
class Target:
    """Where results go.

    Attributes:
        url: Without user and password.
        category: Or None.
        login: `user:password` that stood in the URL.
    """

    url: str
    category: str | None = None
    login: SecretStr | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read `URL|category` or `URL`; without a scheme it is https.

        Raises:
            UsageError: It is neither. The message shows no credentials.
        """
        address, _, category = (part.strip() for part in text.partition("|"))
        if "://" not in address:
            address = f"https://{address}"
        try:
            parts = urlsplit(address)
            (parts.hostname or "").encode("idna")
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, brackets that do not close, an empty label
            usable = False
        if not usable:
            shown = re.sub(r"//.*@", "//***@", address).partition("?")[0]
            raise UsageError(
                f"--remote_reporter does not name a server: {shown}",
                hint="write 'https://host/path|category'; https:// and |category may be left out",
            )
        login, _, place = parts.netloc.rpartition("@")
        return cls(
            url=parts._replace(netloc=place, fragment="").geturl(),
            category=category or None,
            login=SecretStr(unquote(login)) if login else None,
        )

    @property
    def shown(self) -> str:
        """The URL for messages: the values of a query may be secrets, too."""
        address, question, _ = self.url.partition("?")
        return f"{address}?..." if question else address

    @property
    def digest(self) -> str:
        """Names this destination's spool; not altered by a new password."""
        return sha256(f"{self.url}|{self.category or ''}".encode()).hexdigest()[:32]


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
            return self._silent(f"cannot be reached: {_cause(error)}"), True

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
        reason = f"{self.target.shown} answered {_status_line(status)}" + (f": {said}" if said else "")
        if status in (401, 403) and self.token is None and self.target.login is None:
            reason += f" (there is no token: set {TOKEN_VARIABLE})"
        refused = 400 <= status < 500 and status not in _KEEP
        blocked = status in _FULL_STOP or status < 400
        return Answer(Fate.REFUSED if refused else Fate.KEPT, reason, blocked=blocked)

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


class RemoteReporter:
    """Posts results as they appear; what cannot be sent waits in the spool."""

    name = "remote"

    def __init__(self, endpoint: Endpoint, spool: Spool) -> None:
        self._endpoint = endpoint
        self._spool = spool
        self._unreachable: str | None = None

    def report(self, report: Report) -> None:
        """Spool one result, then post it. A server that did not answer is left alone until the end of the run."""
        result = report.result
        envelope = Envelope(category=self._endpoint.target.category, result=result)
        entry = self._spool.add(result.uid, one_line(envelope).encode())
        if self._unreachable is not None:
            raise self._spooled(self._unreachable)
        answer = self._spool.send(entry, self._endpoint.post, _RUN_S)
        if answer.unreachable:
            self._unreachable = answer.reason
        if answer.fate is Fate.KEPT:
            raise self._spooled(answer.reason)
        if answer.fate is Fate.REFUSED:
            raise ReporterFailed(
                f"the result was refused: {answer.reason}", hint=f"it is kept in {self._spool.dead / entry.name}"
            )

    def close(self) -> None:
        """Send what waits, also from earlier runs, as far as a few seconds allow."""
        try:
            outcome = self._spool.drain(self._endpoint.post, each_s=_RUN_S, total_s=_RUN_S)
        finally:
            self._endpoint.close()
        reasons = "; ".join(outcome.reasons)
        if outcome.left:
            raise self._spooled(reasons)
        if outcome.dead:
            raise ReporterFailed(
                f"{outcome.dead} spooled results were refused: {reasons}", hint=f"they are kept in {self._spool.dead}"
            )

    def _spooled(self, reason: str) -> ReporterFailed:
        waiting = len(self._spool.waiting())
        return ReporterFailed(f"spooled, {waiting} waiting: {reason}", hint="`harness report --flush` sends them later")


def create(settings: Settings) -> Reporter | None:
    """The reporter for `--remote_reporter`, if given.

    Raises:
        UsageError: It is not `URL|category`, or the token cannot be one.
        EnvironmentProblem: The token's file cannot be read, or others can read it.
    """
    if settings.remote_reporter is None:
        return None
    return RemoteReporter(*_connect(settings, settings.remote_reporter))


def flush(settings: Settings, progress: Progress) -> FlushOutcome:
    """Send everything that waits for the server of `--remote_reporter`.

    Raises:
        UsageError: No server is named, or it or the token cannot be one.
        EnvironmentProblem: The token's file cannot be read, or others can read it.
        ReporterFailed: The spool cannot be used.
    """
    if settings.remote_reporter is None:
        raise UsageError("no server to send results to", hint="name it with --remote_reporter 'URL|category'")
    endpoint, spool = _connect(settings, settings.remote_reporter)
    try:
        with progress.task(f"sending results to {endpoint.target.shown}", total=len(spool.waiting())) as task:
            return spool.drain(endpoint.post, each_s=_FLUSH_S, total_s=math.inf, task=task)
    finally:
        endpoint.close()


def find_token(environment: Mapping[str, str], config_dir: Path) -> SecretStr | None:
    """The token from the environment or a private file, or None.

    Raises:
        UsageError: It cannot be a token (RFC 6750 allows visible ASCII only).
        EnvironmentProblem: Its file cannot be read, or others can read it.
    """
    named = environment.get(TOKEN_FILE_VARIABLE)
    if environment.get(TOKEN_VARIABLE):
        source, text = TOKEN_VARIABLE, environment[TOKEN_VARIABLE]
    elif named:
        source, text = named, _read_private(Path(named))
    elif (file := config_dir / "remote_token").exists():
        source, text = str(file), _read_private(file)
    else:
        return None
    token = text.strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise UsageError(
            f"{source} holds no token: it is empty, or has spaces or characters beyond ASCII",
            hint="put the token there and nothing else",
        )
    return SecretStr(token)


def _read_private(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            # Asked of the opened file, so that it is the one that is read.
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(1 << 16)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot read the token in {file}: {error.strerror or error}", hint=f"check {TOKEN_FILE_VARIABLE}"
        ) from error
    if mode & 0o077:
        raise EnvironmentProblem(
            f"others can read the token in {file} (mode {mode & 0o777:04o})", hint=f"chmod 600 {shlex.quote(str(file))}"
        )
    return content.decode(errors="replace")


def _connect(settings: Settings, text: str) -> tuple[Endpoint, Spool]:
    target = Target.parse(text)
    token = find_token(os.environ, default_config_dir())
    return Endpoint(target, token), Spool(settings.cache_dir / "spool" / target.digest)


def _basic(login: SecretStr) -> str:
    """`user:password` as RFC 7617 sends it."""
    return base64.b64encode(login.get_secret_value().encode()).decode()


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _cause(error: BaseException) -> str:
    """The operating system's words for it. The library's quote the URL with its query."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.strerror:
            return link.strerror
        link = link.__cause__ or link.__context__
    return "the connection was cut"

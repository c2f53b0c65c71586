"""Client of the queue of runs on demand, which a server of results keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

import requests
from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr, ValidationError

from harness import __version__
from harness.config.remote_target import RESULTS_PATH, TOKEN_VARIABLE, RemoteTarget
from harness.core.durations import DurationQuery, KnownDurations
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.network_errors import describe_cause, format_status
from harness.core.outcome import Outcome
from harness.core.values import Value
from harness.store.run_requests import LabOffer, RunRequest

_TIMEOUT_S: Final = (10.0, 30.0)
_HINT_OF_SCOPES: Final = "the token needs three scopes: harness token create lab --scope lab,read,write"

AnyAnswer = TypeVar("AnyAnswer", bound=BaseModel)


class QueueSilent(EnvironmentProblem):
    """The server does not answer now."""


class RequestLost(EnvironmentProblem):
    """A request is no longer this lab's: it was cancelled, or its lease ended."""


class StoredOutcome(BaseModel):
    """Outcome of a result that the server has.

    Attributes:
        uid: Identifier of the result.
        outcome: How it ended.
        reason: Why it failed; None where it did not.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    uid: str
    outcome: Outcome
    reason: str | None = None


class _Claimed(Value):
    request: RunRequest | None


class RequestQueue:
    """Queue of a server. Any thread may use it.

    Args:
        url: Address of the server, with or without the path of results.
        token: Token with the scopes `lab`, `read` and `write`; None where the server needs none.
        dispatcher: Name under which requests are claimed.

    Raises:
        UsageError: The address is none.
    """

    def __init__(self, url: str, token: SecretStr | None, dispatcher: str) -> None:
        try:
            target = RemoteTarget.parse(url.partition("|")[0])
        except UsageError as error:
            raise UsageError("--requests-from does not name a server", hint="http://lab:8080") from error
        if target.login is not None or "?" in target.url:
            raise UsageError("--requests-from has a password or a query", hint=f"put a token into {TOKEN_VARIABLE}")
        self._base = target.url.rstrip("/").removesuffix(RESULTS_PATH)
        self._token = token
        self._dispatcher = dispatcher

    @property
    def address(self) -> str:
        """Address of the server, without a slash at its end."""
        return self._base

    @property
    def results_address(self) -> str:
        """Address that results are posted to."""
        return f"{self._base}{RESULTS_PATH}"

    def announce(self, offer: LabOffer) -> None:
        """Announce what the lab offers, for a minute.

        Raises:
            QueueSilent: The server does not answer now.
            EnvironmentProblem: It refuses.
        """
        self._post("lab/offers", {"dispatcher": self._dispatcher, "offer": offer.model_dump(mode="json")}, LabOffer)

    def claim(self, claim: str, device_classes: Sequence[str], lease_s: float) -> RunRequest | None:
        """Claim the next request; None where there is none.

        Raises:
            QueueSilent: The server does not answer now; the same claim asks again for the same request.
            EnvironmentProblem: It refuses.
        """
        body: dict[str, JsonValue] = {"dispatcher": self._dispatcher, "claim": claim, "lease_s": lease_s}
        return self._post("lab/claims", {**body, "device_classes": list(device_classes)}, _Claimed).request

    def renew(self, identity: str, claim: str, lease_s: float, commits: tuple[str, str] = ("", "")) -> RunRequest:
        """Keep a request for longer, and return it.

        Args:
            identity: Of the request.
            claim: That of this lab.
            lease_s: How much longer.
            commits: Hashes that the names of commit and control mean; those that were told first stay.

        Raises:
            QueueSilent: The server does not answer now.
            RequestLost: It is no longer this lab's.
            EnvironmentProblem: It refuses.
        """
        body: dict[str, JsonValue] = {"claim": claim, "lease_s": lease_s}
        if commits[0]:
            body |= {"commit_id": commits[0], "control_id": commits[1]}
        return self._post(f"requests/{identity}/renew", body, RunRequest)

    def release(self, identity: str, claim: str, reason: str, *, is_counted: bool = True) -> None:
        """Give a request back. Raises as `renew`.

        Args:
            identity: Of the request.
            claim: That of this lab.
            reason: Why.
            is_counted: Whether this attempt counts: not where the lab was away, whatever the request is.
        """
        body: dict[str, JsonValue] = {"claim": claim, "reason": reason[:4000], "is_counted": is_counted}
        self._post(f"requests/{identity}/release", body, RunRequest)

    def finish(self, identity: str, claim: str, results: Sequence[str], reason: str, *, failed: bool) -> None:
        """End a request, whose results the server has. Raises as `renew`."""
        body: dict[str, JsonValue] = {"claim": claim, "failed": failed, "results": list(results)}
        self._post(f"requests/{identity}/finish", {**body, "reason": reason[:4000]}, RunRequest)

    def find_outcome(self, uid: str) -> StoredOutcome | None:
        """Return the outcome of a result; None where the server does not have it.

        Raises:
            QueueSilent: The server does not answer now.
            EnvironmentProblem: It refuses.
        """
        answer = self._send("GET", f"results/{quote(uid, safe='')}", None)
        return None if answer.status_code == 404 else self._read(answer, StoredOutcome)

    def find_durations(self, query: DurationQuery) -> Mapping[str, float]:
        """Return how long benchmarks took, as its results say; nothing where the server does not say."""
        try:
            return self._post("durations", query.model_dump(mode="json"), KnownDurations).seconds
        except (QueueSilent, RequestLost, EnvironmentProblem):
            return {}  # they only order jobs

    def _post(self, path: str, body: dict[str, JsonValue], kind: type[AnyAnswer]) -> AnyAnswer:
        return self._read(self._send("POST", path, body), kind)

    def _send(self, method: str, path: str, body: dict[str, JsonValue] | None) -> requests.Response:
        headers = {"User-Agent": f"edge-harness/{__version__}", "Accept": "application/json"}
        address = f"{self._base}/api/v1/{path}"
        try:
            answer = requests.request(
                method,
                address,
                json=body,
                headers=headers,
                auth=self._authorise,
                timeout=_TIMEOUT_S,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            reason = describe_cause(error, "the connection was cut")
            raise QueueSilent(f"{self._base} does not answer: {reason}", hint="start `harness serve` there") from error
        if answer.status_code == 429 or answer.status_code >= 500:
            raise QueueSilent(f"{self._base} answered {format_status(answer.status_code)}", hint="look at its log")
        return answer

    def _read(self, answer: requests.Response, kind: type[AnyAnswer]) -> AnyAnswer:
        status = answer.status_code
        if status in {404, 409}:
            raise RequestLost(_message(answer) or "the server has no such request")
        if not 200 <= status < 300:
            text = f"{self._base} answered {format_status(status)}: {_message(answer)}"
            raise EnvironmentProblem(text, hint=_HINT_OF_SCOPES if status in {401, 403} else "use the same versions")
        try:
            return kind.model_validate_json(answer.content)
        except ValidationError as error:
            raise EnvironmentProblem(
                f"{self._base} is no server of results, or one of another version", hint="look at --requests-from"
            ) from error

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token; being there, it also keeps requests from adding what ~/.netrc has."""
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        return request


def _message(answer: requests.Response) -> str:
    """Return what a server says is wrong, on one line."""
    try:
        document: Any = answer.json()
    except ValueError:
        return ""
    text = document.get("message", "") if isinstance(document, dict) else ""
    return " ".join("".join(each if each.isprintable() else " " for each in str(text)[:300]).split())

"""A web hook that is told of alarms.

    POST <URL>
    Content-Type: application/json
    Idempotency-Key: <key>
    X-Harness-Event: confirmed | bisected | closed
    X-Harness-Signature-256: sha256=<HMAC-SHA256 of the body under the secret, in hexadecimal digits>

Any 2xx means delivered. 401, 403, 408, 429, 5xx, redirects and silence are tried again, any other 4xx is final. The
signature stands there when there is a secret; it is made as GitHub's `X-Hub-Signature-256`
(https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from harness import __version__
from harness.core.errors import UsageError
from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal
from harness.watch.notify.channels import DeliveryFailed
from harness.watch.store.records import News

if TYPE_CHECKING:
    import requests

SECRET_VARIABLE: Final = "HARNESS_HOOK_SECRET"  # noqa: S105 - the name of a variable, not a secret

_CONNECT_S: Final = 10.0
_ANSWER_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class HookCourier:
    """Posts to a web hook. Redirects are not followed; neither the URL's query nor the secret is ever shown.

    Attributes:
        url: Where to.
        secret: Signs the body; None leaves it unsigned.
    """

    url: str
    secret: SecretStr | None = None
    name: str = "hook"

    def deliver(self, news: News) -> str:
        """Post the document once."""
        import requests  # noqa: PLC0415 - a tenth of a second that a watcher without alarms need not pay

        body = news.model_dump_json().encode()
        try:
            with requests.post(
                self.url,
                data=body,
                headers=self._headers(news, body),
                auth=None if urlsplit(self.url).username else _as_it_is,  # ours, or none: never ~/.netrc
                timeout=(_CONNECT_S, _ANSWER_S),
                allow_redirects=False,
                stream=True,
            ) as response:
                status = response.status_code
        except requests.RequestException as error:
            why = describe_cause(error, "no answer in time, or the connection was cut")
            raise DeliveryFailed(f"{self._shown} cannot be reached: {why}") from None
        said = f"{self._shown} answered {format_status(status)}"
        if not 200 <= status < 300:
            raise DeliveryFailed(said, final=is_permanent_refusal(status))
        return said

    def _headers(self, news: News, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": news.key,
            "X-Harness-Event": news.event.value,
            "User-Agent": f"edge-harness/{__version__}",
        }
        if self.secret is not None:
            digest = hmac.new(self.secret.get_secret_value().encode(), body, hashlib.sha256).hexdigest()
            headers["X-Harness-Signature-256"] = f"sha256={digest}"
        return headers

    @property
    def _shown(self) -> str:
        """The URL without what may be secret: paths of web hooks often are."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}"


def hook_courier(url: str, environment: Mapping[str, str]) -> HookCourier:
    """The courier of a web hook; its secret is `HARNESS_HOOK_SECRET`.

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
    return HookCourier(url, SecretStr(secret) if secret else None)


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """An authentication that adds nothing."""
    return request

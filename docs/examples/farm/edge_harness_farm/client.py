"""Requests of BrowserStack's App Automate API for Espresso, version 2."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from harness.core.errors import DeviceLost, EnvironmentProblem

API: Final = "/app-automate/espresso/v2"
_ATTEMPTS: Final = 5


class FarmClient:
    """Client of one account.

    Args:
        url: Address of the farm.
        user: Name of the account.
        key: Its secret; it appears in no message.
        log_host: Host other than the farm's that may get the key.
        pause: Waits for so many seconds.
    """

    def __init__(self, url: str, user: str, key: str, log_host: str, pause: Callable[[float], None]) -> None:
        self._url = url.rstrip("/")
        self._auth = (user, key)
        self._hosts = {urlsplit(url).netloc, log_host}
        self._pause = pause
        self._uploaded: dict[tuple[str, str], str] = {}

    def list_models(self) -> set[str]:
        """Return the Android models, as `device-version`."""
        listed = self._json("GET", "/app-automate/devices.json")
        return {f"{entry['device']}-{entry['os_version']}" for entry in listed if entry["os"] == "android"}

    def upload(self, kind: str, file: Path) -> str:
        """Upload a package (`app` or `test-suite`) once by its content, and return its `bs://` address."""
        content = file.read_bytes()
        key = (kind, hashlib.sha256(content).hexdigest())
        if key not in self._uploaded:
            answer = self._json("POST", f"{API}/{kind}", files={"file": (file.name, content)})
            self._uploaded[key] = str(answer["app_url" if kind == "app" else "test_suite_url"])
        return self._uploaded[key]

    def start(self, app: str, suite: str, model: str, options: dict[str, str]) -> str:
        """Start a run, and return its identity."""
        body = {"app": app, "testSuite": suite, "devices": [model], "instrumentationOptions": options}
        return str(self._json("POST", f"{API}/build", json=body)["build_id"])

    def status(self, run: str) -> dict[str, Any]:
        """Return the state of a run with its sessions."""
        return dict(self._json("GET", f"{API}/builds/{run}"))

    def log(self, run: str, session: str) -> str:
        """Return the instrumentation logs of every test of a session."""
        details = self._json("GET", f"{API}/builds/{run}/sessions/{session}")
        tests = [test for group in details["testcases"]["data"] for test in group["testcases"]]
        return "\n".join(self._send("GET", str(test["instrumentation_log"])).text for test in tests)

    def _json(self, method: str, path: str, **content: Any) -> Any:  # noqa: ANN401 - the farm's JSON
        try:
            return self._send(method, self._url + path, **content).json()
        except requests.exceptions.JSONDecodeError as error:
            raise EnvironmentProblem(f"the farm's answer to {path} is no JSON", hint="check --farm-url") from error

    def _send(self, method: str, url: str, **content: Any) -> requests.Response:  # noqa: ANN401 - of requests
        place = urlsplit(url)
        if place.netloc not in self._hosts or place.scheme != urlsplit(self._url).scheme:
            raise EnvironmentProblem(f"the farm keeps a log on {place.netloc}", hint="allow it with --farm-log-host")
        for attempt in range(_ATTEMPTS):
            try:
                answer = requests.request(method, url, auth=self._auth, timeout=60, **content)
            except requests.RequestException as error:
                # A request that starts something is not repeated: it may have arrived, and runs are paid for.
                if method != "GET" or attempt == _ATTEMPTS - 1:
                    raise DeviceLost(f"no answer of the farm to {method} {place.path}") from error
                self._pause(2.0**attempt)
                continue
            if answer.status_code != requests.codes.too_many_requests:
                break
            asked = answer.headers.get("Retry-After", "")
            self._pause(float(asked) if asked.isdigit() else 2.0**attempt)
        if answer.status_code == requests.codes.unauthorized:
            raise EnvironmentProblem("the farm refuses the key", hint="check --farm-user and FARM_ACCESS_KEY")
        if not answer.ok:
            raise EnvironmentProblem(f"the farm answers {answer.status_code} to {method} {place.path}")
        return answer

"""A real server: `harness serve` in a process of its own, at a port that was free."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from pydantic import JsonValue

from harness.core.result import Result
from harness.store.canonical_json import to_json_line
from tests.processes import wait_until


@dataclass
class ServerProcess:
    """Server that runs.

    Attributes:
        folder: Folder of its results, configuration and output.
        url: Its address, without a slash at the end.
        process: The process.
        session: Client that takes no settings of this machine.
    """

    folder: Path
    url: str
    process: subprocess.Popen[bytes]
    session: requests.Session = field(default_factory=requests.Session)

    @property
    def api(self) -> str:
        """Address of the API."""
        return f"{self.url}/api/v1"

    @property
    def output(self) -> str:
        """What it said."""
        return (self.folder / "out.txt").read_text()

    @property
    def log(self) -> str:
        """What it logged."""
        return (self.folder / "log.txt").read_text()

    def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> requests.Response:
        """Ask for a path; redirects are not followed."""
        return self.session.get(f"{self.url}{path}", headers=headers, timeout=60, allow_redirects=False)

    def post(
        self,
        path: str,
        *,
        data: bytes | str | Mapping[str, str] | Iterable[bytes] | None = None,
        json: JsonValue = None,
        headers: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send to a path."""
        address = f"{self.url}{path}"
        return self.session.post(address, data=data, json=json, headers=headers, timeout=60, allow_redirects=False)

    def post_result(self, result: Result, **headers: str) -> requests.Response:
        """Post a result as the remote reporter does."""
        return self.post(
            "/api/v1/results",
            data=envelope_of(result),
            headers={"Content-Type": "application/json", "Idempotency-Key": result.uid, **headers},
        )


def envelope_of(result: Result, category: str = "nightly") -> str:
    """Return the body with which a result is posted."""
    return f'{{"schema_version":"1.0","category":"{category}","result":{to_json_line(result)}}}'


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment of a command whose files are all below a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")}
    return {
        **kept,
        "HARNESS_LOCAL_REPORTER": str(folder / "results"),
        "HARNESS_CACHE_DIR": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "HOME": str(folder),
    }


def run_harness(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        (sys.executable, "-m", "harness", *words),
        env=environment_of(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def create_token(folder: Path, name: str, *words: str) -> str:
    """Make a token in the store of a folder."""
    done = run_harness(folder, "token", "create", name, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def bearer(token: str) -> dict[str, str]:
    """Return the header that shows a token."""
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def run_server(folder: Path, *words: str, variables: Mapping[str, str] | None = None) -> Iterator[ServerProcess]:
    """Run `harness serve` below a folder, until the context ends."""
    folder.mkdir(parents=True, exist_ok=True)
    port = () if "--port" in words else ("--port", "0")
    with (folder / "out.txt").open("wb") as out, (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            (sys.executable, "-m", "harness", "serve", *port, *words),
            env={**environment_of(folder), **(variables or {})},
            stdout=out,
            stderr=log,
        )
        server = ServerProcess(folder, "", process)
        server.session.trust_env = False
        try:
            wait_until(lambda: "report to it" in server.output or process.poll() is not None, within_s=60)
            address = re.search(r"report to it: .* (https?)://\S+?:(\d+)/", server.output)
            assert address is not None, server.output + server.log
            server.url = f"{address[1]}://127.0.0.1:{address[2]}"
            yield server
        finally:
            server.session.close()
            if process.poll() is None:
                process.terminate()
            process.wait(60)

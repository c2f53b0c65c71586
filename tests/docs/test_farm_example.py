"""The example of a farm against its protocol, which a server on this machine replays: no farm is asked."""

from __future__ import annotations

import importlib
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.core.app import App
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported, DeviceLost, EnvironmentProblem, UsageError
from tests.cli.project import Project
from tests.docs.pages import ROOT
from tests.docs.test_docs_plug_ins import install

EXAMPLE = ROOT / "docs" / "examples" / "farm"
MODEL, KEY = "Google Pixel 7-13.0", "very-secret"
BUILD = "/app-automate/espresso/v2/builds/b1"


class Replay(ThreadingHTTPServer):
    """Replays answers in order by request; the last one of each stays."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self.answers: dict[str, list[dict[str, Any]]] = {}
        for line in (EXAMPLE / "protocol.jsonl").read_text(encoding="utf-8").splitlines()[1:]:
            entry = json.loads(line)
            self.answers.setdefault(f"{entry['method']} {entry['path']}", []).append(entry)


class Handler(BaseHTTPRequestHandler):
    server: Replay

    def do_GET(self) -> None:
        name = f"{self.command} {self.path}"
        self.server.requests.append(name)
        self.server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        assert self.headers["Authorization"].startswith("Basic ")
        answers = self.server.answers[name]
        entry = answers.pop(0) if len(answers) > 1 else answers[0]
        if entry.get("cut"):
            self.close_connection = True
            return
        text = entry.get("text") or json.dumps(entry.get("answer", {})).replace("{url}", self.server.url)
        self.send_response(entry.get("status", 200))
        for header, value in entry.get("headers", {}).items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
        pass


@pytest.fixture
def replay() -> Iterator[Replay]:
    server = Replay()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Case:
    """A platform whose pauses are noted and not made."""

    def __init__(self, replay: Replay, folder: Path, model: str = MODEL) -> None:
        self.app, suite = folder / "app.apk", folder / "tests.apk"
        self.app.write_bytes(b"app")
        suite.write_bytes(b"tests")
        self.pauses: list[float] = []
        options = importlib.import_module("edge_harness_farm.options").FarmOptions(
            farm_url=replay.url, farm_user="me", farm_models=(model,), farm_test_suite=suite
        )
        self.farm = importlib.import_module("edge_harness_farm.platform").Farm(options, KEY, self.pauses.append)

    def launch(self, times: int = 1) -> Any:  # noqa: ANN401 - the package is not installed for mypy
        (device,) = self.farm.devices()
        with self.farm.open(device, None) as session:
            session.stage({}, {"program": self.app})
            command = Command(("--iter", "3"), app=App(package="org.example", activity=".Main"), timeout_s=60)
            return [session.run(command) for _ in range(times)][-1]


@pytest.fixture
def case(replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.syspath_prepend(EXAMPLE)
    return Case(replay, tmp_path)


def test_each_launch_is_a_run_and_packages_are_uploaded_once(replay: Replay, case: Case) -> None:
    assert case.launch(times=2).stdout.count("PyTorchObserver") == 2
    counts = {name.rsplit("/", 1)[1]: replay.requests.count(name) for name in replay.requests if "POST" in name}
    assert counts == {"app": 1, "test-suite": 1, "build": 2}
    body = json.loads(replay.bodies[replay.requests.index("POST /app-automate/espresso/v2/build")])
    assert (body["devices"], body["instrumentationOptions"]) == ([MODEL], {"iter": "3"})


def test_a_wrong_key_is_named_and_not_shown(replay: Replay, case: Case) -> None:
    replay.answers["GET /app-automate/devices.json"] = [{"status": 401}]
    with pytest.raises(EnvironmentProblem, match="refuses the key") as caught:
        case.launch()
    assert KEY not in str(caught.value)


def test_a_rate_limit_waits_as_long_as_asked(replay: Replay, case: Case) -> None:
    replay.answers[f"GET {BUILD}"].insert(0, {"status": 429, "headers": {"Retry-After": "17"}})
    assert case.launch().ok
    assert 17 in case.pauses


def test_a_run_that_fails_is_a_failed_launch(replay: Replay, case: Case) -> None:
    replay.answers[f"GET {BUILD}"][-1]["answer"]["status"] = "failed"
    completed = case.launch()
    assert not completed.ok
    assert "run b1 of the farm: failed" in completed.describe()


def test_a_run_that_never_ends_meets_its_time_limit(replay: Replay, case: Case) -> None:
    del replay.answers[f"GET {BUILD}"][1]
    assert case.launch().timed_out
    assert case.pauses == [5, 10, 20, 40]


def test_a_connection_cut_while_polling_is_tried_again_and_then_lost(replay: Replay, case: Case) -> None:
    replay.answers[f"GET {BUILD}"].insert(0, {"cut": True})
    assert case.launch().ok
    replay.answers[f"GET {BUILD}"] = [{"cut": True}]
    with pytest.raises(DeviceLost):
        case.launch()


def test_a_start_that_was_not_answered_is_not_repeated(replay: Replay, case: Case) -> None:
    replay.answers["POST /app-automate/espresso/v2/build"] = [{"cut": True}]
    with pytest.raises(DeviceLost):
        case.launch()
    assert replay.requests.count("POST /app-automate/espresso/v2/build") == 1


def test_the_key_goes_to_no_other_host(replay: Replay, case: Case) -> None:
    session = replay.answers[f"GET {BUILD}/sessions/s1"][0]["answer"]
    session["testcases"]["data"][0]["testcases"][0]["instrumentation_log"] = "http://elsewhere.example/log"
    with pytest.raises(EnvironmentProblem, match=r"elsewhere\.example"):
        case.launch()


def test_an_unknown_model_is_refused(replay: Replay, case: Case, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the farm has no Nokia 3310") as caught:
        Case(replay, tmp_path, "Nokia 3310").farm.devices()
    assert MODEL in str(caught.value)


def test_programs_are_refused(case: Case) -> None:
    (device,) = case.farm.devices()
    with case.farm.open(device, None) as session, pytest.raises(BenchmarkUnsupported, match="whole apps"):
        session.run(Command(("ls",)))


def test_the_harness_measures_on_the_farm(replay: Replay, project: Project, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "package")
    install(tmp_path / "package")
    project.write("app.apk", "app")
    project.write("tests.apk", "tests")
    model = {"name": "m", "format": "app", "framework": "generic", "app": {"package": "org.x", "activity": ".Main"}}
    test = {"metric": "delay", "identifier": "a", "commands": ["--iter 3"]}
    spec = project.write("spec.json", {"model": model | {"repeat": 2}, "tests": [test]})
    flags = ("--platform", "farm", "--farm-url", replay.url, "--farm-user", "me", "--farm-models", MODEL)
    programs = ("--program", "app.apk", "--farm-test-suite", "tests.apk", "--farm-poll-s", "0.01")
    package = str(tmp_path / "package")
    done = project.harness("-b", spec, *flags, *programs, FARM_ACCESS_KEY=KEY, PYTHONPATH=package)
    assert done.code == 0, done.stdout + done.stderr
    (result,) = done.read()
    assert result["metrics"][0]["samples"] == [1500, 1520] * 2
    assert KEY not in done.stdout + done.stderr + json.dumps(result)

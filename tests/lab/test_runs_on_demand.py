"""Runs on demand from end to end: a server of results, a lab, a dispatcher, and what happens when they are killed."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from harness.testing.phones import start_phones
from tests.cli.project import Project, generic, observe, one_test
from tests.lab.labs import BEGINNING_S, Lab, Process, measuring_children, open_lab, start
from tests.processes import wait_until
from tests.server.process import ServerProcess, bearer, create_token, run_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")
pytest.importorskip("fastapi")

SLEEPING = (
    """sh -c 'sleep 8; echo PyTorchObserver \\{\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", """
    """\\"unit\\": \\"ms\\", \\"value\\": 5\\}'"""
)
LIVES = 6
"""How many dispatchers there are, one after the other, of which all but the last are killed."""


@contextlib.contextmanager
def dispatch(
    lab: Lab,
    server: ServerProcess,
    specifications: Path,
    name: str = "dispatcher",
    *,
    token: str = "",
) -> Iterator[Process]:
    """Let a lab take the requests of a server."""
    words = ("lab", "dispatch", lab.address, "--requests-from", server.url, "--specifications", str(specifications))
    cache = ("--cache-dir", str(lab.folder / "dispatching"))
    with pytest.MonkeyPatch.context() as patch:
        if token:
            patch.setenv("HARNESS_REMOTE_TOKEN", token)
        process = start(lab.folder, name, *words, "--lease", "6", *cache)
    try:
        process.wait_for("takes requests from")
        headers = bearer(token) if token else {}
        wait_until(lambda: bool(server.get("/api/v1/offers", headers=headers).json()["device_classes"]), BEGINNING_S)
        yield process
    finally:
        process.stop()


def ask(
    server: ServerProcess,
    specification: str,
    benchmark: str = "",
    key: str = "",
    *,
    headers: dict[str, str] | None = None,
    device_class: str = "green",
) -> dict[str, Any]:
    document: dict[str, JsonValue] = {"specification": specification, "benchmark": benchmark}
    answer = server.post(
        "/api/v1/requests", json={**document, "device_class": device_class, "key": key}, headers=headers
    )
    assert answer.status_code in {200, 201}, answer.text
    found: dict[str, Any] = answer.json()
    return found


def wait_for_end(server: ServerProcess, identity: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    def show() -> dict[str, Any]:
        found: dict[str, Any] = server.get(f"/api/v1/requests/{identity}", headers=headers).json()
        return found

    wait_until(lambda: show()["state"] not in {"queued", "running"}, BEGINNING_S)
    return show()


def count_results(server: ServerProcess) -> int:
    total: int = server.get("/api/v1/results").json()["total"]
    return total


def slow(project: Project, seconds: float = 8) -> tuple[str, ...]:
    text = (
        f"import time\nopen({str(project.folder / 'launched')!r}, 'a').write('x')\ntime.sleep({seconds})\n"
        """print('PyTorchObserver {"type": "NET", "metric": "latency", "unit": "ms", "value": "5"}')\n"""
    )
    return (f"{sys.executable} {project.write('slow.py', text)}",)


@pytest.fixture
def specifications(project: Project) -> Path:
    """An allow list: a quick specification, one that takes a while, and one that fails."""
    project.write("offered/quick.json", generic(one_test("a", observe(5, 6)), one_test("b", observe(7, 8))))
    project.write("offered/slow.json", generic(one_test("s", *slow(project))))
    project.write("offered/broken.json", generic(one_test("x", "sh -c 'echo no such thing >&2; exit 7'")))
    return project.folder / "offered"


def test_what_a_person_asks_for_is_measured_and_linked(project: Project, specifications: Path) -> None:
    with (
        run_server(project.folder / "server") as server,
        open_lab(project.folder) as lab,
        lab.host("green"),
        dispatch(lab, server, specifications),
    ):
        offers = server.get("/api/v1/offers").json()
        assert [each["name"] for each in offers["specifications"]] == ["broken", "quick", "slow"]
        both, one = ask(server, "quick"), ask(server, "quick", "m/b")
        broken = wait_for_end(server, ask(server, "broken")["id"])
        both, one = wait_for_end(server, both["id"]), wait_for_end(server, one["id"])
        assert (both["state"], one["state"], broken["state"]) == ("done", "done", "failed")
        assert (len(both["results"]), len(one["results"]), len(broken["results"])) == (2, 1, 1)
        assert "exit status 7" in broken["reason"]
        (uid,) = one["results"]
        result = server.get(f"/api/v1/results/{uid}").json()
        assert result["benchmark"]["identifier"] == "b"
        assert result["meta"]["user"] == one["person"]
        assert server.get(f"/results/{uid}", headers={"Accept": "text/html"}).status_code == 200
        assert count_results(server) == 4
        assert "green" in server.get("/lab", headers={"Accept": "text/html"}).text


@pytest.mark.exhaustive
def test_a_killed_dispatcher_loses_no_request_and_stores_no_result_twice(
    project: Project, specifications: Path
) -> None:
    project.write("offered/pair.json", generic(one_test("p", observe(5, 6)), one_test("s", *slow(project))))
    with run_server(project.folder / "server") as server, open_lab(project.folder) as lab, lab.host("green"):
        with dispatch(lab, server, specifications) as first:
            asked = ask(server, "pair")["id"]
            wait_until(lambda: count_results(server) == 1, BEGINNING_S)
            wait_until((project.folder / "launched").exists, BEGINNING_S)
            (before,) = (row["uid"] for row in server.get("/api/v1/results").json()["rows"])
            measured = server.get(f"/api/v1/results/{before}").content
            first.kill()
            assert server.get(f"/api/v1/requests/{asked}").json()["state"] == "running"
        with dispatch(lab, server, specifications, "second"):
            ended = wait_for_end(server, asked)
        assert (ended["state"], ended["attempts"]) == ("done", 2)
        assert before in ended["results"]
        assert count_results(server) == len(ended["results"]) == 2
        assert server.get(f"/api/v1/results/{before}").content == measured


@pytest.mark.exhaustive
def test_a_server_that_is_killed_while_a_run_goes_on_gets_its_result(project: Project, specifications: Path) -> None:
    folder = project.folder / "server"
    with open_lab(project.folder) as lab, lab.host("green"), run_server(folder) as server:
        port = server.url.rpartition(":")[2]
        with dispatch(lab, server, specifications) as dispatcher:
            asked, waiting = ask(server, "slow")["id"], ask(server, "quick", "m/a")["id"]
            wait_until((project.folder / "launched").exists, BEGINNING_S)
            server.process.kill()
            server.process.wait()
            dispatcher.wait_for("does not answer")
            time.sleep(10)  # the run ends, and its lease too
            with run_server(folder, "--port", port) as again:
                ended = [wait_for_end(again, identity) for identity in (asked, waiting)]
                assert [each["state"] for each in ended] == ["done", "done"]
                assert count_results(again) == 2
        assert (project.folder / "launched").read_text() == "x"


@pytest.mark.exhaustive
def test_a_request_that_is_cancelled_stops_what_measures_it(project: Project, specifications: Path) -> None:
    project.write("offered/endless.json", generic(one_test("e", *slow(project, seconds=600))))
    with (
        run_server(project.folder / "server") as server,
        open_lab(project.folder) as lab,
        lab.host("green") as host,
        dispatch(lab, server, specifications) as dispatcher,
    ):
        asked = ask(server, "endless")["id"]
        wait_until(lambda: bool(measuring_children(host, "slow.py")), BEGINNING_S)
        assert server.post(f"/api/v1/requests/{asked}/cancel").status_code == 200
        wait_until(lambda: not measuring_children(host, "slow.py"), 60)
        dispatcher.wait_for("the request is no longer yours: it is cancelled")
        # the process of the device, which was ended with its job, comes back
        wait_until(lambda: bool(server.get("/api/v1/offers").json()["device_classes"]), BEGINNING_S)
        assert wait_for_end(server, ask(server, "quick", "m/a")["id"])["state"] == "done"
        assert count_results(server) == 1


@pytest.mark.exhaustive
def test_a_dispatcher_that_is_stopped_puts_its_request_back(project: Project, specifications: Path) -> None:
    project.write("offered/endless.json", generic(one_test("e", *slow(project, seconds=600))))
    with (
        run_server(project.folder / "server") as server,
        open_lab(project.folder) as lab,
        lab.host("green") as host,
    ):
        with dispatch(lab, server, specifications) as dispatcher:
            asked = ask(server, "endless")["id"]
            wait_until(lambda: bool(measuring_children(host, "slow.py")), BEGINNING_S)
            dispatcher.started.send_signal(signal.SIGTERM)
            assert dispatcher.started.wait(60) == 0, dispatcher.text
        shown = server.get(f"/api/v1/requests/{asked}").json()
        assert (shown["state"], shown["reason"]) == ("queued", "the lab was stopped")
        wait_until(lambda: not measuring_children(host, "slow.py"), 30)
        assert "Traceback" not in dispatcher.text


@pytest.mark.exhaustive
def test_a_dispatcher_waits_for_a_lab_that_is_away(project: Project, specifications: Path) -> None:
    with run_server(project.folder / "server") as server, open_lab(project.folder) as lab, lab.host("green"):
        port = lab.address.rpartition(":")[2]
        with dispatch(lab, server, specifications) as dispatcher:
            asked = ask(server, "quick", "m/a")["id"]
            assert wait_for_end(server, asked)["state"] == "done"
            lab.scheduler.started.kill()
            lab.scheduler.started.wait(20)
            wait_until(lambda: not server.get("/api/v1/offers").json()["device_classes"], BEGINNING_S)
            again = start(project.folder, "again", "lab", "serve", "--port", port)
            try:
                wait_until(lambda: bool(server.get("/api/v1/offers").json()["device_classes"]), BEGINNING_S)
                assert wait_for_end(server, ask(server, "quick", "m/b")["id"])["state"] == "done"
            finally:
                again.stop()
            assert "Traceback" not in dispatcher.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--requests-from", "http://127.0.0.1:1"), "--specifications requires an argument"),
        (("--specifications", "sort"), "--requests-from requires an argument"),
        (("--requests-from", "http://127.0.0.1:1", "--specifications", "nothing-like-it"), "nothing-like-it"),
        (("--requests-from", "http://a:b@c", "--specifications", "sort"), "has a password"),
        (("--requests-from", "http://127.0.0.1:1", "--specifications", "sort", "--lease", "1"), "--lease 1: must be"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(project: Project, words: tuple[str, ...], said: str) -> None:
    done = project.harness("lab", "dispatch", "127.0.0.1:1", *words)
    assert done.code == 2
    assert said in done.stderr


def test_a_token_without_the_scope_is_told_at_once(project: Project, specifications: Path) -> None:
    folder = project.folder / "server"
    token = create_token(folder, "writer", "--scope", "write")
    with run_server(folder) as server:
        words = ("--requests-from", server.url, "--specifications", str(specifications))
        done = project.harness("lab", "dispatch", "127.0.0.1:1", *words, HARNESS_REMOTE_TOKEN=token)
        assert done.code == 3
        assert "harness token create lab --scope lab,read,write" in done.stderr
        assert token not in done.stderr


def test_whatever_is_killed_every_request_is_done_once(project: Project) -> None:
    """Dispatchers and servers are killed one after the other while three persons ask."""
    project.write("offered/brief.json", generic(one_test("s", *slow(project, seconds=1.0))))
    folder, offered = project.folder / "server", project.folder / "offered"
    tokens = {name: bearer(create_token(folder, name, "--scope", "read,request")) for name in ("anna", "bert", "carl")}
    token = create_token(folder, "lab", "--scope", "lab,read,write")
    port = "0"
    with open_lab(project.folder) as lab, lab.host("green"):
        for life in range(LIVES):
            with contextlib.ExitStack() as stack:
                server = stack.enter_context(run_server(folder, "--port", port))
                port = server.url.rpartition(":")[2]
                dispatcher = stack.enter_context(dispatch(lab, server, offered, f"dispatcher-{life}", token=token))
                if not life:
                    asked = [
                        ask(server, "brief", key=str(number), headers=headers)["id"]
                        for headers in tokens.values()
                        for number in range(3)
                    ]
                if life == LIVES - 1:
                    ended = [wait_for_end(server, identity, headers=tokens["anna"]) for identity in asked]
                    break
                time.sleep(2 + life / 2)
                if life % 2:
                    server.process.kill()
                dispatcher.kill()
        assert [each["state"] for each in ended] == ["done"] * len(asked)
        uids = [uid for each in ended for uid in each["results"]]
        assert len(set(uids)) == len(asked)
        with run_server(folder, "--port", port) as server:
            assert count_results(server) == len(asked)
            results = [server.get(f"/api/v1/results/{uid}", headers=tokens["anna"]).json() for uid in uids]
        assert [result["meta"]["user"] for result in results] == [each["person"] for each in ended]


@pytest.mark.exhaustive
def test_a_class_measures_as_many_requests_at_once_as_it_has_devices(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three requests two are measured on two stand-in phones, and a third one of this machine beside them."""
    project.write("offered/phone.json", generic(one_test("s", SLEEPING)))
    project.write("offered/quick.json", generic(one_test("a", observe(5, 6))))
    with (
        run_server(project.folder / "server") as server,
        start_phones(2) as phones,
        open_lab(project.folder) as lab,
        lab.host("green"),
        monkeypatch.context() as changed,
    ):
        changed.setenv("HARNESS_ADB_SERVER", str(phones.server))
        changed.setenv("ANDROID_ADB_SERVER_PORT", str(phones.port))
        words = ("--platforms", "android", "--as-class", "phone", "--cache-dir", str(lab.folder / "phones"))
        host = start(lab.folder, "phones", "lab", "join", lab.address, *words)
        try:
            host.wait_for("joined as phone", count=2)
            with dispatch(lab, server, project.folder / "offered"):
                wait_until(lambda: len(server.get("/api/v1/offers").json()["device_classes"]) == 2, BEGINNING_S)
                asked = [ask(server, "phone", device_class="phone")["id"] for _ in range(3)]
                here = ask(server, "quick")["id"]
                ended = [wait_for_end(server, identity) for identity in (*asked, here)]
        finally:
            host.stop()
        assert [each["state"] for each in ended] == ["done"] * 4
        first, second, third, other = sorted(ended[:3], key=lambda each: each["started"]) + ended[3:]
        assert second["started"] < first["finished"], "two at once"
        assert third["started"] >= min(first["finished"], second["finished"]), "and no third one"
        assert other["started"] < max(first["finished"], second["finished"]), "another class does not wait"
        results = [server.get(f"/api/v1/results/{each['results'][0]}").json() for each in ended]
        assert len({result["device"]["identity"] for result in results}) == 3

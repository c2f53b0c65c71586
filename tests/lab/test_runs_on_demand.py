"""Runs on demand from end to end: a server of results, a lab, a dispatcher, and what happens when they are killed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tests.cli.project import Project, generic, observe, one_test
from tests.lab.labs import BEGINNING_S, Lab, Process, open_lab, start
from tests.processes import wait_until
from tests.server.process import ServerProcess, run_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")
pytest.importorskip("fastapi")


@contextlib.contextmanager
def dispatch(lab: Lab, server: ServerProcess, specifications: Path, name: str = "dispatcher") -> Iterator[Process]:
    """Let a lab take the requests of a server."""
    words = ("lab", "dispatch", lab.address, "--requests-from", server.url, "--specifications", str(specifications))
    cache = ("--cache-dir", str(lab.folder / "dispatching"))
    process = start(lab.folder, name, *words, "--lease", "6", *cache)
    try:
        process.wait_for("takes requests from")
        wait_until(lambda: bool(server.get("/api/v1/offers").json()["device_classes"]), BEGINNING_S)
        yield process
    finally:
        process.stop()


def ask(server: ServerProcess, specification: str, benchmark: str = "", key: str = "") -> dict[str, Any]:
    document: dict[str, JsonValue] = {"specification": specification, "benchmark": benchmark, "device_class": "green"}
    answer = server.post("/api/v1/requests", json={**document, "key": key})
    assert answer.status_code in {200, 201}, answer.text
    found: dict[str, Any] = answer.json()
    return found


def wait_for_end(server: ServerProcess, identity: str) -> dict[str, Any]:
    def show() -> dict[str, Any]:
        found: dict[str, Any] = server.get(f"/api/v1/requests/{identity}").json()
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

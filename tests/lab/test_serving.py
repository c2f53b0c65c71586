"""`harness lab serve --results`: scheduler, results and pages by one command."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import requests

from tests.lab.labs import Process, start
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")
pytest.importorskip("uvicorn")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Process]:
    """A lab that serves results, too, once both can be reached."""
    words = ("lab", "serve", "--port", "0", "--results", "0", "--local-reporter", str(tmp_path / "results"))
    process = start(tmp_path, "lab", *words)
    try:
        process.wait_for("the lab is at")
        process.wait_for("http://")
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def servers(process: Process) -> list[psutil.Process]:
    """The servers of results that a lab started."""
    children = psutil.Process(process.started.pid).children(recursive=True)
    return [child for child in children if "serve" in child.cmdline()]


def address(process: Process) -> str:
    found = re.search(r"http://\S+?:\d+", process.text)
    assert found is not None, process.text
    return found[0]


def test_results_and_pages_are_served_beside_the_scheduler(served: Process, tmp_path: Path) -> None:
    page = requests.get(address(served), timeout=30)
    assert page.ok
    assert "<html" in page.text
    assert (tmp_path / "results" / "results.db").exists()
    (server,) = servers(served)
    served.stop()
    assert served.started.returncode == 0, served.text
    wait_until(lambda: not server.is_running())


def test_the_server_of_results_does_not_outlive_a_killed_lab(served: Process) -> None:
    (server,) = servers(served)
    served.started.kill()
    served.started.wait(20)
    wait_until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)


def test_a_lab_whose_server_of_results_ends_has_failed(served: Process) -> None:
    (server,) = servers(served)
    server.kill()
    assert served.started.wait(60) == 3, served.text
    assert "the server of results ended" in served.text

"""A lab of two hosts with stand-in phones, of which one dies while it measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.testing.phones import start_phones
from tests.cli.project import Project, generic, one_test
from tests.lab.labs import BEGINNING_S, client_of, open_lab
from tests.lab.phones import phone_host
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")

JOBS = 12
SLEEPING = (
    """sh -c 'sleep 1; echo PyTorchObserver \\{\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", """
    """\\"unit\\": \\"ms\\", \\"value\\": {n}\\}'"""
)


@pytest.mark.exhaustive
def test_a_host_that_dies_loses_no_job(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hosts have the name of this machine, and caches of their own: each gets the file of the client."""
    project.write("model.bin", "a model of the client")
    files = {"model": {"filename": "model.bin", "location": str(project.folder / "model.bin")}}
    test = one_test("a-{n}", "grep client {files.model}", SLEEPING, matrix={"n": [*range(1, JOBS + 1)]})
    spec = project.write("spec.json", generic(test, files=files))
    with (
        open_lab(project.folder) as lab,
        phone_host(lab, "first", monkeypatch) as dying,
        phone_host(lab, "second", monkeypatch),
        client_of(project, lab, spec, "--device-class", "phone") as client,
    ):
        wait_until(lambda: len(_results(project)) >= 3, BEGINNING_S)
        dying.kill()
        output, _ = client.communicate(timeout=240)
    assert client.returncode == 0, output
    assert len(_results(project)) == JOBS
    assert {file.parents[3].name for file in project.folder.glob("*/lab/files/*/content")} == {"first", "second"}
    assert f"{JOBS} ok" in output


def test_a_phone_that_is_unplugged_takes_no_jobs_of_others(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process would fail each job at once, and so take all that wait; it comes back with the phone."""
    spec = project.write("spec.json", generic(one_test("a-{n}", "true", SLEEPING, matrix={"n": [*range(1, JOBS + 1)]})))
    with (
        start_phones(2) as phones,
        open_lab(project.folder) as lab,
        phone_host(lab, "only", monkeypatch, phones) as host,
        client_of(project, lab, spec) as client,
    ):
        wait_until(lambda: len(_results(project)) >= 2, BEGINNING_S)
        phones.phones[0].unplug()
        output, _ = client.communicate(timeout=240)
        assert client.returncode == 0, output
        assert f"{JOBS} ok" in output
        assert len(_results(project)) == JOBS
        assert host.text.count("joined as phone") == 2
        phones.phones[0].plug()
        host.wait_for("joined as phone", count=3)


def _results(project: Project) -> list[Path]:
    """Return the results that are stored whole, and not those that are being written."""
    folders = (path for path in (project.folder / "results").glob("[!.]*") if path.is_dir())
    return [file for folder in folders for file in folder.rglob("result.json")]

"""A lab of two hosts with stand-in phones, of which one dies while it measures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from tests.cli.project import Project, generic, one_test
from tests.lab.labs import BEGINNING_S, Lab, Process, client_of, open_lab, start
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")

JOBS = 12
SLEEPING = (
    """sh -c 'sleep 1; echo PyTorchObserver \\{\\"type\\": \\"NET\\", \\"metric\\": \\"latency\\", """
    """\\"unit\\": \\"ms\\", \\"value\\": {n}\\}'"""
)


def test_a_host_that_dies_loses_no_job(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hosts have the name of this machine, and caches of their own: each gets the file of the client."""
    project.write("model.bin", "a model of the client")
    files = {"model": {"filename": "model.bin", "location": str(project.folder / "model.bin")}}
    test = one_test("a-{n}", "grep client {files.model}", SLEEPING, matrix={"n": [*range(1, JOBS + 1)]})
    spec = project.write("spec.json", generic(test, files=files))
    with (
        open_lab(project.folder) as lab,
        _host(lab, "first", monkeypatch) as dying,
        _host(lab, "second", monkeypatch),
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
        _host(lab, "only", monkeypatch, phones) as host,
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


@contextlib.contextmanager
def _host(lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch, connected: PhoneLab | None = None) -> Iterator[Process]:
    """Join phones as a host: two of a server of adb of their own, or those that are given."""
    with (
        contextlib.nullcontext(connected) if connected else start_phones(2) as phones,
        monkeypatch.context() as changed,
    ):
        changed.setenv("HARNESS_ADB_SERVER", str(phones.server))
        changed.setenv("ANDROID_ADB_SERVER_PORT", str(phones.port))
        words = ("lab", "join", lab.address, "--platforms", "android", "--as-class", "phone")
        process = start(lab.folder, name, *words, "--cache-dir", str(lab.folder / name))
        try:
            process.wait_for("joined as phone", count=2)
            yield process
        finally:
            process.stop()


def _results(project: Project) -> list[Path]:
    return list((project.folder / "results").rglob("result.json"))

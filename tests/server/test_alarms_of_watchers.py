"""Alarms of a watcher reach the database that it stores into, and the server that it reports to."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from harness import plugins
from harness.config.remote_target import RemoteTarget
from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.store.database.engine import open_database
from harness.store.database.views.reader import History
from reporters.alarm_database import DatabaseAlarms
from reporters.remote.alarms import ServerAlarms, find_alarm_target
from reporters.remote.endpoint import Endpoint
from tests.reporters.alarms.alarm_samples import bisected_step, found_step
from tests.server.process import ServerProcess


def test_the_database_has_the_latest_report_of_an_alarm(tmp_path: Path) -> None:
    place = tmp_path / "results.db"
    reporter = DatabaseAlarms(str(place))
    later, earlier = bisected_step(), found_step()
    for report in (later, earlier, later):
        assert reporter.report(report) == str(place)
    with open_database(place) as database:
        detail = History(database).alarm(later.alarm.identity)
    assert detail is not None
    assert detail.report == later


def test_a_database_that_cannot_be_opened_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(ReporterFailed, match="folder"):
        DatabaseAlarms(str(tmp_path)).report(found_step())


def test_the_server_has_the_alarm_and_its_page(server: ServerProcess) -> None:
    target = find_alarm_target(RemoteTarget.parse(f"{server.url}|nightly"))
    assert target is not None
    report = bisected_step()
    assert ServerAlarms(Endpoint(target)).report(report) == f"{server.url}/api/v1/alarms"
    assert server.get(f"/api/v1/alarms/{report.alarm.identity}").json()["row"]["identity"] == report.alarm.identity
    assert report.alarm.change.title in server.get(f"/alarms/{report.alarm.identity}").text


def test_a_server_that_does_not_answer_is_tried_again() -> None:
    target = find_alarm_target(RemoteTarget.parse("http://127.0.0.1:9"))
    assert target is not None
    with pytest.raises(ReporterFailed, match="not received"):
        ServerAlarms(Endpoint(target)).report(found_step())


@pytest.mark.parametrize(
    ("url", "alarms"),
    [
        ("http://lab:8080", "http://lab:8080/api/v1/alarms"),
        ("http://lab/api/v1/results", "http://lab/api/v1/alarms"),
        ("https://lab/perf/api/v1/results|mv2", "https://lab/perf/api/v1/alarms"),
        ("https://other.example/benchmarks", None),
    ],
)
def test_only_servers_of_the_harness_take_alarms(url: str, alarms: str | None) -> None:
    target = find_alarm_target(RemoteTarget.parse(url))
    assert (target.url if target is not None else None) == alarms


def test_each_is_asked_for_by_its_flag(tmp_path: Path) -> None:
    settings = Settings(local_reporter=tmp_path)
    both = dataclasses.replace(settings, database=str(tmp_path / "r.db"), remote_reporter="http://lab:8080")
    assert [reporter.name for reporter in plugins.alarm_reporters(settings)] == ["report"]
    assert {reporter.name for reporter in plugins.alarm_reporters(both)} == {"database", "remote", "report"}

"""Devices in doubt reach the server of results by the reporter that posts results, and its pages mark them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.config.settings import Settings
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import ReporterFailed
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result
from reporters.remote import create
from reporters.remote.reporter import RemoteReporter
from tests.core.test_device_doubt import DOUBT
from tests.server.process import ServerProcess


def test_a_doubt_marks_results_on_the_server(server: ServerProcess, tmp_path: Path) -> None:
    assert server.post_result(ok_result(uid="doubtful")).status_code == 201
    before = server.get("/api/v1/results/doubtful").content
    reporter = create(Settings(remote_reporter=f"{server.url}|nightly", cache_dir=tmp_path))
    assert reporter is not None
    for _ in range(2):
        reporter.keep_doubts([DOUBT])
    (row,) = server.get("/api/v1/results").json()["rows"]
    assert row["trusted"] is False
    assert "not to be trusted" in server.get("/").text
    assert "the reference changed by +12.0 %" in server.get("/results/doubtful").text
    assert server.get("/api/v1/results/doubtful").content == before
    assert [doubt["identity"] for doubt in server.get("/api/v1/doubts").json()] == [DOUBT.identity]


def test_what_is_no_doubt_is_refused(server: ServerProcess) -> None:
    for changes in ({"since": -1}, {"until": 1e300}, {"reason": ""}, {"identity": ""}, {"more": 1}):
        body: JsonValue = {"doubts": [{**DOUBT.model_dump(mode="json"), **changes}]}
        assert server.post("/api/v1/doubts", json=body).status_code == 422, changes


def test_a_server_that_does_not_answer_is_said(tmp_path: Path) -> None:
    reporter = create(Settings(remote_reporter="http://127.0.0.1:9", cache_dir=tmp_path))
    assert reporter is not None
    with pytest.raises(ReporterFailed, match="cannot be reached"):
        reporter.keep_doubts([DOUBT])


def test_a_server_of_others_is_not_asked(tmp_path: Path) -> None:
    reporter = create(Settings(remote_reporter="http://127.0.0.1:9/elsewhere", cache_dir=tmp_path))
    assert reporter is not None
    reporter.keep_doubts([DOUBT])


def test_a_dispatcher_tells_the_server_once_and_again_when_something_changes(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from harness.lab.on_demand.allow_list import AllowList  # noqa: PLC0415 - an extra
    from harness.lab.on_demand.dispatching import Dispatcher  # noqa: PLC0415
    from harness.lab.on_demand.request_queue import RequestQueue  # noqa: PLC0415

    told, keep = list[int](), RemoteReporter.keep_doubts

    def count(reporter: RemoteReporter, doubts: Sequence[DeviceDoubt]) -> None:
        told.append(len(doubts))
        keep(reporter, doubts)

    monkeypatch.setattr(RemoteReporter, "keep_doubts", count)
    queue, settings = RequestQueue(server.url, None, "dispatcher"), Settings(cache_dir=tmp_path)
    dispatcher = Dispatcher(queue, AllowList({}), settings, RecordedProgress(), lease_s=60.0)
    other = DOUBT.model_copy(update={"identity": "told by a dispatcher"})
    for doubts in ((), (other,), (other,), (other, DOUBT)):
        dispatcher._tell_doubts(doubts)
    assert told == [1, 2]
    assert other.identity in {doubt["identity"] for doubt in server.get("/api/v1/doubts").json()}

"""Batches of the remote reporter, against a small HTTP server and against the server of the harness."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.store.canonical_json import to_json_line
from harness.testing.progress import RecordedProgress
from harness.testing.results import failed_result, ok_result, report_of
from reporters import remote
from reporters.remote import endpoint
from reporters.remote.reporter import Envelope, RemoteReporter
from tests.reporters.test_remote_reporter import Reply, Request, Server, answer, cut
from tests.server.process import ServerProcess, run_server


@pytest.fixture
def small() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with run_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_REMOTE_TOKEN", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(endpoint, "_PAUSES_S", (0.0, 0.0))


def _reporter(tmp_path: Path, url: str) -> RemoteReporter:
    reporter = remote.create(Settings(remote_reporter=f"{url}|perf", cache_dir=tmp_path / "cache"))
    assert isinstance(reporter, RemoteReporter)
    return reporter


def _spool(tmp_path: Path, url: str, *uids: str) -> RemoteReporter:
    """Fill the spool as a run without a server does, and return the reporter of the next run."""
    reporter = _reporter(tmp_path, url)
    for number, uid in enumerate(uids):
        entry = reporter._spool.add(uid, to_json_line(Envelope(result=ok_result(uid=uid))).encode())
        os.utime(entry, (1e9 + number, 1e9 + number))
    return reporter


def _waiting(tmp_path: Path) -> list[str]:
    return sorted(path.stem for path in tmp_path.glob("cache/spool/*/*.json"))


def _dead(tmp_path: Path) -> dict[str, str]:
    return {path.name.split(".")[0]: path.read_text() for path in tmp_path.glob("cache/spool/*/dead/*.txt")}


def _sent(request: Request) -> list[str]:
    """Return the uids in a request; those of a batch are compressed."""
    if request.headers.get("Content-Encoding") != "gzip":
        return [request.uid]
    envelopes = json.loads(gzip.decompress(request.body))["envelopes"]
    return [envelope["result"]["uid"] for envelope in envelopes]


def _judging(server: Server, judge: Callable[[str], int], most: int = 1000) -> Reply:
    """Answer batches of at most so many as the server of the harness does."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        uids = _sent(server.requests[-1])
        outcomes = [{"uid": uid, "status": judge(uid), "message": f"about {uid}"} for uid in uids]
        text = json.dumps({"outcomes": outcomes, "stored": 0})
        (answer(413) if len(uids) > most else answer(200, text))(handler)

    return reply


def _base(server: Server) -> str:
    return server.place.removesuffix("/results")


def test_fifty_results_travel_in_one_compressed_request(tmp_path: Path, small: Server) -> None:
    small.reply = _judging(small, lambda _: 201)
    uids = [f"{n:03}" for n in range(120)]
    outcome = _spool(tmp_path, _base(small), *uids).flush(RecordedProgress())
    assert (outcome.sent, outcome.is_complete, _waiting(tmp_path)) == (120, True, [])
    assert [len(_sent(request)) for request in small.requests] == [50, 50, 20]
    assert [uid for request in small.requests for uid in _sent(request)] == uids
    assert {request.path for request in small.requests} == {"/api/v1/results"}


def test_each_result_of_a_batch_has_a_state_of_its_own(tmp_path: Path, small: Server) -> None:
    statuses = {"a": 201, "b": 200, "c": 409, "d": 422, "e": 500}
    small.reply = _judging(small, statuses.__getitem__)
    outcome = _spool(tmp_path, _base(small), *statuses).flush(RecordedProgress())
    assert (outcome.sent, outcome.refused, outcome.waiting, len(small.requests)) == (2, 2, 1, 1)
    assert _waiting(tmp_path) == ["e"]
    assert sorted(_dead(tmp_path)) == ["c", "d"]
    assert "409 Conflict: about c" in _dead(tmp_path)["c"]


def test_a_batch_has_at_most_8_mib_unless_one_result_is_longer(
    tmp_path: Path, small: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.reply = _judging(small, lambda _: 201)
    reporter = _spool(tmp_path, _base(small), "a", "b", "c")
    monkeypatch.setattr("reporters.remote.spool._BATCH_BYTES", 10)
    assert reporter.flush(RecordedProgress()).sent == 3
    assert [_sent(request) for request in small.requests] == [["a"], ["b"], ["c"]]


def test_a_batch_that_is_too_large_is_halved(tmp_path: Path, small: Server) -> None:
    small.reply = _judging(small, lambda _: 201, most=3)
    outcome = _spool(tmp_path, _base(small), *"abcdefghij").flush(RecordedProgress())
    assert (outcome.sent, outcome.refused) == (10, 0)
    accepted = [_sent(request) for request in small.requests if len(_sent(request)) <= 3]
    assert [uid for uids in accepted for uid in uids] == list("abcdefghij")


@pytest.mark.parametrize("status", [400, 404, 405, 415, 422, 500])
def test_a_server_that_dislikes_a_batch_gets_plain_envelopes(tmp_path: Path, small: Server, status: int) -> None:
    small.replies = [answer(status)]
    outcome = _spool(tmp_path, _base(small), "a", "b", "c").flush(RecordedProgress())
    assert (outcome.sent, outcome.refused, _dead(tmp_path)) == (3, 0, {})
    assert [_sent(request) for request in small.requests] == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert [request.headers.get("Idempotency-Key") for request in small.requests] == [None, "a", "b", "c"]


@pytest.mark.parametrize("text", ["", "{", '{"outcomes": []}', '{"outcomes": [{"uid": "x", "status": 201}]}'])
def test_an_answer_without_a_state_for_each_result_removes_none(tmp_path: Path, small: Server, text: str) -> None:
    small.replies = [answer(200, text)]
    small.reply = answer(503)
    outcome = _spool(tmp_path, _base(small), "a").flush(RecordedProgress())
    assert (outcome.sent, outcome.refused, _waiting(tmp_path)) == (0, 0, ["a"])


@pytest.mark.parametrize("reply", [answer(401), answer(429), answer(503), cut])
def test_a_server_that_takes_nothing_now_keeps_the_whole_batch(tmp_path: Path, small: Server, reply: Reply) -> None:
    small.reply = reply
    outcome = _spool(tmp_path, _base(small), "a", "b").flush(RecordedProgress())
    assert (outcome.sent, outcome.refused, outcome.waiting) == (0, 0, 2)
    assert all(_sent(request) == ["a", "b"] for request in small.requests)


def test_the_server_of_the_harness_stores_a_run_and_refuses_what_contradicts_it(
    tmp_path: Path, real: ServerProcess
) -> None:
    reporter = _reporter(tmp_path, real.url)
    for n in range(60):
        reporter.report(report_of(ok_result(uid=f"run-{n}")))
    reporter.close()
    assert (reporter.unreported, _waiting(tmp_path)) == (0, [])
    assert all(real.get(f"/api/v1/results/run-{n}").status_code == 200 for n in range(60))
    reporter = _reporter(tmp_path, real.url)
    reporter.report(report_of(ok_result(uid="run-60")))
    reporter.report(report_of(failed_result(uid="run-0")))
    with pytest.raises(ReporterFailed, match=r"1 spooled results were refused: .*409 Conflict"):
        reporter.close()
    assert (reporter.unreported, list(_dead(tmp_path))) == (1, ["run-0"])


_KILLED = """
import os, signal, sys
from pathlib import Path
from harness.config.settings import Settings
from harness.testing.progress import RecordedProgress
from reporters.remote import create
unlink, removed = Path.unlink, []
def die_at_the_second(path, missing_ok=False):
    if path.suffix == ".json":
        removed.append(path)
        if len(removed) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    unlink(path, missing_ok)
Path.unlink = die_at_the_second
create(Settings(remote_reporter=sys.argv[1], cache_dir=Path(sys.argv[2]))).flush(RecordedProgress())
"""


def test_a_process_killed_between_answer_and_removal_stores_each_result_once(
    tmp_path: Path, real: ServerProcess
) -> None:
    uids = ["killed-a", "killed-b", "killed-c"]
    reporter = _spool(tmp_path, real.url, *uids)
    argv = [sys.executable, "-c", _KILLED, f"{real.url}|perf", str(tmp_path / "cache")]
    assert subprocess.run(argv, check=False, timeout=60).returncode == -signal.SIGKILL
    assert _waiting(tmp_path) == uids[1:], "two were received, and are still on the disk"
    outcome = reporter.flush(RecordedProgress())
    assert (outcome.sent, outcome.refused, _waiting(tmp_path)) == (2, 0, [])
    rows = real.get("/api/v1/results?limit=500").json()["rows"]
    assert sorted(row["uid"] for row in rows if row["uid"].startswith("killed-")) == uids

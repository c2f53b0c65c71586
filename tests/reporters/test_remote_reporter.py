"""The remote reporter against a real HTTP server that answers well, badly, slowly, or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness import __version__
from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.protocols import FlushOutcome, Spooling
from harness.core.result import Result
from harness.testing.progress import RecordedProgress
from harness.testing.reporters import CHECKS, Check, ReporterCase
from harness.testing.results import failed_result, ok_result, report_of
from reporters import remote
from reporters.remote import endpoint
from reporters.remote.reporter import RemoteReporter
from tests.processes import wait_until

TOKEN = "hidden-token"
"""Must show up nowhere but in the header."""


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def uid(self) -> str:
        uid = json.loads(self.body)["result"]["uid"]
        assert isinstance(uid, str)
        return uid


Reply = Callable[[BaseHTTPRequestHandler], None]


def answer(status: int, text: str = "", **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return reply


def cut(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    with contextlib.suppress(OSError):  # the other end may have hung up before
        handler.connection.shutdown(socket.SHUT_RDWR)


class Server:
    """Remembers requests; answers with `replies` while there are some, then with `reply`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        self.reply: Reply = answer(201)
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append(Request(self.path, dict(self.headers), body))
                (outer.replies.pop(0) if outer.replies else outer.reply)(self)

            def do_GET(self) -> None:
                outer.requests.append(Request(self.path, dict(self.headers), b""))
                answer(200)(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.place = f"http://127.0.0.1:{self._http.server_port}/results"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """SendResult when the test is over."""
        self.release.wait(30)
        cut(handler)

    @property
    def uids(self) -> list[str]:
        return [request.uid for request in self.requests]

    def stop(self) -> None:
        self.release.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def refusing_url() -> Iterator[str]:
    """An address where connections are refused: bound, and never listened to."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/results?key=hidden"


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token, no proxy, no configuration of whoever runs the tests, and no waiting between attempts."""
    monkeypatch.setenv("HARNESS_REMOTE_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(endpoint, "_PAUSES_S", (0.0, 0.0))


def _settings(tmp_path: Path, place: str, category: str = "|perf") -> Settings:
    return Settings(remote_reporter=place + category, cache_dir=tmp_path / "cache")


def _reporter(settings: Settings) -> RemoteReporter:
    reporter = remote.create(settings)
    assert isinstance(reporter, RemoteReporter)
    return reporter


def _spooled(tmp_path: Path) -> list[str]:
    return sorted(path.stem for path in tmp_path.glob("cache/spool/*/*.json"))


def _date(tmp_path: Path, *uids: str) -> None:
    """Let entries be a second apart: the clock of some file systems ticks once in several milliseconds."""
    for number, uid in enumerate(uids):
        (entry,) = tmp_path.glob(f"cache/spool/*/{uid}.json")
        os.utime(entry, (1e9 + number, 1e9 + number))


def _dead(tmp_path: Path) -> dict[str, str]:
    return {path.name.split(".")[0]: path.read_text().strip() for path in tmp_path.glob("cache/spool/*/dead/*.txt")}


def _deliver(reporter: RemoteReporter, result: Result) -> None:
    reporter.report(report_of(result))
    reporter.close()


def _fail(reporter: RemoteReporter, result: Result) -> ReporterFailed:
    """Report a result, and return what the end of the run says about it."""
    with pytest.raises(ReporterFailed) as failure:
        _deliver(reporter, result)
    assert "hidden" not in str(failure.value)
    assert failure.value.hint
    return failure.value


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_remote_reporter_keeps_the_contract(tmp_path: Path, server: Server, check: Check) -> None:
    (tmp_path / "file").touch()
    check(
        ReporterCase(
            lambda: _reporter(_settings(tmp_path, server.place)),
            lambda: _reporter(_settings(tmp_path / "file", server.place)),
        )
    )


def test_the_server_receives_the_measured_result(tmp_path: Path, server: Server) -> None:
    result = ok_result(meta={"text": "ü"})
    reporter = _reporter(_settings(tmp_path, server.place))
    reporter.report(report_of(result, stdout="logs stay here"))
    reporter.close()
    (request,) = server.requests
    envelope = json.loads(request.body)
    assert (envelope["schema_version"], envelope["category"], set(envelope)) == (
        "1.0",
        "perf",
        {"schema_version", "category", "result"},
    )
    assert Result.model_validate(envelope["result"]) == result
    assert envelope["result"]["metrics"][0]["samples"] == list(result.metrics[0].samples)
    assert b"logs stay here" not in request.body
    assert _spooled(tmp_path) == []


def test_requests_have_the_expected_headers(tmp_path: Path, server: Server) -> None:
    _deliver(_reporter(_settings(tmp_path, server.place + "?a=b")), ok_result(uid="0123"))
    (request,) = server.requests
    assert request.path == "/results?a=b"
    sent = {name: request.headers[name] for name in ("Authorization", "Idempotency-Key", "Content-Type", "User-Agent")}
    assert sent == {
        "Authorization": f"Bearer {TOKEN}",
        "Idempotency-Key": "0123",
        "Content-Type": "application/json",
        "User-Agent": f"edge-harness/{__version__}",
    }
    assert TOKEN.encode() not in request.body


def test_without_a_token_the_login_of_the_url_is_used_and_netrc_never(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.delenv("HARNESS_REMOTE_TOKEN")
    for place in (server.place, server.place.replace("://", "://user:pw@")):
        _deliver(_reporter(_settings(tmp_path, place)), ok_result())
    assert [request.headers.get("Authorization") for request in server.requests] == [None, "Basic dXNlcjpwdw=="]


def test_a_result_without_category_is_sent(tmp_path: Path, server: Server) -> None:
    _deliver(_reporter(_settings(tmp_path, server.place, "")), failed_result())
    assert json.loads(server.requests[0].body)["category"] is None


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_2xx_means_received(tmp_path: Path, server: Server, status: int) -> None:
    server.reply = answer(status)
    reporter = _reporter(_settings(tmp_path, server.place))
    reporter.report(report_of(ok_result()))
    reporter.close()
    assert (len(server.requests), _spooled(tmp_path)) == (1, [])


@pytest.mark.parametrize("status", [301, 303, 401, 403, 408, 429, 500, 507])
def test_temporary_rejections_keep_the_result(tmp_path: Path, server: Server, status: int) -> None:
    server.reply = answer(status, "because", Location="/elsewhere")
    reporter = _reporter(_settings(tmp_path, server.place))
    failure = _fail(reporter, ok_result(uid="kept"))
    assert failure.message.startswith(f"spooled, 1 waiting: {server.place} answered {status}")
    assert "harness report --flush" in (failure.hint or "")
    assert "--remote-reporter" in (failure.hint or "")
    assert (set(server.uids), _spooled(tmp_path), _dead(tmp_path)) == ({"kept"}, ["kept"], {})
    server.reply = answer(200)
    reporter.close()
    assert _spooled(tmp_path) == []


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
def test_permanently_rejected_results_are_kept_apart_with_the_reason(
    tmp_path: Path, server: Server, status: int
) -> None:
    server.reply = answer(status, '{"detail": "the unit is\nmissing"}')
    reporter = _reporter(_settings(tmp_path, server.place))
    failure = _fail(reporter, ok_result(uid="refused"))
    assert "the unit is missing" in failure.message
    assert (_spooled(tmp_path), list(_dead(tmp_path))) == ([], ["refused"])
    assert "the unit is missing" in _dead(tmp_path)["refused"]
    reporter.close()
    assert len(server.requests) == 1


def test_a_missing_token_is_named_as_the_cause(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_REMOTE_TOKEN")
    server.reply = answer(401)
    assert "set HARNESS_REMOTE_TOKEN" in _fail(_reporter(_settings(tmp_path, server.place)), ok_result()).message


@pytest.mark.parametrize("reply", [answer(502), answer(503), answer(504), cut])
def test_a_short_outage_is_retried(tmp_path: Path, server: Server, reply: Reply) -> None:
    server.replies = [reply, reply]
    _deliver(_reporter(_settings(tmp_path, server.place)), ok_result(uid="0123"))
    assert [request.headers["Idempotency-Key"] for request in server.requests] == ["0123"] * 3
    assert _spooled(tmp_path) == []


def test_an_unavailable_server_is_tried_three_times(tmp_path: Path, server: Server) -> None:
    server.reply = answer(503)
    _fail(_reporter(_settings(tmp_path, server.place)), ok_result())
    server.requests.clear()
    assert not _reporter(_settings(tmp_path, server.place)).flush(RecordedProgress()).is_complete
    assert len(server.requests) == 3


def test_a_response_truncated_after_the_status_counts(tmp_path: Path, server: Server) -> None:
    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(201)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        cut(handler)

    server.reply = half
    reporter = _reporter(_settings(tmp_path, server.place))
    reporter.report(report_of(ok_result()))
    reporter.close()
    assert (len(server.requests), _spooled(tmp_path)) == (1, [])


def test_a_refused_connection_is_reported_at_the_end(tmp_path: Path, refusing_url: str) -> None:
    reporter = _reporter(_settings(tmp_path, refusing_url))
    reporter.report(report_of(ok_result(uid="one")))
    failure = _fail(reporter, ok_result(uid="two"))
    assert failure.message.startswith("spooled, 2 waiting")
    assert "cannot be reached: Connection refused" in failure.message
    assert _spooled(tmp_path) == ["one", "two"]


def test_a_server_that_cuts_connections_is_not_tried_again_during_the_run(tmp_path: Path, server: Server) -> None:
    server.reply = cut
    reporter = _reporter(_settings(tmp_path, server.place))
    reporter.report(report_of(ok_result(uid="one")))
    wait_until(lambda: len(server.requests) == 3)
    reporter.report(report_of(ok_result(uid="two")))
    _date(tmp_path, "one", "two")
    with pytest.raises(ReporterFailed, match="spooled, 2 waiting"):
        reporter.close()
    assert server.uids == ["one"] * 6, "three times during the run, and three times at its end"


def test_a_server_that_does_not_answer_delays_no_result(tmp_path: Path, server: Server) -> None:
    server.reply = server.hang
    reporter = _reporter(_settings(tmp_path, server.place))
    uids = ["a", "b", "c", "d"]
    for uid in uids:
        reporter.report(report_of(ok_result(uid=uid)))
    assert _spooled(tmp_path) == uids, "all are on the disk, and none was answered"
    server.reply = answer(201)
    server.release.set()
    reporter.close()
    assert (_spooled(tmp_path), reporter.unreported, set(server.uids)) == ([], 0, set(uids))


@pytest.mark.slow
def test_a_server_that_never_answers_delays_the_end_only(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reporters.remote.reporter._RUN_S", 0.6)
    monkeypatch.setattr(endpoint, "_LEAST_S", 0.6)
    server.reply = server.hang
    reporter = _reporter(_settings(tmp_path, server.place))
    reporter.report(report_of(ok_result(uid="one")))
    wait_until(lambda: bool(server.requests))
    reporter.report(report_of(ok_result(uid="two")))
    _date(tmp_path, "one", "two")
    with pytest.raises(ReporterFailed, match="spooled, 2 waiting"):
        reporter.close()
    assert set(server.uids) == {"one"}


def test_the_end_of_the_run_retries_oldest_first(tmp_path: Path, server: Server) -> None:
    server.reply = cut
    reporter = _reporter(_settings(tmp_path, server.place))
    _fail(reporter, ok_result(uid="b"))
    _fail(reporter, ok_result(uid="a"))
    _date(tmp_path, "b", "a")
    server.requests.clear()
    server.reply = answer(201)
    reporter.close()
    assert server.uids == ["b", "a"]
    assert _spooled(tmp_path) == []


def test_a_reporter_counts_the_results_of_its_run_that_were_not_delivered(tmp_path: Path, server: Server) -> None:
    server.reply = answer(500)
    earlier = _reporter(_settings(tmp_path, server.place))
    _fail(earlier, ok_result(uid="earlier"))
    reporter = _reporter(_settings(tmp_path, server.place))
    _fail(reporter, ok_result(uid="a"))
    assert (earlier.unreported, reporter.unreported) == (1, 1)

    def refuse_b(handler: BaseHTTPRequestHandler) -> None:
        answer(422 if server.uids[-1] == "b" else 500, "no")(handler)

    server.reply = refuse_b
    _fail(reporter, ok_result(uid="b"))
    assert reporter.unreported == 2
    server.reply = answer(201)
    reporter.close()
    assert (earlier.unreported, reporter.unreported) == (0, 1), "the refused one is lost, the others arrived"


def test_results_rejected_at_the_end_of_the_run_are_reported(tmp_path: Path, server: Server) -> None:
    server.replies = [answer(500), answer(422, "no")]
    reporter = _reporter(_settings(tmp_path, server.place))
    reporter.report(report_of(ok_result(uid="x")))
    wait_until(lambda: bool(server.requests))
    with pytest.raises(ReporterFailed, match=r"1 spooled results were refused: .*422") as failure:
        reporter.close()
    assert str(tmp_path) in (failure.value.hint or "")
    assert list(_dead(tmp_path)) == ["x"]


def test_results_left_by_an_earlier_run_are_sent_by_the_next(tmp_path: Path, server: Server) -> None:
    server.reply = answer(500)
    earlier = _reporter(_settings(tmp_path, server.place))
    _fail(earlier, ok_result(uid="earlier"))
    server.reply = answer(201)
    _reporter(_settings(tmp_path, server.place)).close()
    assert (server.uids[-1], _spooled(tmp_path)) == ("earlier", [])


def test_redirects_are_not_followed(tmp_path: Path, server: Server) -> None:
    server.reply = answer(302, Location=server.place + "/moved")
    assert "redirects are not followed" in _fail(_reporter(_settings(tmp_path, server.place)), ok_result()).message
    assert {request.path for request in server.requests} == {"/results"}


def test_secrets_that_a_server_repeats_are_not_shown(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def echo(handler: BaseHTTPRequestHandler) -> None:
        answer(422, f"bad \x1b[31m{handler.headers['Authorization']} hidden-pw user:hidden-pw")(handler)

    server.reply = echo
    login = server.place.replace("://", "://user:hidden-pw@")
    failure = _fail(_reporter(_settings(tmp_path, login)), ok_result(uid="one"))
    assert "Bearer ***" in failure.message
    assert "\x1b" not in failure.message
    monkeypatch.delenv("HARNESS_REMOTE_TOKEN")
    failure = _fail(_reporter(_settings(tmp_path, login)), ok_result(uid="two"))
    assert failure.message.endswith("Basic *** *** ***")
    assert all("hidden" not in reason for reason in _dead(tmp_path).values())


def test_no_secret_reaches_the_disk_the_logs_or_a_representation(
    tmp_path: Path, refusing_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    reporter = _reporter(_settings(tmp_path, refusing_url.replace("://", "://user:hidden-pw@").partition("?")[0]))
    _fail(reporter, ok_result())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert all("hidden" not in str(path) and b"hidden" not in path.read_bytes() for path in files)
    assert "hidden" not in caplog.text
    assert "hidden" not in repr(reporter._endpoint)


def test_flush_sends_everything_and_reports_it(tmp_path: Path, server: Server) -> None:
    settings = _settings(tmp_path, server.place)
    assert isinstance(_reporter(settings), Spooling)
    server.reply = answer(500)
    for uid in ("one", "two", "three"):
        _fail(_reporter(settings), ok_result(uid=uid))
    _date(tmp_path, "one", "two", "three")
    server.requests.clear()
    server.reply = answer(201)
    server.replies = [answer(201), answer(413)]
    progress = RecordedProgress()
    outcome = _reporter(settings).flush(progress)
    assert (outcome.sent, outcome.waiting, outcome.refused) == (2, 0, 1)
    assert "413" in outcome.reasons[0]
    assert progress.tasks == [f"sending results to {server.place}"]
    assert server.uids == ["one", "two", "three"]
    assert _reporter(settings).flush(progress) == FlushOutcome()


def test_flush_stops_at_a_wrong_token(tmp_path: Path, server: Server) -> None:
    settings = _settings(tmp_path, server.place)
    server.reply = answer(401)
    for uid in ("one", "two"):
        _fail(_reporter(settings), ok_result(uid=uid))
    server.requests.clear()
    outcome = _reporter(settings).flush(RecordedProgress())
    assert (outcome.sent, outcome.waiting, len(server.requests)) == (0, 2, 1)


_FLUSH = """
import sys
from pathlib import Path
from harness.config.settings import Settings
from harness.testing.progress import RecordedProgress
from reporters.remote import create
reporter = create(Settings(remote_reporter=sys.argv[1], cache_dir=Path(sys.argv[2])))
print(reporter.flush(RecordedProgress()).sent)
"""

_REPORT = """
import sys
from pathlib import Path
from harness.config.settings import Settings
from harness.testing.results import ok_result, report_of
from reporters.remote import create
reporter = create(Settings(remote_reporter=sys.argv[1], cache_dir=Path(sys.argv[2])))
reporter.report(report_of(ok_result(uid="survivor")))
reporter.close()
"""


def _start(code: str, place: str, tmp_path: Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", code, f"{place}|perf", str(tmp_path / "cache")]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=dict(os.environ))


@pytest.mark.slow
def test_two_processes_flush_one_spool_and_each_result_arrives_once(tmp_path: Path, server: Server) -> None:
    settings = _settings(tmp_path, server.place)
    server.reply = cut
    reporter = _reporter(settings)
    for n in range(30):
        reporter.report(report_of(ok_result(uid=f"{n:02}")))
    with pytest.raises(ReporterFailed, match="30 waiting"):
        reporter.close()
    server.requests.clear()
    server.reply = answer(201)
    flushing = [_start(_FLUSH, server.place, tmp_path) for _ in range(2)]
    sent = [int(process.communicate(timeout=60)[0]) for process in flushing]
    assert sum(sent) == 30
    assert sorted(server.uids) == [f"{n:02}" for n in range(30)]
    assert [request.headers["Idempotency-Key"] for request in server.requests] == server.uids
    assert _spooled(tmp_path) == []


@pytest.mark.slow
def test_a_process_killed_while_it_sends_loses_nothing(tmp_path: Path, server: Server) -> None:
    server.replies = [server.hang]
    process = _start(_REPORT, server.place, tmp_path)
    wait_until(lambda: bool(server.requests), 60)
    process.kill()
    process.communicate()
    assert (server.uids, _spooled(tmp_path)) == (["survivor"], ["survivor"])
    assert _reporter(_settings(tmp_path, server.place)).flush(RecordedProgress()).sent == 1
    assert server.uids == ["survivor", "survivor"]
    assert {request.headers["Idempotency-Key"] for request in server.requests} == {"survivor"}
    assert _spooled(tmp_path) == []

"""Who is told of an alarm: a command, a web hook, a page, and whoever asks for the status."""

from __future__ import annotations

import hashlib
import hmac
import json
import shlex
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.core.alarm import AlarmStage
from harness.watch.store.commits import CommitStatus
from tests.cli.project import Project
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need
from tests.e2e.watched import Watch, culprits, watch_of

pytestmark = [pytest.mark.slow, MEASURING]

FEW = ("--pairs", "8")
SECRET = "between us"


@dataclass
class Hook:
    """A web hook, and what was posted to it.

    Attributes:
        url: Where it listens.
        answer: The status of every answer.
        posted: Headers and bodies.
    """

    url: str
    answer: int = 200
    posted: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def hook() -> Iterator[Hook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.posted.append((dict(self.headers), body))
            self.send_response(found.answer)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is http.server's
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Hook(f"http://127.0.0.1:{server.server_port}/hooks/perf?token=hidden")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    need("git", "g++")
    watch = watch_of(Project(tmp_path, tmp_path / "cache"))
    for number in range(1, 9):
        watch.work.commit(f"Change {number}", slower=0.15 if number == 5 else 0.0)
    return watch


def test_undelivered_notifications_are_delivered_once_by_the_next_start(watch: Watch, hook: Hook) -> None:
    works = watch.project.folder / "works"
    tell = watch.project.write("tell.sh", f'test -e {works} && exec sh {watch.project.folder}/diary.sh "$1"\n')
    command = shlex.join(("sh", str(tell), str(watch.project.folder / "diary")))
    arguments = ("--since", watch.work.commits[0], "--on_alarm", command, "--hook", hook.url, *FEW)
    hook.answer = 503

    first = watch.harness(*arguments, HARNESS_HOOK_SECRET=SECRET)
    assert first.code == 1, first.stderr
    assert "is not delivered yet: sh ended with exit status 1" in first.stderr
    assert "http://127.0.0.1 answered 503 Service Unavailable" in first.stderr
    assert "hidden" not in first.stderr + first.stdout
    assert SECRET not in first.stderr + first.stdout
    status = watch.project.harness("status").stdout
    assert "not delivered by command" in status
    assert "not delivered by hook" in status
    (alarm,) = watch.alarms()
    assert alarm.stage is AlarmStage.BISECTED, "it is told when everybody was told"

    still = watch.harness(*arguments, HARNESS_HOOK_SECRET=SECRET)
    assert still.code == 3, "news that nobody got is no success"

    works.touch()
    hook.answer = 204
    hook.posted.clear()
    mended = watch.harness(*arguments, HARNESS_HOOK_SECRET=SECRET)
    assert mended.code == 0, mended.stderr
    assert len(watch.notified_keys()) == 2
    assert [headers["X-Harness-Event"] for headers, _ in hook.posted] == ["confirmed", "bisected"]
    for headers, body in hook.posted:
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert headers["X-Harness-Signature-256"] == f"sha256={digest}"
        document = json.loads(body)
        assert headers["Idempotency-Key"] == document["key"]
        assert document["alarm"]["change"]["title"] == "m/work"
    assert [headers["Idempotency-Key"] for headers, _ in hook.posted] == watch.notified_keys()
    assert watch.alarms()[0].stage is AlarmStage.REPORTED

    assert watch.harness(*arguments, HARNESS_HOOK_SECRET=SECRET).code == 0
    assert len(hook.posted) == len(watch.notified_keys()) == 2


def test_the_alarm_page_names_commit_author_and_a_command_to_reproduce(watch: Watch) -> None:
    done = watch.harness("--since", watch.work.commits[0], *FEW)
    assert done.code == 1, done.stderr
    (alarm,) = watch.alarms()
    report = watch.report(alarm)
    assert culprits(report) == [watch.work.commits[5]]
    page = (watch.state.parent / "alarms" / alarm.identity / "alarm.md").read_text()
    head = page.splitlines()[0]
    assert f"with commit {watch.work.commits[5][:12]} “Change 5” by A. Author" in head
    assert "slower" in head
    assert "](series.svg)" in page
    again = watch.project.harness(*shlex.split(report["command"])[1:])
    assert again.code == 1, again.stderr
    assert again.read()[-1]["comparison"]["verdict"] == "regression"


@pytest.mark.exhaustive
def test_status_summarises_progress_and_prints_everything_as_json(watch: Watch) -> None:
    assert watch.harness("--since", watch.work.commits[0], *FEW).code == 1
    told = watch.project.harness("status")
    assert told.code == 0, told.stderr
    counted = "alarms: 0 in progress, 1 reported and unresolved"
    for words in (
        "no watcher is running\nlast activity: ",
        "8 done",
        counted,
        "alarm: step of ",
        f"culprit {watch.work.commits[5][:12]}",
        watch.work.commits[8][:12],
        "m/work",
    ):
        assert words in told.stdout
    status = watch.status()
    assert status["counts"] == {"done": 8}
    assert status["deliveries"] == {"delivered": 4}, "two events: the alarm's page, and that of all with its culprit"
    assert [alarm["change"]["kind"] for alarm in status["unresolved"]] == ["step"]
    assert status["waiting"] == status["undelivered"] == status["alarms"] == []
    assert any("bisected: step of m/work" in event["text"] for event in status["events"])


@pytest.mark.exhaustive
def test_measure_only_detects_no_changes(watch: Watch) -> None:
    done = watch.harness("--since", watch.work.commits[0], "--no-regression", *FEW)
    assert done.code == 0, done.stderr
    assert watch.counts() == {CommitStatus.DONE: 8}
    assert watch.alarms() == []


@pytest.mark.exhaustive
def test_an_improvement_is_reported_and_is_not_a_failure(tmp_path: Path) -> None:
    need("git", "g++")
    watch = watch_of(Project(tmp_path, tmp_path / "cache"))
    for number in range(1, 9):
        watch.work.commit(f"Change {number}", slower=-0.05 if number == 5 else 0.0)
    done = watch.harness("--since", watch.work.commits[0], *watch.diary, *FEW)
    assert done.code == 0, done.stderr
    (alarm,) = watch.alarms()
    assert (alarm.change.kind, alarm.stage) == ("improvement", AlarmStage.REPORTED)
    assert culprits(watch.report(alarm)) == [watch.work.commits[5]]
    assert "faster" in (watch.state.parent / "alarms" / alarm.identity / "alarm.md").read_text().splitlines()[0]
    assert len(watch.notified_keys()) == 2

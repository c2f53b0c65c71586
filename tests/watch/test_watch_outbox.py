"""Telling alarms: a command of the user's, a web hook, and what happens when they do not work."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from harness.core.alarm import AlarmEvent
from harness.core.errors import DeliveryFailed, ExitCode, UsageError
from harness.flows.watch.watch import exit_code_of
from harness.watch.loop import watch
from harness.watch.notify.channels import (
    Channel,
    CommandChannel,
    WebhookChannel,
    command_channel,
    webhook_channel,
)
from harness.watch.notify.outbox import MOST_ATTEMPTS, Outbox
from harness.watch.store.notifications import DeliveryStatus, Notification
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.tasks import WatchTasks
from tests.watch.watching import Clock, Laboratory, Line, alarm, change, orders

ALARM = alarm(changed=change("grüße\n"))
NOTIFICATION = Notification(key="ab" * 16, event=AlarmEvent.CONFIRMED, time=3.0, alarm=ALARM)


@dataclass
class RecordingChannel:
    """A channel that remembers what it delivered."""

    name: str = "hook"
    problems: list[DeliveryFailed] = field(default_factory=list)
    delivered: list[str] = field(default_factory=list)

    def deliver(self, notification: Notification) -> str:
        if self.problems:
            raise self.problems.pop(0)
        self.delivered.append(notification.key)
        return "taken"


@dataclass
class Hook:
    """What a web hook received, and what it answers."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def hook() -> Iterator[Hook]:
    received = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests.append((dict(self.headers.items()), body))
            self.send_response(received.answers.pop(0) if received.answers else 204)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name upstream
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        received.url = f"http://127.0.0.1:{server.server_port}/services/T0/secret-path?token=hidden"
        try:
            yield received
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody stands between a test and its own server."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def outbox(state: State, clock: Clock, *channels: Channel) -> Outbox:
    patience = RetryWhenFull(clock.timing, lambda: False, lambda _: None)
    return Outbox(state, channels, clock.timing, patience, lambda _: None)


def queue(state: State, *channels: str, identity: str = "x") -> None:
    state.alarms.open(change(identity), 1.0)
    opened = state.alarms.find(identity)
    assert opened is not None
    state.deliveries.queue(opened, AlarmEvent.CONFIRMED, channels, 1.0)


def python(tmp_path: Path, code: str) -> CommandChannel:
    return CommandChannel((sys.executable, "-c", code), tmp_path / "alarms", timeout_s=60)


def test_a_command_reads_the_document_from_its_input_and_from_a_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import os, pathlib, sys\n"
        "told, kept = sys.stdin.read(), pathlib.Path(os.environ['HARNESS_ALARM_FILE']).read_text()\n"
        f"assert told == kept; pathlib.Path({str(out)!r}).write_text(os.environ['HARNESS_ALARM_KEY'] + told)"
    )
    assert python(tmp_path, code).deliver(NOTIFICATION) == "exit status 0"
    told = out.read_text()
    assert told.startswith(NOTIFICATION.key)
    assert Notification.model_validate_json(told.removeprefix(NOTIFICATION.key)) == NOTIFICATION


def test_a_document_longer_than_a_pipe_is_in_the_file_and_holds_up_nobody(tmp_path: Path) -> None:
    long = NOTIFICATION.model_copy(update={"alarm": ALARM.model_copy(update={"reason": "x" * 200_000})})
    code = (
        "import os, pathlib, sys\n"
        "assert sys.stdin.read() == ''; assert len(pathlib.Path(os.environ['HARNESS_ALARM_FILE']).read_text()) > 200000"
    )
    assert python(tmp_path, code).deliver(long) == "exit status 0"


def test_a_command_that_reads_nothing_is_fine(tmp_path: Path) -> None:
    assert python(tmp_path, "pass").deliver(NOTIFICATION) == "exit status 0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((sys.executable, "-c", "import sys; sys.exit('no printer')"), "exit status 1: no printer"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "did not end within"),
        (("/nowhere/at/all",), "cannot start"),
    ],
)
def test_a_command_that_fails_has_delivered_nothing(tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    with pytest.raises(DeliveryFailed, match=said) as caught:
        CommandChannel(argv, tmp_path, timeout_s=0.5 if "sleep" in argv[-1] else 60).deliver(NOTIFICATION)
    assert not caught.value.final


def test_a_command_does_not_see_the_secret_of_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_HOOK_SECRET", "hush")
    code = "import os, sys; sys.exit('hush' in os.environ.values())"
    assert python(tmp_path, code).deliver(NOTIFICATION) == "exit status 0"
    assert os.environ["HARNESS_HOOK_SECRET"] == "hush"


def test_a_command_is_split_like_a_shell_would_and_never_given_to_one(tmp_path: Path) -> None:
    assert command_channel("sh 'two words' $HOME", tmp_path).argv == ("sh", "two words", "$HOME")
    for wrong in ("", "sh 'open", "./no-such-program"):
        with pytest.raises(UsageError, match="--on-alarm"):
            command_channel(wrong, tmp_path)


def test_a_hook_gets_a_signed_document_with_its_key(hook: Hook) -> None:
    channel = webhook_channel(hook.url, {"HARNESS_HOOK_SECRET": "hush"})
    assert channel.deliver(NOTIFICATION) == "http://127.0.0.1 answered 204 No Content"
    ((headers, body),) = hook.requests
    assert Notification.model_validate_json(body) == NOTIFICATION
    signature = hmac.new(b"hush", body, hashlib.sha256).hexdigest()
    assert headers["X-Harness-Signature-256"] == f"sha256={signature}"
    assert headers["Idempotency-Key"] == NOTIFICATION.key
    assert headers["X-Harness-Event"] == "confirmed"


def test_without_a_secret_there_is_no_signature(hook: Hook) -> None:
    webhook_channel(hook.url, {}).deliver(NOTIFICATION)
    assert "X-Harness-Signature-256" not in hook.requests[0][0]


@pytest.mark.parametrize(
    ("status", "final"), [(302, False), (400, True), (401, False), (404, True), (429, False), (500, False)]
)
def test_answers_of_a_hook_tell_whether_to_try_again(hook: Hook, status: int, final: bool) -> None:
    hook.answers = [status]
    with pytest.raises(DeliveryFailed, match=str(status)) as caught:
        WebhookChannel(hook.url).deliver(NOTIFICATION)
    assert caught.value.final is final
    assert len(hook.requests) == 1, "redirects are not followed"


def test_nothing_secret_of_a_hook_is_ever_said(hook: Hook) -> None:
    hook.answers = [500]
    said = []
    for url in (hook.url, "http://127.0.0.1:1/secret-path?token=hidden", "http://user:hidden@127.0.0.1:1/x"):
        with pytest.raises(DeliveryFailed) as caught:
            WebhookChannel(url).deliver(NOTIFICATION)
        said.append(str(caught.value))
    assert "hidden" not in " ".join(said)
    assert "/secret-path" not in " ".join(said)


def test_a_login_in_the_url_of_a_hook_is_used(hook: Hook) -> None:
    WebhookChannel(hook.url.replace("//", "//user:word@")).deliver(NOTIFICATION)
    assert hook.requests[0][0]["Authorization"] == "Basic dXNlcjp3b3Jk"


@pytest.mark.parametrize("url", ["", "ftp://x/y", "http://", "http://x:99999/", "https://x/\n"])
def test_a_hook_that_is_no_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(UsageError, match=r"no http\(s\) URL"):
        webhook_channel(url, {})


def test_each_channel_gets_each_notification_once(state: State, clock: Clock) -> None:
    hook, command = RecordingChannel("hook"), RecordingChannel("command")
    box = outbox(state, clock, hook, command)
    queue(state, "hook", "command")
    while box.deliver():
        pass
    assert len(hook.delivered) == len(command.delivered) == 1
    assert state.deliveries.counts() == {DeliveryStatus.DELIVERED: 2}


def test_a_channel_that_fails_is_left_alone_for_longer_and_longer(state: State, clock: Clock) -> None:
    channel = RecordingChannel(problems=[DeliveryFailed("no line")] * 3)
    box = outbox(state, clock, channel)
    queue(state, "hook")
    pauses = []
    for _ in range(3):
        assert box.deliver()
        assert not box.deliver()
        pauses.append(box.next - clock.monotonic)
        clock.monotonic = box.next
    assert pauses == pytest.approx([60.0, 120.0, 240.0])
    (delivery,) = state.deliveries.with_status(DeliveryStatus.WAITING)
    assert (delivery.attempts, delivery.reply) == (3, "no line")
    assert box.deliver()
    (delivery,) = state.deliveries.with_status(DeliveryStatus.DELIVERED)
    assert (delivery.attempts, delivery.reply, delivery.delivered) == (4, "taken", clock.wall)


def test_a_broken_channel_does_not_hold_up_the_others(state: State, clock: Clock) -> None:
    broken, sound = RecordingChannel("command", [DeliveryFailed("no")] * 9), RecordingChannel("hook")
    box = outbox(state, clock, broken, sound)
    queue(state, "command", "hook")
    while box.deliver():
        pass
    assert len(sound.delivered) == 1


def test_a_delivery_that_is_never_taken_does_not_hold_up_the_next(state: State, clock: Clock) -> None:
    channel = RecordingChannel(problems=[DeliveryFailed("no")])
    box = outbox(state, clock, channel)
    queue(state, "hook", identity="one")
    queue(state, "hook", identity="other")
    box.deliver()
    clock.monotonic = box.next
    box.deliver()
    (waiting,) = state.deliveries.with_status(DeliveryStatus.WAITING)
    assert waiting.attempts == 1, "the other one went first"


def test_a_final_refusal_is_kept_and_not_tried_again(state: State, clock: Clock) -> None:
    box = outbox(state, clock, RecordingChannel(problems=[DeliveryFailed("gone", final=True)]))
    queue(state, "hook")
    assert box.deliver()
    assert not box.deliver()
    assert [delivery.reply for delivery in state.deliveries.with_status(DeliveryStatus.REFUSED)] == ["gone"]


def test_a_refused_notification_that_is_delivered_later_is_no_problem_any_more(state: State, clock: Clock) -> None:
    box = outbox(state, clock, RecordingChannel(problems=[DeliveryFailed("gone", final=True)]))
    queue(state, "hook")
    assert box.deliver()
    assert box.has_environment_problem
    assert state.deliveries.release("hook") == 1  # as `--test-hook` does while the watcher runs
    assert box.deliver()
    assert not box.has_environment_problem


def test_a_delivery_is_given_up_after_a_week_of_attempts(state: State, clock: Clock) -> None:
    box = outbox(state, clock, RecordingChannel(problems=[DeliveryFailed("no")] * MOST_ATTEMPTS))
    queue(state, "hook")
    begin = clock.monotonic
    while state.deliveries.with_status(DeliveryStatus.WAITING):
        clock.monotonic = max(clock.monotonic, box.next)
        box.deliver()
    assert clock.monotonic - begin > 7 * 24 * 3600


def test_deliveries_of_a_channel_that_is_not_there_wait_for_it(state: State, clock: Clock) -> None:
    queue(state, "hook")
    assert not outbox(state, clock).deliver()
    assert outbox(state, clock, RecordingChannel("hook")).deliver()


def test_the_key_of_a_notification_fits_a_header_and_a_file_name(state: State) -> None:
    queue(state, "hook", identity="../grüße\n")
    (delivery,) = state.deliveries.with_status(DeliveryStatus.WAITING)
    assert delivery.notification.key.isalnum()
    assert delivery.notification.key.isascii()
    assert json.loads(delivery.notification.model_dump_json())["alarm"]["change"]["identity"] == "../grüße\n"


def test_two_channels_of_one_name_are_refused(state: State, clock: Clock) -> None:
    with pytest.raises(UsageError, match="two channels of alarms have one name"):
        outbox(state, clock, RecordingChannel("hook"), RecordingChannel("hook"))


@pytest.mark.parametrize("is_final", [True, False], ids=["refused", "waiting"])
def test_a_watcher_that_ends_with_undelivered_news_is_no_success_however_often_it_is_started(
    state: State, clock: Clock, is_final: bool
) -> None:
    """Also by later starts, which have tried nothing themselves."""
    queue(state, "hook")
    line, tasks = Line(["c0", "c1"]), WatchTasks(Laboratory().compare)
    channel = RecordingChannel(problems=[DeliveryFailed("HTTP 400", final=is_final)])
    for start in range(3):
        said: list[str] = []
        if not is_final and not channel.problems:
            channel.problems = [DeliveryFailed("connection refused")]
        summary = watch(orders(line, base="c0"), tasks, state, channels=[channel], timing=clock.timing, say=said.append)
        assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.ENVIRONMENT, start
        assert "1 notification is not delivered: `harness status` says why" in said
    (undelivered,) = state.deliveries.with_status(DeliveryStatus.REFUSED if is_final else DeliveryStatus.WAITING)
    state.deliveries.update(undelivered.model_copy(update={"status": DeliveryStatus.DELIVERED}))
    channel.problems = []
    summary = watch(orders(line, base="c0"), tasks, state, channels=[channel], timing=clock.timing)
    assert exit_code_of(summary, is_worse=False, has_failures=False) is ExitCode.OK

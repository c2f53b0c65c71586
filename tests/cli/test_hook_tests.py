"""`harness watch --test-hook`: every channel gets a test, and the exit code says whether all took it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from harness.cli import main
from harness.core.alarm import AlarmEvent
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import open_state
from tests.cli.project import Project
from tests.reporters.channels.receiver import Receiver, Reply, Request, receive
from tests.watch.watching import alarm, change


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with receive(lambda _: Reply(204, "")) as running:
        yield running


def run_test_hook(project: Project, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    for name, value in project.environment.items():
        if name.startswith("HARNESS_"):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.folder)
    with pytest.raises(SystemExit) as ended:
        main(["watch", *words, "--test-hook"])
    return int(str(ended.value.code))


def test_each_channel_gets_a_test_and_its_answer_is_shown(
    project: Project, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Reply] = {"/slack/secretpart": Reply(403, "invalid_token")}

    def answer(request: Request) -> Reply:
        return answers.get(request.path, Reply(204, ""))

    receiver.answer = answer
    command = f"sh -c 'cat > {project.folder}/told'"
    hooks = ("--hook", f"{receiver.url}/ci", "--hook", f"slack:{receiver.url}/slack/secretpart")
    assert run_test_hook(project, monkeypatch, "--on-alarm", command, *hooks) == 3
    shown = capsys.readouterr().err
    assert "command: sent: exit status 0" in shown
    assert "hook: sent: http://127.0.0.1 answered 204 No Content" in shown
    assert "hook 2 (http://127.0.0.1): failed: http://127.0.0.1 answered 403 Forbidden: invalid_token" in shown
    assert "secretpart" not in shown
    assert json.loads((project.folder / "told").read_text())["event"] == "test"
    generic, slack = receiver.requests
    assert generic.headers["X-Harness-Event"] == "test"
    assert "TEST" in str(slack.document["text"])

    answers.clear()
    assert run_test_hook(project, monkeypatch, *hooks) == 0


def test_a_test_that_succeeds_sends_what_was_refused_again(
    project: Project,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = project.folder / "watch.db"
    with open_state(path) as state:
        state.alarms.open(change(), 1.0)
        state.deliveries.queue(alarm(), AlarmEvent.CONFIRMED, ["hook"], 1.0)
        (delivery,) = state.deliveries.of_alarm("x")
        state.deliveries.update(delivery.model_copy(update={"status": DeliveryStatus.REFUSED, "attempts": 40}))
    words = ("--hook", f"{receiver.url}/ci", "--state", str(path))
    receiver.answer = lambda _: Reply(400, "")
    assert run_test_hook(project, monkeypatch, *words) == 3
    with open_state(path) as state:
        assert state.deliveries.counts() == {DeliveryStatus.REFUSED: 1}
    receiver.answer = lambda _: Reply(204, "")
    assert run_test_hook(project, monkeypatch, *words) == 0
    assert "hook: 1 refused notification is tried again" in capsys.readouterr().err
    with open_state(path) as state:
        (waiting,) = state.deliveries.with_status(DeliveryStatus.WAITING)
        assert (waiting.notification, waiting.attempts) == (delivery.notification, 0)


def test_a_test_without_a_channel_is_a_mistake(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_test_hook(project, monkeypatch) == 2
    assert "--test-hook without --hook and --on-alarm" in capsys.readouterr().err

"""Issues and commit statuses, on a server that keeps them as GitHub does."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from harness.core.alarm import AlarmEvent
from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import DeliveryFailed, UsageError
from harness.plugins import alarm_channel
from tests.reporters.alarms.alarm_samples import bisected_step, changed, closed, commit
from tests.reporters.channels.github_server import HEAD, TOKEN, GitHub
from tests.reporters.channels.messages import BETTER, MANY, NASTY, ONE, OVER, TEST, UPDATE, message, step
from tests.reporters.channels.receiver import Receiver, Reply, receive

CULPRIT = commit(25).id


@pytest.fixture
def github() -> GitHub:
    return GitHub()


@pytest.fixture
def server(github: GitHub) -> Iterator[Receiver]:
    with receive(github) as receiver:
        yield receiver


def open_channel(server: Receiver, form: str = "github", token: str = TOKEN) -> AlarmChannel:
    environment = {"HARNESS_GITHUB_TOKEN": token, "GITHUB_API_URL": server.url}
    channel = alarm_channel(form, "ada/engine", environment, is_named=True)
    assert channel is not None
    return channel


def deliver(channel: AlarmChannel, message: AlarmMessage) -> str:
    """Send until it is taken, as the outbox does."""
    for _ in range(9):
        try:
            return channel.send(message)
        except DeliveryFailed as error:
            if error.final:
                raise
    raise AssertionError("never taken")


def test_an_issue_is_opened_updated_and_closed(github: GitHub, server: Receiver) -> None:
    channel = open_channel(server)
    first = message(step(1, 0.031))
    assert channel.send(first) == "opened issue 1 of ada/engine"
    assert "became 3.1 % slower" in str(github.issues[1]["title"])
    assert channel.send(UPDATE) == "updated issue 1 of ada/engine"
    assert str(github.issues[1]["title"]).startswith("▼ 2 benchmarks became worse"), "it is brought up to date in place"
    assert "model2" in str(github.issues[1]["body"])
    assert len(github.comments[1]) == 1
    over = message(*(report.model_copy(update={"event": closed().event}) for report in UPDATE.reports), key="k4")
    assert deliver(channel, over.model_copy(update={"is_update": True})).startswith("updated issue 1 and closed it")
    assert github.issues[1]["state"] == "closed"
    assert len(github.issues) == 1


@pytest.mark.parametrize("lost", [1, 2, 3, 4])
def test_an_answer_that_is_lost_makes_no_second_issue_and_no_second_comment(
    github: GitHub, server: Receiver, lost: int
) -> None:
    channel = open_channel(server)
    github.lost = lost
    deliver(channel, message(step(1, 0.031)))
    deliver(channel, UPDATE)
    deliver(channel, UPDATE)
    assert len(github.issues) == 1
    assert len(github.comments[1]) == 1


def test_the_issue_is_found_among_hundreds(github: GitHub, server: Receiver) -> None:
    for number in range(1, 251):
        github.issues[number] = {"number": number, "state": "open", "body": None if number % 2 else "unrelated"}
    channel = open_channel(server)
    channel.send(ONE)
    channel.send(ONE)
    assert len(github.issues) == 251


def test_an_issue_of_alarms_that_turn_out_to_have_the_same_cause_is_closed(github: GitHub, server: Receiver) -> None:
    channel = open_channel(server)
    channel.send(message(step(1, 0.031)))
    channel.send(message(step(2, 0.067)))
    assert len(github.issues) == 2
    channel.send(UPDATE.model_copy(update={"continued": ("alarm-2",)}))
    assert [issue["state"] for issue in github.issues.values()] == ["open", "closed"]
    assert "The same commit caused #1." in github.comments[2][0]


def test_a_new_benchmark_opens_a_closed_issue_again_and_nothing_else_does(github: GitHub, server: Receiver) -> None:
    channel = open_channel(server)
    channel.send(message(step(1, 0.031)))
    github.issues[1].update(state="closed")
    channel.send(UPDATE.model_copy(update={"new": ()}))
    assert [issue["state"] for issue in github.issues.values()] == ["closed"]
    channel.send(UPDATE)
    assert [issue["state"] for issue in github.issues.values()] == ["open"]


def test_improvements_and_ends_without_an_issue_open_none(github: GitHub, server: Receiver) -> None:
    channel = open_channel(server)
    assert channel.send(BETTER) == "an improvement opens no issue"
    assert channel.send(OVER) == "there is no issue to close"
    assert github.issues == {}


def test_nobody_is_mentioned_and_no_text_is_markup(github: GitHub, server: Receiver) -> None:
    open_channel(server).send(NASTY)
    text = f"{github.issues[1]['title']} {github.issues[1]['body']}"
    assert "@here" not in text
    assert "<img" not in str(github.issues[1]["body"]).replace("\\<", "")


def test_many_benchmarks_are_one_issue(github: GitHub, server: Receiver) -> None:
    open_channel(server).send(MANY)
    assert str(github.issues[1]["title"]).startswith("▼ 50 benchmarks became worse with commit 736ae249736a")


def test_the_culprit_gets_a_status_once(github: GitHub, server: Receiver) -> None:
    channel = open_channel(server, "github-status")
    github.lost = 1
    assert deliver(channel, ONE) == f"set the status of {CULPRIT[:12]} in ada/engine"
    (status,) = github.statuses[CULPRIT]
    assert (status["state"], status["context"]) == ("failure", "harness/performance")
    assert "became 3.1 % slower" in str(status["description"])
    channel.send(OVER)
    assert [status["state"] for status in github.statuses[CULPRIT]] == ["failure", "success"]


def test_no_status_is_set_while_no_culprit_is_known(github: GitHub, server: Receiver) -> None:
    unknown = message(closed().model_copy(update={"alarm": closed().alarm.model_copy(update={"search": None})}))
    assert "no culprit" in open_channel(server, "github-status").send(unknown)
    assert github.statuses == {}


def test_a_test_opens_and_closes_an_issue_or_sets_a_status_of_its_own(github: GitHub, server: Receiver) -> None:
    assert open_channel(server).send(TEST) == "opened issue 1 and closed it of ada/engine"
    assert "TEST" in str(github.issues[1]["title"])
    assert github.issues[1]["state"] == "closed"
    open_channel(server, "github-status").send(TEST)
    assert [status["context"] for status in github.statuses[HEAD]] == ["harness/test"]


def test_the_limit_of_requests_is_kept(github: GitHub, server: Receiver) -> None:
    reset = str(int(time.time()) + 1800)
    github.limited = [
        Reply(
            403, '{"message": "API rate limit exceeded"}', {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
        ),
        Reply(429, '{"message": "secondary rate limit"}', {"Retry-After": "60"}),
    ]
    waits_s = []
    for _ in range(2):
        with pytest.raises(DeliveryFailed) as caught:
            open_channel(server).send(ONE)
        assert not caught.value.final
        waits_s.append(caught.value.retry_after_s)
    assert waits_s[0] is not None
    assert 1000 < waits_s[0] <= 1800
    assert waits_s[1] == 60


def test_a_wrong_token_is_said_without_being_shown(server: Receiver) -> None:
    with pytest.raises(DeliveryFailed, match="401 Unauthorized: Bad credentials") as caught:
        open_channel(server, token="ghp_wrongsecret").send(ONE)
    assert "wrongsecret" not in str(caught.value)
    assert not caught.value.final, "the next start may have another token"


@pytest.mark.parametrize(
    ("target", "environment", "message"),
    [
        ("engine", {"GITHUB_TOKEN": "x"}, "OWNER/REPOSITORY"),
        ("ada/engine/../../x", {"GITHUB_TOKEN": "x"}, "OWNER/REPOSITORY"),
        ("ada/engine", {}, "no token"),
        ("ada/engine", {"GITHUB_TOKEN": "two words"}, "contains spaces"),
        ("ada/engine", {"GITHUB_TOKEN": "x", "GITHUB_API_URL": "nonsense"}, "GITHUB_API_URL"),
    ],
)
def test_mistakes_are_found_before_anything_is_measured(target: str, environment: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        alarm_channel("github", target, environment, is_named=True)


def test_an_alarm_that_is_open_again_opens_its_issue_again(github: GitHub, server: Receiver) -> None:
    channel = open_channel(server)
    channel.send(ONE)
    channel.send(OVER.model_copy(update={"is_update": True}))
    assert github.issues[1]["state"] == "closed"
    again = changed(bisected_step(), event=AlarmEvent.REOPENED, reopened=("opened again by ada: still slow",))
    channel.send(message(again, key="k9", is_update=True))
    assert [issue["state"] for issue in github.issues.values()] == ["open"]
    assert "open again: opened again by ada: still slow" in github.comments[1][-1]

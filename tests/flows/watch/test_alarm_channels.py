"""Hooks of the command line, and messages about alarms with one cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.alarm import Alarm, AlarmEvent, AlarmStage
from harness.core.alarm_protocols import AlarmGroupReporter
from harness.core.commit import Commit
from harness.core.errors import DeliveryFailed, HarnessError, UsageError
from harness.flows.compare.requests import CompareRequest
from harness.flows.watch.alarm_channels import MessageChannel, open_channels, parse_hooks
from harness.flows.watch.alarm_reports import AlarmReports, LinkSettings
from harness.plugins import alarm_reporters
from harness.watch.notify.channels import CommandChannel, WebhookChannel
from harness.watch.store.notifications import DeliveryStatus, Notification
from harness.watch.store.state import State
from tests.watch.conftest import clock, state, state_file
from tests.watch.watching import Line, change, found

__all__ = ["clock", "state", "state_file"]
COMMITS = ["c0", "c1", "c2", "c3"]


def reports_of(state: State, tmp_path: Path, **links: str) -> AlarmReports:
    settings = Settings(local_reporter=tmp_path)
    request = CompareRequest(source="git:/src")
    pages = alarm_reporters(settings)
    return AlarmReports(state, Line([*COMMITS]), request, settings, LinkSettings(**links), pages)


def raise_alarm(state: State, identity: str, *, culprit: str = "c1", opened: float = 1.0) -> Notification:
    """Confirm an alarm and find its culprit; return the notification of it."""
    state.alarms.open(change(identity, benchmark=identity), opened)
    alarm = state.alarms.find(identity)
    assert alarm is not None
    search, candidates = found(culprit)
    changed = {"stage": AlarmStage.BISECTED, "search": search, "candidates": candidates}
    state.alarms.update(alarm := alarm.model_copy(update=changed))
    state.deliveries.queue(alarm, AlarmEvent.BISECTED, ["hook"], 1.0)
    (delivery,) = state.deliveries.of_alarm(identity)
    return delivery.notification


def mark_delivered(state: State, identity: str) -> None:
    for delivery in state.deliveries.of_alarm(identity):
        state.deliveries.update(delivery.model_copy(update={"status": DeliveryStatus.DELIVERED}))


def test_a_message_that_some_addresses_have_is_the_same_one_until_all_have_it(state: State, tmp_path: Path) -> None:
    notification = raise_alarm(state, "a")
    (delivery,) = state.deliveries.of_alarm("a")
    state.deliveries.update(delivery.model_copy(update={"received": ("ada@example.org",)}))
    reports = reports_of(state, tmp_path)
    assert not reports.message_of([notification], "hook").is_update
    later = notification.model_copy(update={"key": "later", "event": AlarmEvent.CLOSED})
    assert reports.message_of([later], "hook").is_update, (
        "another mail with the first one's Message-ID would be dropped"
    )


def test_a_message_is_about_every_alarm_with_the_cause(state: State, tmp_path: Path) -> None:
    first, second = raise_alarm(state, "a"), raise_alarm(state, "b", opened=2.0)
    raise_alarm(state, "other", culprit="c2", opened=3.0)
    reports = reports_of(state, tmp_path, results_url="https://perf.example/results/")
    message = reports.message_of([second, first], "hook")
    assert [report.alarm.identity for report in message.reports] == ["a", "b"]
    assert (message.group, message.new, message.is_update) == ("a", ("b", "a"), False)
    assert message.page == "https://perf.example/results/alarms/a/index.html"


def test_an_alarm_that_is_found_later_updates_the_message(state: State, tmp_path: Path) -> None:
    raise_alarm(state, "a")
    mark_delivered(state, "a")
    later = raise_alarm(state, "b", opened=2.0)
    message = reports_of(state, tmp_path).message_of([later], "hook")
    assert (message.group, message.new, message.is_update) == ("a", ("b",), True)
    assert message.continued == ("b",)
    assert message.page == "", "nobody else can open a folder of this machine"
    assert message.place == "alarms/a/index.html"


def test_another_channel_has_news_of_its_own(state: State, tmp_path: Path) -> None:
    notification = raise_alarm(state, "a")
    mark_delivered(state, "a")
    assert not reports_of(state, tmp_path).message_of([notification], "hook 2").is_update


def test_alarms_that_nobody_was_to_be_notified_of_are_not_in_a_message(state: State, tmp_path: Path) -> None:
    state.alarms.open(change("suspicion"), 0.5)
    state.alarms.update(
        Alarm(change=change("suspicion"), stage=AlarmStage.CLOSED, reason="not confirmed", opened=0.5, updated=1.0)
    )
    message = reports_of(state, tmp_path).message_of([raise_alarm(state, "a")], "hook")
    assert [report.alarm.identity for report in message.reports] == ["a"]


def test_the_same_notifications_are_the_same_message(state: State, tmp_path: Path) -> None:
    first, second = raise_alarm(state, "a"), raise_alarm(state, "b", opened=2.0)
    reports = reports_of(state, tmp_path)
    keys = {reports.message_of(batch, "hook").key for batch in ([first, second], [second, first])}
    assert len(keys) == 1
    assert reports.message_of([first], "hook").key not in keys


def test_a_group_is_over_when_all_of_its_alarms_are(state: State, tmp_path: Path) -> None:
    notifications = [raise_alarm(state, "a"), raise_alarm(state, "b", opened=2.0)]
    reports = reports_of(state, tmp_path)
    for identity, event in (("a", AlarmEvent.BISECTED), ("b", AlarmEvent.CLOSED)):
        alarm = state.alarms.find(identity)
        assert alarm is not None
        state.alarms.update(alarm.model_copy(update={"stage": AlarmStage.CLOSED}))
        assert reports.message_of(notifications, "hook").event is event


def channel_of(state: State, tmp_path: Path) -> MessageChannel:
    reports = reports_of(state, tmp_path)
    channel = open_channels(None, ["slack:https://hooks.slack.com/x"], {}, tmp_path, reports)[0]
    assert isinstance(channel, MessageChannel)
    return channel


@pytest.mark.parametrize(
    ("commits", "stage", "waits"),
    [
        (("c0", "c1"), AlarmStage.OPENED, True),
        (("c0", "c2"), AlarmStage.OPENED, True),
        (("c0", "c1"), AlarmStage.CONFIRMED, True),
        (("c0", "c2"), AlarmStage.CONFIRMED, False),
        (("c1", "c2"), AlarmStage.OPENED, False),
    ],
)
def test_a_message_waits_for_alarms_that_share_a_commit_unless_their_search_is_long(
    state: State, tmp_path: Path, commits: tuple[str, str], stage: AlarmStage, waits: bool
) -> None:
    first, last = commits
    notification = raise_alarm(state, "a")
    other = Alarm(change=change("other", first=first, last=last), stage=stage, opened=1.0, updated=1.0)
    assert channel_of(state, tmp_path).waits_for(notification, [other]) is waits


def test_a_broken_channel_is_a_failed_delivery(state: State, tmp_path: Path) -> None:
    class Broken:
        place = "nowhere"

        def send(self, message: object) -> str:
            raise KeyError("blocks")

    hook = parse_hooks(["slack:https://hooks.slack.com/x"], {})[0]
    channel = MessageChannel(hook, Broken(), reports_of(state, tmp_path))
    with pytest.raises(DeliveryFailed, match="the channel hook is broken: KeyError"):
        channel.deliver(raise_alarm(state, "a"))


@pytest.mark.parametrize(
    ("text", "form", "target"),
    [
        ("https://ci.example.org/x", None, "https://ci.example.org/x"),
        ("json:https://hooks.slack.com/x", "json", "https://hooks.slack.com/x"),
        ("slack:https://proxy.example.org/x", "slack", "https://proxy.example.org/x"),
        ("mail:smtp://host?to=a@b.c", "mail", "smtp://host?to=a@b.c"),
        ("smtp://host?to=a@b.c", None, "smtp://host?to=a@b.c"),
        ("github:ada/engine", "github", "ada/engine"),
        ("slack:$HOOK", "slack", "https://secret"),
        ("slack:${HOOK}", "slack", "https://secret"),
        ("$HOOK", None, "https://secret"),
        ("$NAMED", "slack", "https://secret"),
        ("ftp://x", None, "ftp://x"),
        ("nonsense", None, "nonsense"),
    ],
)
def test_a_hook_is_a_form_and_a_target_or_a_variable(text: str, form: str | None, target: str) -> None:
    (hook,) = parse_hooks([text], {"HOOK": "https://secret", "NAMED": "slack:https://secret"})
    assert (hook.form, hook.target) == (form, target)


def test_hooks_are_named_by_their_place(tmp_path: Path) -> None:
    hooks = ["https://ci.example.org/x", "slack:https://hooks.slack.com/x", "https://hooks.slack.com/y"]
    channels = open_channels("sh -c true", hooks, {}, tmp_path)
    assert [channel.name for channel in channels] == ["command", "hook", "hook 2", "hook 3"]
    kinds = [CommandChannel, WebhookChannel, MessageChannel, MessageChannel]
    assert [type(channel) for channel in channels] == kinds


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("$MISSING", "the variable is not set"),
        ("slack:$MISSING", "the variable is not set"),
        ("carrier-pigeon:https://x/secretpart", "no alarm channel `carrier-pigeon`"),
        ("slack:secretpart", "no http"),
        ("json:secretpart", "no http"),
    ],
)
def test_mistakes_in_hooks_are_found_at_once_and_show_no_secret(hook: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=message) as caught:
        open_channels(None, [hook], {}, tmp_path)
    assert isinstance(caught.value, UsageError)
    assert "secretpart" not in str(caught.value)


def test_the_reporter_of_pages_says_where_the_page_of_a_group_is(tmp_path: Path) -> None:
    (reporter,) = alarm_reporters(Settings(local_reporter=tmp_path))
    assert isinstance(reporter, AlarmGroupReporter)
    assert reporter.group_place("../x") == "alarms/%2E.%2Fx/index.html"


def test_a_commit_of_no_repository_is_no_obstacle(state: State, tmp_path: Path) -> None:
    """Where commits cannot be read any more, nothing waits for others, and the delivery says why it failed."""
    notification = raise_alarm(state, "a")
    reports = AlarmReports(state, Line(["x"]), CompareRequest(source="git:/src"), Settings(local_reporter=tmp_path))
    hook = parse_hooks(["slack:https://hooks.slack.com/x"], {})[0]

    class Silent:
        place = "nowhere"

        def send(self, message: object) -> str:
            return "sent"

    channel = MessageChannel(hook, Silent(), reports)
    assert not channel.waits_for(notification, [notification.alarm])
    with pytest.raises(DeliveryFailed, match="no c0"):
        channel.deliver(notification)


def test_another_form_target_or_token_is_another_receiver(tmp_path: Path) -> None:
    """GitHub answers 404 where the token lacks a right: what was refused then is tried again with another token."""
    assert len(_configurations(tmp_path, ())) == 4


def test_a_variable_that_a_channel_does_not_read_makes_no_other_receiver(tmp_path: Path) -> None:
    plain = _configurations(tmp_path, ())
    assert _configurations(tmp_path, ("HARNESS_CACHE_DIR", "HARNESS_SMTP_PASSWORD")) == plain


def _configurations(folder: Path, variables: Sequence[str]) -> set[str]:
    configurations = set()
    for hook, token in (("github:a/b", "x"), ("github:a/b", "y"), ("github:a/c", "x"), ("github-status:a/b", "x")):
        (channel,) = open_channels(
            None, [hook], {"HARNESS_GITHUB_TOKEN": token, **dict.fromkeys(variables, "1")}, folder
        )
        assert isinstance(channel, MessageChannel)
        configurations.add(channel.configuration)
    return configurations


def test_the_source_is_asked_once_for_the_commits_of_many_alarms(state: State, tmp_path: Path) -> None:
    """The loop asks in each step, for each alarm that waits and each that is in progress."""
    notifications = [raise_alarm(state, str(number)) for number in range(9)]
    channel = channel_of(state, tmp_path)
    assert channel.reports is not None
    asked: list[tuple[str, str]] = []
    between = channel.reports.source.between

    def counted(older: Commit, newer: Commit) -> Sequence[Commit]:
        asked.append((older.id, newer.id))
        return between(older, newer)

    channel.reports.source.between = counted  # type: ignore[method-assign]
    in_progress = [notification.alarm for notification in notifications]
    assert [channel.waits_for(notification, in_progress) for notification in notifications] == [True] * 9
    assert asked == [("c0", "c1")]

"""Notifications with one cause go together, wait for each other, and refused ones wait for another receiver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage
from harness.core.errors import DeliveryFailed
from harness.watch.notify.channels import AddressingChannel, Channel, ConfiguredChannel
from harness.watch.notify.outbox import LONGEST_WAIT_S, Outbox, release_refused
from harness.watch.store.notifications import DeliveryStatus, Notification
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State, open_state
from tests.watch.watching import Clock, change, found


@dataclass
class Chat:
    """A channel that brings notifications together."""

    name: str = "hook"
    configuration: str = "slack:https://old"
    problems: list[DeliveryFailed] = field(default_factory=list)
    messages: list[list[str]] = field(default_factory=list)
    waits: bool = True
    received: list[tuple[str, ...]] = field(default_factory=list)

    def deliver(self, notification: Notification) -> str:
        return self.deliver_together([notification])

    def deliver_together(self, notifications: Sequence[Notification]) -> str:
        if self.problems:
            raise self.problems.pop(0)
        self.messages.append([notification.alarm.identity for notification in notifications])
        return "taken"

    def deliver_to_rest(self, notifications: Sequence[Notification], received: tuple[str, ...]) -> str:
        self.received.append(received)
        return self.deliver_together(notifications)

    def waits_for(self, notification: Notification, in_progress: Sequence[Alarm]) -> bool:
        return self.waits


def outbox(
    state: State, clock: Clock, *channels: Channel, in_progress: Callable[[], Sequence[Alarm]] = lambda: ()
) -> Outbox:
    patience = RetryWhenFull(clock.timing, lambda: False, lambda _: None)
    return Outbox(state, channels, clock.timing, patience, lambda _: None, in_progress=in_progress)


def confirm(state: State, clock: Clock, identity: str, last: str = "c1", culprit: str = "") -> Alarm:
    """Confirm an alarm of a benchmark, and perhaps find its culprit."""
    state.alarms.open(change(identity, benchmark=identity, last=last), clock.wall)
    alarm = state.alarms.find(identity)
    assert alarm is not None
    search = found(culprit)[0] if culprit else None
    alarm = alarm.model_copy(update={"stage": AlarmStage.CONFIRMED, "search": search})
    state.alarms.update(alarm)
    state.deliveries.queue(alarm, AlarmEvent.CONFIRMED, ["hook"], clock.wall)
    return alarm


def drain(box: Outbox) -> None:
    while box.deliver():
        pass


def test_a_channel_that_groups_and_can_be_changed_is_recognised() -> None:
    assert isinstance(Chat(), AddressingChannel)
    assert isinstance(Chat(), ConfiguredChannel)


def test_notifications_with_one_cause_are_one_message(state: State, clock: Clock) -> None:
    chat = Chat()
    for identity in ("a", "b", "c"):
        confirm(state, clock, identity)
    confirm(state, clock, "other", last="c2")
    drain(outbox(state, clock, chat))
    assert sorted(chat.messages) == [["a", "b", "c"], ["other"]]
    assert state.deliveries.counts() == {DeliveryStatus.DELIVERED: 4}


def test_the_cause_is_that_which_is_known_now(state: State, clock: Clock) -> None:
    """Queued while only ranges were known; the searches have named the same culprit since."""
    chat = Chat()
    for identity, last in (("a", "c1"), ("b", "c2")):
        alarm = confirm(state, clock, identity, last=last)
        state.alarms.update(alarm.model_copy(update={"search": found("c1")[0]}))
    drain(outbox(state, clock, chat))
    assert chat.messages == [["a", "b"]]


def test_a_message_waits_for_alarms_in_progress_and_no_longer_than_an_hour(state: State, clock: Clock) -> None:
    chat = Chat()
    verifying = confirm(state, clock, "slow").model_copy(update={"stage": AlarmStage.OPENED})
    confirm(state, clock, "a")
    box = outbox(state, clock, chat, in_progress=lambda: [verifying])
    assert not box.deliver()
    assert box.next == pytest.approx(clock.monotonic + LONGEST_WAIT_S)
    clock.pause(LONGEST_WAIT_S)
    assert box.deliver()
    assert chat.messages == [["slow", "a"]]


def test_a_message_does_not_wait_for_alarms_of_other_commits(state: State, clock: Clock) -> None:
    chat = Chat(waits=False)
    confirm(state, clock, "a")
    assert outbox(state, clock, chat, in_progress=lambda: [confirm(state, clock, "other", last="c9")]).deliver()


def test_a_failed_message_is_one_attempt_of_all_its_notifications(state: State, clock: Clock) -> None:
    chat = Chat(problems=[DeliveryFailed("no line")])
    for identity in ("a", "b"):
        confirm(state, clock, identity)
    box = outbox(state, clock, chat)
    assert box.deliver()
    assert not box.deliver()
    assert [delivery.attempts for delivery in box.undelivered()] == [1, 1]
    clock.monotonic = box.next
    drain(box)
    assert chat.messages == [["a", "b"]]
    assert box.undelivered() == []


@pytest.mark.parametrize(("asked_s", "pause_s"), [(7200.0, 7200.0), (1.0, 60.0), (1e9, 24 * 3600.0)])
def test_the_pause_that_a_receiver_asks_for_is_kept(state: State, clock: Clock, asked_s: float, pause_s: float) -> None:
    confirm(state, clock, "a")
    box = outbox(state, clock, Chat(problems=[DeliveryFailed("slow down", retry_after_s=asked_s)]))
    assert box.deliver()
    assert box.next - clock.monotonic == pytest.approx(pause_s)


def test_addresses_that_have_a_message_are_left_out_of_later_attempts(
    state: State, clock: Clock, state_file: Path
) -> None:
    chat = Chat(
        problems=[
            DeliveryFailed("b and c refused", received=("a",)),
            DeliveryFailed("c refused", received=("b",)),
        ]
    )
    confirm(state, clock, "first")
    for _ in range(2):
        box = outbox(state, clock, chat)  # also after a restart
        assert box.deliver()
        assert box.has_environment_problem, "some were refused"
        clock.monotonic = box.next
    confirm(state, clock, "second")
    drain(outbox(state, clock, chat))
    assert chat.received == [("a",), ("a", "b")]
    assert sorted(chat.messages) == [["first"], ["second"]], "everybody gets the second, and nobody the first again"
    assert state.deliveries.counts() == {DeliveryStatus.DELIVERED: 2}


def refused(state: State, clock: Clock, status: str = "400 Bad Request") -> None:
    confirm(state, clock, "a")
    drain(outbox(state, clock, Chat(problems=[DeliveryFailed(status, final=True)])))
    assert state.deliveries.counts() == {DeliveryStatus.REFUSED: 1}


def test_refused_notifications_are_tried_again_when_the_hook_changes(state: State, clock: Clock) -> None:
    refused(state, clock)
    same = Chat()
    drain(outbox(state, clock, same))
    assert same.messages == [], "the same receiver would refuse it again"
    other = Chat(configuration="slack:https://new")
    drain(outbox(state, clock, other))
    assert other.messages == [["a"]]
    assert outbox(state, clock, other).undelivered() == []


def test_the_state_contains_nothing_of_the_hook(state: State, clock: Clock, state_file: Path) -> None:
    confirm(state, clock, "a")
    drain(outbox(state, clock, Chat(configuration="slack:https://hooks/secretpart")))
    state._database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"secretpart" not in state_file.read_bytes()


def test_what_a_tested_hook_refused_is_tried_again_also_while_a_watcher_runs(
    state: State, clock: Clock, state_file: Path
) -> None:
    refused(state, clock)
    chat = Chat()
    running = outbox(state, clock, chat)
    assert not running.deliver()
    assert release_refused(state_file, ["hook 2"]) == {}
    assert release_refused(state_file, ["hook"]) == {"hook": 1}
    drain(running)
    assert chat.messages == [["a"]]


def test_without_a_state_there_is_nothing_to_try_again(tmp_path: Path) -> None:
    assert release_refused(tmp_path / "none.db", ["hook"]) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_watcher_that_dies_after_sending_sends_the_same_message_again(
    state: State, clock: Clock, state_file: Path
) -> None:
    class Killed(Exception):
        """Ends the process between sending and recording."""

    @dataclass
    class DeadlyChat(Chat):
        def deliver_together(self, notifications: Sequence[Notification]) -> str:
            super().deliver_together(notifications)
            raise Killed

    for identity in ("a", "b"):
        confirm(state, clock, identity)
    deadly, chat = DeadlyChat(), Chat()
    with pytest.raises(Killed):
        outbox(state, clock, deadly).deliver()
    drain(outbox(state, clock, chat))
    assert chat.messages == deadly.messages == [["a", "b"]], "as one message, which a receiver can recognise"


def test_an_older_state_knows_no_receivers_and_tries_refused_notifications_again(
    state_file: Path, clock: Clock
) -> None:
    with open_state(state_file) as state:
        refused(state, clock)
        state._database.change("DELETE FROM facts WHERE kind = 'Receivers'")
        chat = Chat()
        drain(outbox(state, clock, chat))
    assert chat.messages == [["a"]]


def test_a_state_of_an_earlier_harness_is_not_migrated_under_its_watcher(
    state: State, clock: Clock, state_file: Path
) -> None:
    refused(state, clock)
    state._database.rows("PRAGMA user_version = 2")
    assert release_refused(state_file, ["hook"]) == {}
    assert state._database.rows("PRAGMA user_version")[0][0] == 2

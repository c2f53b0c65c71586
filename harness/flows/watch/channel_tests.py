"""Messages of `--test-hook`: a test through each channel, which says that it is no alarm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.core.alarm import Alarm, AlarmEvent, AlarmReport, AlarmStage
from harness.core.alarm_message import AlarmMessage
from harness.core.change import Change, ChangeKind
from harness.core.commit import Commit
from harness.core.effect import effect_of
from harness.core.errors import DeliveryFailed
from harness.core.metric import LATENCY, MetricInfo
from harness.flows.watch.alarm_channels import MessageChannel
from harness.flows.watch.alarm_reports import origin
from harness.watch.notify.channels import Channel
from harness.watch.store.notifications import Notification


def notification_of_test(time: float) -> Notification:
    """Return a notification that is no alarm, and says so in every field that a person may read."""
    change = Change(
        identity="test",
        benchmark="test",
        title="TEST, no benchmark",
        device="TEST, no device",
        metric=MetricInfo(name=LATENCY, unit="us"),
        kind=ChangeKind.STEP,
        before="0" * 40,
        before_order=0,
        after="0" * 40,
        after_order=0,
        last_without="0" * 40,
        first_with="0" * 40,
        effect=effect_of(0.0),
        score=0.0,
        detected_with="0" * 40,
    )
    alarm = Alarm(change=change, stage=AlarmStage.CLOSED, reason="this is a test", opened=time, updated=time)
    return Notification(key=f"test-{time:.0f}", event=AlarmEvent.TEST, time=time, alarm=alarm)


def message_of_test(notification: Notification, page: str) -> AlarmMessage:
    """Return the message of a test, with a link to the folder of results if others see it."""
    report = AlarmReport(
        event=AlarmEvent.TEST,
        alarm=notification.alarm,
        device_name=notification.alarm.change.device,
        before=Commit(source="", id="0" * 40),
        discovery=origin(notification.time),
    )
    return AlarmMessage(
        key=notification.key, group=notification.key, event=AlarmEvent.TEST, reports=(report,), page=page
    )


def send_tests(channels: Sequence[Channel], time: float, page: str) -> Iterator[tuple[str, str, DeliveryFailed | None]]:
    """Send a test through each channel.

    Args:
        channels: The channels.
        time: Unix seconds.
        page: Address of the folder of results; empty where others do not see it.

    Yields:
        Name and receiver of each channel in words, the receiver's answer, and the error where there is one.
    """
    notification = notification_of_test(time)
    message = message_of_test(notification, page)
    for channel in channels:
        place = f" ({channel.channel.place})" if isinstance(channel, MessageChannel) else ""
        try:
            if isinstance(channel, MessageChannel):
                answer = channel.send(lambda: message)
            else:
                answer = channel.deliver(notification)
        except DeliveryFailed as error:
            yield f"{channel.name}{place}", error.message, error
        else:
            yield f"{channel.name}{place}", answer, None

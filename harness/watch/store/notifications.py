"""Notifications about alarms: each once for each channel, until it was delivered or refused."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from harness.core.alarm import Alarm, AlarmEvent
from harness.core.values import Value
from harness.watch.store.database import ColumnValue, StateDatabase


class Notification(Value):
    """Document that is delivered: an alarm as it was when something happened.

    Attributes:
        schema_version: Version of this document.
        key: Unique; the same in every attempt to deliver it.
        event: What happened.
        time: When it happened, Unix seconds.
        alarm: The alarm then.
    """

    schema_version: str = "2.0"
    key: str
    event: AlarmEvent
    time: float
    alarm: Alarm


class DeliveryStatus(StrEnum):
    """Status of a delivery."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"


class Delivery(Value):
    """One notification for one channel.

    Attributes:
        notification: The document.
        channel: Name of the channel.
        status: Its status.
        queued: Unix seconds.
        attempts: How often it was tried.
        reply: Answer or error of the last attempt.
        delivered: Unix seconds.
        received: Addresses of the channel that have it already, where others refused it.
    """

    notification: Notification
    channel: str
    status: DeliveryStatus = DeliveryStatus.WAITING
    queued: float
    attempts: int = 0
    reply: str = ""
    delivered: float | None = None
    received: tuple[str, ...] = ()


class _DeliveryCount(Value):
    status: DeliveryStatus
    count: int


class DeliveryTable:
    """Table of deliveries. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def queue(self, alarm: Alarm, event: AlarmEvent, channels: Iterable[str], time: float) -> None:
        """Queue a notification for each channel; the same event of the same alarm is never queued twice.

        An alarm that was opened again begins anew.
        """
        notification = Notification(key=_key(alarm, event), event=event, time=time, alarm=alarm)
        for channel in channels:
            delivery = Delivery(notification=notification, channel=channel, queued=time)
            self._database.change(
                "INSERT INTO deliveries (key, channel, identity, status, delivery) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                *(notification.key, channel, alarm.identity, delivery.status, delivery.model_dump_json()),
            )

    def queue_follow_up(self, alarm: Alarm, event: AlarmEvent, time: float) -> tuple[str, ...]:
        """Queue a notification for each channel that has, or will have, an earlier one about the alarm.

        Returns:
            The names of those channels.
        """
        channels = tuple(dict.fromkeys(delivery.channel for delivery in self.of_alarm(alarm.identity)))
        self.queue(alarm, event, channels, time)
        return channels

    def update(self, delivery: Delivery) -> None:
        """Store a delivery after an attempt."""
        statement = "UPDATE deliveries SET status = ?, delivery = ? WHERE key = ? AND channel = ?"
        values = (delivery.status, delivery.model_dump_json(), delivery.notification.key, delivery.channel)
        self._database.change(statement, *values)

    def release(self, channel: str) -> int:
        """Let the refused deliveries of a channel wait again, as if they had never been tried; return how many."""
        refused = [delivery for delivery in self.with_status(DeliveryStatus.REFUSED) if delivery.channel == channel]
        for delivery in refused:
            self.update(delivery.model_copy(update={"status": DeliveryStatus.WAITING, "attempts": 0}))
        return len(refused)

    def with_status(self, status: DeliveryStatus) -> Sequence[Delivery]:
        """Return the deliveries with a status, oldest first."""
        return self._deliveries("WHERE status = ? ORDER BY number", status)

    def of_alarm(self, identity: str) -> Sequence[Delivery]:
        """Return every delivery about one alarm, oldest first."""
        return self._deliveries("WHERE identity = ? ORDER BY number", identity)

    def counts(self) -> Counter[DeliveryStatus]:
        """Count the deliveries by status."""
        rows = self._database.rows("SELECT status, count(*) FROM deliveries GROUP BY status")
        counts = [self._database.validate(_DeliveryCount, {"status": status, "count": count}) for status, count in rows]
        return Counter({row.status: row.count for row in counts})

    def _deliveries(self, where: str, *values: ColumnValue) -> Sequence[Delivery]:
        rows = self._database.rows(f"SELECT delivery FROM deliveries {where}", *values)  # noqa: S608 - all ours
        return [self._database.parse(Delivery, cell) for (cell,) in rows]


def _key(alarm: Alarm, event: AlarmEvent) -> str:
    """Return a key that fits a header and a file name, whatever the identity is made of."""
    times = f"\n{len(alarm.reopened)}" if alarm.reopened else ""
    return hashlib.sha256(f"{alarm.identity}\n{event}{times}".encode()).hexdigest()[:32]

"""Outbox: notifications are tried until they were delivered. A channel that fails is left alone for a while.

A delivery is finished when its channel returned; a watcher that dies in between delivers the notification again, under
the same key.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.alarm import Alarm
from harness.core.errors import DeliveryFailed, UsageError
from harness.core.values import Value
from harness.watch.notify.channels import AddressingChannel, Channel, ConfiguredChannel, GroupingChannel
from harness.watch.store.database import StateDatabase, is_current
from harness.watch.store.notifications import Delivery, DeliveryStatus, DeliveryTable
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State, read_state
from harness.watch.timing import Backoff, Timing

MOST_ATTEMPTS: Final = 40
"""After this many attempts a delivery counts as refused; with the pauses below that is more than a week."""
_BACKOFF: Final = Backoff(first_s=60.0, most_s=6 * 3600.0)
_LONGEST_LIMIT_S: Final = 24 * 3600.0
"""Longest pause that a receiver may ask for."""
LONGEST_WAIT_S: Final = 3600.0
"""Longest time that a message waits for other alarms of the same commit."""
_UNDELIVERED: Final = (DeliveryStatus.WAITING, DeliveryStatus.REFUSED)


class Receivers(Value):
    """Receivers of the last start, by channel: a refusal holds only for the receiver that refused.

    Attributes:
        salt: Random; makes digests of short secrets useless to whoever reads the state alone.
        digests: Digest of the configuration, by channel.
    """

    salt: str
    digests: Mapping[str, str]


class _Pause(Struct, frozen=True):
    """Failures of a channel since it last worked, and the moment until which it is left alone."""

    failures: int = 0
    until: float = -math.inf


class Outbox:
    """The deliveries of a state, and the channels that do them.

    Args:
        state: Contains the deliveries.
        channels: Deliver.
        timing: The clocks.
        retry_when_full: Writes to the state.
        say: Shows a line to a person.
        in_progress: Returns the alarms that are being verified or searched, without those that failed and wait.
    """

    def __init__(
        self,
        state: State,
        channels: Sequence[Channel],
        timing: Timing,
        retry_when_full: RetryWhenFull,
        say: Callable[[str], None],
        *,
        in_progress: Callable[[], Sequence[Alarm]] = lambda: (),
    ) -> None:
        self._state = state
        self._channels = {channel.name: channel for channel in channels}
        if len(self._channels) < len(channels):
            names = ", ".join(channel.name for channel in channels)
            raise UsageError(f"two channels of alarms have one name: {names}", hint="remove one of the plug-ins")
        self._timing = timing
        self._retry_when_full = retry_when_full
        self._say = say
        self._in_progress = in_progress
        self._pauses = dict.fromkeys(self._channels, _Pause())
        self._has_looked_at_channels = False

    @property
    def has_environment_problem(self) -> bool:
        """Return whether notifications wait, or were refused and not delivered since."""
        return bool(self.undelivered())

    @property
    def next(self) -> float:
        """Return the moment of the monotonic clock when something may be delivered again; `inf` when nothing waits."""
        held = self._held()
        return min(
            (max(self._pauses[delivery.channel].until, held(delivery)) for delivery in self._waiting()),
            default=math.inf,
        )

    def undelivered(self) -> Sequence[Delivery]:
        """Return what the present channels did not deliver: it waits, or was refused."""
        every = (delivery for status in _UNDELIVERED for delivery in self._state.deliveries.with_status(status))
        return [delivery for delivery in every if delivery.channel in self._channels]

    def deliver(self) -> bool:
        """Try one message; return False when none is due. The least tried goes first, so that none blocks others.

        A channel that groups notifications gets all that have one cause together. It waits for alarms that may
        soon belong to them, no longer than `LONGEST_WAIT_S`.
        """
        self._release_after_change()
        now, held = self._timing.monotonic(), self._held()
        due = [
            delivery
            for delivery in self._waiting()
            if self._pauses[delivery.channel].until <= now and held(delivery) <= now
        ]
        if not due:
            return False
        tried = self._try(self._together(min(due, key=lambda delivery: delivery.attempts), due))

        def write() -> None:
            with self._state.transaction():
                for delivery in tried:
                    self._state.deliveries.update(delivery)

        self._retry_when_full.run(write)
        return True

    def _held(self) -> Callable[[Delivery], float]:
        """Return a function of a delivery: the moment of the monotonic clock until which it waits for other alarms."""
        in_progress = self._in_progress()
        now = self._timing.monotonic() - self._timing.wall()

        def held_until(delivery: Delivery) -> float:
            channel = self._channels[delivery.channel]
            if not in_progress or not isinstance(channel, GroupingChannel):
                return -math.inf
            is_held = channel.waits_for(delivery.notification, in_progress)
            return delivery.queued + LONGEST_WAIT_S + now if is_held else -math.inf

        return held_until

    def _together(self, first: Delivery, due: Sequence[Delivery]) -> Sequence[Delivery]:
        if not isinstance(self._channels[first.channel], GroupingChannel):
            return [first]
        cause = self._cause(first)
        return [
            delivery
            for delivery in due
            if delivery.channel == first.channel
            and delivery.received == first.received  # nobody gets a message again because of another one
            and self._cause(delivery) == cause
        ]

    def _cause(self, delivery: Delivery) -> str:
        """Return the cause of an alarm as it is known now: a notification has the alarm as it was."""
        alarm = delivery.notification.alarm
        return (self._state.alarms.find(alarm.identity) or alarm).cause

    def _release_after_change(self) -> None:
        """Let refused deliveries wait again whose channel has another receiver than the one that refused them."""
        if self._has_looked_at_channels:
            return
        channels = [channel for channel in self._channels.values() if isinstance(channel, ConfiguredChannel)]
        for name in release_after_change(self._state, channels, self._timing.wall(), self._retry_when_full):
            self._say(f"notifications that {name} refused are tried again")
        self._has_looked_at_channels = True

    def _waiting(self) -> Sequence[Delivery]:
        """Return what waits for channels that are there; others wait for their channel's return."""
        waiting = self._state.deliveries.with_status(DeliveryStatus.WAITING)
        return [delivery for delivery in waiting if delivery.channel in self._channels]

    def _try(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """Try deliveries of one channel as one message; return them as they are then."""
        first = deliveries[0]
        attempts = max(delivery.attempts for delivery in deliveries) + 1
        channel = self._channels[first.channel]
        notifications = [delivery.notification for delivery in deliveries]
        try:
            if isinstance(channel, AddressingChannel) and first.received:
                reply = channel.deliver_to_rest(notifications, first.received)
            elif isinstance(channel, GroupingChannel):
                reply = channel.deliver_together(notifications)
            else:
                reply = channel.deliver(first.notification)
        except DeliveryFailed as error:
            final = error.final or attempts >= MOST_ATTEMPTS
            self._pause(first, error, final=final)
            status = DeliveryStatus.REFUSED if final else DeliveryStatus.WAITING
            received = (*first.received, *error.received)
            changed: dict[str, object] = {"status": status, "reply": error.message, "received": received}
        else:
            self._pauses[first.channel] = _Pause()
            changed = {"status": DeliveryStatus.DELIVERED, "delivered": self._timing.wall(), "reply": reply}
        return [delivery.model_copy(update={**changed, "attempts": attempts}) for delivery in deliveries]

    def _pause(self, delivery: Delivery, error: DeliveryFailed, *, final: bool) -> None:
        pause = self._pauses[delivery.channel]
        if not error.final:
            pause = replace(pause, failures=pause.failures + 1)
            pause_s = _BACKOFF.pause_s(pause.failures, self._timing.chance())
            if error.retry_after_s is not None:
                pause_s = max(pause_s, min(error.retry_after_s, _LONGEST_LIMIT_S))
            self._pauses[delivery.channel] = replace(pause, until=self._timing.monotonic() + pause_s)
        if final or pause.failures == 1:
            problem = "will not be delivered" if final else "is not delivered yet"
            self._say(f"notification {delivery.notification.key} {problem}: {error.message}")


def release_after_change(
    state: State, channels: Sequence[ConfiguredChannel], time: float, retry_when_full: RetryWhenFull
) -> Sequence[str]:
    """Let refused deliveries wait again whose channel has another receiver than at the last start.

    Returns:
        The names of the channels with such deliveries.
    """
    known = state.log.read(Receivers) or Receivers(salt=secrets.token_hex(16), digests={})
    digests = {
        channel.name: hmac.new(known.salt.encode(), channel.configuration.encode(), hashlib.sha256).hexdigest()[:32]
        for channel in channels
    }
    # A state that an earlier harness wrote names no receivers: whoever starts the new one may have changed them.
    changed = [name for name, digest in digests.items() if known.digests.get(name) != digest]
    released: list[str] = []

    def write() -> None:
        released.clear()
        with state.transaction():
            released.extend(name for name in changed if state.deliveries.release(name))
            for name in released:
                state.log.record(f"notifications that {name} refused are tried again", time)
            state.log.write(Receivers(salt=known.salt, digests={**known.digests, **digests}))

    if changed:
        retry_when_full.run(write)
    return released


def release_refused(path: Path, channels: Collection[str]) -> Mapping[str, int]:
    """Let refused deliveries of some channels wait again, also while a watcher has the state: it takes them up soon.

    A state of an earlier harness is left alone, because its watcher may be running. The next start migrates it, and
    tries every refused delivery again, because such a state names no receivers.

    Returns:
        How many they are, by channel; nothing where there is no state yet.

    Raises:
        EnvironmentProblem: The state is damaged, or cannot be written.
    """
    if not path.is_file() or not is_current(path):
        return {}
    with read_state(path) as state:
        refused = state.deliveries.with_status(DeliveryStatus.REFUSED)
    names = sorted({delivery.channel for delivery in refused}.intersection(channels))
    if not names:
        return {}
    with StateDatabase(path) as database:
        deliveries = DeliveryTable(database)
        with database.transaction():
            return {name: deliveries.release(name) for name in names}

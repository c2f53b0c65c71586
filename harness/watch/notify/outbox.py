"""Outbox: notifications are tried until they were delivered. A channel that fails is left alone for a while.

A delivery is finished when its channel returned; a watcher that dies in between delivers the notification again, under
the same key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.core.errors import UsageError
from harness.watch.notify.channels import Channel, DeliveryFailed
from harness.watch.store.notifications import Delivery, DeliveryStatus
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.timing import Backoff, Timing

MOST_ATTEMPTS: Final = 40
"""After this many attempts a delivery counts as refused; with the pauses below that is more than a week."""
_BACKOFF: Final = Backoff(first_s=60.0, most_s=6 * 3600.0)


@dataclass(frozen=True, slots=True)
class _Pause:
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
    """

    def __init__(
        self,
        state: State,
        channels: Sequence[Channel],
        timing: Timing,
        retry_when_full: RetryWhenFull,
        say: Callable[[str], None],
    ) -> None:
        self._state = state
        self._channels = {channel.name: channel for channel in channels}
        if len(self._channels) < len(channels):
            names = ", ".join(channel.name for channel in channels)
            raise UsageError(f"two channels of alarms have one name: {names}", hint="remove one of the plug-ins")
        self._timing = timing
        self._retry_when_full = retry_when_full
        self._say = say
        self._pauses = dict.fromkeys(self._channels, _Pause())
        self._is_refused = False

    @property
    def has_environment_problem(self) -> bool:
        """Return whether notifications wait because they could not be delivered, or were refused."""
        return self._is_refused or any(pause.failures for pause in self._pauses.values())

    @property
    def next(self) -> float:
        """Return the moment of the monotonic clock when something may be delivered again; `inf` when nothing waits."""
        return min((self._pauses[delivery.channel].until for delivery in self._waiting()), default=math.inf)

    def deliver(self) -> bool:
        """Try one delivery; return False when none is due. The least tried goes first, so that none blocks others."""
        now = self._timing.monotonic()
        due = [delivery for delivery in self._waiting() if self._pauses[delivery.channel].until <= now]
        if not due:
            return False
        tried = self._try(min(due, key=lambda delivery: delivery.attempts))
        self._retry_when_full.run(lambda: self._state.deliveries.update(tried))
        return True

    def _waiting(self) -> Sequence[Delivery]:
        """Return what waits for channels that are there; others wait for their channel's return."""
        waiting = self._state.deliveries.with_status(DeliveryStatus.WAITING)
        return [delivery for delivery in waiting if delivery.channel in self._channels]

    def _try(self, delivery: Delivery) -> Delivery:
        attempts = delivery.attempts + 1
        try:
            reply = self._channels[delivery.channel].deliver(delivery.notification)
        except DeliveryFailed as error:
            final = error.final or attempts >= MOST_ATTEMPTS
            self._pause(delivery, error, final=final)
            status = DeliveryStatus.REFUSED if final else DeliveryStatus.WAITING
            return delivery.model_copy(update={"status": status, "attempts": attempts, "reply": error.message})
        self._pauses[delivery.channel] = _Pause()
        delivered = {"status": DeliveryStatus.DELIVERED, "delivered": self._timing.wall()}
        return delivery.model_copy(update={**delivered, "attempts": attempts, "reply": reply})

    def _pause(self, delivery: Delivery, error: DeliveryFailed, *, final: bool) -> None:
        pause = self._pauses[delivery.channel]
        self._is_refused = self._is_refused or final
        if not error.final:
            pause = replace(pause, failures=pause.failures + 1)
            pause_s = _BACKOFF.pause_s(pause.failures, self._timing.chance())
            self._pauses[delivery.channel] = replace(pause, until=self._timing.monotonic() + pause_s)
        if final or pause.failures == 1:
            problem = "will not be delivered" if final else "is not delivered yet"
            self._say(f"notification {delivery.notification.key} {problem}: {error.message}")

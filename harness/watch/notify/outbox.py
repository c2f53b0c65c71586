"""Telling: letters go out until they were delivered. A courier that fails holds up nobody but itself, and for a while.

A letter leaves the spool when its courier said that it was delivered; a watcher that dies in between delivers it again,
under the same key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.watch.notify.channels import Courier, DeliveryFailed
from harness.watch.polling import Rhythm, Timing
from harness.watch.store.records import Fate, Letter
from harness.watch.store.retry_when_full import Patience
from harness.watch.store.state import State

MOST_ATTEMPTS: Final = 40
"""After so many a letter counts as refused; with the pauses below that is more than a week."""
_RHYTHM: Final = Rhythm(first_s=60.0, most_s=6 * 3600.0)


@dataclass(frozen=True, slots=True)
class _Rest:
    """A courier that failed: how often since it last worked, and until when it is left alone."""

    failures: int = 0
    until: float = -math.inf


class Outbox:
    """The letters of a state, and those who deliver them.

    Args:
        state: Where letters are.
        couriers: Who delivers.
        timing: The clocks.
        patience: Waits for room.
        say: Told what a person should know.
    """

    def __init__(
        self,
        state: State,
        couriers: Sequence[Courier],
        timing: Timing,
        patience: Patience,
        say: Callable[[str], None],
    ) -> None:
        self._state = state
        self._couriers = {courier.name: courier for courier in couriers}
        self._timing = timing
        self._patience = patience
        self._say = say
        self._rests = dict.fromkeys(self._couriers, _Rest())
        self._refused = False

    @property
    def troubled(self) -> bool:
        """Whether news wait because they could not be delivered, or were refused."""
        return self._refused or any(rest.failures for rest in self._rests.values())

    @property
    def next(self) -> float:
        """Moment of the monotonic clock when something may be delivered again; `inf` when nothing waits."""
        return min((self._rests[letter.courier].until for letter in self._waiting()), default=math.inf)

    def deliver(self) -> bool:
        """Try one letter; False when none is due. The least tried goes first, so that none blocks the others."""
        now = self._timing.monotonic()
        due = [letter for letter in self._waiting() if self._rests[letter.courier].until <= now]
        if not due:
            return False
        letter = min(due, key=lambda one: one.attempts)
        tried = self._tried(letter)
        self._patience.until_room(lambda: self._state.letters.keep(tried))
        return True

    def _waiting(self) -> Sequence[Letter]:
        """Letters of couriers that are no longer there wait for their return."""
        return [letter for letter in self._state.letters.those(Fate.WAITING) if letter.courier in self._couriers]

    def _tried(self, letter: Letter) -> Letter:
        attempts = letter.attempts + 1
        try:
            said = self._couriers[letter.courier].deliver(letter.news)
        except DeliveryFailed as error:
            final = error.final or attempts >= MOST_ATTEMPTS
            self._failed(letter, error, final=final)
            fate = Fate.REFUSED if final else Fate.WAITING
            return letter.model_copy(update={"fate": fate, "attempts": attempts, "said": error.message})
        self._rests[letter.courier] = _Rest()
        delivered = {"fate": Fate.DELIVERED, "delivered": self._timing.wall()}
        return letter.model_copy(update={**delivered, "attempts": attempts, "said": said})

    def _failed(self, letter: Letter, error: DeliveryFailed, *, final: bool) -> None:
        rest = self._rests[letter.courier]
        self._refused = self._refused or final
        if not error.final:
            rest = replace(rest, failures=rest.failures + 1)
            pause_s = _RHYTHM.pause_s(rest.failures, self._timing.chance())
            self._rests[letter.courier] = replace(rest, until=self._timing.monotonic() + pause_s)
        if final or rest.failures == 1:
            what = "will not be delivered" if final else "is not delivered yet"
            self._say(f"news {letter.news.key} {what}: {error.message}")

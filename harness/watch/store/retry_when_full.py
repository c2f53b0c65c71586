"""Writing to a state on a disk that may be full: what was measured at a price is not thrown away for want of room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.watch.polling import Timing
from harness.watch.store.database import StateFull

_PAUSE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Waits for room.

    Attributes:
        timing: The clocks.
        off: Whether a person wants an end.
        say: Told what a person should know; the state cannot be.
    """

    timing: Timing
    off: Callable[[], bool]
    say: Callable[[str], None]

    def until_room(self, write: Callable[[], None]) -> None:
        """Write; where there is no room, wait until there is.

        Args:
            write: One transaction.

        Raises:
            StateFull: A person wants an end and there still is no room.
            Interrupted: The harness is being stopped.
        """
        told = False
        while True:
            try:
                write()
            except StateFull as error:
                if self.off():
                    raise
                if not told:
                    self.say(f"{error}; trying again each {_PAUSE_S:g} s")
                told = True
                self.timing.wait(self.timing.monotonic() + _PAUSE_S, self.off)
            else:
                return

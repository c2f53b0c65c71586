"""Writing to a state on a disk that may be full: what was measured at a price is not thrown away for want of room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from harness.watch.store.database import StateFull
from harness.watch.timing import Timing

_PAUSE_S: Final = 60.0


class RetryWhenFull(Struct, frozen=True):
    """Writer that waits for disk space.

    Attributes:
        timing: The clocks.
        is_stop_requested: Returns whether a person wants an end.
        say: Shows a line to a person; the state has no room for it.
    """

    timing: Timing
    is_stop_requested: Callable[[], bool]
    say: Callable[[str], None]

    def run(self, write: Callable[[], None]) -> None:
        """Write; where there is no room, wait until there is.

        Args:
            write: One transaction.

        Raises:
            StateFull: A person wants an end and there still is no room.
            Interrupted: The harness is being stopped.
        """
        is_announced = False
        while True:
            try:
                write()
            except StateFull as error:
                if self.is_stop_requested():
                    raise
                if not is_announced:
                    self.say(f"{error}; trying again each {_PAUSE_S:g} s")
                is_announced = True
                self.timing.wait(self.timing.monotonic() + _PAUSE_S, self.is_stop_requested)
            else:
                return

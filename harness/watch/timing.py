"""Clocks, waiting, and pauses that grow with failures.

Waiting goes by a clock that only goes forward: whoever sets the machine's clock neither makes a watcher sleep for a day
nor poll a thousand times. The wall clock is for people.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from harness import shell
from harness.core.protocols import Clock

CHECK_S: Final = 1.0
"""Interval at which a waiting watcher checks whether it shall stop."""


class Timing(Struct, frozen=True):
    """The clocks.

    Attributes:
        wall: Unix seconds, for people.
        monotonic: Seconds that only rise.
        pause: Lets seconds pass, unless the harness is being stopped.
        chance: A number of [0, 1), for jitter.
    """

    wall: Clock = time.time
    monotonic: Clock = time.monotonic
    pause: Callable[[float], None] = shell.pause
    chance: Callable[[], float] = field(default_factory=lambda: random.Random().random)  # noqa: S311 - jitter

    def wait(self, until: float, is_over: Callable[[], bool]) -> None:
        """Wait until a moment of the monotonic clock, or until a person wants an end.

        Raises:
            Interrupted: The harness is being stopped.
        """
        while (left := until - self.monotonic()) > 0 and not is_over():
            self.pause(min(left, CHECK_S))


class Backoff(Struct, frozen=True):
    """Pauses between attempts at something.

    Attributes:
        interval_s: Pause after a success.
        first_s: Pause after the first failure; doubled with each further one.
        most_s: Longest pause after a failure.
        jitter: Share by which each pause is longer or shorter, so that many watchers do not ask at the same moment.
    """

    interval_s: float = 0.0
    first_s: float = 30.0
    most_s: float = 3600.0
    jitter: float = 0.1

    def pause_s(self, failures: int, chance: float) -> float:
        """Return the next pause.

        Args:
            failures: How often it failed since it worked.
            chance: A number of [0, 1).
        """
        plain = self.interval_s
        if failures:
            plain = min(self.most_s, self.first_s * 2.0 ** min(failures - 1, 32))
        return plain * (1.0 + self.jitter * (2.0 * chance - 1.0))


def polling_backoff(interval_s: float) -> Backoff:
    """Return the pauses between polls; a repository that does not answer is polled sooner at first, then less often."""
    return Backoff(interval_s, first_s=min(30.0, interval_s), most_s=max(3600.0, interval_s))

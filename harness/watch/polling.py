"""When to look for new commits, and how to wait until then.

Waiting goes by a clock that only goes forward: somebody who sets the machine's clock neither makes a watcher sleep for
a day nor ask a thousand times. The wall clock is for people.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness import shell
from harness.core.protocols import Clock

LOOK_S: Final = 1.0
"""How often a waiting watcher looks whether it shall stop."""


@dataclass(frozen=True, slots=True)
class Timing:
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

    def wait(self, until: float, over: Callable[[], bool]) -> None:
        """Wait until a moment of the monotonic clock, or until a person wants an end.

        Raises:
            Interrupted: The harness is being stopped.
        """
        while (left := until - self.monotonic()) > 0 and not over():
            self.pause(min(left, LOOK_S))


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How long until the next attempt at something.

    Attributes:
        interval_s: After a success.
        first_s: After the first failure; doubled with each further one.
        most_s: At most so long after a failure.
        jitter: Share by which each pause is longer or shorter, so that many watchers do not ask at the same moment.
    """

    interval_s: float = 0.0
    first_s: float = 30.0
    most_s: float = 3600.0
    jitter: float = 0.1

    def pause_s(self, failures: int, chance: float) -> float:
        """The next pause.

        Args:
            failures: How often it failed since it worked.
            chance: A number of [0, 1).
        """
        plain = self.interval_s
        if failures:
            plain = min(self.most_s, self.first_s * 2.0 ** min(failures - 1, 32))
        return plain * (1.0 + self.jitter * (2.0 * chance - 1.0))


def polling(interval_s: float) -> Rhythm:
    """The rhythm of looking for new commits; a repository that does not answer is asked sooner at first, then less."""
    return Rhythm(interval_s, first_s=min(30.0, interval_s), most_s=max(3600.0, interval_s))

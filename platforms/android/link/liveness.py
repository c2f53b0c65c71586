"""Notices a phone that hangs: its adb daemon does not answer, and nothing breaks the connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from platforms.android.link.protocol import ANSWER_S, ShellStream


class ProbeTimes(Struct, frozen=True):
    """Times of the probe of a phone. Their sum is how long a phone may hang without being noticed.

    Attributes:
        interval_s: Silence after which it is probed. A probe starts no process on the phone: its daemon looks up one
            file.
        answer_s: How long it may take to answer.
    """

    interval_s: float = 5.0
    answer_s: float = ANSWER_S


PROBE_TIMES: Final = ProbeTimes()


class LivenessProbe:
    """Probe of one phone while a shell on it is waited for. A shell that writes something is alive.

    Args:
        ping: Asks the phone for something, for at most so many seconds; raises when it does not answer.
        times: When to ask.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        ping: Callable[[float], None],
        times: ProbeTimes = PROBE_TIMES,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ping = ping
        self._times = times
        self._clock = clock
        self._alive_at = clock()
        self._received_bytes = 0

    def read(self, stream: ShellStream, deadline: float) -> bool:
        """Collect what has arrived from a shell (`ShellStream.read`), and ask the phone after a long silence.

        Raises:
            TimeoutError: The phone does not answer.
            As for `ShellStream.read`.
        """
        goes_on = stream.read(deadline)
        received_bytes = len(stream.out) + len(stream.err)
        if received_bytes != self._received_bytes:
            self._received_bytes, self._alive_at = received_bytes, self._clock()
        elif goes_on and self._clock() - self._alive_at >= self._times.interval_s:
            self._ping(self._times.answer_s)
            self._alive_at = self._clock()
        return goes_on

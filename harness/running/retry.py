"""Launches that are repeated, a bounded number of times, because heat disturbed them or the device went away.

Neither is a fault of what is measured. A program that fails is never started again: that is a finding.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Protocol

from harness.core.benchmark import Benchmark
from harness.core.errors import DeviceLost
from harness.core.note import Note
from harness.core.protocols import Reconnectable, Session
from harness.core.result import DISCARDED_FOR_HEAT, Outcome
from harness.running.launcher import Launcher, ObservedLaunch

_MOST_RECONNECTS: Final = 5
"""A device that goes away more often during one benchmark has a loose cable."""
_MOST_THROTTLED: Final = 3
"""A launch that heats the device by itself stays hot; then its numbers are kept, and reported with a doubt."""


class Restageable(Protocol):
    """Launches that have files on a device."""

    @property
    def session(self) -> Session:
        """The locked device."""

    def stage_again(self) -> None:
        """Stage everything again before the next launch."""

    def note(self, note: Note) -> None:
        """Keep something that a reader of the results must know."""


class RetryPolicy:
    """Policy that goes on after a device was lost, when it comes back.

    Args:
        launchers: All that have files on the device.
    """

    def __init__(self, launchers: Sequence[Restageable]) -> None:
        self._launchers = launchers
        self._left = _MOST_RECONNECTS

    def reconnect_after(self, loss: DeviceLost) -> None:
        """Wait for the device, and stage everything again.

        Raises:
            DeviceLost: It does not come back, or went away too often.
        """
        session = self._launchers[0].session
        if not isinstance(session, Reconnectable) or not self._left:
            raise loss
        self._left -= 1
        began = time.monotonic()
        session.reconnect()
        away_s = time.monotonic() - began
        for launcher in self._launchers:
            launcher.stage_again()
        self._launchers[-1].note(
            Note(
                code="returned",
                message=f"{loss.message}; it came back after {away_s:.0f} s, and the launch was repeated",
            )
        )


def launch_with_retry(
    launcher: Launcher, benchmark: Benchmark, policy: RetryPolicy, *, keep_throttled: bool = False
) -> ObservedLaunch:
    """Launch until a launch counts, or fails by itself.

    Args:
        launcher: The side to launch.
        benchmark: The job's benchmark, perhaps with a shorter time limit.
        policy: Waits for a device that went away.
        keep_throttled: Whether a launch counts although heat slowed it: a long run is about that.

    Raises:
        DeviceLost: The device went away for good.
    """
    throttled = _MOST_THROTTLED if keep_throttled else 0
    while True:
        try:
            observed = launcher.launch(benchmark)
        except DeviceLost as loss:
            policy.reconnect_after(loss)
            continue
        if observed.launch.outcome is not Outcome.OK or not observed.launch.throttled or throttled == _MOST_THROTTLED:
            return observed
        launcher.discard(DISCARDED_FOR_HEAT)
        throttled += 1

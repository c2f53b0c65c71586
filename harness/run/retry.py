"""Launches that are made again, a bounded number of times: heat spoilt them, or the device went away.

Neither is a fault of what is measured. A program that fails is never started again: that is a finding.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.errors import DeviceLost
from harness.core.note import Note
from harness.core.protocols import Reconnectable
from harness.core.result import Outcome
from harness.run.launcher import Launcher, ObservedLaunch

THROTTLED: Final = "heat held the device back"
"""Why a launch was discarded."""

_MOST_RETURNS: Final = 5
"""A device that goes away more often during one benchmark has a loose cable."""
_MOST_HOT: Final = 3
"""A launch that is hot by itself stays so; then its numbers are kept, and told with a doubt."""


class RetryPolicy:
    """Goes on after a device was lost, when it comes back.

    Args:
        launchers: All that have files on it.
    """

    def __init__(self, launchers: Sequence[Launcher]) -> None:
        self._launchers = launchers
        self._left = _MOST_RETURNS

    def after(self, loss: DeviceLost) -> None:
        """Wait for the device.

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
                message=f"{loss.message}; it came back after {away_s:.0f} s, and the launch was made again",
            )
        )


def launch_with_retry(launcher: Launcher, benchmark: Benchmark, policy: RetryPolicy) -> ObservedLaunch:
    """One launch that counts, or fails by itself.

    Args:
        launcher: What runs.
        benchmark: The job's benchmark, perhaps with a shorter time limit.
        policy: Waits for a device that went away.

    Raises:
        DeviceLost: The device went away for good.
    """
    hot = 0
    while True:
        try:
            seen = launcher.launch(benchmark)
        except DeviceLost as loss:
            policy.after(loss)
            continue
        if seen.launch.outcome is not Outcome.OK or not seen.launch.throttled or hot == _MOST_HOT:
            return seen
        launcher.discard(THROTTLED)
        hot += 1

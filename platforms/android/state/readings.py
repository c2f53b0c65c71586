"""The state of a phone, asked for only when what is known is no longer new."""

from __future__ import annotations

import time
from typing import Final

from harness.core.errors import EnvironmentProblem
from platforms.android.link.phone import Phone
from platforms.android.state.state import STATE_SCRIPT, Reading, read_state

_FRESH_S: Final = 2.0
"""How old a reading may be: heat and clocks do not change what they say about a launch in that time."""


class Readings:
    """What was read of one phone.

    Args:
        phone: The phone.
    """

    def __init__(self, phone: Phone) -> None:
        self._phone = phone
        self._last: Reading | None = None
        self._read_at = float("-inf")

    def keep(self, text: str) -> Reading:
        """What `STATE_SCRIPT` has just printed, beside something else."""
        self._last = read_state(text, time.time(), self._last)
        self._read_at = time.monotonic()
        return self._last

    def forget(self) -> None:
        """Nothing is known any more: it was away."""
        self._last = None

    def now(self) -> Reading:
        """The state now, or a moment ago.

        Raises:
            DeviceLost: The phone went away.
        """
        if self._last is not None and time.monotonic() - self._read_at <= _FRESH_S:
            return self._last
        return self.anew()

    def anew(self) -> Reading:
        """The state now.

        Raises:
            DeviceLost: The phone went away.
            EnvironmentProblem: It says nothing.
        """
        said = self._phone.sh(STATE_SCRIPT)
        if not said.stdout:
            raise EnvironmentProblem(f"{self._phone.name} does not tell its state: {said.stderr.strip()}")
        return self.keep(said.stdout)

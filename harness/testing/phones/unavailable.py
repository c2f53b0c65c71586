"""Why there are no stand-in phones here."""

from __future__ import annotations

from harness.core.errors import EnvironmentProblem


class StandInUnavailable(EnvironmentProblem):
    """This machine cannot have stand-in phones; the message says what is missing."""

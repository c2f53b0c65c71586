"""Why a call in a process of a lab brought no answer."""

from __future__ import annotations

from harness.core.errors import EnvironmentProblem


class Unanswered(EnvironmentProblem):
    """A call in a process that brought no answer, and why."""


class ProcessEnded(Unanswered):
    """The process has ended."""

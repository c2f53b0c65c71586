"""Failures of git and hg, and whether they say anything about the commit."""

from __future__ import annotations

from typing import Final

from harness.core.errors import EnvironmentProblem

_PASSING: Final = (
    *("Could not resolve host", "Name or service not known", "Temporary failure in name resolution"),
    *("Couldn't connect", "Failed to connect", "unable to connect", "Could not read from remote repository"),
    *("Connection refused", "Connection reset", "Connection closed", "Network is unreachable", "No route to host"),
    *("timed out", "did not end within", "early EOF", "unexpected disconnect", "RPC failed", "returned error: 5"),
    *("HTTP Error 5", "No space left on device", "Disk quota exceeded"),
)
"""Messages of failures of network or disk (libcurl's strerror.c, git's transport, errno(3)). A repository that
is gone may be among them, so retries need a limit."""


class ToolFailed(EnvironmentProblem):
    """A version control program failed; the message holds its own."""

    @property
    def may_pass(self) -> bool:
        """True if the failure is transient, and says nothing about the commit."""
        return any(sign in self.message for sign in _PASSING)

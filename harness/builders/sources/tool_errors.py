"""How git and hg end badly, and whether that says anything about the commit that was asked for."""

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
"""What they say when network or disk is the reason (libcurl's strerror.c, git's transport, errno(3)). A repository that
is gone may be among them: whoever tries again must not do so for ever."""


class ToolFailed(EnvironmentProblem):
    """A program that keeps repositories ended badly; the message holds what it said."""

    @property
    def may_pass(self) -> bool:
        """Whether it may be better in an hour, the commit being as good as any."""
        return any(sign in self.message for sign in _PASSING)

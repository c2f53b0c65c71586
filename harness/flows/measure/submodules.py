"""Choice of the submodules that commits are built with."""

from __future__ import annotations

from harness.config.settings import Settings
from harness.core.commit import Source, SubmoduleSource
from harness.core.errors import UsageError
from harness.core.submodules import SubmoduleSelection


def reject_unused_submodules(settings: Settings) -> None:
    """Reject a choice of submodules where no commit is built. One that is a saved default is for other commands.

    Raises:
        UsageError: A flag or the specification makes one.
    """
    if settings.submodules is not None and "submodules" in settings.requested:
        raise UsageError("--submodules: no commit is built here", hint="leave the flag out, or name a --repo-dir")


def selected_submodules(settings: Settings, source: Source) -> SubmoduleSelection | None:
    """Return the submodules that the user chose; None for those that each recipe needs.

    Raises:
        UsageError: The choice cannot be parsed, or a flag makes it for a source that has no submodules.
    """
    if settings.submodules is None:
        return None
    if not isinstance(source, SubmoduleSource) and "submodules" in settings.requested:
        raise UsageError(f"--submodules: {source.name} has no submodules", hint="leave the flag out")
    return SubmoduleSelection.parse(settings.submodules, "--submodules")

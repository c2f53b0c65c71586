"""Starting the program `git`: no questions, nothing of the caller's environment leaks in, no hook runs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness import shell
from harness.builders.sources.tool_errors import ToolFailed
from harness.core.command import Command, Completed

LOCAL_S: Final = 900.0
"""Limit of commands that use disks only, seconds."""
NETWORK_S: Final = 3600.0
"""Limit of commands that use the network, seconds: a first fetch of a large repository over a slow line."""

_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    # Large files stay pointers, whether git-lfs is installed, configured without being installed, or absent.
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
)

_CREDENTIALS: Final = re.compile(r"://[^/@\s']*@")

_REPOSITORY_VARIABLES: Final = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
)
"""Variables that a hook or an alias sets for *its* repository (`git rev-parse --local-env-vars`). Configuration
that came by environment stays: containers and CI authenticate that way."""

_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ADVICE": "0",
    # Reading a partial clone fetches nothing into it.
    "GIT_NO_LAZY_FETCH": "1",
    # ssh asks by a window or not at all, never on the terminal (ssh(1), SSH_ASKPASS_REQUIRE).
    "SSH_ASKPASS_REQUIRE": "force",
}


class GitFailed(ToolFailed):
    """git failed; the message holds its own."""


def git(
    *arguments: str,
    at: Path | None,
    untrusted: bool = False,
    timeout_s: float = LOCAL_S,
    settings: Sequence[str] = (),
    transport: Sequence[tuple[str, str]] = (),
) -> Completed:
    """Run git on one repository.

    Args:
        arguments: Subcommand and its arguments; whatever may begin with `-` stands behind `--`.
        at: The git directory: `.git` of a working tree, or a bare repository of another name. None where there is none.
        untrusted: Whether a URL among the arguments was written by the repository, not by the user. Then git refuses
            local paths and helper programs (git(1), GIT_PROTOCOL_FROM_USER).
        timeout_s: Limit, seconds.
        settings: Configuration for this command, `NAME=VALUE`.
        transport: Likewise, names and values that may be secret: no other user of the machine can read them.

    Raises:
        GitFailed: It failed.
        EnvironmentProblem: It cannot be started.
    """
    unset = [word for name in _REPOSITORY_VARIABLES for word in ("-u", name)]
    options = [word for setting in (*_SETTINGS, *settings) for word in ("-c", setting)]
    completed = shell.run(
        Command(
            ("env", *unset, "git", *options, *_where(at), *arguments),
            env={
                **_ENVIRONMENT,
                **({"GIT_PROTOCOL_FROM_USER": "0"} if untrusted else {}),
                **_configuration(transport),
            },
            timeout_s=timeout_s,
        )
    )
    if not completed.ok:
        raise GitFailed(f"git {arguments[0]}: {error_text(completed)}")
    return completed


def _configuration(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that configure git (git-config(1), GIT_CONFIG_COUNT), behind those that are set already."""
    if not settings:
        return {}
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (name, value) in enumerate(settings, first):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def without_credentials(text: str) -> str:
    """Remove user names and passwords from the URLs of a text, so that it may be shown and stored."""
    return _CREDENTIALS.sub("://", text)


def _where(at: Path | None) -> list[str]:
    """Name the repository explicitly, so that git never looks for one in the folders above."""
    if at is None:
        return []
    if at.name != ".git":
        return [f"--git-dir={at}"]
    return ["-C", str(at.parent), f"--git-dir={at}", f"--work-tree={at.parent}"]


def error_text(completed: Completed) -> str:
    """Return the error in the output of git, which need not be its last line, without passwords in URLs."""
    lines = [line.strip() for line in completed.stderr.splitlines() if line.startswith(("fatal:", "error:", "remote:"))]
    message = completed.describe() if completed.timed_out or not lines else "; ".join(lines)
    return without_credentials(message)

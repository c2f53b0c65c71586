"""Starting the program `hg`: output for programs, no configuration but the repository's own, no questions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from harness import shell
from harness.builders.sources.git_program import without_credentials
from harness.builders.sources.tool_errors import ToolFailed
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.core.values import Value

LOCAL_S: Final = 900.0
"""Limit of commands that use disks only, seconds."""
NETWORK_S: Final = 3600.0
"""Limit of commands that use the network, seconds."""

_ENVIRONMENT: Final = {
    # No aliases, no colours, no translations; and no option is found where an argument stands (`hg help scripting`).
    "HGPLAIN": "+strictflags",
    "HGRCPATH": "",
    "HGENCODING": "UTF-8",
    "SSH_ASKPASS_REQUIRE": "force",
}


class HgFailed(ToolFailed):
    """hg failed; the message holds its own."""


class Changeset(Value):
    """Changeset in the output of `hg log`.

    Attributes:
        node: Full hash.
        user: Name and address of the author.
        date: Unix seconds, and the offset of the time zone.
        desc: The message.
        p1node: Its first parent; all zeros where there is none.
        p2node: Its second parent, likewise.
    """

    node: str
    user: str = ""
    date: tuple[float, int] = (0.0, 0)
    desc: str = ""
    p1node: str = ""
    p2node: str = ""


class NamedTarget(Value):
    """Bookmark, tag or branch with its changeset, or path with its URL.

    Attributes:
        name: Its name.
        target: Full hash, or URL.
    """

    name: str
    target: str


_CHANGES: Final = TypeAdapter(list[Changeset])
_NAMED: Final = TypeAdapter(list[NamedTarget])


def hg(*arguments: str, at: Path | None, setting: str | None = None, timeout_s: float = LOCAL_S) -> str:
    """Run hg on one repository.

    Args:
        arguments: Subcommand and its arguments; whatever may begin with `-` stands behind `--`.
        at: Top folder of the repository; None where there is none.
        setting: `section.name=value` for this one start.
        timeout_s: Limit, seconds.

    Returns:
        What it printed.

    Raises:
        HgFailed: It failed.
        EnvironmentProblem: It cannot be started.
    """
    program = os.environ.get("CHGHG") or "hg"  # where `hg` is `chg`, whose server does not understand strict flags
    if shell.which(program) is None:
        raise EnvironmentProblem("Mercurial is not installed", hint="install it (`apt-get install mercurial`)")
    where = (["--repository", str(at)] if at else []) + (["--config", setting] if setting else [])
    completed = shell.run(
        Command((program, "--noninteractive", *where, *arguments), env=_ENVIRONMENT, timeout_s=timeout_s)
    )
    if not completed.ok:
        aborts = [line for line in completed.stderr.splitlines() if line.startswith("abort:")]
        message = aborts[0] if aborts else completed.describe()
        raise HgFailed(f"hg {arguments[0]}: {without_credentials(message)}")
    return completed.stdout


def list_changesets(revset: str, *, at: Path) -> list[Changeset]:
    """List changesets in the order of a revset (`hg help revsets`), which must hold nothing that a person typed.

    Raises:
        HgFailed: There is no such changeset.
    """
    template = "{dict(node, user, date, desc, p1node=p1.node, p2node=p2.node)|json},"
    return _CHANGES.validate_json(_as_list(hg("log", "--rev", revset, "--template", template, at=at)))


def list_named(listing: str, keyword: str, target: str, *options: str, at: Path) -> dict[str, str]:
    """List bookmarks, tags, branches or paths.

    Args:
        listing: The subcommand.
        keyword: Its template keyword for the name.
        target: Its template keyword for the target of the name.
        options: Options of the subcommand.
        at: Top folder of the repository.
    """
    template = f"{{dict(name={keyword}, target={target})|json}},"
    listed = _NAMED.validate_json(_as_list(hg(listing, *options, "--template", template, at=at)))
    return {entry.name: entry.target for entry in listed}


def remote_bookmarks(url: str) -> dict[str, str]:
    """List the bookmarks of another repository by name. `hg pull` never removes one that is gone there.

    Raises:
        HgFailed: It cannot be reached.
    """
    listed = hg("debugpushkey", "--", url, "bookmarks", at=None, timeout_s=NETWORK_S)
    return dict(line.rsplit("\t", 1) for line in listed.splitlines() if "\t" in line)


def local_tags(at: Path) -> dict[str, str]:
    """Read the local tags of a repository from their file: `hg tags` would write a cache beside it.

    Args:
        at: Top folder of the repository.

    Raises:
        HgFailed: The file cannot be read.
    """
    try:
        text = (at / ".hg" / "localtags").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise HgFailed(f"the local tags of {at} cannot be read: {error.strerror}") from error
    lines = (line.partition(" ") for line in text.splitlines())
    tags = {name.strip(): node for node, _, name in lines}  # a later line replaces an earlier one
    return {name: node for name, node in tags.items() if is_changeset(node)}


def is_changeset(node: str) -> bool:
    """Return whether a hash is one: hg has all zeros for the parent of nothing, and all `f` for the working folder."""
    return bool(node.strip("0")) and bool(node.strip("f"))


def _as_list(items: str) -> str:
    return f"[{items.rstrip().removesuffix(',')}]"

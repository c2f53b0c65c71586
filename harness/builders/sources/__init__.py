"""Where runners come from. Modules are imported when their kind is asked for.

names           what people type, refused when it could be anything but a name
git             a clone of the user's, and its remote
git_history     reading a repository            git_mirror      our copy of it
git_program     how git is started              git_submodules  what a commit pins
hg              the same for Mercurial          hg_program      how hg is started
releases        versions of a Python package, which play the commits
folders         filled whole or not at all      troubles        what git and hg say, and whether it may pass
"""

from __future__ import annotations

from pathlib import Path

from harness.core.commit import Source
from harness.core.errors import UsageError

KINDS = ("git", "hg", "releases")
"""What `--repo` takes."""


def open_source(
    kind: str,
    place: str,
    *,
    cache_dir: Path,
    remote: str | None = None,
) -> Source:
    """Open a source of runners.

    Args:
        kind: One of `KINDS`.
        place: The user's local repository; for releases the name of the package.
        cache_dir: The harness's cache, where our own copy of a repository is kept.
        remote: Which remote of the repository `fetch` asks; None for the usual one (`origin`, hg `default`).

    Raises:
        UsageError: No such kind or place, or an argument that the kind does not have.
        EnvironmentProblem: A program that it needs is not installed.
    """
    if kind == "git":
        from harness.builders.sources.git import GitSource  # noqa: PLC0415 - one kind is used

        return GitSource(Path(place).expanduser(), cache_dir=cache_dir, remote=remote or "origin")
    if kind == "hg":
        from harness.builders.sources.hg import HgSource  # noqa: PLC0415 - one kind is used

        return HgSource(Path(place).expanduser(), cache_dir=cache_dir, remote=remote or "default")
    if kind == "releases":
        from harness.builders.sources.releases import ReleasesSource  # noqa: PLC0415 - one kind is used

        if remote is not None:
            raise UsageError("releases have no remote", hint="pip's own settings say which index is asked")
        return ReleasesSource(place)
    raise UsageError(f"no source of the kind {kind!r}", hint=f"one of: {', '.join(KINDS)}")

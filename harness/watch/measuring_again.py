"""Commits that a person wants measured again: failed ones, given up ones, and any others of the backlog."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.commit import Commit, Source
from harness.core.errors import UsageError
from harness.watch.store.event_log import BrokenCommits
from harness.watch.store.state import State

_HINT = "A..B names the commits behind A up to and with B, as in git; one commit is named alone"


def resolve_range(source: Source, text: str) -> Sequence[Commit]:
    """Return the commits that `A..B` names, oldest first: those behind A up to and with B; or the one commit `B`.

    Raises:
        UsageError: It names none.
        EnvironmentProblem: The source cannot be read.
    """
    older, dots, newer = text.partition("..")
    if not dots:
        return (source.resolve(text),)
    if not older or not newer or newer.startswith("."):
        raise UsageError(f"--again {text} names no commits", hint=_HINT)
    commits = source.between(source.resolve(older), source.resolve(newer))
    if not commits:
        raise UsageError(f"--again {text} names no commits: both ends are the same", hint=_HINT)
    return commits


def queue_again(state: State, commits: Sequence[Commit], time: float) -> str:
    """Let commits of the backlog wait once more, whatever became of them; what was measured stays and counts.

    Args:
        state: Contains the backlog.
        commits: The commits.
        time: Unix seconds.

    Returns:
        What was done, in words.

    Raises:
        UsageError: None of them is in the backlog.
    """
    known = [commit.id for commit in commits if state.commits.find(commit.id) is not None]
    if not known:
        raise UsageError(
            f"--again: none of the {len(commits)} commits was ever in the backlog",
            hint="a new state with --since begins further back",
        )
    with state.transaction():
        count = state.commits.queue_again(known)
        broken = state.log.read(BrokenCommits) or BrokenCommits()
        state.log.write(BrokenCommits(commits=tuple(commit for commit in broken.commits if commit not in known)))
        unknown = len(commits) - len(known)
        others = f"; {unknown} others were never in the backlog" if unknown else ""
        text = f"{count} commit{'' if count == 1 else 's'} will be measured again{others}"
        state.log.record(text, time)
    return text

"""Poller of a branch: finds new commits whatever network and history do, and puts them into the backlog."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field

from harness.core.commit import BranchingSource, Commit, Source
from harness.core.errors import EnvironmentProblem, HarnessError, UsageError
from harness.watch.new_commits import (
    CommitSelection,
    NewCommits,
    find_new_commits,
    is_contained,
    resolve_newest,
    select_commits,
)
from harness.watch.rewritten_history import restore_alarms, retire_vanished
from harness.watch.store.commits import BacklogEntry, CommitStatus
from harness.watch.store.database import StateFull
from harness.watch.store.event_log import PollCursor, PollStatus
from harness.watch.store.state import State
from harness.watch.timing import Backoff, Timing

_KNOWN: Final = 1000
"""Commits to remember for the day when history is rewritten."""


class Branch(Struct, frozen=True):
    """The branch that is watched.

    Attributes:
        source: Source of the commits.
        names: Names of the newest commit, preferred first: `origin/main`, `main`; for releases `latest`.
        selection: Rule that selects the commits to measure.
        since: Name of the commit after which the first start begins; None begins with the newest.
        main: Whether the main branch of the source, where it has one, is preferred to the names.
    """

    source: Source
    names: tuple[str, ...]
    selection: CommitSelection = field(default_factory=CommitSelection)
    since: str | None = None
    main: bool = False


class BranchPoller:
    """Looks for new commits at intervals.

    Args:
        branch: The branch.
        state: Contains the backlog.
        backoff: Pauses between polls; None polls once.
        timing: The clocks.
        say: Shows a line to a person.
        on_rewritten: Called when measured commits vanished or returned; a part of the transaction that records it.
    """

    def __init__(
        self,
        branch: Branch,
        state: State,
        backoff: Backoff | None,
        timing: Timing,
        say: Callable[[str], None],
        *,
        on_rewritten: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_rewritten = on_rewritten
        self._branch = branch
        self._state = state
        self._backoff = backoff
        self._timing = timing
        self._say = say
        self._announced = ""
        self.next = -math.inf
        """Moment of the monotonic clock when it is time to poll again."""

    def poll(self) -> bool:
        """Look for new commits; a repository that cannot be reached is remembered and polled again later.

        Returns:
            Whether it worked.

        Raises:
            UsageError: There never was such a branch.
            StateFull: There is no room for them; they are found again.
        """
        before = self._state.log.read(PollStatus) or PollStatus()
        try:
            self._take_new_commits()
        except StateFull:
            raise
        except UsageError as error:
            if before.success is None:
                raise
            self._record_failure(before, error)
            return False
        except EnvironmentProblem as error:
            self._record_failure(before, error)
            return False
        self._schedule(PollStatus(success=self._timing.wall(), failure=before.failure))
        self._announced = ""
        if before.failures:
            failures = "1 failure" if before.failures == 1 else f"{before.failures} failures"
            self._announce(f"the repository answers again, after {failures}")
        return True

    def _take_new_commits(self) -> None:
        self._branch.source.fetch()
        tip = resolve_newest(self._branch.source, self._branch.names, main=self._branch.main)
        place = self._state.log.read(PollCursor)
        cursor = place.cursor if place is not None else self._resolve_since()
        known = [entry.commit for entry in self._known()]
        new = find_new_commits(self._branch.source, cursor, tip, known)
        is_last_poll = self._backoff is None
        is_quiet = is_last_poll or (place is not None and place.tip == tip.id)
        if cursor is None or (new.is_rewritten and new.common_ancestor is None):
            decisions = [(commit, CommitStatus.WAITING, "") for commit in new.commits]
        else:
            decisions = list(select_commits(new.commits, self._branch.selection, is_quiet=is_quiet))
        last = decisions[-1][0] if decisions else new.common_ancestor or cursor or tip
        with self._state.transaction():
            if new.is_rewritten:
                self._withdraw(cursor, new, tip)
            self._restore([commit for commit, _, _ in decisions])
            for commit, status, reason in decisions:
                self._state.commits.add(commit, status, reason)
            self._state.log.write(PollCursor(cursor=last, tip=tip.id))

    def _resolve_since(self) -> Commit | None:
        since = self._branch.since
        return self._branch.source.resolve(since) if since is not None else None

    def _withdraw(self, cursor: Commit | None, new: NewCommits, tip: Commit) -> None:
        """Pass over waiting commits that are not in a rewritten history, and take measured ones out of the series."""
        ancestor = new.common_ancestor
        kept = [commit.id for commit in new.commits]
        shared = self._newest_shared(ancestor, tip)
        withdrawn = self._state.commits.withdraw(shared, kept)
        outcomes = [f"{withdrawn} waiting commits are passed over"] if withdrawn else []
        outcomes += retire_vanished(self._state, shared, kept, self._timing.wall())
        self._on_rewritten()
        place = f"after {ancestor.short}" if ancestor else "with the newest commit"
        gone = cursor.short if cursor else "the last commit"
        sentence = f"history was rewritten: {gone} is not in it any more; going on {place}"
        self._announce("; ".join([sentence, *outcomes]))

    def _known(self) -> Sequence[BacklogEntry]:
        """Return the newest commits of the history so far, newest first."""
        return [entry for entry in self._state.commits.newest(_KNOWN) if not entry.is_out_of_history]

    def _newest_shared(self, ancestor: Commit | None, tip: Commit) -> str | None:
        """Return the id of the newest commit of the backlog that both histories have; None where there is none.

        Each commit of the backlog contains those before it, so those that the new history has are the first ones.
        """
        source = self._branch.source
        if ancestor is None or self._state.commits.find(ancestor.id) is not None:
            return ancestor.id if ancestor is not None else None
        if not isinstance(source, BranchingSource):
            return None
        entries = self._known()[::-1]
        count = bisect_left(entries, True, key=lambda entry: not is_contained(source, entry.commit, tip))
        return entries[count - 1].commit.id if count else None

    def _restore(self, commits: Sequence[Commit]) -> None:
        """Begin again with series and alarms of commits that had vanished, and are in the history again."""
        entries = (self._state.commits.find(commit.id) for commit in commits)
        returned = {entry.commit.id for entry in entries if entry and entry.status is CommitStatus.VANISHED}
        if returned:
            restore_alarms(self._state, returned, self._timing.wall())
            self._on_rewritten()

    def _record_failure(self, before: PollStatus, error: HarnessError) -> None:
        failures = before.failures + 1
        self._schedule(
            before.model_copy(update={"failure": self._timing.wall(), "error": str(error), "failures": failures})
        )
        if error.message == self._announced:
            return
        self._announced = error.message
        if failures == 1:
            self._state.log.record(f"no new commits can be found: {error.message}", self._timing.wall())
        self._say(f"no new commits can be found: {error}")

    def _schedule(self, status: PollStatus) -> None:
        if self._backoff is None:
            self.next = math.inf
            self._state.log.write(status.model_copy(update={"next": None}))
            return
        pause_s = self._backoff.pause_s(status.failures, self._timing.chance())
        self.next = self._timing.monotonic() + pause_s
        self._state.log.write(status.model_copy(update={"next": self._timing.wall() + pause_s}))

    def _announce(self, text: str) -> None:
        self._state.log.record(text, self._timing.wall())
        self._say(text)

"""Following a branch: finding new commits whatever network and history do, and putting them into the backlog."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.core.commit import Commit, Source
from harness.core.errors import EnvironmentProblem, HarnessError, UsageError
from harness.watch.backlog import Arrivals, Choice, arrivals, chosen, newest_of
from harness.watch.polling import Rhythm, Timing
from harness.watch.store.database import StateFull
from harness.watch.store.event_log import Place, Polled
from harness.watch.store.records import Progress
from harness.watch.store.state import State

_KNOWN: Final = 1000
"""So many commits are remembered when history was rewritten."""


@dataclass(frozen=True, slots=True)
class Branch:
    """What is followed.

    Attributes:
        source: Where commits come from.
        names: Names of the newest commit, most wanted first: `origin/main`, `main`; for releases `latest`.
        choice: Which commits are measured.
        begin: Name of the commit after which the first start begins; None begins with the newest.
        main: Whether the main branch of the source, where it has one, comes before the names.
    """

    source: Source
    names: tuple[str, ...]
    choice: Choice = field(default_factory=Choice)
    begin: str | None = None
    main: bool = False


class Following:
    """Looks for new commits now and then.

    Args:
        branch: What is followed.
        state: Where commits are kept.
        rhythm: How often; None is once.
        timing: The clocks.
        say: Told what a person should know.
    """

    def __init__(
        self, branch: Branch, state: State, rhythm: Rhythm | None, timing: Timing, say: Callable[[str], None]
    ) -> None:
        self._branch = branch
        self._state = state
        self._rhythm = rhythm
        self._timing = timing
        self._say = say
        self.next = -math.inf
        """Moment of the monotonic clock when it is time to look again."""

    def look(self) -> bool:
        """Look for new commits; a repository that cannot be reached is remembered and asked again later.

        Returns:
            Whether it worked.

        Raises:
            UsageError: There never was such a branch.
            StateFull: There is no room for them; they are found again.
        """
        before = self._state.notebook.read(Polled) or Polled()
        try:
            self._take()
        except StateFull:
            raise
        except UsageError as error:
            if before.success is None:
                raise
            self._failed(before, error)
            return False
        except EnvironmentProblem as error:
            self._failed(before, error)
            return False
        self._schedule(Polled(success=self._timing.wall(), failure=before.failure))
        if before.failures:
            self._tell(f"the repository answers again, after {before.failures} failures")
        return True

    def _take(self) -> None:
        self._branch.source.fetch()
        tip = newest_of(self._branch.source, self._branch.names, main=self._branch.main)
        place = self._state.notebook.read(Place)
        cursor = place.cursor if place is not None else self._begin()
        known = [entry.commit for entry in self._state.commits.newest(_KNOWN)]
        found = arrivals(self._branch.source, cursor, tip, known)
        last_look = self._rhythm is None
        quiet = last_look or (place is not None and place.tip == tip.id)
        if cursor is None or (found.rewritten and found.parted is None):
            taken = [(commit, Progress.WAITING, "") for commit in found.commits]
        else:
            taken = list(chosen(found.commits, self._branch.choice, quiet=quiet))
        last = taken[-1][0] if taken else found.parted or cursor or tip
        with self._state.transaction():
            if found.rewritten:
                self._rewritten(cursor, found)
            for commit, progress, why in taken:
                self._state.commits.add(commit, progress, why)
            self._state.notebook.write(Place(cursor=last, tip=tip.id))

    def _begin(self) -> Commit | None:
        begin = self._branch.begin
        return self._branch.source.resolve(begin) if begin is not None else None

    def _rewritten(self, cursor: Commit | None, found: Arrivals) -> None:
        after = found.parted.id if found.parted else None
        gone = self._state.commits.withdraw(after, [commit.id for commit in found.commits])
        where = f"after {found.parted.short}" if found.parted else "with the newest commit"
        self._tell(
            f"history was rewritten: {cursor.short if cursor else 'the last commit'} is not in it any more;"
            f" going on {where}" + (f"; {gone} waiting commits are passed over" if gone else "")
        )

    def _failed(self, before: Polled, error: HarnessError) -> None:
        failures = before.failures + 1
        self._schedule(
            before.model_copy(update={"failure": self._timing.wall(), "error": str(error), "failures": failures})
        )
        if failures == 1:
            self._tell(f"no new commits can be found: {error.message}")

    def _schedule(self, polled: Polled) -> None:
        if self._rhythm is None:
            self.next = math.inf
            self._state.notebook.write(polled.model_copy(update={"next": None}))
            return
        pause_s = self._rhythm.pause_s(polled.failures, self._timing.chance())
        self.next = self._timing.monotonic() + pause_s
        self._state.notebook.write(polled.model_copy(update={"next": self._timing.wall() + pause_s}))

    def _tell(self, text: str) -> None:
        self._state.notebook.happened(text, self._timing.wall())
        self._say(text)

"""Taking commits: what each is held against, comparing it, recording what came of it, and what spoils it."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from harness.core.commit import Commit
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem
from harness.shell import Interrupted
from harness.watch.alarm_lifecycle import Pursuit
from harness.watch.commit_file import write_commit
from harness.watch.controls import Controls
from harness.watch.polling import Rhythm, Timing
from harness.watch.store.database import StateFull
from harness.watch.store.event_log import Broken, Trouble
from harness.watch.store.records import Compared, Entry, Judgement, Progress
from harness.watch.store.retry_when_full import Patience
from harness.watch.store.state import State
from harness.watch.work import Stopped, Work

MOST_ROUNDS: Final = 3
"""So often a commit is measured at most, however much it stands out."""
MOST_TROUBLES: Final = 10
"""After so many attempts that device, tool or disk spoiled a commit is given up, so that others get their turn."""
_TROUBLE: Final = Rhythm(first_s=60.0, most_s=3600.0)


class Taking:
    """Takes commits from the backlog, one after the other.

    Args:
        controls: What commits are held against.
        commit_file: Told the last commit that was dealt with.
        work: Who compares and judges.
        state: Where commits are.
        pursuit: Told what series say.
        timing: The clocks.
        patience: Waits for room.
        say: Told what a person should know.
    """

    def __init__(
        self,
        controls: Controls,
        commit_file: Path | None,
        *,
        work: Work,
        state: State,
        pursuit: Pursuit,
        timing: Timing,
        patience: Patience,
        say: Callable[[str], None],
    ) -> None:
        self._controls, self._commit_file = controls, commit_file
        self._work, self._state, self._pursuit = work, state, pursuit
        self._timing, self._patience, self._say = timing, patience, say
        self.ended: Counter[Progress] = Counter()
        """How many ended how."""
        self._troubles = 0
        self._from = -math.inf
        """Moment of the monotonic clock before which no commit is taken."""

    @property
    def troubled(self) -> bool:
        """Whether a commit waits because of device, tool or disk."""
        return self._troubles > 0

    @property
    def next(self) -> float:
        """Moment of the monotonic clock when a commit may be taken; `inf` when none waits."""
        return self._from if self._state.commits.next() is not None else math.inf

    def step(self, doing: Callable[[str], None]) -> bool:
        """Deal with one commit; False when there is none to be taken now.

        Args:
            doing: Told what is about to be done.

        Raises:
            Stopped: A person wants an end; the commit waits again.
            UsageError: It can never work.
            Interrupted: The harness is being stopped; the commit waits again.
        """
        entry = self._state.commits.next()
        if entry is None or self._timing.monotonic() < self._from:
            return False
        self._take(entry, doing)
        return True

    def give_up(self, entry: Entry) -> None:
        """Count and tell a commit that the state gave up by itself, with which the harness was killed too often."""
        self.ended[Progress.FAILED] += 1
        self._say(f"{entry.commit.short}: given up, because the harness was killed {entry.attempts} times with it")

    def _take(self, entry: Entry, doing: Callable[[str], None]) -> None:
        """Deal with one commit."""
        try:
            control = self._control_of(entry)
        except EnvironmentProblem as error:
            self._trouble(entry, error)
            return
        if control is None:
            why = "there is no other commit to hold it against"
            self._record(entry, Compared(progress=Progress.SKIPPED, why=why))
            return
        doing(f"comparing {entry.commit.short} with {control.short}")
        running = self._state.commits.begin(entry, control, self._timing.wall())
        try:
            compared = self._compare(control, running.commit)
        except (Interrupted, Stopped, KeyboardInterrupt):
            with contextlib.suppress(StateFull):  # the next start does the same
                self._state.commits.release(running, counts=False)
            raise
        except EnvironmentProblem as error:
            self._trouble(running, error)
            return
        self._troubles = 0
        if compared.control_failed:
            self._other_control(running, control, compared.why)
        else:
            self._record(running, compared)

    def _compare(self, control: Commit, treatment: Commit) -> Compared:
        try:
            return self._work.compare(control, treatment)
        except BuildFailed as error:
            return Compared(progress=Progress.BUILD_FAILED, why=error.message)
        except BenchmarkFailed as error:
            return Compared(progress=Progress.FAILED, why=error.message)

    def _control_of(self, entry: Entry) -> Commit | None:
        broken = frozenset((self._state.notebook.read(Broken) or Broken()).commits)
        before = self._state.commits.before(entry)
        while before is not None and before.commit.id in broken:
            before = self._state.commits.before(before)
        return self._controls.control_of(entry.commit, before.commit if before else None, broken)

    def _record(self, entry: Entry, compared: Compared) -> None:
        """Everything about one commit in one transaction, and what its series say with it."""

        def write() -> None:
            with self._state.transaction():
                for point in compared.points:
                    self._state.points.add(entry, point)
                self._state.commits.finish(entry, compared.progress, compared.why, self._timing.wall())
                if compared.progress is Progress.BUILD_FAILED:
                    self._remember_broken(entry.commit)
                self._state.notebook.forget(Trouble)
                for key in sorted({key for point in compared.points for key in self._state.points.keys(point)}):
                    self._heed(self._work.judge(self._state.points.series(*key)))

        self._patience.until_room(write)
        self.ended[compared.progress] += 1
        first, *_ = compared.why.splitlines() or [""]
        why = f" ({first})" if first else ""
        self._say(f"{entry.commit.short}: {compared.progress.replace('_', ' ')}{why}")
        self.write_commit_file()

    def _heed(self, judged: Judgement) -> None:
        self._pursuit.heed(judged.signs)
        for commit in judged.again:
            if self._state.commits.again(commit, MOST_ROUNDS):
                self._say(f"{commit[:12]} stands out, and is measured again")

    def _other_control(self, entry: Entry, control: Commit, why: str) -> None:
        """The commit waits for another control; a pinned one has no other."""
        text = f"the control {control.short} cannot be built" + (f": {why}" if why else "")
        if self._controls.pinned is not None:
            self._record(entry, Compared(progress=Progress.FAILED, why=text))
            return

        def write() -> None:
            with self._state.transaction():
                self._remember_broken(control)
                self._state.commits.release(entry, counts=False)
                self._state.notebook.happened(text, self._timing.wall())

        self._patience.until_room(write)
        self._say(text)

    def _remember_broken(self, commit: Commit) -> None:
        broken = self._state.notebook.read(Broken) or Broken()
        others = [one for one in broken.commits if one != commit.id]
        self._state.notebook.write(Broken(commits=(*others, commit.id)))

    def _trouble(self, entry: Entry, error: EnvironmentProblem) -> None:
        """Something that is not the commit's fault: it is tried again, for long but not for ever."""
        self._troubles += 1
        if self._troubles >= MOST_TROUBLES:
            self._troubles = 0
            self._record(entry, Compared(progress=Progress.FAILED, why=error.message))
            return
        pause_s = _TROUBLE.pause_s(self._troubles, self._timing.chance())
        self._from = self._timing.monotonic() + pause_s

        def write() -> None:
            with self._state.transaction():
                self._state.commits.release(entry, counts=False)
                self._state.notebook.write(Trouble(error=str(error), time=self._timing.wall()))

        self._patience.until_room(write)
        self._say(f"{entry.commit.short} is tried again in {pause_s:.0f} s: {error}")

    def write_commit_file(self) -> None:
        """Say in the commit file how far it is. A file that cannot be written costs nothing that the state has not."""
        last = self._state.commits.last_dealt_with()
        if self._commit_file is None or last is None:
            return
        try:
            write_commit(self._commit_file, last.commit.id)
        except EnvironmentProblem as error:
            self._say(str(error))

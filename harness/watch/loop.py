"""The loop of the continuous mode: one step after the other, each recorded before the next begins.

It may be killed at any moment. A commit is `running` while it is compared; its outcome is recorded with `done`
in one transaction, after the results are safe on the disk. So a commit is either counted once or done again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from harness.core.errors import UsageError
from harness.watch.alarm_lifecycle import AlarmLifecycle
from harness.watch.branch_poller import Branch, BranchPoller
from harness.watch.commit_processor import CommitProcessor
from harness.watch.controls import ControlPolicy
from harness.watch.fai_pep_files import StopFile, read_commit
from harness.watch.notify.channels import Channel
from harness.watch.notify.outbox import Outbox
from harness.watch.store.commits import CommitStatus
from harness.watch.store.database import StateFull
from harness.watch.store.event_log import CurrentActivity, LastError
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.tasks import StopRequested, WatchTasks
from harness.watch.timing import Timing, polling_backoff

_FULL_S: Final = 60.0
"""Pause before writing to a full disk again."""


class WatchPlan(Struct, frozen=True):
    """Plan of a watcher.

    Attributes:
        branch: The branch.
        controls: Choice of controls.
        interval_s: Seconds between two polls; None ends the loop when there is nothing left to do.
        stop_file: File by which a person stops the watcher.
        commit_file: FAI-PEP's file: where the first start begins, and the last finished commit.

    Raises:
        UsageError: The interval is not a positive number.
    """

    branch: Branch
    controls: ControlPolicy
    interval_s: float | None = None
    stop_file: StopFile = field(default_factory=StopFile)
    commit_file: Path | None = None

    def __post_init__(self) -> None:
        if self.interval_s is not None and not 0 < self.interval_s < math.inf:
            raise UsageError(f"--interval {self.interval_s} is no interval", hint="seconds; 3600 looks each hour")


class WatchSummary(Struct, frozen=True):
    """Summary of what a watcher did until it ended.

    Attributes:
        commits: Number of finished commits by status.
        alarms: Identities of the alarms that were confirmed.
        is_unreachable: Whether the last poll failed.
        has_environment_problem: Whether a commit, an alarm or a notification waits because of device, tool, disk or
            receiver.
        has_unusable_control: Whether a commit was passed over because no control could be built or measured.
        undecided: Identities of the alarms that were closed because their verification was undecided to the end.
    """

    commits: Counter[CommitStatus]
    alarms: tuple[str, ...]
    is_unreachable: bool
    has_environment_problem: bool
    has_unusable_control: bool = False
    undecided: tuple[str, ...] = ()


def watch(
    plan: WatchPlan,
    tasks: WatchTasks,
    state: State,
    *,
    channels: Sequence[Channel] = (),
    timing: Timing | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> WatchSummary:
    """Watch until a person stops it, or, without an interval, until nothing is left to do.

    Args:
        plan: What to do.
        tasks: Done by others.
        state: An open state, locked for this watcher.
        channels: Deliver notifications.
        timing: The clocks.
        say: Shows a line to a person.

    Raises:
        UsageError: There is no such branch, or a comparison can never work.
        EnvironmentProblem: State or status file cannot be used.
        Interrupted: The harness is being stopped; what ran is done again.
    """
    return _Watcher(plan, tasks, state, channels=channels, timing=timing or Timing(), say=say).run()


class _Watcher:
    def __init__(
        self,
        plan: WatchPlan,
        tasks: WatchTasks,
        state: State,
        *,
        channels: Sequence[Channel],
        timing: Timing,
        say: Callable[[str], None],
    ) -> None:
        self._plan, self._state, self._timing, self._say = plan, state, timing, say
        self._is_stop_requested = plan.stop_file.is_stop_requested
        retry_when_full = RetryWhenFull(timing, self._is_stop_requested, say)
        backoff = polling_backoff(plan.interval_s) if plan.interval_s is not None else None
        branch = _branch_since(plan)
        self._alarms = AlarmLifecycle(
            state,
            tasks,
            channels=[channel.name for channel in channels],
            timing=timing,
            retry_when_full=retry_when_full,
            say=say,
        )
        self._outbox = Outbox(state, channels, timing, retry_when_full, say, in_progress=self._alarms.in_progress)
        self._commits = CommitProcessor(
            replace(plan.controls, since=branch.since),
            plan.commit_file,
            tasks=tasks,
            state=state,
            alarms=self._alarms,
            timing=timing,
            retry_when_full=retry_when_full,
            say=say,
        )
        self._poller = BranchPoller(branch, state, backoff, timing, say, on_rewritten=self._commits.forget_trends)
        self._is_unreachable = False

    def run(self) -> WatchSummary:
        """Run the loop to its end."""
        self._plan.stop_file.create()
        self._recover()
        try:
            self._loop()
        except StopRequested as stopped:
            self._say(stopped.message)
        if self._is_stop_requested():
            self._say(f"{self._plan.stop_file.file} contains 0: stopped; write 1 into it before the next start")
        self._announce("stopped")
        undelivered = len(self._outbox.undelivered())
        if undelivered:
            news = "1 notification is" if undelivered == 1 else f"{undelivered} notifications are"
            self._say(f"{news} not delivered: `harness status` says why")
        parts = (self._commits, self._alarms, self._outbox)
        has_environment_problem = any(part.has_environment_problem for part in parts)
        return WatchSummary(
            self._commits.finished,
            tuple(self._alarms.confirmed),
            self._is_unreachable,
            has_environment_problem,
            self._commits.has_unusable_control,
            tuple(self._alarms.undecided),
        )

    def _loop(self) -> None:
        while not self._is_stop_requested():
            try:
                is_busy = self._step()
            except StateFull as full:
                self._wait_for_room(full)
                continue
            if not is_busy and self._plan.interval_s is None:
                return
            if not is_busy:
                self._wait()

    def _recover(self) -> None:
        for entry in self._state.recover(self._timing.wall()):
            self._commits.count_given_up(entry)
        if self._state.predecessor is not None:
            text = f"taking over from {self._state.predecessor}, which did not end properly"
            self._state.log.record(text, self._timing.wall())
            self._say(text)
        self._state.log.forget(LastError)
        self._commits.write_commit_file()

    def _step(self) -> bool:
        """Do the most urgent thing; return False when there is nothing to do now."""
        if self._timing.monotonic() >= self._poller.next:
            self._announce("looking for new commits")
            self._is_unreachable = not self._poller.poll()
        return self._outbox.deliver() or self._alarms.step(self._announce) or self._commits.step(self._announce)

    def _wait(self) -> None:
        self._announce("waiting")
        parts = (self._poller, self._outbox, self._alarms, self._commits)
        self._timing.wait(min(part.next for part in parts), self._is_stop_requested)

    def _wait_for_room(self, full: StateFull) -> None:
        """Wait for disk space; the transaction was rolled back."""
        self._say(str(full))
        self._timing.wait(self._timing.monotonic() + _FULL_S, self._is_stop_requested)

    def _announce(self, activity: str) -> None:
        """Record what the watcher is doing, for `harness status`; a full disk does not stop it."""
        try:
            self._state.log.write(CurrentActivity(what=activity, since=self._timing.wall()))
        except StateFull:
            self._say(f"{activity} (there is no room to record it)")


def _branch_since(plan: WatchPlan) -> Branch:
    """Return the branch with the commit after which a first start begins: that of the commit file, else the user's."""
    commit = read_commit(plan.commit_file) if plan.commit_file is not None else None
    return replace(plan.branch, since=commit) if commit is not None else plan.branch

"""The loop of the continuous mode: one step after the other, each recorded before the next begins.

It may be killed at any moment. A commit is `running` while it is compared; what its comparison said is recorded with
`done` in one transaction, after the results are safe on the disk. So a commit is either counted once or done again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from harness.core.errors import UsageError
from harness.watch.alarm_lifecycle import Pursuit
from harness.watch.branch_poller import Branch, Following
from harness.watch.commit_file import read_commit
from harness.watch.commit_processor import Taking
from harness.watch.controls import Controls
from harness.watch.notify.channels import Courier, names_of
from harness.watch.notify.outbox import Outbox
from harness.watch.polling import Timing, polling
from harness.watch.stop_file import Switch
from harness.watch.store.database import StateFull
from harness.watch.store.event_log import Doing, Trouble
from harness.watch.store.records import Progress
from harness.watch.store.retry_when_full import Patience
from harness.watch.store.state import State
from harness.watch.work import Stopped, Work

_FULL_S: Final = 60.0
"""How long is waited for room for the state."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a watcher was asked to do.

    Attributes:
        branch: What is followed.
        controls: What commits are held against.
        interval_s: How often new commits are looked for; None ends the loop when there is nothing left to do.
        switch: How a person stops it.
        commit_file: FAI-PEP's file: where the first start begins, and the last commit that was dealt with.

    Raises:
        UsageError: The interval is none.
    """

    branch: Branch
    controls: Controls
    interval_s: float | None = None
    switch: Switch = field(default_factory=Switch)
    commit_file: Path | None = None

    def __post_init__(self) -> None:
        if self.interval_s is not None and not 0 < self.interval_s < math.inf:
            raise UsageError(f"--interval {self.interval_s} is no time to wait", hint="seconds; 3600 looks each hour")


@dataclass(frozen=True, slots=True)
class Tally:
    """What a watcher did until it ended.

    Attributes:
        commits: How many ended how.
        alarms: Identities of the alarms that were confirmed.
        unreachable: Whether the last look for new commits failed.
        troubled: Whether a commit, an alarm or news wait because of device, tool, disk or receiver.
    """

    commits: Counter[Progress]
    alarms: tuple[str, ...]
    unreachable: bool
    troubled: bool


def watch(
    orders: Orders,
    work: Work,
    state: State,
    *,
    couriers: Sequence[Courier] = (),
    timing: Timing | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Watch until a person stops it, or, without an interval, until nothing is left to do.

    Args:
        orders: What to do.
        work: Who does it.
        state: What is remembered, claimed.
        couriers: Who tells alarms.
        timing: The clocks.
        say: Told what a person should know.

    Raises:
        UsageError: There is no such branch, or a comparison can never work.
        EnvironmentProblem: State or status file cannot be used.
        Interrupted: The harness is being stopped; what ran is done again.
    """
    return _Watcher(orders, work, state, couriers=couriers, timing=timing or Timing(), say=say).run()


class _Watcher:
    def __init__(
        self,
        orders: Orders,
        work: Work,
        state: State,
        *,
        couriers: Sequence[Courier],
        timing: Timing,
        say: Callable[[str], None],
    ) -> None:
        self._orders, self._work, self._state, self._timing, self._say = orders, work, state, timing, say
        self._off = orders.switch.off
        self._patience = Patience(timing, self._off, say)
        rhythm = polling(orders.interval_s) if orders.interval_s is not None else None
        branch = _beginning(orders)
        self._following = Following(branch, state, rhythm, timing, say)
        self._outbox = Outbox(state, couriers, timing, self._patience, say)
        self._pursuit = Pursuit(
            state, work, couriers=names_of(couriers), timing=timing, patience=self._patience, say=say
        )
        self._taking = Taking(
            replace(orders.controls, begin=branch.begin),
            orders.commit_file,
            work=work,
            state=state,
            pursuit=self._pursuit,
            timing=timing,
            patience=self._patience,
            say=say,
        )
        self._unreachable = False

    def run(self) -> Tally:
        """The loop."""
        self._orders.switch.install()
        self._welcome()
        try:
            self._go_on()
        except Stopped as stopped:
            self._say(stopped.message)
        if self._off():
            self._say(f"{self._orders.switch.file} says 0: stopped; write 1 into it before the next start")
        self._doing("stopped")
        troubled = any(part.troubled for part in (self._taking, self._pursuit, self._outbox))
        return Tally(self._taking.ended, tuple(self._pursuit.confirmed), self._unreachable, troubled)

    def _go_on(self) -> None:
        while not self._off():
            try:
                busy = self._step()
            except StateFull as full:
                self._full(full)
                continue
            if not busy and self._orders.interval_s is None:
                return
            if not busy:
                self._rest()

    def _welcome(self) -> None:
        for entry in self._state.recover(self._timing.wall()):
            self._taking.give_up(entry)
        if self._state.predecessor is not None:
            text = f"taking over from {self._state.predecessor}, which did not end in order"
            self._state.notebook.happened(text, self._timing.wall())
            self._say(text)
        self._state.notebook.forget(Trouble)
        self._taking.write_commit_file()

    def _step(self) -> bool:
        """Do the most urgent thing; False when there is nothing to do now."""
        if self._timing.monotonic() >= self._following.next:
            self._doing("looking for new commits")
            self._unreachable = not self._following.look()
        return self._outbox.deliver() or self._pursuit.step(self._doing) or self._taking.step(self._doing)

    def _rest(self) -> None:
        self._doing("waiting")
        parts = (self._following, self._outbox, self._pursuit, self._taking)
        self._timing.wait(min(part.next for part in parts), self._off)

    def _full(self, full: StateFull) -> None:
        """Nothing was changed, and nothing can be until there is room."""
        self._say(str(full))
        self._timing.wait(self._timing.monotonic() + _FULL_S, self._off)

    def _doing(self, what: str) -> None:
        """Said to whoever looks; not worth stopping for."""
        try:
            self._state.notebook.write(Doing(what=what, since=self._timing.wall()))
        except StateFull:
            self._say(f"{what} (there is no room to note it)")


def _beginning(orders: Orders) -> Branch:
    """Where a first start begins: the commit file says, else the person."""
    named = read_commit(orders.commit_file) if orders.commit_file is not None else None
    return replace(orders.branch, begin=named) if named is not None else orders.branch

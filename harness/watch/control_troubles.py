"""Controls that cannot be built or measured: a trouble of the watcher, and no verdict on the commits that need them."""

from __future__ import annotations

from typing import Final

from harness.core.commit import Commit, short_id
from harness.core.errors import EnvironmentProblem
from harness.watch.store.event_log import BrokenCommits, ControlTrouble
from harness.watch.store.state import State

MOST_ATTEMPTS: Final = 3
"""After this many failures to measure a control another commit takes its place, where the control is not pinned."""


class ControlTroubles:
    """Failures of controls since a commit was last measured, kept in the state.

    A control that cannot be built is replaced at once; one that is built and cannot be measured, after some attempts,
    for a device may be to blame. Where its replacement cannot be measured either, the controls are not to blame: then
    nothing is replaced, and commits wait.

    Args:
        state: Contains the failures, and the commits that can be no control.
        is_pinned: Whether a person chose the control: it is never replaced.
    """

    def __init__(self, state: State, *, is_pinned: bool) -> None:
        self._state = state
        self._is_pinned = is_pinned

    @property
    def unusable(self) -> frozenset[str]:
        """Return the ids of the commits that can be no control."""
        return frozenset((self._state.log.read(BrokenCommits) or BrokenCommits()).commits)

    def record(self, control: Commit, *, is_built: bool) -> bool:
        """Record a failure of a control; a part of the transaction that is open.

        Returns:
            Whether another commit takes its place.
        """
        before = self._state.log.read(ControlTrouble) or ControlTrouble(control=control.id)
        failures = before.failures + 1 if before.control == control.id else 1
        may_replace = not self._is_pinned and (not is_built or (failures >= MOST_ATTEMPTS and not before.replaced))
        replaced = (control.id,) if may_replace and is_built else before.replaced
        self._state.log.write(ControlTrouble(control=control.id, failures=failures, replaced=replaced))
        if may_replace:
            self.exclude(control)
        return may_replace

    def exclude(self, commit: Commit) -> None:
        """Remember that a commit can be no control."""
        commits = (self._state.log.read(BrokenCommits) or BrokenCommits()).commits
        others = [other for other in commits if other != commit.id]
        self._state.log.write(BrokenCommits(commits=(*others, commit.id)))

    def forget(self) -> None:
        """Forget the failures: a commit was measured."""
        self._state.log.forget(ControlTrouble)

    def error(self, control: Commit, reason: str, *, is_built: bool) -> EnvironmentProblem:
        """Return the error by which commits wait for a control."""
        problem = "cannot be measured" if is_built else "cannot be built"
        trouble = self._state.log.read(ControlTrouble)
        replaced = [commit for commit in (trouble.replaced if trouble is not None else ()) if commit != control.id]
        others = f", nor could {short_id(replaced[0])}" if replaced else ""
        hint = (
            "controls are hardly to blame: see device, files and command line"
            if replaced
            else "see why on this device, or name another commit with --base-commit"
        )
        return EnvironmentProblem(f"the control {control.short} {problem}{others}: {reason}".rstrip(": "), hint=hint)

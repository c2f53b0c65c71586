"""A watcher is killed wherever it can be, and started again: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.alarm import AlarmStage
from harness.core.change import Trend
from harness.core.commit import Commit
from harness.core.series import Series
from harness.watch.fai_pep_files import read_commit
from harness.watch.loop import watch
from harness.watch.store.commits import CommitStatus
from harness.watch.store.database import StateDatabase
from harness.watch.store.notifications import DeliveryStatus, Notification
from harness.watch.store.state import open_state, read_state
from harness.watch.store.state_lock import last_owner
from harness.watch.tasks import CommitOutcome, WatchTasks
from tests.e2e.repositories import need, run
from tests.processes import wait_until
from tests.watch.watching import Clock, Line, change, confirmed, found, orders, point, whole_series

COMMITS = ["c0", "c1", "c2", "c3"]
"""The first is the control; the second is slower, and so are the others."""


class _Postman:
    name = "hook"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def deliver(self, notification: Notification) -> str:
        with (self._folder / "delivered").open("a") as file:
            file.write(f"{notification.key}\n")
        return "taken"


@whole_series
def _find_step(_: Series) -> Trend:
    return Trend(changes=(change("step"),))


def _watch_everything(folder: Path) -> None:
    """What a watcher does with four commits; each comparison leaves a trace before its result counts."""

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        with (folder / "compared").open("a") as file:
            file.write(f"{treatment.id}\n")
        return CommitOutcome(points=(point(control.id, 0.05, commit=treatment.id),))

    tasks = WatchTasks(compare, _find_step, confirmed, lambda *_: found("c1"))
    plan = orders(Line(COMMITS), base="c0", since="c0", commit_file=folder / "commit")
    with open_state(folder / "state") as state:
        watch(plan, tasks, state, channels=(_Postman(folder),), timing=Clock().timing)


def _in_a_child(work: Callable[[], None]) -> int:
    """Exit status of a copy of this process that does the work; -9 when it was killed."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            work()
            status = 0
        except Exception:  # noqa: BLE001 - a child has nobody else to tell
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _killed_at(number: int, folder: Path, *, after: bool) -> int:
    """Watch, and die before or after so many changes of the database."""

    def work() -> None:
        count, change = 0, StateDatabase.change

        def deadly(self: StateDatabase, statement: str, *values: str | float | None) -> int:
            nonlocal count
            count += 1
            if count == number and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            changed = change(self, statement, *values)
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return changed

        setattr(StateDatabase, "change", deadly)  # noqa: B010 - a method is replaced, in a process of its own
        _watch_everything(folder)

    return _in_a_child(work)


def _check(folder: Path) -> None:
    with read_state(folder / "state") as state:
        assert state.commits.counts() == {CommitStatus.DONE: 3}
        (series,) = state.points.every_series()
        assert [placed.commit for placed in series.points] == COMMITS[1:]
        (alarm,) = state.alarms.in_stages(*AlarmStage)
        assert alarm.stage is AlarmStage.REPORTED
        keys = [delivery.notification.key for delivery in state.deliveries.with_status(DeliveryStatus.DELIVERED)]
    assert len(keys) == 2
    assert set((folder / "delivered").read_text().split()) == set(keys)
    compared = (folder / "compared").read_text().split()
    assert list(dict.fromkeys(compared)) == COMMITS[1:]
    assert len(compared) <= len(COMMITS), "at most the one that was killed is done again"
    assert read_commit(folder / "commit") == COMMITS[-1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")  # the threads of pytest-xdist
@pytest.mark.parametrize("after", [False, True])
def test_a_watcher_killed_at_any_change_loses_and_repeats_nothing(tmp_path: Path, after: bool) -> None:
    statement, killed = 0, -signal.SIGKILL
    while killed == -signal.SIGKILL:
        statement += 1
        folder = tmp_path / str(statement)
        folder.mkdir()
        killed = _killed_at(statement, folder, after=after)
        assert _in_a_child(lambda folder=folder: _watch_everything(folder)) == 0  # type: ignore[misc]
        _check(folder)
    assert killed == 0
    assert statement > 60, "it was killed in many places"


def _wait_for(commit_file: Path, newest: str) -> None:
    wait_until(lambda: read_commit(commit_file) == newest, 120)


def holds(state: Path, pid: int) -> bool:
    """Whether a process has a state; the note of one that was killed stays."""
    owner = last_owner(state)
    return owner is not None and owner.pid == pid


DRIVER = """
import pathlib, sys, time
from harness.builders.sources.git import GitSource
from harness.watch.new_commits import CommitSelection
from harness.watch.controls import ControlPolicy
from harness.watch.branch_poller import Branch
from harness.watch.loop import WatchPlan, watch
from harness.watch.tasks import CommitOutcome
from harness.watch.store.state import open_state
from harness.watch.tasks import WatchTasks
from tests.watch.watching import point

folder, base = pathlib.Path(sys.argv[1]), sys.argv[2]
source = GitSource(folder / "user", cache_dir=folder / "cache")

def compare(control, treatment):
    with (folder / "compared").open("a") as file:
        file.write(treatment.id + "\\n")
    time.sleep(0.02)
    return CommitOutcome(points=(point(control.id, commit=treatment.id),))

branch = Branch(source, ("main",), CommitSelection(), base)
orders = WatchPlan(branch, ControlPolicy(source, source.resolve(base)), 0.05, commit_file=folder / "commit")
with open_state(folder / "state") as state:
    watch(orders, WatchTasks(compare), state)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_watcher_of_a_growing_repository_killed_at_random_measures_each_commit_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    need("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    chance, user = random.Random(seed), tmp_path / "user"
    user.mkdir()
    run(user, "git", "init", "--quiet", "--initial-branch=main")

    def commit() -> str:
        run(user, "git", "commit", "--quiet", "--allow-empty", "-m", "more")
        return run(user, "git", "rev-parse", "HEAD")

    base = commit()
    commits = list[str]()
    for last in (False, False, False, False, True):
        commits += [commit() for _ in range(3)]
        with subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path), base]) as watcher:
            try:
                if last:
                    _wait_for(tmp_path / "commit", commits[-1])
                else:
                    wait_until(lambda pid=watcher.pid: holds(tmp_path / "state", pid))  # type: ignore[misc]
                    time.sleep(chance.uniform(0.0, 0.5))
            finally:
                watcher.send_signal(signal.SIGKILL)
    with read_state(tmp_path / "state") as state:
        (series,) = state.points.every_series()
        assert [placed.commit for placed in series.points] == commits
        assert state.commits.counts() == {CommitStatus.DONE: len(commits)}
    compared = (tmp_path / "compared").read_text().split()
    assert list(dict.fromkeys(compared)) == commits
    assert len(compared) <= len(commits) + 4, "at most one a kill is done again"

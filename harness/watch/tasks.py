"""Tasks that the loop gives to others. The flows do them with builds, devices and statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from harness.core.alarm import Alarm, Verification
from harness.core.change import Trend
from harness.core.commit import Commit
from harness.core.culprit import Candidate, SearchResult
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import HarnessError
from harness.core.series import SeriesKey, SeriesPoint
from harness.core.values import Value
from harness.watch.store.commits import CommitStatus


class StopRequested(HarnessError):
    """Work was given up because a person wants the watcher to stop. It is done again later."""


class CommitOutcome(Value):
    """Outcome of comparing one commit.

    Attributes:
        status: `done`, `build_failed`, `skipped` or `failed`.
        reason: Why it is not done, or what failed beside it.
        points: The points that it adds to series.
        control_failed: Whether the control could not be built: the commit waits, or another one is its control.
        control_unmeasured: Whether the control was built and gave no numbers, so that the commit could not be compared.
    """

    status: CommitStatus = CommitStatus.DONE
    reason: str = ""
    points: tuple[SeriesPoint, ...] = ()
    control_failed: bool = False
    control_unmeasured: bool = False


Compare = Callable[[Commit, Commit], CommitOutcome]
"""Builds and compares control and treatment.

It returns when every result is safe on the disk, and not before: what it returns is then counted.

Raises:
    StopRequested: It was given up on the way.
    BuildFailed: The treatment cannot be built; it is not tried again. (A control that cannot be built is returned.)
    BenchmarkFailed: The commit has no numbers; it is not tried again.
    EnvironmentProblem: Device, tool or disk: it is tried again.
    UsageError: It can never work; the watcher ends.
"""


class IncrementalReader(Protocol):
    """Reader of one series that grows. Reading a point is quick, however many were read before."""

    @property
    def progress(self) -> str:
        """Return what another reader needs to go on behind the points so far: a text of its own."""

    def add(self, point: SeriesPoint) -> None:
        """Read one more point, which is not older in the history than the one before it."""

    def trend(self) -> Trend:
        """Return what the points so far show. A change that was shown before has the same identity."""


ReadTrend = Callable[[SeriesKey, str | None], IncrementalReader]
"""Begins to read a series, or goes on where another reader stopped: from its progress, None at the beginning.

Pure, and quick: it is called while the newest point is being recorded. It raises `ValueError` where the progress is of
another harness: then the series is read from its beginning.
"""

Verify = Callable[[Alarm], Verification]
"""Measures a change again. Whatever it raises but `StopRequested`, it is tried again later.

Where its verdict is undecided, it is asked once more, with an alarm that has this verification: then it takes more
pairs, and is stricter.
"""

FindCulprits = Callable[[Alarm, str | None, Callable[[str], None]], tuple[SearchResult, tuple[Candidate, ...]]]
"""Finds the culprits of an alarm among the commits in question, which it returns too.

Whatever it raises but `StopRequested`, it is tried again later, a few times. It gets the progress that it saved last
(None at first), a text of its own, and a function that saves it: called after each step, so that a killed search goes
on where it was.
"""


FindDoubts = Callable[[], Sequence[DeviceDoubt]]
"""Returns the doubts about devices that are known. Quick: it is asked before each commit.

Raises:
    EnvironmentProblem: They cannot be read: nothing changes.
"""


def read_subject(commit: Commit) -> str:
    """Return the subject of a commit: all of its message that is known without its source."""
    return commit.subject


class _NoTrend:
    progress = ""

    def add(self, point: SeriesPoint) -> None:
        """Pass over a point."""

    def trend(self) -> Trend:
        """Return an empty trend."""
        return Trend()


def read_no_trend(key: SeriesKey, progress: str | None) -> IncrementalReader:  # noqa: ARG001 - for series that are only recorded
    """Begin to read a series in which no change is looked for."""
    return _NoTrend()


class WatchTasks(Struct, frozen=True):
    """The tasks of a watcher.

    Attributes:
        compare: Required.
        read_trend: Begins to read a series, to find its changes.
        verify: Verifies them; None takes every change for true.
        find_culprits: Finds culprits; None searches for none.
        read_message: Returns the whole message of a commit. It raises nothing, and is quick.
        find_doubts: Returns the doubts about devices.
    """

    compare: Compare
    read_trend: ReadTrend = read_no_trend
    verify: Verify | None = None
    find_culprits: FindCulprits | None = None
    read_message: Callable[[Commit], str] = read_subject
    find_doubts: FindDoubts = tuple

"""What the continuous mode remembers: commits and what became of them, points of series, alarms, letters."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, JsonValue

from harness.core.commit import Commit
from harness.core.comparison import Verdict
from harness.core.trend import ChangeKind
from harness.core.values import Value

Document = dict[str, JsonValue]
"""What stages say about an alarm in their own words; kept and told as it is."""


ANY_METRIC: Final = ""
"""The metric of a point that was not measured: programs of the same bytes differ by nothing, whatever is measured."""


class Progress(StrEnum):
    """Where a commit is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    BUILD_FAILED = "build_failed"
    SKIPPED = "skipped"
    FAILED = "failed"


class Entry(Value):
    """A commit of the backlog.

    Attributes:
        position: Its number in the order in which commits are taken.
        commit: The commit.
        progress: Where it is.
        why: Why it was skipped or failed.
        control: Id of the commit that it is or was held against.
        started: Unix seconds of the last start.
        finished: Unix seconds.
        attempts: How often it was started without an end.
        rounds: How often it was measured to the end.
    """

    position: int
    commit: Commit
    progress: Progress
    why: str = ""
    control: str | None = None
    started: float | None = None
    finished: float | None = None
    attempts: int = 0
    rounds: int = 0


class Point(Value):
    """What one comparison said about one benchmark on one device.

    Attributes:
        benchmark: Key of the series: equal for the same benchmark of every commit.
        title: How a person names it.
        device: Identity of the device.
        control: Id of the commit that it was held against.
        metric: Name of the metric that was compared; a part of the series' key. A point of `ANY_METRIC` is in every
            series of its benchmark and device.
        higher_is_better: Whether larger values of it are better.
        verdict: What the pairs said.
        log_ratio: Natural logarithm of treatment over control; None where there is no number.
        low: Lower end of its interval, as a logarithm.
        high: Upper end.
        error: Standard error of the logarithm, where it is known.
        pairs: How many pairs it took.
        result: Where the result is.
    """

    benchmark: str
    title: str
    device: str
    control: str
    metric: str = ANY_METRIC
    higher_is_better: bool = False
    verdict: Verdict
    log_ratio: float | None = None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    pairs: int = 0
    result: str = ""


class Placed(Value):
    """A point in its series.

    Attributes:
        position: Number of its commit; gaps are commits without a point.
        commit: Id of the commit.
        control_position: Number of the control; None where it is older than everything that was watched.
        point: What was measured.
    """

    position: int
    commit: str
    control_position: int | None
    point: Point


class Series(Value):
    """The points of one metric of one benchmark on one device, in the order of commits.

    Commits that were measured again have several points, in the order of measurement.
    """

    benchmark: str
    device: str
    metric: str
    points: tuple[Placed, ...]


class Compared(Value):
    """What became of one commit.

    Attributes:
        progress: `done`, `build_failed`, `skipped` or `failed`.
        why: The reason, when not done.
        points: What was measured.
        control_failed: The control could not be built: the commit waits for another one to be held against.
    """

    progress: Progress = Progress.DONE
    why: str = ""
    points: tuple[Point, ...] = ()
    control_failed: bool = False


class Sign(Value):
    """What a series says.

    Attributes:
        identity: The same for the same change, however often the series is judged: an alarm is raised once.
        benchmark: Key of the series.
        device: Its second key.
        metric: Its third key.
        kind: `step`, `drift`, `improvement`, ...
        first: Id of the last commit that was surely without the change.
        last: Id of the first commit that surely has it.
        over: The change is gone: its alarm is closed.
        document: Everything else worth telling.
    """

    identity: Annotated[str, Field(min_length=1)]
    benchmark: str
    device: str
    metric: str = ""
    kind: str
    first: str
    last: str
    over: bool = False
    document: Document = {}

    @property
    def is_worse(self) -> bool:
        """Whether it is a change for the worse."""
        return self.kind != ChangeKind.IMPROVEMENT


class Judgement(Value):
    """What a series says, with its newest point.

    Attributes:
        signs: Changes; those that were there before are passed over by their identity.
        again: Ids of commits that stand out alone, and are measured once more before anything is said.
    """

    signs: tuple[Sign, ...] = ()
    again: tuple[str, ...] = ()


class Stage(StrEnum):
    """How far an alarm is."""

    OPENED = "opened"
    CONFIRMED = "confirmed"
    BISECTED = "bisected"
    TOLD = "told"
    CLOSED = "closed"


class Alarm(Value):
    """A change that was seen.

    Attributes:
        sign: What was seen first.
        stage: How far it is.
        why: Why it is closed, or what is in the way.
        opened: Unix seconds.
        changed: Unix seconds.
        attempts: How often the next stage was tried in vain.
        document: The sign's, with what confirmation (`confirmation`) and search (`search`) added.
    """

    sign: Sign
    stage: Stage
    why: str = ""
    opened: float
    changed: float
    attempts: int = 0
    document: Document = {}


class Event(StrEnum):
    """What is told about an alarm."""

    CONFIRMED = "confirmed"
    BISECTED = "bisected"
    CLOSED = "closed"


class News(Value):
    """What is delivered: an alarm as it was when something happened.

    Attributes:
        schema_version: Of this document.
        key: Unique; the same in every attempt to deliver it.
        event: What happened.
        time: When, Unix seconds.
        alarm: The alarm then.
    """

    schema_version: str = "1.0"
    key: str
    event: Event
    time: float
    alarm: Alarm


class Fate(StrEnum):
    """Where a letter is."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"


class Letter(Value):
    """One document for one courier.

    Attributes:
        news: The document.
        courier: Who delivers it.
        fate: Where it is.
        queued: Unix seconds.
        attempts: How often delivery was tried.
        said: What the last attempt ended with.
        delivered: Unix seconds.
    """

    news: News
    courier: str
    fate: Fate = Fate.WAITING
    queued: float
    attempts: int = 0
    said: str = ""
    delivered: float | None = None

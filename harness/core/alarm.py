"""The report of an alarm: everything a person needs to understand one change, and to act on it.

Differences are relative throughout: 0.031 is 3.1 % more, of whatever the metric counts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from harness.core.commit import Commit
from harness.core.comparison import Verdict
from harness.core.trend import ChangeKind
from harness.core.values import Value

SCHEMA_VERSION: Final = "1.0"
"""Raised in its first number when a reader of older reports could be misled, else in its second."""

Probability = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class AlarmEvent(StrEnum):
    """What happened to the alarm, in the order in which it happens; each once. Closed means that the change is gone."""

    CONFIRMED = "confirmed"
    BISECTED = "bisected"
    CLOSED = "closed"


class Effect(Value):
    """How large a difference is.

    Attributes:
        difference: Relative, not below -1.
        low: Lower end of its 95 % interval; None where nothing is excluded.
        high: Upper end.
    """

    difference: Annotated[float, Field(ge=-1)]
    low: float | None = None
    high: float | None = None


class Verification(Value):
    """What a comparison of the two builds around the change said.

    Attributes:
        verdict: For the later build.
        effect: The later against the earlier; None without pairs.
        pairs: How many pairs it took.
        seconds: Device time of it.
    """

    verdict: Verdict
    effect: Effect | None = None
    pairs: Count = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0


class Candidate(Value):
    """A commit that may have changed the number.

    Attributes:
        commit: The commit.
        builds: Whether it can be built; None where nobody tried.
        probability: That it changed the number; None where it was not searched.
    """

    commit: Commit
    builds: bool | None = None
    probability: Probability | None = None


class Culprit(Value):
    """A commit that changed the number, or several of which one did.

    Attributes:
        commits: The commit; more than one, oldest first, where all but the last do not build.
        step: What it changed.
        evidence: E-value against "no change in this direction"; 100 refutes it at 1 %.
        probability: That the change is here.
        confirmed: Whether fresh pairs of its build and the one before it proved the change.
    """

    commits: Annotated[tuple[Commit, ...], Field(min_length=1)]
    step: Effect
    evidence: Annotated[float, Field(ge=0)]
    probability: Probability
    confirmed: bool


class Search(Value):
    """What the search for culprits said.

    Attributes:
        reason: In a sentence.
        culprits: Oldest first; empty where none was found.
        rest: The part of the change, relative, that no culprit explains; None where it is not known.
        pairs: How many pairs it took.
    """

    reason: str
    culprits: tuple[Culprit, ...] = ()
    rest: float | None = None
    pairs: Count = 0


class MeasuredCommit(Value):
    """One point of the series.

    Attributes:
        commit: The commit, as `harness.core.commit.Commit.short` names it.
        order: Its place in the history; commits without a point leave gaps.
        control: The commit that it was held against, named in the same way.
        effect: The commit against its control, both ends 0 where the programs are the same bytes; None where there is
            no number.
        verdict: What the comparison said.
    """

    commit: str
    order: int
    control: str
    effect: Effect | None = None
    verdict: Verdict = Verdict.UNDECIDED


class ChangedOperator(Value):
    """An operator that became slower or faster, or that only one of the two builds has.

    Attributes:
        name: The operator.
        effect: The later build against the earlier; None where only one has it.
        contribution: What it adds to the time of all operators of the earlier build, relative: 0.02 is 2 %, negative
            where it saves time. None where the time of all operators is not known.
    """

    name: str
    effect: Effect | None = None
    contribution: float | None = None


class Discovery(Value):
    """When and by whom the change was found.

    Attributes:
        time: Unix seconds.
        harness: Version of the harness.
        host: Name of the machine that it ran on.
    """

    time: float
    harness: str
    host: str


class AlarmReport(Value):
    """An alarm as it was when something happened.

    Attributes:
        schema_version: Of this document.
        identity: Of the alarm: the same in all its reports.
        event: What happened.
        kind: What the series shows: a step or a drift for the worse, or an improvement.
        title: What a person calls the benchmark, for example `mv2/mv2-xnnpack_q8`.
        device: Identity of the device.
        device_name: What a person calls it.
        metric: Name of the metric, for example `NET latency`.
        unit: Its unit.
        higher_is_better: Whether larger values of it are better.
        change: What the series shows.
        before: Last commit without the change.
        candidates: The commits in question, oldest first: those after `before`, up to the first that surely has the
            change.
        verification: None where the change was not measured again.
        search: None where no culprit was searched.
        why: Why it is closed, in a sentence.
        series: The points, in the order of measurement.
        operators: The operators that changed, if they were timed.
        command: The command that measures the change again, on one line.
        discovery: When and by whom it was found.
        results: Where the results are: absolute folders, or URLs.
    """

    schema_version: str = SCHEMA_VERSION
    identity: Annotated[str, Field(min_length=1)]
    event: AlarmEvent
    kind: Literal[ChangeKind.STEP, ChangeKind.DRIFT, ChangeKind.IMPROVEMENT]
    title: str
    device: str
    device_name: str
    metric: str
    unit: str = ""
    higher_is_better: bool = False
    change: Effect
    before: Commit
    candidates: tuple[Candidate, ...] = ()
    verification: Verification | None = None
    search: Search | None = None
    why: str = ""
    series: tuple[MeasuredCommit, ...] = ()
    operators: tuple[ChangedOperator, ...] = ()
    command: str = ""
    discovery: Discovery
    results: tuple[str, ...] = ()

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        """What the search found, oldest first."""
        return self.search.culprits if self.search is not None else ()

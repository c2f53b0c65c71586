"""Alarms: changes that are verified, searched for their culprit and reported, each once."""

from enum import StrEnum
from typing import Final

from pydantic import NonNegativeFloat, NonNegativeInt

from harness.core.change import Change
from harness.core.commit import Commit
from harness.core.comparison import tail_figure
from harness.core.culprit import Candidate, Culprit, SearchResult
from harness.core.effect import Effect
from harness.core.series import SeriesPoint
from harness.core.values import Value
from harness.core.verdict import Verdict

REPORT_VERSION: Final = "2.3"
"""Raised in its first number when a reader of older reports could be misled, else in its second."""


class AlarmStage(StrEnum):
    """Stage of an alarm."""

    OPENED = "opened"
    CONFIRMED = "confirmed"
    BISECTED = "bisected"
    REPORTED = "reported"
    CLOSED = "closed"


class AlarmEvent(StrEnum):
    """Something about an alarm that is reported, in the order in which it happens; each once.

    `TEST` is no alarm: a person tests how notifications arrive. `REOPENED` means that what closed the alarm does not
    hold any more, or that what confirmed it is in doubt; `RECOVERED`, that the level is back while the culprit is still
    in; `CLOSED`, that a commit repaired it, that a person closed it, that its commits are no longer in the history, or
    that it was not confirmed again.
    """

    TEST = "test"
    CONFIRMED = "confirmed"
    BISECTED = "bisected"
    REOPENED = "reopened"
    RECOVERED = "recovered"
    CLOSED = "closed"


class ChangedOperator(Value):
    """An operator that became slower or faster, or that only one of the two builds has.

    Attributes:
        name: The operator.
        effect: The later build against the earlier; None where only one has it.
        contribution: Change of its time as a share of the time of all operators of the earlier build: 0.02 is 2 %,
            negative where it saves time. None where the time of all operators is not known.
    """

    name: str
    effect: Effect | None = None
    contribution: float | None = None


class Verification(Value):
    """Comparison of the two builds around a change, made to see whether the change is there.

    Attributes:
        confirmed: Whether it is.
        verdict: Verdict for the later build.
        reason: What made the verdict.
        effect: The later build against the earlier; None without pairs.
        evidence: E-value against "no change in this direction"; 100 refutes it at 1 %.
        pairs: How many pairs it took.
        seconds: Device time of it.
        log_ratios: ln(later / earlier) of the better quartile, pair by pair: a search between the same two commits
            begins with them.
        figures: ln(later / earlier) of each of the five figures, pair by pair; empty in an alarm of an earlier harness.
        figure: The figure of a launch that `effect` is in, where that is not the difference that the comparison states:
            one that shows a change in the tail.
        operators: The operators that changed, if they were timed.
        device_name: Name of the device for people.
        platform: Platform of the device.
        result: Identity of the result.
        last_good_checks: When the last good checks of the devices of a lab ended that gave pairs, Unix seconds, by
            identity; empty outside a lab.
    """

    confirmed: bool
    verdict: Verdict
    reason: str
    effect: Effect | None = None
    evidence: NonNegativeFloat = 1.0
    pairs: NonNegativeInt = 0
    seconds: NonNegativeFloat = 0.0
    log_ratios: tuple[float, ...] = ()
    figures: tuple[tuple[float, ...], ...] = ()
    figure: str = ""
    operators: tuple[ChangedOperator, ...] = ()
    device_name: str = ""
    platform: str = ""
    result: str = ""
    last_good_checks: dict[str, tuple[float, ...]] = {}


class SizeOrigin(StrEnum):
    """Measurement that the size of a change is from."""

    SEARCH = "search"
    VERIFICATION = "verification"
    SERIES = "series"


class AlarmSize(Value):
    """The size of a change, as every page and message gives it.

    Attributes:
        effect: The later commit against the earlier.
        origin: Measurement that it is from.
        before: Id of the earlier commit: the parent of the culprit, where it is known.
        after: Id of the later commit.
        figure: The figure of a launch that the effect is in, where it is of the tail; else empty.
    """

    effect: Effect
    origin: SizeOrigin
    before: str
    after: str
    figure: str = ""


class Closing(Value):
    """A person's decision that nothing more is to be done about an alarm.

    Attributes:
        person: Name of the person's account.
        time: Unix seconds.
        reason: In the person's words.
        by: Id of the commit that repaired it, as the person says; empty where none is named.
    """

    person: str
    time: float
    reason: str
    by: str = ""


class Alarm(Value):
    """A detected change, and what became of it.

    Attributes:
        change: The change as it was detected.
        stage: How far the alarm is.
        reason: Why it is closed, or what keeps it from its next stage.
        opened: Unix seconds.
        updated: Unix seconds.
        attempts: How often the next stage was tried in vain.
        verification: None where the change was not measured again.
        search: None where no culprit was searched.
        candidates: The commits in question, oldest first: those behind `change.last_without`, up to
            `change.first_with`. Empty before the search.
        recovery: The later change that brought the level back, with the culprit taken back or not.
        closing: A person's decision; None where none closed it, or where it is open again.
        reopened: Why it was opened again after it was closed, oldest first.
    """

    change: Change
    stage: AlarmStage
    reason: str = ""
    opened: float
    updated: float
    attempts: NonNegativeInt = 0
    verification: Verification | None = None
    search: SearchResult | None = None
    candidates: tuple[Candidate, ...] = ()
    recovery: Change | None = None
    closing: Closing | None = None
    reopened: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """Return the identity of the change."""
        return self.change.identity

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        """Return the culprits that the search found, oldest first."""
        return self.search.culprits if self.search is not None else ()

    @property
    def size(self) -> AlarmSize:
        """Return the size by the best that is known: of the only culprit, of the verification, or of the series."""
        change, verification = self.change, self.verification
        verified = verification.effect if verification is not None else None
        if len(self.culprits) == 1:
            culprit = self.culprits[0]
            # the only commit in question is proven by the pairs of the verification
            is_verified = verified == culprit.effect
            origin = SizeOrigin.VERIFICATION if is_verified else SizeOrigin.SEARCH
            before = culprit.before or change.last_without
            figure = verification.figure if verification is not None and is_verified else self._tail_searched
            return AlarmSize(
                effect=culprit.effect, origin=origin, before=before, after=culprit.commits[-1], figure=figure
            )
        ends = {"before": change.last_without, "after": change.first_with}
        if verified is not None:
            figure = verification.figure if verification is not None else ""
            return AlarmSize(effect=verified, origin=SizeOrigin.VERIFICATION, figure=figure, **ends)
        return AlarmSize(effect=change.effect, origin=SizeOrigin.SERIES, figure=tail_figure(change.figure), **ends)

    @property
    def _tail_searched(self) -> str:
        return tail_figure(self.search.figure) if self.search is not None else ""

    @property
    def cause(self) -> str:
        """Return what caused the change, as far as is known; alarms with one cause are one piece of news.

        It is the culprit, or several of them; before the search the first commit that surely has the change.
        """
        return "+".join(culprit.commits[-1] for culprit in self.culprits) or self.change.first_with


class AlarmOrigin(Value):
    """Circumstances in which a change was found.

    Attributes:
        time: Unix seconds.
        harness: Version of the harness.
        host: Name of the machine that it ran on.
    """

    time: float
    harness: str
    host: str


class AlarmReport(Value):
    """An alarm as it was when something happened, with everything that a person needs to understand it and to act.

    Attributes:
        schema_version: Version of this document.
        event: What happened.
        alarm: The alarm, with every commit in question among its candidates.
        device_name: Name of the device for people.
        before: Last commit without the change.
        series: The points of the series.
        command: The command that measures again what the size of the alarm is of, on one line.
        closing_command: The command that closes the alarm, without the reason; empty where it is closed.
        discovery: When and by whom it was found.
        results: The results that show it: folders relative to that of all results, or URLs.
        results_url: Address under which others see the folder of all results; empty where there is none.
        repository: Address of the repository's pages (`harness.presentation.repository_links`); empty if unknown.
        diff_url: Page of the difference between the commits that the size is of; empty where none is known.
        group: Identity of the oldest alarm with the same cause: they are one piece of news.
    """

    schema_version: str = REPORT_VERSION
    event: AlarmEvent
    alarm: Alarm
    device_name: str
    before: Commit
    series: tuple[SeriesPoint, ...] = ()
    command: str = ""
    closing_command: str = ""
    discovery: AlarmOrigin
    results: tuple[str, ...] = ()
    results_url: str = ""
    repository: str = ""
    diff_url: str = ""
    group: str = ""

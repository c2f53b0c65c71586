"""Answers of a store of results: what the pages of the dashboard, the HTTP API and `harness query` show.

One value per row of a view. Whoever keeps results gives them (`harness.store.database.views`), and whoever shows them
needs to know no table. Times are Unix seconds; differences are log ratios inside `Effect`; figures are in the unit of
their `MetricInfo`.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Final, Protocol

from pydantic import Field

from harness.core.alarm import AlarmReport, AlarmStage
from harness.core.build import NO_COMMITS, PREBUILT
from harness.core.device_doubt import DeviceDoubt
from harness.core.effect import Effect
from harness.core.metric import MetricInfo
from harness.core.origin import Origin
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.core.values import Value
from harness.core.verdict import OutputVerdict, Verdict

KEY_DIGITS: Final = 16
"""Hexadecimal digits of the key of a cell: 64 bits."""


def compute_cell_key(digest: str, device: str) -> str:
    """Return the key of a cell, equal in every store: the beginning of SHA-256 over digest, a line feed and device.

    Args:
        digest: Digest of the benchmark's definition.
        device: Identity of the device; empty where there was none.
    """
    return sha256(f"{digest}\n{device}".encode(errors="replace")).hexdigest()[:KEY_DIGITS]


Names = Annotated[tuple[str, ...], Field(max_length=1000)]
"""Names of a condition; databases limit how many one query may have."""


class Selection(Value):
    """Which cells a view is about; each condition that is given must hold. An empty one holds for every cell.

    A name that the store does not know selects nothing, and is no error.

    Attributes:
        models: Names of models.
        backends: Names of backends.
        devices: Identities of devices.
        frameworks: Names of frameworks.
        categories: Categories under which results were reported (`--remote-reporter URL|CATEGORY`): of cells those
            with such a result, of lists of results only these.
        text: Part of the name of the benchmark (`model/identifier`) or of the device, in any case.
    """

    models: Names = ()
    backends: Names = ()
    devices: Names = ()
    frameworks: Names = ()
    categories: Names = ()
    text: str = ""


class Period(Value):
    """Range of time, by the time of commits, or of measurements where a build has no commit time.

    Attributes:
        start: First second; None has no beginning.
        end: Last second; None has no end.
    """

    start: float | None = None
    end: float | None = None


class Page(Value):
    """Part of a long list.

    Attributes:
        limit: Most rows.
        offset: Rows to leave out at the beginning.
    """

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


class DeviceInfo(Value):
    """Device, as a list names it.

    Attributes:
        identity: Identity of the device; empty stands for results that had none.
        name: Name for people.
        platform: Platform plug-in.
        kind: Product or CPU model.
        os: Operating system and version.
    """

    identity: str
    name: str
    platform: str = ""
    kind: str = ""
    os: str = ""


class CommitInfo(Value):
    """Commit, as a list names it.

    Attributes:
        id: Full hash, version or digest of a program.
        source: Where it comes from.
        time: Of the commit; None where the source has none.
        name: Name that it was asked for by; empty if that was its id.
        subject: First line of its message; empty where nobody told.
        author: Name of its author; likewise.
        url: Its page in the repository; likewise.
    """

    id: str
    source: str = ""
    time: float | None = None
    name: str = ""
    subject: str = ""
    author: str = ""
    url: str = ""

    @property
    def is_given(self) -> bool:
        """True for a program that the user gave, which is no commit: `name` is its file name, if it has one.

        One that was given as that of a commit (FAI-PEP's info) has no name, and is a commit.
        """
        return self.source in NO_COMMITS or (self.source == PREBUILT and bool(self.name))


class Cell(Value):
    """One benchmark on one device: a row of every table, and a page of its own.

    Attributes:
        key: Identifier that is the same in every store: the beginning of SHA-256 of digest and device.
        model: Model name.
        identifier: The benchmark's name within the model.
        framework: Framework plug-in.
        backend: Name of the backend; empty if unknown.
        threads: Threads that were asked for.
        digest: Digest of the benchmark's definition.
        device: Where it runs.
    """

    key: str
    model: str
    identifier: str
    framework: str
    backend: str = ""
    threads: int | None = None
    digest: str
    device: DeviceInfo

    @property
    def title(self) -> str:
        """Name for people: model and identifier."""
        return f"{self.model}/{self.identifier}"


class Figure(Value):
    """One figure of a result: the median of a metric with its interval over launches.

    Attributes:
        metric: The metric.
        median: Its median; None for a text, and where there is none.
        low: Lower end of its interval; None where there is none.
        high: Upper end.
        count: Number of samples.
    """

    metric: MetricInfo
    median: float | None = None
    low: float | None = None
    high: float | None = None
    count: int | None = None


class Contrast(Value):
    """Comparison of a result with its control.

    Attributes:
        control: The control's commit.
        metric: What was compared.
        verdict: The verdict that counts.
        effect: Treatment against control; None without pairs.
        pairs: How many pairs it comes from.
        outputs: Whether both sides compute the same.
    """

    control: CommitInfo
    metric: MetricInfo
    verdict: Verdict
    effect: Effect | None = None
    pairs: int = 0
    outputs: OutputVerdict | None = None


class ResultRow(Value):
    """Result in a list.

    Attributes:
        uid: Its identifier.
        cell: What was measured, and where.
        commit: Of its build; None where there was none.
        time: Start of the measurement.
        outcome: How it ended.
        reason: Why, when not ok.
        trusted: Whether it is ok and nothing speaks against its numbers.
        figure: Its main metric; None without one.
        contrast: Its comparison with a control; None without one.
        origin: Where its figures come from, when another tool measured them.
        reproduce: The command that measures it again; empty where it is not known.
        run: Identifier of the run that reported it.
    """

    uid: str
    cell: Cell
    commit: CommitInfo | None = None
    time: float
    outcome: Outcome
    reason: str = ""
    trusted: bool = True
    figure: Figure | None = None
    contrast: Contrast | None = None
    origin: Origin | None = None
    reproduce: str = ""
    run: str = ""


class FilterValues(Value):
    """Values that filters can take, each sorted.

    Attributes:
        models: Names of models.
        backends: Names of backends.
        devices: Devices.
        frameworks: Names of frameworks.
        categories: Categories of reports.
        results: Number of results in the store.
        first: Start of the oldest measurement; None in an empty store.
        last: Start of the newest.
    """

    models: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    devices: tuple[DeviceInfo, ...] = ()
    frameworks: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    results: int = 0
    first: float | None = None
    last: float | None = None


class ResultPage(Value):
    """Part of a list of results.

    Attributes:
        rows: The rows.
        total: Number of rows in the whole list.
    """

    rows: tuple[ResultRow, ...] = ()
    total: int = 0


class ProofKind(StrEnum):
    """What shows a change: an alarm that was verified, one comparison, or medians that were not measured side by side.

    The last is descriptive: no test decides it, and a machine that is slower today looks the same.
    """

    ALARM = "alarm"
    COMPARISON = "comparison"
    MEDIANS = "medians"


class ChangeRow(Value):
    """Change of a cell between two commits.

    Attributes:
        cell: Which cell.
        metric: Which metric.
        proof: What shows it.
        verdict: Regression or improvement; undecided for medians, which decide nothing.
        effect: The later state against the earlier. Of medians without an interval unless both have one.
        before: Last commit without it, or the earlier state; None where it is not known.
        after: First commit with it (the culprit, where `culprit` says so), or the later state.
        culprit: Whether a search found that `after` caused it.
        culprits: All commits that the search found, where they are several: then each has a part of the effect.
        time: When the later state was committed, or measured where its commit has no time.
        earlier: Figure of the earlier state; only of medians.
        later: Figure of the later state; only of medians.
        alarm: Identity of the alarm; empty without one.
        result: Result that shows it.
        reproduce: The command that measures it again; empty where it is not known.
        elsewhere: True if a figure of it was measured by another tool.
        trusted: False if something speaks against the comparison that shows it, such as a device in doubt.
    """

    cell: Cell
    metric: MetricInfo
    proof: ProofKind
    verdict: Verdict
    effect: Effect | None = None
    before: CommitInfo | None = None
    after: CommitInfo | None = None
    culprit: bool = False
    culprits: tuple[CommitInfo, ...] = ()
    time: float
    earlier: Figure | None = None
    later: Figure | None = None
    alarm: str = ""
    result: str = ""
    reproduce: str = ""
    elsewhere: bool = False
    trusted: bool = True


class HistoryPoint(Value):
    """One result in the history of a cell.

    Attributes:
        uid: The result.
        commit: Of its build; None where there was none.
        time: Of the commit, or of the measurement where it has no time: the place on the axis.
        median: In the unit of the metric; None for a result that failed.
        low: Lower end of its interval.
        high: Upper end.
        trusted: Whether nothing speaks against it.
        outcome: How it ended.
        reason: Why, when not ok.
        verdict: Verdict against its control; None without one.
        effect: The same as a difference.
        origin: Where it comes from, when another tool measured it.
    """

    uid: str
    commit: CommitInfo | None = None
    time: float
    median: float | None = None
    low: float | None = None
    high: float | None = None
    trusted: bool = True
    outcome: Outcome = Outcome.OK
    reason: str = ""
    verdict: Verdict | None = None
    effect: Effect | None = None
    origin: Origin | None = None


class Band(Value):
    """Range in which most medians of a stretch of a history lie, for a picture.

    It describes; it decides nothing.

    Attributes:
        start: Time of its first point.
        end: Time of its last point.
        low: Lower end.
        middle: Median of the medians.
        high: Upper end.
        count: Number of points.
    """

    start: float
    end: float
    low: float
    middle: float
    high: float
    count: int


class CellHistory(Value):
    """History of one metric of a cell.

    Attributes:
        cell: The cell.
        metric: The metric that is shown; None where nothing was measured.
        metrics: All metrics that the cell has, the main one first.
        points: Oldest first: all of a period, or the newest of them (`total` says how many there are).
        bands: Ranges of the levels, oldest first: one between each two alarms, or of as many points as fit a pixel.
        changes: Proven changes, oldest first: alarms of the whole period, and comparisons from the first point on.
        total: Number of results of the cell in the period.
        others: Cells with the same name on the same device and another definition: a benchmark that was edited.
        reproduce: The command that measures the newest point again; empty where it is not known.
    """

    cell: Cell
    metric: MetricInfo | None = None
    metrics: tuple[MetricInfo, ...] = ()
    points: tuple[HistoryPoint, ...] = ()
    bands: tuple[Band, ...] = ()
    changes: tuple[ChangeRow, ...] = ()
    total: int = 0
    others: tuple[Cell, ...] = ()
    reproduce: str = ""


class CommitRow(Value):
    """Commit in a list.

    Attributes:
        commit: The commit.
        results: Number of its results.
        failed: How many of them failed.
        regressions: How many are proven regressions against their control.
        improvements: How many are proven improvements.
        measured: Start of the newest measurement, also as a control. A commit that was never measured, and is known
            from an alarm, has its own time, or 0.
    """

    commit: CommitInfo
    results: int
    failed: int = 0
    regressions: int = 0
    improvements: int = 0
    measured: float


class CommitPage(Value):
    """Part of the list of commits, newest first, without programs that users gave.

    Attributes:
        rows: The rows.
        total: Number of commits in the whole list.
    """

    rows: tuple[CommitRow, ...] = ()
    total: int = 0


class CommitDifference(Value):
    """One cell at two commits.

    Attributes:
        cell: The cell.
        metric: The main metric of both.
        control: Its result at the control; None where it has none.
        treatment: Its result at the treatment; likewise.
        contrast: A comparison of just these two, pair by pair, if the store has one: it counts.
        ratio: Treatment against control by their medians, with an interval where both have one; descriptive only.
    """

    cell: Cell
    metric: MetricInfo | None = None
    control: ResultRow | None = None
    treatment: ResultRow | None = None
    contrast: Contrast | None = None
    ratio: Effect | None = None


class BackendRow(Value):
    """One benchmark of a model on one device: backend against backend.

    Attributes:
        result: Its newest result.
        speed: Times as fast as the first row of its device that did the same work, by medians; None where unknown.
        agreement: Share of the outputs that agree with the reference, where that was evaluated.
        sqnr_db: Signal to quantisation noise of its outputs against the reference, likewise.
        size_bytes: Size of its program, if it was exported.
        peak_memory_bytes: Largest resident memory, where it was measured.
    """

    result: ResultRow
    speed: float | None = None
    agreement: float | None = None
    sqnr_db: float | None = None
    size_bytes: int | None = None
    peak_memory_bytes: float | None = None


class CoverageState(StrEnum):
    """State of a combination of a benchmark and a device.

    A benchmark is missing on a device if it has a result on another device of the same platform. On a platform where it
    never had one it is excluded: a benchmark for phones is not missing on hosts.
    """

    MEASURED = "measured"
    STALE = "stale"
    FAILED = "failed"
    SKIPPED = "skipped"
    MISSING = "missing"
    EXCLUDED = "excluded"


class CoverageCell(Value):
    """What is known of one benchmark on one device.

    Attributes:
        state: Its state: `stale` if its newest good result is older than the period that was asked for, `missing` if
            others have it on this device's platform and this one never had a result, `excluded` if none of its platform
            ever had one.
        cell: The cell; None if it is missing or excluded.
        uid: Newest result; empty if it is missing or excluded.
        time: When that was measured.
        reason: Why it is not measured, in words.
    """

    state: CoverageState
    cell: Cell | None = None
    uid: str = ""
    time: float | None = None
    reason: str = ""


class CoverageRow(Value):
    """One benchmark on every device.

    Attributes:
        model: Model name.
        identifier: The benchmark's name within the model.
        framework: Framework plug-in.
        backend: Name of the backend.
        cells: One for each device of `Coverage.devices`, in their order.
    """

    model: str
    identifier: str
    framework: str
    backend: str = ""
    cells: tuple[CoverageCell, ...]


class Coverage(Value):
    """Which cells have results, and why others have none. Nothing is left out: `counts` add up to all combinations.

    Attributes:
        devices: The columns.
        rows: The rows.
        counts: Number of combinations in each state.
        reasons: Why combinations are not measured, with the number of each reason, the most frequent first.
    """

    devices: tuple[DeviceInfo, ...] = ()
    rows: tuple[CoverageRow, ...] = ()
    counts: dict[CoverageState, int] = {}
    reasons: tuple[tuple[str, int], ...] = ()


class AlarmAction(StrEnum):
    """What a person does about an alarm."""

    ACKNOWLEDGE = "acknowledge"
    MUTE = "mute"
    UNMUTE = "unmute"
    COMMENT = "comment"


class AlarmRemark(Value):
    """What a person did about an alarm.

    Attributes:
        action: What.
        person: Who: the name of the token, or of the account of this machine.
        time: When.
        text: Why, in the person's words.
        until: End of a mute; None has none.
    """

    action: AlarmAction
    person: str
    time: float
    text: str = ""
    until: float | None = None


class AlarmRow(Value):
    """Alarm in a list.

    Attributes:
        identity: Identity of the alarm.
        cell: What became slower; None where the store has no result of it.
        title: Name of the benchmark.
        device: Name of the device for people.
        metric: The metric.
        stage: How far it is.
        effect: Size of the change, by the best that is known.
        culprit: The commit that caused it, the last where they are several; None where that is not known.
        culprits: All commits that a search found, oldest first.
        before: Last commit without the change.
        opened: When it was raised.
        updated: When it last changed.
        acknowledged: Who has seen it, if anybody; the newest.
        muted_until: End of a mute that holds; None where it is not muted, infinity is given as the year 9999.
        remarks: What persons did, oldest first.
    """

    identity: str
    cell: Cell | None = None
    title: str
    device: str
    metric: MetricInfo
    stage: AlarmStage
    effect: Effect
    culprit: CommitInfo | None = None
    culprits: tuple[CommitInfo, ...] = ()
    before: CommitInfo | None = None
    opened: float
    updated: float
    acknowledged: AlarmRemark | None = None
    muted_until: float | None = None
    remarks: tuple[AlarmRemark, ...] = ()

    @property
    def is_open(self) -> bool:
        """True if something is still to be done about it."""
        return self.stage is not AlarmStage.CLOSED


class AlarmDetail(Value):
    """Everything about an alarm.

    Attributes:
        row: The alarm as lists have it.
        report: The report, as the watcher wrote it.
    """

    row: AlarmRow
    report: AlarmReport


class ArtifactInfo(Value):
    """File that belongs to a result.

    Attributes:
        name: Its name, with folders: `logs/launch-0.txt`.
        digest: SHA-256 of its content, by which it is stored once.
        size_bytes: Its size.
        media_type: Its type.
    """

    name: str
    digest: str
    size_bytes: int
    media_type: str = "text/plain; charset=utf-8"


class HistoryReader(Protocol):
    """Reader of a store: one method for each view. Used by several threads at once; writes nothing.

    Every method raises `EnvironmentProblem` where the store cannot be read. What is asked for by a key and is not there
    is None, and what is asked for by conditions is empty.
    """

    def options(self) -> FilterValues:
        """Return the values that filters can take."""

    def latest(self, selection: Selection, page: Page) -> ResultPage:
        """Return the newest result of each cell, by model, identifier and device."""

    def results(self, selection: Selection, period: Period, page: Page) -> ResultPage:
        """Return results by the start of their measurement, newest first; `period` is about that start."""

    def result(self, uid: str) -> Result | None:
        """Return a result in full, as it was measured, with every sample."""

    def row(self, uid: str) -> ResultRow | None:
        """Return a result as lists have it."""

    def doubts(self, result: Result) -> tuple[DeviceDoubt, ...]:
        """Return the doubts about its device that concern a result."""

    def artifacts(self, uid: str) -> tuple[ArtifactInfo, ...]:
        """Return the files that belong to a result, by name."""

    def cell(self, key: str, metric: str, period: Period, limit: int) -> CellHistory | None:
        """Return the history of a cell.

        Args:
            key: Key of the cell.
            metric: Name of a metric; empty for the main one.
            period: Which part.
            limit: Most points: the newest; at least 2.
        """

    def changes(self, period: Period, selection: Selection, page: Page) -> tuple[ChangeRow, ...]:
        """Return proven changes of a period, alarms before comparisons, regressions before improvements, by size.

        A comparison that an alarm is about is not repeated.
        """

    def levels(self, period: Period, selection: Selection, page: Page) -> tuple[ChangeRow, ...]:
        """Return for each cell its last good result before the period, or the first in it, beside the last in it.

        Descriptive: by the size of the change for the worse, largest first.
        """

    def commits(self, text: str, page: Page) -> CommitPage:
        """Return commits by their newest measurement; of a text, those whose id, name or subject has it.

        Programs that users gave are no commits.
        """

    def commit(self, name: str) -> CommitRow | None:
        """Return a commit by its id, the only one that begins so, or the name that it was asked for by.

        Raises:
            UsageError: Several begin so, or have this name; it lists some.
        """

    def results_of(self, commit: str, selection: Selection, page: Page) -> ResultPage:
        """Return the newest result of each cell at a commit, given by its id; failures first, then regressions."""

    def differences(self, control: str, treatment: str, selection: Selection) -> tuple[CommitDifference, ...]:
        """Return every cell that was measured at one of two commits, given by their ids."""

    def backends(self, model: str, devices: tuple[str, ...]) -> tuple[BackendRow, ...]:
        """Return the newest good result of each benchmark of a model, by device; all devices where none is named."""

    def coverage(self, selection: Selection, fresh_since: float | None) -> Coverage:
        """Return which combinations of benchmarks and devices have results, and why others have none."""

    def alarms(self, *, only_open: bool, selection: Selection, period: Period, page: Page) -> tuple[AlarmRow, ...]:
        """Return alarms, newest first."""

    def alarm(self, identity: str) -> AlarmDetail | None:
        """Return everything about an alarm."""

"""Documents for scripts: what `--json` prints, one class per command. Standard output then holds nothing else."""

from __future__ import annotations

from typing import Final

from harness.core.alarm import Alarm
from harness.core.build import BuildInfo
from harness.core.cached_files import CachedFile
from harness.core.culprit import SearchAnswer
from harness.core.device import Device
from harness.core.note import Note
from harness.core.program_graph import OperatorIdentity
from harness.core.ranking import Rank
from harness.core.result import Outcome, Result
from harness.core.same_work import SameWork
from harness.core.scalars import Scalar
from harness.core.self_check import SelfCheck
from harness.core.values import Value
from harness.presentation.differences import ResultDifference

DOCUMENT_VERSION: Final = "1.4"
"""Version of each document here. Its first number is raised when a field changes its meaning or goes away, else the
second."""


class Document(Value):
    """Document of a command.

    Attributes:
        schema_version: Version of this document.
    """

    schema_version: str = DOCUMENT_VERSION


class ListedResult(Value):
    """Stored result, as `harness report` lists it.

    Attributes:
        uid: Identifier of the result.
        run: Identifier of the run that reported it; empty where it is not known.
        started: Unix seconds.
        folder: Folder of the result.
        model: Model name.
        identifier: The benchmark's name within the model.
        framework: Framework plug-in.
        device: Identity of the device.
        device_name: Name of the device for people.
        commit: What identifies the build within its source.
        outcome: How it ended.
        reason: Why, when not ok.
        verdict: Verdict of a comparison that ended well.
        difference: Relative difference of treatment to control that it is about: 0.02 is 2 % more.
        trusted: Whether nothing speaks against its numbers.
        notes: What a reader of its numbers must know; those without `trust` are the reasons where it is not trusted.
        metric: Name of the main metric.
        median: Its median, in `unit`.
        unit: Unit of the main metric.
        reproduce: The command that measures it once more; empty where it is not known.
        origin: That another tool measured it, in words; empty for what the harness measured.
    """

    uid: str
    run: str
    started: float
    folder: str
    model: str
    identifier: str
    framework: str
    device: str | None
    device_name: str | None
    commit: str | None
    outcome: Outcome
    reason: str | None
    verdict: str | None
    difference: float | None
    trusted: bool
    notes: tuple[Note, ...]
    metric: str | None
    median: float | None
    unit: str | None
    reproduce: str
    origin: str


class ReportDocument(Document):
    """`harness report --json`: stored results, oldest first.

    Attributes:
        results: All selected results.
        search: Answer of the search that the last run was; null where it was none, or gave none.
        unreadable: Messages about damaged results, which are left out.
    """

    results: tuple[ListedResult, ...]
    search: SearchAnswer | None = None
    unreadable: tuple[str, ...] = ()


class DifferencesDocument(Document):
    """`harness report --against LAST --json`: stored results beside earlier ones; nothing is decided.

    Attributes:
        differences: One for each benchmark and device.
        caution: What such a comparison cannot know.
    """

    differences: tuple[ResultDifference, ...]
    caution: str


class ResultsDocument(Document):
    """`--json` of `harness run`, `evaluate`, `compare` and `import`: what was measured, evaluated again or imported.

    Attributes:
        results: Canonical results without single samples; with `--from`, those of comparisons, with the new verdicts.
    """

    results: tuple[Result, ...]


class SearchDocument(Document):
    """`harness bisect --json`: the commits that changed a metric.

    Attributes:
        search: The answer; its comparisons are stored, and `harness report LAST --json` lists them too.
    """

    search: SearchAnswer


class ListedDevice(Value):
    """Device of a platform.

    Attributes:
        platform: Name of the platform plug-in.
        name: Name for people, by which users ask for it.
        model: Product or CPU model.
        abi: Machine architecture.
        state: `ready`, or why it cannot be used.
        remedy: What to do when it cannot be used.
        device: Its description; null where it cannot be used.
    """

    platform: str
    name: str
    model: str | None
    abi: str | None
    state: str
    remedy: str | None
    device: Device | None


class DevicesDocument(Document):
    """`harness devices --json`: the devices of all platforms, or of one.

    Attributes:
        devices: Every device that was seen.
        problems: Platforms that could not be asked, and why.
    """

    devices: tuple[ListedDevice, ...]
    problems: dict[str, str] = {}


class ListedBuild(Value):
    """Build in the cache.

    Attributes:
        build: The build.
        folder: Its folder.
        size_bytes: Its size.
        last_used: Unix seconds.
    """

    build: BuildInfo
    folder: str
    size_bytes: int
    last_used: float


class BuildsDocument(Document):
    """`harness builds --json`: the cache of builds, the longest unused first.

    Attributes:
        folder: Folder of the cache.
        builds: The builds that are there.
        removed: The builds that `prune` removed.
    """

    folder: str
    builds: tuple[ListedBuild, ...]
    removed: tuple[ListedBuild, ...] = ()


class AlarmsDocument(Document):
    """`harness alarms --json`: the listed alarms, oldest first, or those that were closed or opened again.

    Attributes:
        alarms: The alarms.
    """

    alarms: tuple[Alarm, ...]


class ListedFinding(Value):
    """One line of `harness doctor`.

    Attributes:
        name: Name of the requirement.
        ok: True when it is met, false when something needed is missing, null when a failure stops nothing.
        found: Observation, in words.
        remedy: What to do when it is not met.
    """

    name: str
    ok: bool | None
    found: str
    remedy: str


class DoctorDocument(Document):
    """`harness doctor --json`: what is installed and what is missing.

    Attributes:
        findings: Every line.
        missing: Number of needed things that are missing.
    """

    findings: tuple[ListedFinding, ...]
    missing: int


class ListedBenchmark(Value):
    """Benchmark that a specification expands to.

    Attributes:
        file: The specification.
        line: Its line there.
        id: Number of the expanded test.
        model: Model name.
        identifier: Its name within the model.
        metric: Kind of the test.
        framework: Framework plug-in.
        axes: The matrix entry that it comes from.
        inputs: Dimensions of each model input, by name.
        digest: SHA-256 of its definition.
        obstacle: Reason why no device can run it; null where some may.
    """

    file: str
    line: int | None
    id: int
    model: str
    identifier: str
    metric: str
    framework: str
    axes: dict[str, Scalar]
    inputs: dict[str, tuple[int, ...]]
    digest: str
    obstacle: str | None


class ListedProblem(Value):
    """Mistake in a specification, or a remark on a likely one.

    Attributes:
        file: The specification.
        line: 1-based line; null where the file could not be read at all.
        pointer: JSON pointer to the place.
        message: Description of the mistake.
        hint: How to mend it.
    """

    file: str
    line: int | None
    pointer: str
    message: str
    hint: str | None


class ListedFramework(Value):
    """Specifications of one framework and format of models.

    Attributes:
        framework: The framework.
        format: Format of the model.
        valid: Number of those that are valid.
        skipped: Number of those of which no device can run some benchmarks.
        refused: Number of those with mistakes.
        benchmarks: Benchmarks of those that are not refused.
    """

    framework: str
    format: str
    valid: int
    skipped: int
    refused: int
    benchmarks: int


class ListedReason(Value):
    """One reason why specifications are skipped or refused.

    Attributes:
        outcome: `skipped` or `refused`.
        message: The reason.
        hint: How to mend it.
        files: The specifications.
    """

    outcome: str
    message: str
    hint: str | None
    files: tuple[str, ...]


class ListedKey(Value):
    """One key at which specifications are refused.

    Attributes:
        key: The key; empty for the whole file.
        files: Number of specifications.
        problems: Number of places.
    """

    key: str
    files: int
    problems: int


class ListedSummary(Value):
    """Summary of the specifications below a folder.

    Attributes:
        specifications: Number of all of them.
        benchmarks: Number of benchmarks of those that are not refused.
        valid: Number of those that are valid.
        skipped: Number of those of which no device can run some benchmarks.
        refused: Number of those with mistakes.
        frameworks: The same by framework and format; a list of specifications counts in each of its own.
        reasons: Each reason with its files, the most frequent first.
        keys: The keys at which they are refused, the most frequent first.
        passed_over: Files of JSON or YAML that have none of the keys of a specification, so that nothing was checked.
    """

    specifications: int
    benchmarks: int
    valid: int
    skipped: int
    refused: int
    frameworks: tuple[ListedFramework, ...]
    reasons: tuple[ListedReason, ...]
    keys: tuple[ListedKey, ...]
    passed_over: tuple[str, ...] = ()


class ValidationDocument(Document):
    """`harness validate --json`: benchmarks and problems of all files.

    Attributes:
        benchmarks: The benchmarks of the files that can be read.
        problems: Mistakes; a specification with one is refused (exit code 2).
        remarks: Likely mistakes, which are not refused.
        summary: Number of valid, skipped and refused specifications, where a folder is named.
    """

    benchmarks: tuple[ListedBenchmark, ...]
    problems: tuple[ListedProblem, ...] = ()
    remarks: tuple[ListedProblem, ...] = ()
    summary: ListedSummary | None = None


class SelfCheckDocument(Document):
    """`harness self-check --json`: what comparisons can show on each device.

    Attributes:
        self_checks: The self-check of each device; `harness schema self-check` prints their schema.
    """

    self_checks: tuple[SelfCheck, ...]


class RankedProgram(Value):
    """One program of a ranking.

    Attributes:
        uid: Identifier of its result.
        model: Model name.
        identifier: The benchmark's name within the model.
        framework: Framework plug-in.
        backend: Name of the backend, or the recipe of its export; empty if unknown.
        device: Identity of the device.
        outcome: How it ended.
        metric: Name of the metric; empty where nothing was measured.
        unit: Its unit.
        median: Its median over all launches.
        low: Lower end of the 95 % interval of the median over the launches.
        high: Upper end.
        rank: Its rank, with the ratio to the fastest, or why it has none.
        same_work: Its outputs against those of the eager model; null where they were not looked at.
    """

    uid: str
    model: str
    identifier: str
    framework: str
    backend: str
    device: str
    outcome: Outcome
    metric: str = ""
    unit: str = ""
    median: float | None = None
    low: float | None = None
    high: float | None = None
    rank: Rank
    same_work: SameWork | None = None


class RankingDocument(Document):
    """`harness rank --json`: the programs of every ranking, in the order of their ranks; others follow.

    Attributes:
        programs: The programs.
    """

    programs: tuple[RankedProgram, ...]


class ExportedFile(Value):
    """File that was exported or fetched.

    Attributes:
        file: The file in the cache, with its export report.
        output: Where it was copied to; null where it stays in the cache.
    """

    file: CachedFile
    output: str | None


class ExportDocument(Document):
    """`harness export --json`: the files of a model or specification.

    Attributes:
        files: The files that are there.
        failed: Number of files that are not.
    """

    files: tuple[ExportedFile, ...]
    failed: int = 0


class ProfiledOperator(Value):
    """Operator of a profile.

    Attributes:
        name: Its name, with the number of its occurrence.
        kind: Its name without number.
        order: Its 0-based place in order of execution.
        median_us: Median in an iteration, in microseconds.
        share: Share of the sum of all operators.
        cumulative_share: Share of this one and of all that take longer.
        delegate: Backend that executes it; empty for a kernel of the runtime, null where that is not known.
        identity: The nodes of the model's graph that it executes; null where it is not known.
    """

    name: str
    kind: str
    order: int
    median_us: float
    share: float
    cumulative_share: float
    delegate: str | None = None
    identity: OperatorIdentity | None = None


class ProfileOfBenchmark(Value):
    """Profile of one benchmark on one device.

    Attributes:
        model: Model name.
        identifier: Name of the pass that timed operators.
        device: Identity of the device; null where there was none.
        outcome: How that pass ended.
        reason: Why, when not ok.
        latency_us: Median latency without tracing, in microseconds; null where it was not measured.
        traced_latency_us: Median latency while operators are timed.
        overhead: Relative difference of the two: 0.02 is 2 % slower.
        coverage: Share of the traced latency that the operators take; null where it is not known.
        operators: The longest first.
    """

    model: str
    identifier: str
    device: str | None
    outcome: Outcome
    reason: str | None = None
    latency_us: float | None = None
    traced_latency_us: float | None = None
    overhead: float | None = None
    coverage: float | None = None
    operators: tuple[ProfiledOperator, ...] = ()


class ProfileDocument(Document):
    """What `harness profile --json` prints.

    Attributes:
        profiles: One for each benchmark and device.
    """

    profiles: tuple[ProfileOfBenchmark, ...]

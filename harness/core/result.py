"""The canonical result: everything about one benchmark on one device for one build, including failure.

Every reporter and foreign format is a pure function of it. The committed JSON Schema
`specifications/schema/result.schema.json` is generated from these classes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

from pydantic import JsonValue

from harness.core.device import Device, DeviceState
from harness.core.files import ExportReport
from harness.core.metric import Metric
from harness.core.values import Scalar, Value

SCHEMA_VERSION: Final = "1.0"
"""Raised in its first number when a reader of older results could be misled, else in its second."""


class Outcome(StrEnum):
    """How a benchmark, or one launch of it, ended."""

    OK = "ok"
    SKIPPED = "skipped"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    FAILED = "failed"
    DEVICE_LOST = "device_lost"
    INTERRUPTED = "interrupted"


class Note(Value):
    """Something a reader of the numbers must know.

    Attributes:
        code: Stable word: `disturbed`, `noisy`, `stopped_early`, `busy`, `throttled`, `bad_lines`, `threads`, ...
        message: The same in a sentence.
        hint: What to do about it.
        trust: False when the numbers should not be believed because of it.
    """

    code: str
    message: str
    hint: str | None = None
    trust: bool = True


class Launch(Value):
    """One start of the runner.

    Attributes:
        index: 0-based number within the result.
        outcome: How it ended.
        reason: Why, when not ok.
        commands: The exact argument lists that were started, with every prefix.
        env: Variables that were added to the environment (never secrets).
        cpus: CPUs it was pinned to.
        started: Unix seconds.
        wall_s: Seconds from start to end.
        cpu_s: CPU seconds.
        peak_memory_bytes: Peak resident memory of the process, as the platform saw it.
        before: Device state before it.
        after: Device state after it.
    """

    index: int
    outcome: Outcome
    reason: str | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = {}
    cpus: tuple[int, ...] | None = None
    started: float
    wall_s: float = 0.0
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    before: DeviceState | None = None
    after: DeviceState | None = None


class BenchmarkInfo(Value):
    """What was measured. Together with device and build it identifies a series."""

    model: str
    identifier: str
    id: int
    metric: str
    framework: str
    axes: dict[str, Scalar] = {}
    inputs: dict[str, tuple[int, ...]] = {}
    threads: int | None = None
    warmup: int = -1
    iterations: int = -1
    time_limit_s: float | None = None
    launches: int = 1
    category: str | None = None
    group: str | None = None
    specification: str
    digest: str


class FileInfo(Value):
    """One file that took part."""

    filename: str
    md5: str
    size_bytes: int
    source: str
    export: ExportReport | None = None


class BuildInfo(Value):
    """The runner that was measured."""

    source: str
    commit: str
    commit_time: int | None = None
    recipe: str = ""
    flags: dict[str, str] = {}
    digest: str = ""


class Result(Value):
    """One benchmark on one device for one build.

    Attributes:
        schema_version: Version of this format.
        uid: Unique, made once: the idempotency key of every transmission.
        started: Unix seconds.
        finished: Unix seconds.
        outcome: How it ended.
        reason: Why, in words, when not ok.
        hint: What to do about it.
        run_type: FAI-PEP's `benchmark`, `verify` or `regress`.
        notes: What a reader of the numbers must know.
    """

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    harness_version: str
    uid: str
    started: float
    finished: float
    outcome: Outcome
    reason: str | None = None
    hint: str | None = None
    run_type: str = "benchmark"
    benchmark: BenchmarkInfo
    build: BuildInfo | None = None
    device: Device | None = None
    launches: tuple[Launch, ...] = ()
    metrics: tuple[Metric, ...] = ()
    files: dict[str, FileInfo] = {}
    notes: tuple[Note, ...] = ()
    meta: dict[str, JsonValue] = {}

    @property
    def ok(self) -> bool:
        """Whether it has numbers that were measured to the end."""
        return self.outcome is Outcome.OK

    @property
    def trusted(self) -> bool:
        """Whether it is ok and nothing speaks against its numbers."""
        return self.ok and all(note.trust for note in self.notes)

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, for example `NET latency`."""
        return next((metric for metric in self.metrics if metric.name == name), None)


class RawLog(Value):
    """What a launch wrote, kept beside the result and never inside it."""

    name: str
    text: str


class Report(Value):
    """What a reporter receives: the result, and the raw logs that go with it."""

    result: Result
    logs: tuple[RawLog, ...] = ()

"""The canonical result: everything about one benchmark on one device for one build, including failure.

Every reporter and foreign format is a pure function of it. The committed JSON Schema
`specifications/schema/result.schema.json` is generated from these classes.
"""

from typing import TYPE_CHECKING, Final, Literal

from pydantic import JsonValue

from harness.core import DICTIONARY_NAME
from harness.core.build import BuildInfo
from harness.core.cached_files import ExportReport
from harness.core.deferred import deferred
from harness.core.device import Device, DeviceState
from harness.core.generation import GenerationRequest
from harness.core.launch_interval import known_interval
from harness.core.metric import Metric
from harness.core.note import THROTTLED, Note
from harness.core.origin import Origin
from harness.core.outcome import Outcome as Outcome  # noqa: PLC0414 - plug-ins import it from here, too
from harness.core.probe import Artifact, ProbePass
from harness.core.reproduction import Reproduction
from harness.core.same_work import SameWork
from harness.core.scalars import Scalar
from harness.core.scenario import Arrival
from harness.core.values import Value, replace_surrogates
from harness.core.verdict import Verdict

if TYPE_CHECKING:
    from harness.core.comparison import Comparison
    from harness.core.evaluation import Evaluation
    from harness.core.long_run import LongRun
    from harness.core.program_graph import OperatorIdentity
    from harness.core.ranking import Rank
else:  # few results have one
    Comparison = deferred("harness.core.comparison", "Comparison")
    Evaluation = deferred("harness.core.evaluation", "Evaluation")
    LongRun = deferred("harness.core.long_run", "LongRun")
    OperatorIdentity = deferred("harness.core.program_graph", "OperatorIdentity")
    Rank = deferred("harness.core.ranking", "Rank")

SCHEMA_VERSION: Final = "1.9"
"""Its first number is raised when a reader of older results could be misled, else its second."""

DISCARDED_FOR_HEAT: Final = "throttled by heat"
"""Reason of a discarded launch."""


class Launch(Value):
    """One start of the runner.

    Attributes:
        index: 0-based number within the result.
        outcome: How it ended.
        reason: Why, when not ok.
        commands: The exact argument lists that were started, with every prefix.
        env: Variables that were added to the environment (never secrets).
        padding: Length of `HARNESS_PADDING`, which was added too and moves the stack; None where it was not.
        cpus: CPUs it was pinned to.
        started: Unix seconds.
        wall_s: Seconds from start to end.
        cpu_s: CPU seconds.
        beside_cpu_s: CPU seconds of the program that it was interleaved with, which ran at the same time.
        peak_memory_bytes: Peak resident memory of the process, as the platform saw it.
        spin_ms: Milliseconds of fixed work on its first CPU, the lower of right before and right after it; None where
            the device does not time that.
        best_spin_ms: The least that this work had taken on such a CPU of the device by then.
        before: Device state before it.
        after: Device state after it.
        discarded: Why its observations do not count although it succeeded: it warmed up, heat disturbed it, or it was
            made for figures of one kind, which alone count.
    """

    index: int
    outcome: Outcome
    reason: str | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = {}
    padding: int | None = None
    cpus: tuple[int, ...] | None = None
    started: float
    wall_s: float = 0.0
    cpu_s: float | None = None
    beside_cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    spin_ms: float | None = None
    best_spin_ms: float | None = None
    before: DeviceState | None = None
    after: DeviceState | None = None
    discarded: str | None = None

    @property
    def throttled(self) -> bool:
        """True if the device lowered its clock because of heat meanwhile, or was held back at either end."""
        states = [state for state in (self.before, self.after) if state is not None]
        counts = [state.throttle_count for state in states if state.throttle_count is not None]
        return any(state.thermal_status and not state.thermal_status_ignored for state in states) or (
            len(counts) == 2 and counts[1] > counts[0]
        )


class BenchmarkInfo(Value):
    """Description of the benchmark. Together with device and build it identifies a series.

    Attributes:
        model: Model name.
        identifier: The benchmark's name within the model.
        id: 0-based number of the expanded test in its specification.
        metric: Kind of the test: `delay`, `accuracy`, `generic`, ...
        kinds: All kinds of figures that were asked for, where the specification lists them.
        framework: Name of the framework plug-in.
        axes: The matrix entry it came from.
        inputs: Dimensions of each model input, by name.
        threads: Threads that were asked for; null leaves it to the program.
        warmup: Warm-up iterations of each launch that were asked for; -1 leaves it to the program.
        iterations: Timed iterations of each launch that were asked for; -1 leaves it to the program.
        time_limit_s: Limit of all launches together, in seconds.
        launches: Launches that were asked for, at least.
        max_launches: Largest number of launches; null where none were to be added to `launches`.
        precision: Precision until which launches were to be added: 0.02 is ±2 %; null where none were.
        operators: Whether each operator was to be timed too.
        backend_options: Options of the framework and its backends that were asked for, by name.
        arrival: When its executions were asked for; null where they were back to back.
        generation: Tokens that it generated; null where it generates none.
        category: The model's category.
        group: The model's group.
        specification: File name of the specification.
        digest: SHA-256 of the benchmark's definition: equal digests are the same benchmark.
    """

    model: str
    identifier: str
    id: int
    metric: str
    kinds: tuple[str, ...] = ()
    framework: str
    axes: dict[str, Scalar] = {}
    inputs: dict[str, tuple[int, ...]] = {}
    threads: int | None = None
    warmup: int = -1
    iterations: int = -1
    time_limit_s: float | None = None
    launches: int = 1
    max_launches: int | None = None
    precision: float | None = None
    operators: bool = False
    backend_options: dict[str, Scalar] = {}
    arrival: Arrival | None = None
    generation: GenerationRequest | None = None
    category: str | None = None
    group: str | None = None
    specification: str
    digest: str

    @property
    def title(self) -> str:
        """Name for people: model and identifier."""
        return f"{self.model}/{self.identifier}"

    @property
    def is_of_dictionary(self) -> bool:
        """True if its specification was a dictionary of a script, which no command can name."""
        return self.specification.startswith(DICTIONARY_NAME)


class FileInfo(Value):
    """One file that took part.

    Attributes:
        filename: Its name on the device.
        md5: Its MD5, computed.
        size_bytes: Its size.
        source: The URL, path or export it came from.
        export: How it was exported, if it was.
    """

    filename: str
    md5: str
    size_bytes: int
    source: str
    export: ExportReport | None = None


class Result(Value):
    """One benchmark on one device for one build.

    Attributes:
        schema_version: Version of this format; older ones of its first number can be read.
        harness_version: Version of the harness that measured.
        uid: Unique, made once: the idempotency key of every transmission.
        run: Identifier of the run that reported it, which all results of that run share; empty in results of a harness
            that did not store it.
        started: Unix seconds.
        finished: Unix seconds.
        outcome: How it ended.
        reason: Why, in words, when not ok.
        hint: What to do about it.
        run_type: FAI-PEP's `benchmark`, `verify` or `regress`.
        benchmark: The benchmark that was measured.
        build: The runner; null when there was none.
        device: Where it ran; null when there was none.
        launches: Every start of the runner, in order.
        metrics: The measured metrics, with every sample.
        files: The files that took part, by placeholder.
        comparison: The comparison, when this is its treatment.
        control_launches: The control's launches then.
        evaluation: What lowering and quantisation did to the outputs; null where that was not evaluated.
        same_work: Whether it computes the same as its reference; null where nobody asked for that.
        rank: Its place among those that do the same work, from pairs of launches; null where it was not ranked.
        notes: Notes for a reader of the numbers.
        meta: Free values of specification lists and command line.
        operators: What each timed operator is in the model's graph, in their order; empty where that is not known.
        long_run: What became of its figure in the long run; null where nobody asked for one.
        probes: Passes of probes, such as profilers, in launches of their own; also those that were skipped.
        reproduction: The command that measures it once more; null where nothing names its runner, where
            the specification was a dictionary of a script, and in results of a harness that did not store it.
        origin: Where its figures come from, when another tool measured them; null for those of the harness.
    """

    schema_version: Literal["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9"] = SCHEMA_VERSION
    harness_version: str
    uid: str
    run: str = ""
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
    comparison: Comparison | None = None
    control_launches: tuple[Launch, ...] = ()
    evaluation: Evaluation | None = None
    same_work: SameWork | None = None
    rank: Rank | None = None
    notes: tuple[Note, ...] = ()
    meta: dict[str, JsonValue] = {}
    operators: tuple[OperatorIdentity, ...] = ()
    long_run: LongRun | None = None
    probes: tuple[ProbePass, ...] = ()
    reproduction: Reproduction | None = None
    origin: Origin | None = None

    def __repr__(self) -> str:
        """Name it: what it holds, every sample, would fill the screen of whoever looks at a list of results."""
        place = f" on {self.device.name}" if self.device is not None else ""
        return f"<Result {self.benchmark.title}{place}: {self.outcome.value}>"

    __str__ = __repr__

    @property
    def backend(self) -> str:
        """Name of the backend that the specification states, else the recipe of an exported file; empty if unknown."""
        backend = self.benchmark.axes.get("backend")
        if backend is not None:
            return str(backend)
        return next((file.export.export.recipe for file in self.files.values() if file.export), "")

    @property
    def reproduce(self) -> str:
        """The command that measures it once more, as it is typed; empty where it is not known."""
        if self.reproduction is None or self.benchmark.is_of_dictionary:  # an older harness stored a line that fails
            return ""
        return self.reproduction.line

    @property
    def ok(self) -> bool:
        """True if it has numbers that were measured to the end."""
        return self.outcome is Outcome.OK

    @property
    def trusted(self) -> bool:
        """True if it is ok and nothing speaks against its numbers."""
        return self.ok and all(note.trust for note in self.notes)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of its comparison that counts; None without one, and where it failed: that is no doubt."""
        comparison = self.comparison
        return comparison.effective_verdict if comparison is not None and (self.ok or comparison.identical) else None

    @property
    def throttled(self) -> bool:
        """True if its main metric is not the figure of this device, because the device throttled meanwhile."""
        return any(note.code == THROTTLED for note in self.notes)

    @property
    def all_notes(self) -> tuple[Note, ...]:
        """Its notes, and those of its comparison."""
        return (*self.notes, *(self.comparison.notes if self.comparison is not None else ()))

    def metric(self, name: str) -> Metric | None:
        """Return the metric with this name, for example `NET latency`."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def make_writable(result: Result) -> Result:
    """Return the result as it can be written: with U+FFFD for what is not Unicode, and then a note `replaced_text`."""
    clean = replace_surrogates(result)
    return result if clean is result else clean.model_copy(update={"notes": (*clean.notes, _REPLACED)})


def without_samples(result: Result) -> Result:
    """Return the result with statistics, intervals and pairs, but no single values, for those that keep many."""
    return result.model_copy(update={"metrics": tuple(map(_without_samples, result.metrics))})


def _without_samples(metric: Metric) -> Metric:
    control = metric.control
    if control is not None:
        control = control.model_copy(update={"control_values": (), "control_launches": ()})
    interval = known_interval(metric)
    return metric.model_copy(update={"samples": (), "launches": (), "interval": interval, "control": control})


_REPLACED: Final = Note(
    code="replaced_text",
    message="a name or text that is not Unicode cannot be written: \N{REPLACEMENT CHARACTER} stands for what was there",
    hint="use names that are UTF-8, and whole surrogate pairs in JSON",
)


class RawLog(Value):
    """Output of a launch, stored beside the result and never inside it."""

    name: str
    text: str


class Report(Value):
    """Message to a reporter: the result, and what goes with it.

    Attributes:
        result: The result.
        logs: Output of its launches.
        artifacts: Files that probes left.
        place: Where the result is stored, as the storing reporter returned it; None where it is not, or not yet.
    """

    result: Result
    logs: tuple[RawLog, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    place: str | None = None

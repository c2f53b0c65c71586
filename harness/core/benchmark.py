"""Benchmark: one test after expansion, the unit that is planned, measured and reported."""

from pathlib import Path
from typing import Final

from pydantic import Field, JsonValue

from harness.core.app import App
from harness.core.examples import DataRequest, Scores
from harness.core.generation import GenerationRequest
from harness.core.launch_interval import plan_looks
from harness.core.metric import Direction
from harness.core.placeholders import find_placeholders
from harness.core.power import PowerMethod, PowerRequest
from harness.core.probe import ProbeRequest
from harness.core.same_work import SameWorkRequest
from harness.core.scalars import Scalar
from harness.core.scenario import Arrival, SustainedRequest
from harness.core.values import Value

POWER: Final = "power"
"""FAI-PEP's metric of a test that measures energy; such a test fails when no energy was measured."""

ENERGY_TESTS: Final = (POWER, "energy")
"""Metrics of tests that are about energy; of the second only with a `power` block, as it may be any word."""

MEMORY: Final = "memory"
LOAD_TIME: Final = "load_time"
ERROR: Final = "error"
"""FAI-PEP's metric of a test whose outputs are compared with golden ones."""
OPERATORS: Final = "operators"

FRAMEWORK_AXIS: Final = "framework"
"""Axis of a specification that runs on every framework: it leaves the work the same."""

GENERATION_KIND: Final = "generation"
"""Kind of a test that generates tokens, where a list names it."""

KINDS: Final = ("delay", GENERATION_KIND, LOAD_TIME, MEMORY, "size", "accuracy", ERROR, POWER, OPERATORS, "layers")
"""Kinds of figures that a list of metrics may name. A single metric may be any word, as in FAI-PEP."""


class SpecificationPlace(Value):
    """Place in a specification file; error messages quote it.

    Attributes:
        file: The specification file.
        pointer: JSON pointer into it.
        line: 1-based line.
    """

    file: Path
    pointer: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else str(self.file)
        return f"{place} {self.pointer}".rstrip()


class Input(Value):
    """Input of a model.

    Attributes:
        name: The input's name (FAI-PEP's blob name); the order of a test's inputs is the order of the arguments.
        shape: Its dimensions.
        dtype: `float`, `half`, `double`, `int8`, `uint8`, `int16`, `int`, `int64`, `bool`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float"


class Export(Value):
    """Export request: everything that determines an exported program except versions.

    Attributes:
        definition: Name of an installed model definition, or `package.module:function`.
        recipe: Name of an installed recipe, for example `xnnpack_q8`, or `package.module:function`.
        inputs: Example inputs; empty means the definition's own.
        seed: Seed of weights, example inputs and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        options: Keyword arguments for the definition.
        calibration_data: Data set to calibrate with, instead of random numbers.
    """

    definition: str
    recipe: str
    inputs: tuple[Input, ...] = ()
    seed: int = 0
    calibration: int = 8
    options: dict[str, Scalar] = {}
    # Left out where absent: digests of exports from before it existed stay valid.
    calibration_data: DataRequest | None = Field(default=None, exclude_if=lambda data: data is None)


class ModelFile(Value):
    """File that a benchmark needs, as the specification names it.

    Attributes:
        key: Its placeholder, for example `files.model` or `input_files.image`.
        filename: Its name in the cache and on the device; a plain relative path, checked.
        location: An http(s) URL or an absolute path; a template when a step before the launch writes the file
            (`{HOSTDIR}/image.bin`); None when the file is exported.
        md5: The expected MD5, lower-case hex; `directory` for a folder; None where the specification gives none.
        export: The export request, instead of a location.
        origin: Its place in the specification.
    """

    key: str
    filename: str
    location: str | None = None
    md5: str | None = None
    export: Export | None = None
    origin: SpecificationPlace

    @property
    def is_generated(self) -> bool:
        """Return whether a step before the launch writes the file, so that it cannot be cached."""
        return self.location is not None and bool(find_placeholders(self.location))


class OutputFile(Value):
    """File that the program writes on the device and that is fetched afterwards.

    Attributes:
        key: `output_files.NAME`.
        filename: Its name on the host.
        location: Template of its path on the device; usually `{TGTDIR}/...`.
        converter: Name of the parser that turns it into metrics, if any.
        converter_args: That parser's options.
        dtype: Element type of its numbers, `text` for numbers as text; None where the file says it itself, or where it
            is no file of numbers.
    """

    key: str
    filename: str
    location: str
    converter: str | None = None
    converter_args: dict[str, JsonValue] = {}
    # Left out where absent: digests of benchmarks from before it existed stay valid.
    dtype: str | None = Field(default=None, exclude_if=lambda dtype: dtype is None)

    @property
    def is_compared(self) -> bool:
        """Return whether it holds outputs of the model; a converter makes figures of it, which differ in any launch."""
        return self.converter is None


class HostStep(Value):
    """Commands that run on the host before or after a benchmark or launch.

    Attributes:
        files: Programs and data the commands use; programs are made executable.
        commands: Command-line templates, in order.
        timeout_s: Limit of each command.
    """

    files: tuple[ModelFile, ...] = ()
    commands: tuple[str, ...] = ()
    timeout_s: float | None = None


class Model(Value):
    """Model of a benchmark."""

    name: str
    format: str
    category: str | None = None
    kind: str | None = None
    description: str | None = None
    group: str | None = None


class Benchmark(Value):
    """Test after expansion over shapes and matrix.

    Attributes:
        id: `{ID}`: 0-based number of the expanded test in its specification.
        model: The model.
        identifier: Its name within the model, for example `mv2-xnnpack_q8-t1`.
        metric: The kind of test: `delay`, `accuracy`, `generic`, ...
        kinds: All kinds of figures that are asked for, where the specification lists them; each is measured in launches
            of its own where another would disturb it.
        framework: Name of the framework plug-in.
        axes: The matrix entry it came from.
        inputs: One shape of each model input.
        threads: Number of threads of the runner; None leaves it to the program.
        warmup: Warm-up iterations of each launch; -1 leaves it to the program.
        iterations: Timed iterations of each launch; -1 leaves it to the program.
        min_iterations: Minimum number of iterations under a time limit.
        time_limit_s: Limit on the total time of all launches, after which iterating stops; None is no limit.
        launches: Number of times the program is started at least (FAI-PEP's `repeat`).
        max_launches: Largest number of launches, where launches are added until the median is precise; None adds none.
        precision: Half of the width of the median's confidence interval, relative to it, at which no more are added.
        timeout_s: Wall-clock limit of each launch.
        cooldown_s: Pause after the benchmark.
        files: Files of the model.
        input_files: Files of the test.
        output_files: Files that the program writes.
        output_tolerance: Difference between the outputs of two builds that is rounding, relative to the largest
            magnitude of the control's; None takes that of the element type.
        commands: Command-line templates; if empty, the framework composes the command.
        arguments: Text appended to each command that starts the program (`command_args`).
        env: Variables of each launch.
        cpus: CPUs to pin to; `()` means no pinning; None leaves the choice to the platform.
        sleep_before_run_s: Pause on the device before each launch.
        app: The app that is started instead of a program.
        platform: The platform it requires; None means any.
        tags: Words by which it can be selected.
        model_before: Commands on the host before all launches.
        model_after: Commands on the host after all launches.
        before: Commands on the host before each launch.
        after: Commands on the host after each launch.
        statistics: Names of statistics beyond the standard ones.
        direction: Direction of metrics that are not known by name; keys are full names or names without the type.
        converter: Name of the parser of what the program prints; None takes that of the framework.
        converter_args: Options of that parser.
        log_output: Whether to show what the program prints.
        operators: Whether each operator is timed too, at a small cost.
        phases: Whether a launch reports the memory of each of its phases, and executes once.
        cold: Whether a launch loads the program from the disk instead of the page cache, and executes once.
        long_run_s: Seconds for which a launch iterates, as the pass for `sustained` does; None ends by iterations.
        backend_options: Options of the framework and its backends by name, for example `precision`.
        data: Examples for which outputs are compared with those of the model's origin; None where none are given.
        scores: Meaning of each output; automatic for those beyond its end.
        same_work: Request to prove that it computes the same as its reference; None where nobody asked for that.
        energy: Whether the energy of each launch is measured too.
        power: Request for energy net of an idle baseline; None where energy is not metered, or without a baseline.
        probes: Probes that observe it in launches of their own.
        generation: Tokens that it generates; None where it is no language model that generates.
        arrival: When its executions are asked for; None has them back to back.
        sustained: Request for a long run; None where nobody asked for that.
        variables: Value of every placeholder known at load time, as text.
        meta: Additional values from list files and command line, reported with the result.
        origin: Place in the specification.
        framework_origin: Place of the framework's name; None where the specification names none.
        digest: SHA-256 of the benchmark's definition; benchmarks with equal digests are the same.
    """

    id: int
    model: Model
    identifier: str
    metric: str
    kinds: tuple[str, ...] = ()
    framework: str
    axes: dict[str, Scalar] = {}
    inputs: tuple[Input, ...] = ()
    threads: int | None = None
    warmup: int = -1
    iterations: int = -1
    min_iterations: int = 1
    time_limit_s: float | None = None
    launches: int = 1
    max_launches: int | None = None
    precision: float | None = None
    timeout_s: float = 300.0
    cooldown_s: float = 0.0
    files: tuple[ModelFile, ...] = ()
    input_files: tuple[ModelFile, ...] = ()
    output_files: tuple[OutputFile, ...] = ()
    output_tolerance: float | None = None
    commands: tuple[str, ...] = ()
    arguments: str = ""
    env: dict[str, str] = {}
    cpus: tuple[int, ...] | None = None
    sleep_before_run_s: float = 0.0
    app: App | None = None
    platform: str | None = None
    tags: tuple[str, ...] = ()
    model_before: HostStep = HostStep()
    model_after: HostStep = HostStep()
    before: HostStep = HostStep()
    after: HostStep = HostStep()
    statistics: tuple[str, ...] = ()
    direction: dict[str, Direction] = {}
    converter: str | None = None
    converter_args: dict[str, JsonValue] = {}
    log_output: bool = False
    operators: bool = False
    phases: bool = False
    cold: bool = False
    long_run_s: float | None = None
    backend_options: dict[str, Scalar] = {}
    data: DataRequest | None = None
    scores: tuple[Scores, ...] = ()
    same_work: SameWorkRequest | None = None
    energy: bool = False
    power: PowerRequest | None = None
    probes: tuple[ProbeRequest, ...] = ()
    generation: GenerationRequest | None = None
    arrival: Arrival | None = None
    sustained: SustainedRequest | None = None
    variables: dict[str, str] = {}
    meta: dict[str, JsonValue] = {}
    origin: SpecificationPlace
    framework_origin: SpecificationPlace | None = None
    digest: str

    @property
    def title(self) -> str:
        """Name for people: model and identifier."""
        return f"{self.model.name}/{self.identifier}"

    @property
    def command_lines(self) -> tuple[str, ...]:
        """Every command line: those of the device, then those of the host."""
        steps = (self.model_before, self.model_after, self.before, self.after)
        return (*self.commands, *(command for step in steps for command in step.commands))

    @property
    def has_operators(self) -> bool:
        """Whether each operator is timed, in every launch or in a pass of its own."""
        return self.operators or OPERATORS in self.kinds

    @property
    def obstacle(self) -> str | None:
        """Reason why no device can run it; None where some may."""
        return self.energy_obstacle if self.is_about_energy else None

    @property
    def energy_obstacle(self) -> str | None:
        """Reason why no device can meter its energy; None where some may."""
        if self.app is None or self._meters_outside:
            return None
        return "the energy of an app cannot be separated from that of its start without an external meter (`monsoon`)"

    @property
    def _meters_outside(self) -> bool:
        return self.power is not None and self.power.method is PowerMethod.MONSOON

    @property
    def is_about_energy(self) -> bool:
        """Whether energy is what all of its launches measure; with a list of kinds, it has a pass of its own."""
        return not self.kinds and (self.metric == POWER or (self.power is not None and self.metric in ENERGY_TESTS))

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of launches after which the precision is examined; the last is the largest number of launches."""
        return plan_looks(self.launches, max(self.launches, self.max_launches or 0))

    def required_files(self) -> tuple[ModelFile, ...]:
        """List every file that must be in the cache before the benchmark can run."""
        steps = (self.model_before, self.model_after, self.before, self.after)
        files = (*self.files, *self.input_files, *(file for step in steps for file in step.files))
        return tuple(file for file in files if not file.is_generated)

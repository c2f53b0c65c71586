"""File format of specifications and of lists of them, as classes.

It includes FAI-PEP's format, so that its specifications load unchanged.
The committed JSON Schema is generated from these classes and those of `sections` (`harness.specification.schema`); the
descriptions that an editor shows are their docstrings.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, NonNegativeFloat, PositiveFloat

from harness.core.benchmark import ENERGY_TESTS, POWER
from harness.core.examples import Scores
from harness.core.generation import MOST_TOKENS
from harness.core.power import PowerMethod
from harness.core.same_work import DEFAULT_TOLERANCE
from harness.core.scalars import Scalar
from harness.core.values import Share
from harness.specification.sections import (
    Converter,
    Count,
    Data,
    Dimensions,
    FileEntry,
    Files,
    Flag,
    Many,
    Name,
    Outputs,
    Placeholder,
    PlatformArgs,
    Section,
    Step,
    Voltage,
)


class AppEntry(Section):
    """App that is started instead of a program.

    Attributes:
        package: Its package; for iPhones its bundle identifier.
        activity: On Android its activity, for example ".MainActivity" or "org.example.speed/.MainActivity".
        result: File in its own folder that it writes at its end; without one it logs BENCHMARK_DONE.
        tests: On iPhones its bundle of Xcode's tests, for example "Tests.xctest", which are run in it.
    """

    package: Name
    activity: Name | None = None
    result: Name | None = None
    tests: Name | None = None


class SameWorkEntry(Section):
    """Proof that a program does the same work as its reference.

    Attributes:
        reference: What outputs are compared with: "eager", the model as its definition makes it.
        tolerance: Difference that is rounding, relative to the largest magnitude of the reference.
    """

    reference: Literal["eager"] = "eager"
    tolerance: Share = DEFAULT_TOLERANCE


class MonsoonEntry(Section):
    """FAI-PEP's settings of a Monsoon power meter.

    Attributes:
        collection_time: Limit of one recording, seconds.
        voltage: Voltage that it feeds, V.
        disable_usb: Cut the device's USB connection while it records; then reach the device over Wi-Fi.
    """

    collection_time: PositiveFloat | None = None
    voltage: Voltage | None = None
    disable_usb: Flag | None = None


class PowerEntry(MonsoonEntry):
    """Way to meter the energy of a test.

    Attributes:
        method: "software" (the device's rails or battery), "rapl" (processors of hosts) or "monsoon" (external meter).
        baseline: Idling before and after each launch, in which the baseline is metered, seconds; 3 by default.
        window: Least duration of the iterations of a launch, seconds; 3 by default.
        collection_time: Limit of one recording of an external meter, seconds.
        voltage: Voltage that an external meter feeds, V.
        disable_usb: Cut the device's USB connection while an external meter records.
    """

    method: Annotated[PowerMethod, Field(strict=False)] | None = None
    baseline: PositiveFloat | None = None
    window: PositiveFloat | None = None


TokenCount = Annotated[int, Field(ge=1, le=MOST_TOKENS)] | Placeholder
"""Number of tokens, or the placeholder that has it."""


class GenerationEntry(Section):
    """Generation of tokens by a language model. Numbers may be placeholders: "depth": "{depth}".

    Attributes:
        prompt_tokens: Number of tokens of a made-up prompt; 128 by default.
        prompt: Text of the prompt instead; the model needs a file `tokenizer`.
        new_tokens: Number of tokens to generate; 64 by default.
        depth: Number of tokens in the context before the prompt, which are not timed; 0 by default.
        perplexity: Name of a file in `files` with tokens (raw int64) whose perplexity is computed after all timing.
    """

    prompt_tokens: TokenCount | None = None
    prompt: Name | None = None
    new_tokens: TokenCount | None = None
    depth: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | Placeholder | None = None
    perplexity: Name | None = None


Positive = PositiveFloat | Placeholder
"""Number above 0, or the placeholder that has it."""


class ArrivalEntry(Section):
    """Arrival of executions, instead of back to back. Numbers may be placeholders: "every_ms": "{interval}".

    Attributes:
        every_ms: Milliseconds from one execution to the next; at random their mean.
        per_second: Executions per second, instead.
        random: Whether they arrive at random (a Poisson process), instead of at fixed intervals.
        seed: Seed of random intervals.
        deadline_ms: Milliseconds from when an execution is due until it should have ended.
    """

    every_ms: Positive | None = None
    per_second: Positive | None = None
    random: bool = False
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    deadline_ms: Positive | None = None


class SustainedEntry(Section):
    """Long run after the timed launches, in a launch of its own.

    Attributes:
        seconds: How long, 10 at least.
    """

    seconds: Positive


class ModelSection(Section):
    """Model. Further keys with plain values are allowed when a placeholder uses them.

    Attributes:
        name: Its name in results and in the cache.
        format: Its file format, for example "executorch".
        framework: The framework that runs it, for example "executorch" or "generic"; may be an axis: "{framework}".
        files: Its files by name, as {files.NAME}.
        libraries: Libraries that it needs, as {libraries.0} or {libraries.NAME}.
        category: Free text.
        kind: Free text.
        description: Free text.
        group: Reported with the result.
        tags: Words by which its benchmarks can be selected: --only tag:nightly.
        command_args: Text appended to every command that starts {program}.
        platform_args: Defaults for the tests' platform_args.
        backend_options: Defaults for the tests' backend_options.
        timeout: Limit of every program, seconds.
        cooldown: Pause after each benchmark, seconds.
        repeat: Number of times the program is started, at least.
        max_repeat: Largest number of times, where launches are added (see the tests' max_repeat).
        repeat_precision: Precision at which no more are added (see the tests' repeat_precision).
        preprocess: Runs on the host before the first launch.
        postprocess: Runs on the host after the last launch.
        converter: The converter that turns the program's output into metrics.
        log_output: Keep the programs' output in the log.
        platform: The platform that its benchmarks require, for example "android".
        app: An installed app that is started instead of a program.
        data: Data set of the tests that name none.
        same_work: Whether the tests that say nothing of it prove that they do the same work, and how.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]

    name: Name
    format: Name
    framework: Name | None = None
    files: Files | Many[FileEntry] = {}
    libraries: Files | Many[FileEntry] = {}
    category: str | None = None
    kind: str | None = None
    description: str | None = None
    group: str | None = None
    tags: Many[Name] = ()
    command_args: str = ""
    platform_args: PlatformArgs | None = None
    backend_options: dict[Name, Scalar] = {}
    timeout: PositiveFloat | None = None
    cooldown: NonNegativeFloat | None = None
    repeat: Count | None = None
    max_repeat: Count | None = None
    repeat_precision: Share | None = None
    preprocess: Step | None = None
    postprocess: Step | None = None
    converter: Converter | None = None
    log_output: Flag | None = None
    platform: Name | None = None
    app: AppEntry | None = None
    data: Data | None = None
    same_work: bool | SameWorkEntry | None = None


class ProbeEntry(Section):
    """Probe: a tool that observes the program in launches of its own.

    Attributes:
        name: Its name, for example "perf-stat".
        types: What to observe, for example "cpu"; absent means what the probe observes by itself.
        options: Options of the probe by name.
    """

    name: Name
    types: Many[Name] = ()
    options: dict[Name, JsonValue] = {}


class ProfilerEntry(Section):
    """FAI-PEP's profiler of a test.

    Attributes:
        enabled: Whether it is wanted.
        profiler: Its name; absent means FAI-PEP's default for the device and the types.
        types: What to observe: "cpu", "memory", "battery", "gpu".
        options: Options of the profiler by name.
        stat: Count events instead of sampling.
    """

    enabled: Flag = False
    profiler: Name | None = None
    types: Many[Name] = ()
    options: dict[Name, JsonValue] = {}
    stat: Flag = False


class InputEntry(Section):
    """Model input, in one shape or several. Each shape makes a benchmark.

    Attributes:
        shape: Its dimensions.
        shapes: Its dimensions in each benchmark; all inputs of a test list equally many.
        type: Its element type, for example "float".
    """

    shape: Dimensions | None = None
    shapes: Annotated[tuple[Dimensions, ...], Field(strict=False, min_length=1)] | None = None
    type: Name = "float"

    def dimensions(self, shape: int) -> tuple[int, ...]:
        """Return the dimensions in the benchmark with this 0-based number."""
        return self.shapes[shape] if self.shapes is not None else self.shape or ()


class Matrix(Section):
    """Axes whose combinations are benchmarks. Every key except include and exclude is an axis and a placeholder.

    An axis with the name of a test field, for example threads, sets that field.

    Attributes:
        include: Values that belong together, for example a framework with its recipe: each entry names the same axes,
            and is combined with the values of all other axes.
        exclude: Combinations to leave out, given by some of their values.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[tuple[Scalar, ...], Field(strict=False, min_length=1)]]

    include: Many[Annotated[dict[str, Scalar], Field(min_length=1)]] = ()
    exclude: Many[Annotated[dict[str, Scalar], Field(min_length=1)]] = ()


class Test(Section):
    """Test. Further keys with plain values are allowed when a placeholder uses them.

    Attributes:
        metric: The kind of test: "delay", "accuracy", "generic", ...; or a list of kinds, each of which is measured in
            launches of its own where another would disturb it: "delay", "generation", "load_time", "memory", "size",
            "accuracy", "error", "power", "operators", "layers".
        identifier: Its name within the model; {ID} is its number, and axes may be named.
        commands: The command lines; if absent, the framework composes the command.
        command: A single command line, instead of commands.
        arguments: The arguments of {program}, instead of commands.
        iter: Timed iterations of each launch; -1 leaves it to the program.
        warmup: Warm-up iterations of each launch; -1 leaves it to the program.
        min_iter: Minimum number of iterations under a time limit.
        time_limit_s: Limit on the total time of all launches, after which iterating stops, seconds.
        repeat: Number of times the program is started, at least; absent means the model's repeat, else 1.
        max_repeat: Largest number of times: launches are added to repeat until the median is precise. Absent means 30
            under a time limit, and none are added without one; the number of repeat fixes it.
        repeat_precision: Precision at which none are added: half of the median's 95 % interval, relative to it.
            Default: 0.02, which is 2 %.
        threads: Number of threads of the program.
        method: The method of the model to measure, where it has several.
        inputs: The model's inputs by name, in the order of its arguments.
        input_files: Files copied to the device, as {input_files.NAME}.
        output_files: Files fetched from the device, as {output_files.NAME}.
        output_tolerance: Difference between the outputs of two builds that is rounding, relative to the largest
            magnitude of the control's. Default: that of the element type, 1e-4 for "float".
        files: Further files, as {files.NAME}.
        matrix: Axes whose combinations turn this test into several benchmarks.
        preprocess: Runs on the host before each launch.
        postprocess: Runs on the host after each launch.
        platform_args: How the platform starts the program.
        timeout: Limit of the program, seconds.
        env: Variables of its environment.
        log_output: Keep the program's output in the log.
        tags: Words by which it can be selected, in addition to the model's.
        statistics: Further statistics: "mean", "stdev", "MAD", "cv", "min", "max", "n", "p99.9".
        direction: Which direction is better, "lower" or "higher", by metric: {"NET decode_rate": "higher"}.
        operators: Time each operator too. Costs 3 % of a latency of milliseconds, and may double one of a microsecond.
        backend_options: Options of the framework and its backends by name; those of the model, where they differ.
        data: Data set whose examples outputs are compared for, or the name of its provider: "digits".
        scores: Meaning of each output of the model: "logits", "probabilities", "none", or "automatic".
        same_work: Prove that its outputs are those of the eager model with the same weights: true, or with which
            tolerance. One that differs is marked, and takes part in no ranking.
        energy: Measure the energy of each launch too, where the device can. The metric "power" implies it.
        generation: Tokens to generate, where the model is a language model.
        arrival: When executions are asked for; absent, they follow each other back to back.
        sustained: Execute for a long time too, so that the device becomes as warm as it gets.
        cpu_list: CPUs to pin to: a number, "0,2" or "4-7"; 0 or less as a number forbids pinning.
        MKL_NUM_THREADS: That variable; 0 or less leaves it unset.
        OMP_NUM_THREADS: That variable; 0 or less leaves it unset.
        probes: Tools that observe the program in launches of their own, after the timed ones: "perf-stat".
        profiler: FAI-PEP's profiler, a probe.
        power: How to meter the energy, in a test of the metric "power" or "energy".
        monsoon: FAI-PEP's settings of a Monsoon power meter, in a test of the metric "power".
        degrade: Not supported yet.
        collection_time: Limit of one recording of an external power meter, seconds, in a test of the metric "power".
        voltage: Voltage of an external power meter, V, in a test of the metric "power".
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]

    metric: Name | Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    identifier: Name | None = None
    commands: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None = None
    command: Name | None = None
    arguments: str | None = None
    iter: Literal[-1] | Count = -1
    warmup: Annotated[int, Field(ge=-1)] = -1
    min_iter: Count = 1
    time_limit_s: PositiveFloat | None = None
    repeat: Count | None = None
    max_repeat: Count | None = None
    repeat_precision: Share | None = None
    threads: Count | None = None
    method: Name | None = None
    inputs: dict[Name, InputEntry] = {}
    input_files: Files | Many[FileEntry] = {}
    output_files: Outputs = {}
    output_tolerance: Annotated[float, Field(ge=0, lt=1)] | None = None
    files: Files | Many[FileEntry] = {}
    matrix: Matrix | None = None
    preprocess: Step | None = None
    postprocess: Step | None = None
    platform_args: PlatformArgs | None = None
    timeout: PositiveFloat | None = None
    env: dict[Name, Scalar] = {}
    log_output: Flag | None = None
    tags: Many[Name] = ()
    statistics: Many[Name] = ()
    direction: dict[Name, Literal["lower", "higher"]] = {}
    operators: bool = False
    backend_options: dict[Name, Scalar] = {}
    data: Data | None = None
    scores: Many[Annotated[Scores, Field(strict=False)]] = ()
    same_work: bool | SameWorkEntry | None = None
    energy: bool = False
    generation: GenerationEntry | None = None
    arrival: ArrivalEntry | None = None
    sustained: SustainedEntry | None = None
    cpu_list: int | Name | None = Field(None, alias="cpu-list")
    mkl_num_threads: int | None = Field(None, alias="MKL_NUM_THREADS")
    omp_num_threads: int | None = Field(None, alias="OMP_NUM_THREADS")
    probes: Many[Name | ProbeEntry] = ()
    profiler: ProfilerEntry | Flag | None = None
    power: PowerEntry | None = None
    monsoon: MonsoonEntry | bool | None = None
    degrade: JsonValue = None
    collection_time: PositiveFloat | None = None
    voltage: Voltage | None = None

    @property
    def main_metric(self) -> str:
        """The kind of test; the first of a list."""
        return self.metric if isinstance(self.metric, str) else self.metric[0]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of a list."""
        return () if isinstance(self.metric, str) else self.metric

    @property
    def is_metered(self) -> bool:
        """Whether keys about a meter mean something: the test is about energy, or measures it too."""
        return POWER in (self.metric, *self.kinds) or (
            self.power is not None and (self.energy or self.main_metric in ENERGY_TESTS)
        )

    @property
    def meter_keys(self) -> tuple[str, ...]:
        """FAI-PEP's keys about a meter that a test has and that mean something in it."""
        return tuple(key for key in METER_KEYS if getattr(self, key) not in (None, False)) if self.is_metered else ()


METER_KEYS = ("power", "monsoon", "collection_time", "voltage")


class Specification(Section):
    """Model and its tests.

    Attributes:
        model: The model.
        tests: Its tests.
        schema_: The JSON Schema, for editors.
        default_args: Defaults of command-line flags, in the file that -b names.
    """

    schema_: str | None = Field(None, alias="$schema")
    model: ModelSection
    tests: Annotated[tuple[Test, ...], Field(strict=False, min_length=1)]
    default_args: dict[str, JsonValue] = {}


class SpecificationList(Section):
    """List of specifications.

    Attributes:
        benchmarks: Files of specifications or of further lists, relative to this file.
        meta: Defaults for every model; other keys are reported with the results.
        schema_: The JSON Schema, for editors.
        default_args: Defaults of command-line flags, in the file that -b names.
    """

    schema_: str | None = Field(None, alias="$schema")
    benchmarks: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    meta: dict[str, JsonValue] = {}
    default_args: dict[str, JsonValue] = {}


def scalar_members(section: ModelSection | Test) -> Mapping[str, Scalar]:
    """Return every plain value of a section, by the name of its placeholder."""
    fields = type(section).model_fields
    given = {
        (fields[name].alias or name): getattr(section, name) for name in fields if name in section.model_fields_set
    }
    return {
        key: value
        for key, value in {**given, **section.__pydantic_extra__}.items()
        if isinstance(value, str | bool | int | float) and key not in _TEMPLATES
    }


_TEMPLATES = ("command", "arguments", "command_args", "data")
"""Values that contain placeholders and are not the value of one: command lines, and the name of a data set."""

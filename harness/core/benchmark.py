"""A benchmark: one test after expansion. The unit that is planned, measured and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import JsonValue

from harness.core.command import App
from harness.core.metric import Direction
from harness.core.placeholders import names_in
from harness.core.values import Scalar, Value

POWER: Final = "power"
"""FAI-PEP's word for a test that is about energy: without any it has failed."""


class Origin(Value):
    """Where in which specification something stands; error messages quote it.

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
    """One model input.

    Attributes:
        name: The input's name (FAI-PEP's blob name); the order of a test's inputs is the order of the arguments.
        shape: Its dimensions.
        dtype: `float`, `half`, `double`, `int8`, `uint8`, `int16`, `int`, `int64`, `bool`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float"


class Export(Value):
    """Everything that determines an exported program, but for versions.

    Attributes:
        definition: A built-in model's name, or `package.module:function`.
        recipe: How it is lowered, for example `xnnpack_q8`.
        inputs: Example inputs; empty means the definition's own.
        seed: Seed of weights, example inputs and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        options: Keyword arguments for the definition.
    """

    definition: str
    recipe: str
    inputs: tuple[Input, ...] = ()
    seed: int = 0
    calibration: int = 8
    options: dict[str, Scalar] = {}


class ModelFile(Value):
    """A file that a benchmark needs, as the specification names it.

    Attributes:
        key: Its placeholder, for example `files.model` or `input_files.image`.
        filename: Its name in the cache and on the device; a plain relative path, checked.
        location: An http(s) URL or an absolute path; a template when the file is made by a step before the launch
            (`{HOSTDIR}/image.bin`); None when the file is exported.
        md5: The promised MD5, lower-case hex; `directory` for a folder; None where the specification promises none.
        export: How to make the file, instead of a location.
        origin: Where the specification says so.
    """

    key: str
    filename: str
    location: str | None = None
    md5: str | None = None
    export: Export | None = None
    origin: Origin

    @property
    def made_later(self) -> bool:
        """Whether a step before the launch makes it, so that no cache can have it."""
        return self.location is not None and bool(names_in(self.location))


class OutputFile(Value):
    """A file that the program writes on the device and that is fetched afterwards.

    Attributes:
        key: `output_files.NAME`.
        filename: Its name on the host.
        location: Template of its path on the device; usually `{TGTDIR}/...`.
        converter: Name of the parser that turns it into metrics, if any.
        converter_args: That parser's options.
    """

    key: str
    filename: str
    location: str
    converter: str | None = None
    converter_args: dict[str, JsonValue] = {}


class HostStep(Value):
    """Commands that run on the host before or after a benchmark.

    Attributes:
        files: Programs and data the commands use; programs are made executable.
        commands: Command-line templates, in order.
        timeout_s: Limit of each command.
    """

    files: tuple[ModelFile, ...] = ()
    commands: tuple[str, ...] = ()
    timeout_s: float | None = None


class Model(Value):
    """The model part of a benchmark."""

    name: str
    format: str
    category: str | None = None
    kind: str | None = None
    description: str | None = None
    group: str | None = None


class Benchmark(Value):
    """One test after expansion over shapes and matrix.

    Attributes:
        id: `{ID}`: 0-based number of the expanded test in its specification.
        identifier: Its name within the model, for example `mv2-xnnpack_q8-t1`.
        metric: What kind of test it is: `delay`, `accuracy`, `generic`, ...
        framework: Name of the framework plug-in.
        axes: The matrix entry it came from.
        inputs: One shape of each model input.
        threads: Threads the runner shall use; None leaves it to the program.
        warmup: Warm-up iterations of each launch; -1 leaves it to the program.
        iterations: Timed iterations of each launch; -1 leaves it to the program.
        min_iterations: With a time limit: iterate at least so often.
        time_limit_s: Stop iterating when all launches of the benchmark together took so long; None is no limit.
        launches: How often the program is started (FAI-PEP's `repeat`).
        commands: Command-line templates; empty means that the framework composes the command.
        arguments: Text appended to each command that starts the program (`command_args`).
        cpus: Explicit CPU list; `()` means no pinning; None leaves the choice to the platform.
        sleep_before_run_s: Pause on the device before each launch.
        app: The application that is started in place of a program.
        platform: The kind of device that it needs; None takes any.
        tags: Words by which it can be chosen.
        statistics: Names of further statistics, beside the standard ones.
        direction: Which way is better, for metrics whose names do not tell; by whole name or without the type.
        operators: Whether each operator is timed too; that costs a little.
        energy: Whether the energy of each launch is measured too.
        variables: Every scalar of test, model and matrix that a placeholder may name, as text.
        meta: Free values of list files and command line, reported with the result.
    """

    id: int
    model: Model
    identifier: str
    metric: str
    framework: str
    axes: dict[str, Scalar] = {}
    inputs: tuple[Input, ...] = ()
    threads: int | None = None
    warmup: int = -1
    iterations: int = -1
    min_iterations: int = 1
    time_limit_s: float | None = None
    launches: int = 1
    timeout_s: float = 300.0
    cooldown_s: float = 0.0
    files: tuple[ModelFile, ...] = ()
    input_files: tuple[ModelFile, ...] = ()
    output_files: tuple[OutputFile, ...] = ()
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
    energy: bool = False
    variables: dict[str, str] = {}
    meta: dict[str, JsonValue] = {}
    origin: Origin
    digest: str
    """SHA-256 of the benchmark's own definition: equal digests are the same benchmark."""

    @property
    def title(self) -> str:
        """How a person names it."""
        return f"{self.model.name}/{self.identifier}"

    def cached_files(self) -> tuple[ModelFile, ...]:
        """Every file that must be in the cache before it can run."""
        steps = (self.model_before, self.model_after, self.before, self.after)
        files = (*self.files, *self.input_files, *(file for step in steps for file in step.files))
        return tuple(file for file in files if not file.made_later)

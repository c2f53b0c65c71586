"""Frameworks: kinds of runners, and what a framework may offer beside its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:  # commands that measure nothing load no evaluation and no measurement
    from harness.core.benchmark import Benchmark, Export
    from harness.core.build import Build
    from harness.core.cached_files import CachedFile, ExportReport
    from harness.core.command import Command, Completed
    from harness.core.device import Device
    from harness.core.errors import EnvironmentProblem
    from harness.core.evaluation import LayerGaps
    from harness.core.examples import Stage, TensorInfo
    from harness.core.measurement import Job
    from harness.core.metric import Metric, Observation
    from harness.core.note import Note
    from harness.core.program_graph import OperatorIdentity
    from harness.core.protocols.progress import Progress, Task


class Framework(Protocol):
    """A kind of runner: how to build it, start it, and parse its output."""

    name: str

    def build(self, device: Device, progress: Progress) -> Build:
        """Return the installed runner for this kind of device, built on first use and then cached.

        Raises:
            BuildFailed: There is none and it cannot be built; the hint says what to install.
        """

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        """Return the command of a benchmark that has no commands of its own. Pure.

        Args:
            benchmark: The benchmark. Its `time_limit_s` is the time that remains for this launch.
            build: The runner.
            files: Path on the device by key: files (`files.model`, `input_files.X`), outputs to be written
                (`output_files.X`), programs (`program`).

        Raises:
            BenchmarkUnsupported: This framework cannot run it.
            BenchmarkFailed: The specification has a mistake that its author can correct.
        """

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Parse the output of one launch, also of a failed one. Never raises, whatever a program printed. Pure."""


@runtime_checkable
class StepParser(Protocol):
    """A framework that knows that steps on the host are no runners: what else they print is no mistake.

    The output of steps is read by `Framework.parse` where a framework does not have this.
    """

    def parse_step(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Parse what the commands of one step printed. Never raises, whatever they printed. Pure."""


@runtime_checkable
class Interleavable(Protocol):
    """A framework whose runners can be interleaved with another process: they iterate on request, idle in between.

    Such a runner loads, warms up, and says `ready`. For each line `run N` of its standard input it makes N timed
    iterations and says `done N`. At a line `end`, or at the end of its standard input, it prints everything that it
    prints when it runs alone, and ends. Until then it writes nothing else to standard output.

    Of a test that generates the line is `run N by K`: after the first token of each generation and after every K
    further ones, as long as others follow, it says `paused` and waits for a line `go on`. That time is in no stamp.
    `run N by K after R` asks for the prompt R times before each generation, each time until its first token and with a
    pause after it, and for the stamps of these too.
    """

    def interleaved_command(self, command: Command) -> Command:
        """Return the command that starts the same runner interleaved. Pure.

        The runner itself shows whether it can: one that cannot ends, or fails, without having said `ready`.
        """


@runtime_checkable
class DuetCapable(Protocol):
    """An `Interleavable` framework whose runners can also play a duet: two work at once on one CPU.

    Both get the same requests, and the kernel lets each have the CPU for some milliseconds, in turn. So the wall clock
    times that such a runner reports leave out the time in which its thread could have run and waited for the CPU.
    """

    def duet_command(self, command: Command) -> Command:
        """Return the command that starts the same runner for a duet. Pure.

        The runner itself shows whether it can: one that cannot ends, or fails, without having said `ready`.
        """


@runtime_checkable
class Exporter(Protocol):
    """A framework that can also export model files."""

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Return everything beside the request that determines the bytes: versions, digests of sources.

        Fast: imports nothing heavy.

        Raises:
            ExportFailed: No such definition or recipe (the hint lists those that exist), or it cannot be loaded.
        """

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        """Write the model file to `destination` in a process of its own, and return how it was made.

        Raises:
            ExportFailed: With the last line of the process, and a remedy.
            EnvironmentProblem: A package that it needs is not installed.
        """


@runtime_checkable
class ExportChecking(Protocol):
    """An exporter that tells what is wrong with a request sooner than its fingerprint does."""

    def check_export(self, export: Export) -> None:
        """Check that definition and recipe exist. Takes no digests: a checkpoint may have gigabytes.

        Raises:
            ExportFailed: As of `Exporter.fingerprint`.
        """


@runtime_checkable
class CalibratedExporting(Protocol):
    """An exporter that calibrates with given examples, instead of random numbers."""

    def export_calibrated(self, export: Export, calibration: Path, destination: Path, progress: Task) -> ExportReport:
        """Do as `Exporter.export` does, with calibration data.

        Args:
            export: The request. It takes `calibration` examples, each a batch in the shape of the example inputs.
            calibration: The example folder (`harness.core.examples`). Its content is part of the cache key; the
                fingerprint of the exporter need not count it.
            destination: The file to write.
            progress: Told what happens.

        Raises:
            ExportFailed: With the last line of the process, and a remedy.
        """


@runtime_checkable
class PackageChecking(Protocol):
    """A framework that needs packages which an installation may lack.

    Both look at metadata and import nothing: they are asked before anything that takes long.
    """

    def find_runner_problem(self) -> EnvironmentProblem | None:
        """Return what is missing to get the installed runner, with the command that installs it; None if nothing."""

    def find_export_problem(self, export: Export) -> EnvironmentProblem | None:
        """Return what is missing to export a model, likewise.

        Raises:
            ExportFailed: No such definition or recipe, or it cannot be loaded.
        """


@runtime_checkable
class BackendOptionChecking(Protocol):
    """A framework that takes options of its backends. Others refuse all."""

    def check_backend_options(self, benchmark: Benchmark) -> None:
        """Check the names and values of `Benchmark.backend_options`. Pure.

        Raises:
            BenchmarkUnsupported: One is unknown, or has a value that it cannot have; the hint lists what there is.
        """


@runtime_checkable
class Generating(Protocol):
    """A framework whose own commands generate tokens. Others refuse tests with a `generation` block."""

    def check_generation(self, benchmark: Benchmark) -> None:
        """Check what a test without commands asks for. Pure.

        Raises:
            BenchmarkUnsupported: It cannot be had.
        """

    def make_prompt(self, benchmark: Benchmark, files: Mapping[str, CachedFile]) -> Path | None:
        """Return a file with the tokens of a prompt that is a text, raw little-endian int64; None for no such prompt.

        It is copied to the device, and its path given to `Framework.command` under the key `generation.prompt`.

        Args:
            benchmark: The benchmark.
            files: Its files by key, of which `files.tokenizer` makes the tokens.

        Raises:
            BenchmarkFailed: It makes none.
            EnvironmentProblem: A package is missing, or the file cannot be written.
        """


@runtime_checkable
class RunnerSources(Protocol):
    """A framework that comes with the sources of a runner of its own, which build recipes may compile."""

    def runner_sources(self) -> Path | None:
        """Return the folder of these sources; None when this installation lacks them."""


@runtime_checkable
class OptionReader(Protocol):
    """A framework that finds in a finished runner which options it was compiled with."""

    def read_options(self, build: Build) -> Mapping[str, str]:
        """Return the options that the programs of a build show, by name; nothing of what they do not show.

        The runner is not started. What its recipe recorded (`Build.options`) is preferred.
        """

    def explain_options(self, names: Collection[str]) -> str | None:
        """Return how two runners that differ in these options can be had alike; None where nothing is known."""


@runtime_checkable
class OperatorIdentification(Protocol):
    """A framework that knows which nodes of the model's graph the operators are that its runner timed."""

    def identify_operators(
        self, metrics: Sequence[Metric], files: Mapping[str, CachedFile]
    ) -> Sequence[OperatorIdentity]:
        """Return one identity for each operator, in their order; empty where they cannot be told. Never guesses.

        Args:
            metrics: All metrics of a result.
            files: The files that it was measured with.
        """


@runtime_checkable
class RunnerSubstituting(Protocol):
    """A framework with several runners, of which the installed one cannot execute every program."""

    def substitute_runner(self, build: Build, benchmark: Benchmark, files: Mapping[str, CachedFile]) -> Build:
        """Return the runner of a benchmark: `build`, or another one where the program needs what that lacks.

        Args:
            build: The runner of the device, from wherever it came.
            benchmark: The benchmark.
            files: Its files by key.

        Raises:
            BuildFailed: The other one cannot be made.
        """


@runtime_checkable
class LayoutLinking(Protocol):
    """A framework whose installed runner can be linked in other layouts: its objects in another order, with padding."""

    def link_layouts(self, build: Build, count: int, progress: Progress) -> Build:
        """Return the build with so many further programs (`harness.files.programs.layout_name`), and its own digest.

        Args:
            build: The installed runner.
            count: Number of layouts, at least one.
            progress: Told what happens.

        Raises:
            BuildFailed: This runner cannot be linked again, or not here.
        """


@runtime_checkable
class ReferenceMaking(Protocol):
    """A framework that computes the outputs of a model's origin on this machine, to compare those of a device with."""

    def reference_stages(self, export: Export) -> Sequence[Stage]:
        """Return the stages whose outputs it can compute for an export; `quantised` only where its recipe quantises.

        Fast: imports nothing heavy.

        Raises:
            ExportFailed: No such definition or recipe.
        """

    def make_references(
        self,
        export: Export,
        examples: Path,
        stages: Sequence[Stage],
        destination: Path,
        progress: Task,
        *,
        calibration: Path | None = None,
    ) -> None:
        """Compute outputs for an example folder, in a process of its own.

        Args:
            export: The request of the program; eager and exported stages do not depend on its recipe.
            examples: The example folder (`harness.core.examples`).
            stages: The stages to compute.
            destination: An existing folder; `destination / stage` becomes an output folder for each of them.
            progress: Told what happens.
            calibration: Folder of the examples that the program was calibrated with, if it was.

        Raises:
            ExportFailed: With the last line of the process, and a remedy.
            EnvironmentProblem: A package that it needs is not installed.
        """


@runtime_checkable
class LayerComparing(Protocol):
    """A framework that compares intermediate outputs of a lowered program with those of its origin, on this machine."""

    def compare_layers(
        self,
        export: Export,
        examples: Path,
        progress: Task,
        *,
        calibration: Path | None = None,
        limit: int = 8,
    ) -> LayerGaps:
        """Compare layer by layer, in a process of its own.

        A recipe that does not show the program that it lowers has no gaps, for which the result gives the reason.

        Args:
            export: The request of the program.
            examples: The example folder.
            progress: Told what happens.
            calibration: Folder of the examples that the program was calibrated with, if it was.
            limit: Number of examples at most, from the first on.

        Raises:
            ExportFailed: With the last line of the process, and a remedy.
            EnvironmentProblem: A package that it needs is not installed.
        """


class StagedExamples(Struct, frozen=True):
    """Examples on a device.

    Attributes:
        inputs: For each input of the model the file with that input of all examples.
        outputs: Beginning of the paths that the runner writes: `OUTPUTS-0.bin`, ...
        count: Number of examples.
    """

    inputs: tuple[str, ...]
    outputs: str
    count: int


@runtime_checkable
class InputDescribing(Protocol):
    """A framework that finds the inputs of a program in its file."""

    def describe_inputs(self, job: Job) -> Sequence[TensorInfo]:
        """Return the description of each input in one example, in the order of the program's arguments.

        Raises:
            BenchmarkFailed: The file cannot be read.
            BenchmarkUnsupported: An input is no tensor, or of a type that cannot be fed.
        """


@runtime_checkable
class ExampleRunning(Protocol):
    """A framework whose runner executes examples of files, and writes the outputs of each."""

    def examples_per_launch(self, build: Build) -> int | None:
        """Return the largest number of examples that a launch of this runner takes; None where there is no limit. Pure.

        Raises:
            BenchmarkUnsupported: It takes none.
        """

    def examples_command(
        self,
        benchmark: Benchmark,
        build: Build,
        files: Mapping[str, str],
        examples: StagedExamples,
    ) -> Command:
        """Return the command that executes each example once. Pure.

        Args:
            benchmark: The benchmark.
            build: The runner.
            files: As for `Framework.command`.
            examples: The examples on the device.

        Raises:
            BenchmarkUnsupported: This runner cannot.
        """

    def parse_outputs(self, completed: Completed, job: Job) -> Sequence[TensorInfo]:
        """Return the description of each output in one example, from what the launch said, or from the model's file.

        Args:
            completed: The launch, which succeeded.
            job: What was launched, with its files on this machine.

        Raises:
            BenchmarkFailed: Outputs are not described in a way that can be read.
        """

"""Framework whose models our runner executes in Python: an engine, an exporter, and what only it knows.

A framework is a value of `PythonFrameworkParts`; everything that is the same for all of them is here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from frameworks import command_line, packages
from frameworks.backend_options import BackendOption, check_options, option_words
from frameworks.exporting.exporter import FileExporter
from frameworks.notes import find_observation, note_launch
from frameworks.observations.converters import Parsed, parse_files, parse_step
from frameworks.observations.observer import parse_lines
from frameworks.output_descriptions import read_descriptions
from frameworks.python_build import python_build
from frameworks.references import maker
from harness.config.settings import Settings
from harness.core import DEFAULT_PLATFORM
from harness.core.benchmark import Benchmark, Export
from harness.core.build import Build
from harness.core.cached_files import ExportReport
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.examples import Stage, TensorInfo
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Finding, Progress, StagedExamples, Task
from harness.files.distributions import find_version
from harness.files.programs import prebuilt

ReadOutput = Callable[[Sequence[Completed], Benchmark], Parsed]
"""Reads what a framework's own tools print, where a launch printed no observer lines."""

MakeNotes = Callable[[Sequence[Observation], Benchmark], Sequence[Note]]
"""Returns notes of a framework on the observations of a launch."""


ComposeTool = Callable[[Benchmark, Build, Mapping[str, str]], Command | None]
"""Composes the command line of a framework's own tool, where the build is that; None where it is our runner."""


def _compose_nothing(benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command | None:  # noqa: ARG001 - a ComposeTool
    return None


def _read_nothing(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:  # noqa: ARG001 - a ReadOutput
    return (), ()


def _note_nothing(observations: Sequence[Observation], benchmark: Benchmark) -> Sequence[Note]:  # noqa: ARG001 - MakeNotes
    return ()


class PythonFrameworkParts(Struct, frozen=True):
    """What only one framework knows.

    Attributes:
        name: Name of the plug-in.
        engine: Its engine: `package.module:NAME`.
        sources: Folder of the engine's sources.
        runtime: Packages that the engine imports; the version of the first is that of the framework.
        exporter: Makes its model files.
        options: Options of its backends.
        extras: Extra that brings a package, where it is not that of `frameworks.packages.EXTRAS`.
        read_output: Reads what its own tools print.
        make_notes: Notes on a launch beside those of every framework.
        compose_tool: Starts its own tool, where the user gave that and the test has no commands.
    """

    name: str
    engine: str
    sources: Path
    runtime: tuple[str, ...]
    exporter: FileExporter
    options: tuple[BackendOption, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    read_output: ReadOutput = _read_nothing
    make_notes: MakeNotes = _note_nothing
    compose_tool: ComposeTool = _compose_nothing


class PythonFramework:
    """Framework plug-in around an engine.

    Implements `Framework`, `StepParser`, `DuetCapable`, `Exporter`, `ExportChecking`, `CalibratedExporting`,
    `PackageChecking`, `ReferenceMaking`, `ExampleRunning`, `BackendOptionChecking` and `Diagnosable` of
    `harness.core.protocols`.

    Args:
        parts: What only this framework knows.
        settings: The settings.
    """

    def __init__(self, parts: PythonFrameworkParts, settings: Settings) -> None:
        self.name = parts.name
        self._parts = parts
        self._settings = settings

    def build(self, device: Device, progress: Progress) -> Build:  # noqa: ARG002 - it takes no time
        """Return the runner of the installed version, or the programs that the user gave."""
        if self._settings.program:
            return prebuilt(self._settings.program)
        if device.platform != DEFAULT_PLATFORM:
            raise BuildFailed(
                f"the Python runner of {self.name} runs on this machine only, not on {device.name}",
                hint="give a program that was made for the device (--program PATH), with `commands` in the test",
            )
        return self._python_build()

    def _python_build(self) -> Build:
        parts = self._parts
        return python_build(self._settings.cache_dir, parts.engine, parts.sources, parts.runtime, extras=parts.extras)

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        """Compose the command line of our runner, or of the framework's own tool."""
        self.check_backend_options(benchmark)
        tool = self._parts.compose_tool(benchmark, build, files)
        return tool or command_line.compose(benchmark, files, words=option_words(benchmark))

    def interleaved_command(self, command: Command) -> Command:
        """Return the command that starts the same runner interleaved."""
        return command_line.interleaved_command(command)

    def duet_command(self, command: Command) -> Command:
        """Return the command that starts the same runner for a duet."""
        return command_line.duet_command(command)

    def check_backend_options(self, benchmark: Benchmark) -> None:
        """Check the options that a benchmark names.

        Raises:
            BenchmarkUnsupported: One is unknown, or has a value that it cannot have.
        """
        check_options(benchmark, self.name, self._parts.options)

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse observer lines, or what the framework's own tools print, then output files that have a converter."""
        text = "\n".join(output for command in completed for output in (command.stdout, command.stderr))
        observations, notes = parse_lines(text)
        if find_observation(observations, "NET latency") is None:
            printed, problems = self._parts.read_output(completed, benchmark)
            observations, notes = (*observations, *printed), (*notes, *problems)
        parsed, problems = parse_files(completed, benchmark)
        observations = (*observations, *parsed)
        own = self._parts.make_notes(observations, benchmark)
        return observations, (*notes, *problems, *note_launch(observations, benchmark), *own)

    def parse_step(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the observer lines of a step on the host."""
        return parse_step(completed, benchmark)

    def examples_per_launch(self, build: Build) -> int | None:  # noqa: ARG002 - the seam's
        """Return that there is no limit."""
        return None

    def examples_command(
        self,
        benchmark: Benchmark,
        build: Build,  # noqa: ARG002 - the seam's
        files: Mapping[str, str],
        examples: StagedExamples,
    ) -> Command:
        """Compose the command line that executes each example once."""
        self.check_backend_options(benchmark)
        return command_line.compose_examples(benchmark, files, examples, words=option_words(benchmark))

    def parse_outputs(self, completed: Completed, job: Job) -> Sequence[TensorInfo]:  # noqa: ARG002 - the seam's
        """Parse the observer lines that describe outputs."""
        return read_descriptions(completed)

    def check_export(self, export: Export) -> None:
        """Check that definition and recipe exist."""
        self._parts.exporter.check(export)

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Return everything beside the request that determines a model file."""
        return self._parts.exporter.fingerprint(export)

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        """Write the model file to `destination`."""
        return self._parts.exporter.export(export, destination, progress)

    def export_calibrated(self, export: Export, calibration: Path, destination: Path, progress: Task) -> ExportReport:
        """Make a model file, calibrated with the examples of a folder."""
        return self._parts.exporter.export(export, destination, progress, calibration=calibration)

    def reference_stages(self, export: Export) -> Sequence[Stage]:
        """Return the stages before lowering whose outputs can be computed for an export."""
        return maker.reference_stages(self._parts.exporter, export)

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
        """Compute the outputs of stages before lowering."""
        maker.make_references(
            self._parts.exporter,
            export,
            examples=examples,
            stages=stages,
            destination=destination,
            progress=progress,
            calibration=calibration,
        )

    def find_runner_problem(self) -> EnvironmentProblem | None:
        """Return which package is missing to run models here."""
        purpose = f"run models of {self.name}"
        return None if self._settings.program else self._find_missing(self._parts.runtime, purpose)

    def find_export_problem(self, export: Export) -> EnvironmentProblem | None:
        """Return which packages are missing to make a model file."""
        return self._parts.exporter.find_problem(export)

    def diagnose(self) -> Sequence[Finding]:
        """Examine what measuring and exporting need. Imports none of it."""
        exporter = self._parts.exporter
        names = tuple(dict.fromkeys((*self._parts.runtime, *exporter.required)))
        recipes = Finding(f"{self.name} recipes", True, ", ".join(exporter.recipes.names()) or "none")
        return (*(self._examine(name) for name in names), recipes)

    def _examine(self, package: str) -> Finding:
        version = find_version(package)
        if version is not None:
            return Finding(package, True, version)
        purpose = "run" if package in self._parts.runtime else "export"
        remedy = packages.install_command(package, extras=self._parts.extras)
        return Finding(package, None, f"not installed: needed to {purpose} models of {self.name}", remedy)

    def _find_missing(self, names: Collection[str], purpose: str) -> EnvironmentProblem | None:
        return packages.find_missing(names, purpose, self._parts.extras)

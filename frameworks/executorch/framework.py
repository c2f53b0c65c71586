"""ExecuTorch as a framework: the plug-in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from frameworks import command_line, packages
from frameworks.backend_options import check_options
from frameworks.executorch import executor_runner, llama_main, llm_report, openvino, required
from frameworks.executorch.llm_runner import command_line as llm_command_line
from frameworks.executorch.notes import note_launch
from frameworks.executorch.options import LLM, ExecuTorchOptions
from frameworks.executorch.runners import native
from frameworks.notes import find_observation
from frameworks.observations.converters import parse_files, parse_step
from frameworks.observations.observer import parse_lines
from harness.config.settings import Settings
from harness.core import DEFAULT_PLATFORM
from harness.core.benchmark import Benchmark, Export
from harness.core.build import PREBUILT, Build
from harness.core.cached_files import CachedFile, ExportReport
from harness.core.command import Command, Completed
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, BuildFailed, EnvironmentProblem
from harness.core.generation import TOKENIZER
from harness.core.metric import Metric, Observation
from harness.core.note import Note
from harness.core.protocols import Finding, Progress, StagedExamples, Task

if TYPE_CHECKING:  # checking a specification loads no result
    from harness.core.evaluation import LayerGaps
    from harness.core.examples import Stage, TensorInfo
    from harness.core.measurement import Job
    from harness.core.program_graph import OperatorIdentity


class ExecuTorch:
    """Framework plug-in.

    Implements `Framework`, `StepParser`, `DuetCapable`, `Exporter`, `ExportChecking`, `CalibratedExporting`,
    `RunnerSources`, `RunnerSubstituting`, `OptionReader`, `LayoutLinking`, `OperatorIdentification`, `PackageChecking`,
    `ReferenceMaking`, `LayerComparing`, `ExampleRunning`, `BackendOptionChecking`, `Generating` and `Diagnosable` of
    `harness.core.protocols`.
    """

    name = "executorch"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._builds: dict[str, Build] = {}

    def build(self, device: Device, progress: Progress) -> Build:
        """Return the runner of the installed version, made on first use, or the programs that the user gave."""
        from frameworks.executorch.runners import choice  # noqa: PLC0415 - only what is started needs it

        if self._settings.program or device.platform == DEFAULT_PLATFORM:
            key, make = "", choice.installed_build
        else:
            key, make = f"{device.os} {device.abi}", partial(choice.device_build, device=device)
        if key not in self._builds:
            self._builds[key] = make(self._settings, progress)
        return self._builds[key]

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        """Compose the command line of our runners, of upstream's `executor_runner` or `llama_main`, or of its apps."""
        if benchmark.app is not None:
            from frameworks.executorch import benchmark_app, minibench  # noqa: PLC0415 - only apps need them

            compose = benchmark_app.compose if benchmark.app.tests else minibench.compose
            return compose(benchmark, benchmark.app, files)
        if executor_runner.flags_of(build) is not None:
            return executor_runner.compose(benchmark, build, files)
        if llama_main.flags_of(build) is not None:
            return llama_main.compose(benchmark, build, files)
        if build.recipe == LLM:
            return llm_command_line.compose(benchmark, files)
        return command_line.compose(benchmark, files, openvino.environment(build), openvino.precision_words(benchmark))

    def interleaved_command(self, command: Command) -> Command:
        """Return the command that starts the same runner interleaved."""
        return command_line.interleaved_command(command)

    def duet_command(self, command: Command) -> Command:
        """Return the command that starts the same runner for a duet."""
        return command_line.duet_command(command)

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Parse observer lines or the log of upstream's programs, then output files that have a converter."""
        if benchmark.app is not None and not benchmark.commands:
            if not completed or not completed[-1].ok:
                return (), ()
            from frameworks.executorch import benchmark_app, minibench  # noqa: PLC0415 - only apps need them

            text = completed[-1].stdout
            return benchmark_app.parse(text, benchmark) if benchmark.app.tests else minibench.parse(text)
        text = "\n".join(output for command in completed for output in (command.stdout, command.stderr))
        observations, notes = parse_lines(text)
        if find_observation(observations, "NET latency") is None:
            warmup = executor_runner.warmup_executions(benchmark)
            logged = executor_runner.parse_log(text, warmup)
            observations, notes = (*observations, *logged), (*notes, *executor_runner.note_log(logged, warmup))
        observations = (*observations, *llm_report.parse_report(text, observations))
        if completed:
            observations = (*observations, *llama_main.parse_text(completed[-1].stdout, observations, benchmark))
        parsed, problems = parse_files(completed, benchmark)
        observations += parsed
        return observations, (*notes, *problems, *note_launch(observations, benchmark))

    def check_backend_options(self, benchmark: Benchmark) -> None:
        """Check the options that a benchmark names."""
        check_options(benchmark, self.name, openvino.OPTIONS)

    def check_generation(self, benchmark: Benchmark) -> None:
        """Refuse apps, whose benchmarks execute once per iteration."""
        if benchmark.app is not None:
            raise BenchmarkUnsupported("the app cannot generate tokens", hint="leave out `app`, or `generation`")

    def make_prompt(self, benchmark: Benchmark, files: Mapping[str, CachedFile]) -> Path | None:
        """Return a file with the tokens of a prompt that is a text, made by the tokenizer of the model.

        `llama_main` makes them itself.
        """
        if benchmark.generation is None or benchmark.generation.prompt is None:
            return None
        given = Build(source=PREBUILT, commit="", programs=self._settings.program or {})
        if llama_main.flags_of(given) is not None:
            return None
        from frameworks.executorch import tokenizers  # noqa: PLC0415 - only texts need it

        return tokenizers.write_prompt(benchmark.generation.prompt, files[TOKENIZER].path, self._settings.cache_dir)

    def examples_per_launch(self, build: Build) -> int | None:
        """Return one for upstream's `executor_runner`; our runners take any number."""
        from frameworks.executorch import examples_run  # noqa: PLC0415 - only evaluations need it

        return examples_run.examples_per_launch(build)

    def examples_command(
        self, benchmark: Benchmark, build: Build, files: Mapping[str, str], examples: StagedExamples
    ) -> Command:
        """Compose the command line that executes each example once."""
        from frameworks.executorch import examples_run  # noqa: PLC0415 - only evaluations need it

        return examples_run.compose(benchmark, build, files, examples)

    def parse_outputs(self, completed: Completed, job: Job) -> Sequence[TensorInfo]:
        """Parse the observer lines that describe outputs, or read the description of those in the program's file."""
        from frameworks.executorch import examples_run  # noqa: PLC0415 - only evaluations need it

        return examples_run.parse_outputs(completed, job)

    def describe_inputs(self, job: Job) -> Sequence[TensorInfo]:
        """Return the description of each input of a program."""
        from frameworks.executorch import examples_run  # noqa: PLC0415 - only evaluations need it

        return examples_run.describe_inputs(job)

    def parse_step(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        """Parse the observer lines of a step on the host."""
        return parse_step(completed, benchmark)

    def substitute_runner(self, build: Build, benchmark: Benchmark, files: Mapping[str, CachedFile]) -> Build:
        """Return the Python runner for a program with operators of language models, which the native one lacks."""
        from frameworks.executorch.runners import choice  # noqa: PLC0415 - only what is started needs it

        if benchmark.commands or benchmark.app is not None:
            return build
        try:
            model = files.get(command_line.model_key(benchmark))
        except BenchmarkFailed:  # as composing the command will say
            return build
        return build if model is None else choice.substitute_build(build, self._settings, model.path)

    def runner_sources(self) -> Path | None:
        """Return the folder of the native runner's sources.

        Raises:
            BuildFailed: Another runner is asked for, of which there is only that of the installed release.
        """
        if (runner := self._settings.of(ExecuTorchOptions).runner) in {"python", LLM}:
            raise BuildFailed(
                f"--runner {runner}: commits and other releases are built as native runners",
                hint="leave out --runner; it chooses among those of the installed release",
            )
        return native.SOURCES if native.SOURCES.is_dir() else None

    def link_layouts(self, build: Build, count: int, progress: Progress) -> Build:
        """Return the native runner of this machine with further layouts."""
        return native.link_layouts(build, count, self._settings.cache_dir, progress)

    def read_options(self, build: Build) -> Mapping[str, str]:
        """Return the options that the bytes of a runner and of its libraries show."""
        from frameworks.executorch import build_options  # noqa: PLC0415 - only comparisons need it

        return build_options.read_options(build)

    def explain_options(self, names: Collection[str]) -> str | None:
        """Return how two runners that differ in these options can be had alike."""
        from frameworks.executorch import build_options  # noqa: PLC0415 - only comparisons need it

        return build_options.explain_options(names)

    def identify_operators(
        self, metrics: Sequence[Metric], files: Mapping[str, CachedFile]
    ) -> Sequence[OperatorIdentity]:
        """Return what each operator is in the model, as the export of its program wrote it down."""
        from frameworks.executorch import identification  # noqa: PLC0415 - only profiles need it

        programs = (file.path for file in files.values() if file.report is not None)
        found = (identification.identify_operators(metrics, program) for program in programs)
        return next((identities for identities in found if identities), ())

    def check_export(self, export: Export) -> None:
        """Check that definition and recipe exist."""
        from frameworks.executorch.exporting import exporter  # noqa: PLC0415 - only exports need it

        exporter.EXPORTER.check(export)

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Return everything beside the request that determines an exported program."""
        from frameworks.executorch.exporting import exporter  # noqa: PLC0415 - only exports need it

        return exporter.EXPORTER.fingerprint(export)

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        """Write the program to `destination`."""
        from frameworks.executorch.exporting import exporter  # noqa: PLC0415 - only exports need it

        return exporter.EXPORTER.export(export, destination, progress)

    def export_calibrated(self, export: Export, calibration: Path, destination: Path, progress: Task) -> ExportReport:
        """Make a program, calibrated with the examples of a folder."""
        from frameworks.executorch.exporting import exporter  # noqa: PLC0415 - only exports need it

        return exporter.EXPORTER.export(export, destination, progress, calibration=calibration)

    def reference_stages(self, export: Export) -> Sequence[Stage]:
        """Return the stages before lowering whose outputs can be computed for an export."""
        from frameworks.executorch.references import maker  # noqa: PLC0415 - only evaluations need it

        return maker.reference_stages(export)

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
        from frameworks.executorch.references import maker  # noqa: PLC0415 - only evaluations need it

        maker.make_references(export, examples, stages, destination, progress, calibration=calibration)

    def compare_layers(
        self,
        export: Export,
        examples: Path,
        progress: Task,
        *,
        calibration: Path | None = None,
        limit: int = 8,
    ) -> LayerGaps:
        """Compare intermediate outputs of a program with those of its origin."""
        from frameworks.executorch.references import maker  # noqa: PLC0415 - only evaluations need it

        return maker.compare_layers(export, examples, progress, calibration=calibration, limit=limit)

    def find_runner_problem(self) -> EnvironmentProblem | None:
        """Return which package is missing to make a runner here."""
        return None if self._settings.program else packages.find_missing(required.RUNNER, "run models")

    def find_export_problem(self, export: Export) -> EnvironmentProblem | None:
        """Return which packages are missing to export a model."""
        from frameworks.executorch.exporting import exporter  # noqa: PLC0415 - only exports need it

        return exporter.EXPORTER.find_problem(export)

    def diagnose(self) -> Sequence[Finding]:
        """Examine what measuring and exporting need."""
        from frameworks.executorch import diagnosis  # noqa: PLC0415 - only `harness doctor` needs it

        return diagnosis.diagnose(self._settings)

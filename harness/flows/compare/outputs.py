"""Outputs of both sides of a comparison: taken before the first pair, on the same inputs, and compared.

Before the first pair, because all comparisons of a device begin before any of them measures a pair: no such launch lies
between timed ones, and a treatment that computes something else is known before its speed is
(docs/decisions/0053-outputs-of-comparisons.md).
"""

from __future__ import annotations

import shutil
import time
from typing import Final, Protocol

from msgspec import Struct

from harness.analysis.accuracy.comparison import Tolerance
from harness.analysis.accuracy.files import compare_files, merge_comparisons
from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed
from harness.core.evaluation import OutputComparison
from harness.core.protocols import ExampleRunning, Framework
from harness.core.result import Outcome
from harness.core.verdict import OutputVerdict
from harness.flows.compare.generated_tokens import GeneratedTokens
from harness.flows.compare.printed_generation import PrintedGeneration
from harness.running.launcher import Launcher
from harness.running.placeholder_values import output_folder, output_path

OUTPUTS_TAKEN: Final = "its outputs were compared"
"""Why launches that take outputs do not count."""

_SMALLEST_NORMAL: Final = 2.0**-126
"""Of `float32`: processors may flush smaller numbers to zero."""

_UNSTEADY: Final = (
    "the control computes different outputs from the same inputs in each launch, so that a difference shows nothing"
)


class SideLaunchers(Struct, frozen=True):
    """Launchers of both sides, each of which was launched before.

    Attributes:
        control: That of the control.
        treatment: That of the treatment.
        benchmark: The benchmark as both are launched.
        relative_tolerance: Difference that is rounding, relative to the largest magnitude of the control's output;
            None takes that of the element type.
    """

    control: Launcher
    treatment: Launcher
    benchmark: Benchmark
    relative_tolerance: float | None = None

    @property
    def tolerance(self) -> Tolerance | None:
        """Return the tolerance of all outputs; None takes the default of each element type."""
        return None if self.relative_tolerance is None else Tolerance(_SMALLEST_NORMAL, self.relative_tolerance)


class OutputSource(Protocol):
    """Way to take the outputs of both sides."""

    def compare(self) -> OutputComparison:
        """Compare the outputs of both sides.

        Raises:
            BenchmarkFailed: They cannot be taken.
            DeviceLost: The device went away.
        """

    def compare_control(self) -> OutputComparison:
        """Compare the outputs of the control with those of one more launch of it. Errors as for `compare`."""


def compare_sides(sides: SideLaunchers) -> OutputComparison:
    """Compare the outputs of control and treatment; what cannot be compared is told with its reason.

    Where they differ, the control is launched once more: outputs that differ from launch to launch show nothing of the
    treatment.

    Raises:
        DeviceLost: The device went away.
    """
    began = time.monotonic()
    try:
        source = _choose_source(sides)
        if isinstance(source, str):
            return OutputComparison(verdict=OutputVerdict.NOT_COMPARED, reason=source)
        compared = source.compare()
        if compared.verdict is OutputVerdict.DIFFERENT:
            repeated = source.compare_control()
            if repeated.verdict is OutputVerdict.DIFFERENT:
                compared = OutputComparison(
                    verdict=OutputVerdict.NOT_COMPARED, reason=_UNSTEADY, examples=compared.examples
                )
    except BenchmarkFailed as error:
        compared = OutputComparison(verdict=OutputVerdict.NOT_COMPARED, reason=error.message)
    return compared.model_copy(update={"seconds": time.monotonic() - began})


def _choose_source(sides: SideLaunchers) -> OutputSource | str:
    """Return the way to take outputs; where there is none, why not."""
    benchmark = sides.benchmark
    if benchmark.app is not None:
        return "apps write no outputs"
    framework = sides.control.framework
    if benchmark.generation is not None and not benchmark.commands:
        return GeneratedTokens(sides.control, sides.treatment, benchmark)
    if not benchmark.commands and isinstance(framework, ExampleRunning):
        from harness.flows.compare.example_outputs import ExampleOutputs  # noqa: PLC0415 - NumPy, and data providers

        return ExampleOutputs(sides.control, sides.treatment, benchmark, framework, sides.tolerance)
    if any(output.is_compared for output in benchmark.output_files):
        return WrittenFiles(sides)
    if benchmark.generation is not None:
        return PrintedGeneration(sides.control, sides.treatment, benchmark)
    return _explain_none(benchmark, framework)


def _explain_none(benchmark: Benchmark, framework: Framework) -> str:
    """Explain why there are no outputs to compare."""
    if benchmark.output_files:
        return "its output files have a converter: they hold figures and no outputs"
    if benchmark.commands:
        return "the specification names no `output_files`"
    return f"the runners of {framework.name} write no outputs"


class WrittenFiles(Struct, frozen=True):
    """Output files of the specification, as the last launch of each side wrote them: no further launch is needed."""

    sides: SideLaunchers

    def compare(self) -> OutputComparison:
        """Compare the files of both sides."""
        sides = self.sides
        control, treatment = output_folder(sides.control.scratch), output_folder(sides.treatment.scratch)
        return merge_comparisons(
            compare_files(
                output.key,
                control / output.filename,
                treatment / output.filename,
                dtype=output.dtype,
                tolerance=sides.tolerance,
            )
            for output in sides.benchmark.output_files
            if output.is_compared
        )

    def compare_control(self) -> OutputComparison:
        """Launch the control once more, and compare its files with those of the launch before."""
        sides, control = self.sides, self.sides.control
        first = control.scratch / "first-output"
        shutil.copytree(output_folder(control.scratch), first, dirs_exist_ok=True)
        launch, _ = control.launch(sides.benchmark)
        control.discard(OUTPUTS_TAKEN)
        if launch.outcome is not Outcome.OK:
            raise BenchmarkFailed(f"the control cannot be launched again for its outputs: {launch.reason}")
        return merge_comparisons(
            compare_files(
                output.key,
                first / output.filename,
                output_path(control.scratch, output.filename),
                dtype=output.dtype,
                tolerance=sides.tolerance,
            )
            for output in sides.benchmark.output_files
            if output.is_compared
        )

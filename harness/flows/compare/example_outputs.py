"""Outputs that runners compute from seeded random examples, the same for both sides, in a launch that times nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Final

from harness.analysis.accuracy.arrays import OutputStream
from harness.analysis.accuracy.comparison import Tolerance, compare_outputs
from harness.core.benchmark import Benchmark, Input
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DataUnavailable, DeviceLost
from harness.core.evaluation import OutputComparison
from harness.core.examples import DTYPES, DataRequest, Split, Stage, TensorInfo
from harness.core.protocols import ExampleRunning, InputDescribing, Reconnectable
from harness.core.result import Outcome
from harness.data.random_numbers import RandomNumbers
from harness.display.quiet import QuietTask
from harness.files.examples import read_outputs, write_examples
from harness.running.launcher import Launcher
from harness.running.outputs import take_outputs

MOST_EXAMPLES: Final = 16
_MOST_BYTES: Final = 8 << 20
"""Bytes of inputs: they travel to the device once for each comparison."""

_DEFAULT_EXECUTIONS: Final = 60
"""Executions of a launch whose benchmark leaves warm-up and iterations to the framework."""

_NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
"""Names of element types in specifications, by NumPy's."""


@dataclass(slots=True)
class ExampleOutputs:
    """Outputs of examples that both sides execute.

    Attributes:
        control: The launcher of the control.
        treatment: That of the treatment.
        benchmark: The benchmark as both are launched.
        framework: Their framework.
        tolerance: Differences that are rounding; None takes those of the element types.
    """

    control: Launcher
    treatment: Launcher
    benchmark: Benchmark
    framework: ExampleRunning
    tolerance: Tolerance | None = None
    _examples: Path | None = field(default=None, init=False)

    def compare(self) -> OutputComparison:
        """Launch each side once, and compare the outputs.

        Raises:
            BenchmarkFailed: The examples cannot be made, or a side cannot execute them.
            DeviceLost: The device went away.
        """
        self._examples = self._examples or self._make_examples()
        control = self._take("control", self.control, "outputs")
        return self._compare(control, self._take("treatment", self.treatment, "outputs"))

    def compare_control(self) -> OutputComparison:
        """Launch the control once more, and compare its outputs with its first ones. Errors as for `compare`."""
        again = self._take("control", self.control, "outputs-again")
        return self._compare(self.control.scratch / "outputs", again)

    def _make_examples(self) -> Path:
        inputs = self._inputs()
        size_bytes = sum(prod(item.shape) * 8 for item in inputs)
        count = min(_count_examples(self.benchmark), max(1, _MOST_BYTES // max(1, size_bytes)))
        limits = [self.framework.examples_per_launch(side.job.build) for side in (self.control, self.treatment)]
        count = min([count, *(limit for limit in limits if limit is not None)])
        request, folder = DataRequest(provider="random", count=count), self.control.scratch / "examples"
        try:
            data = RandomNumbers().open(request, inputs, Split.EVALUATION)
            with write_examples(
                folder, data.inputs, request=request, split=Split.EVALUATION, description=data.description
            ) as writer:
                for example in data.examples:
                    writer.add(example.arrays)
        except DataUnavailable as error:
            raise BenchmarkFailed(error.message, hint=error.hint) from error
        return folder

    def _inputs(self) -> tuple[Input, ...]:
        """Return the inputs of the control's program."""
        if isinstance(self.framework, InputDescribing):
            return _as_specified(self.framework.describe_inputs(self.control.job))
        reports = (file.report for file in self.control.job.files.values() if file.report is not None)
        exported = next((report.inputs for report in reports if report.inputs), ())
        inputs = _as_specified(exported) or self.benchmark.inputs
        if not inputs:
            raise BenchmarkUnsupported(
                "the inputs of its model are not known", hint="name them in `inputs` of the test"
            )
        return inputs

    def _take(self, side: str, launcher: Launcher, folder: str) -> Path:
        destination = launcher.scratch / folder
        destination.mkdir(parents=True, exist_ok=True)
        if self._examples is None:
            raise BenchmarkFailed("there are no examples")
        taken = take_outputs(
            launcher.job,
            launcher.session,
            launcher.framework,
            self._examples,
            destination,
            stage=Stage.DEVICE,
            scratch=launcher.scratch,
            progress=QuietTask(),
        )
        if isinstance(launcher.session, Reconnectable):
            launcher.stage_again()  # the device may have been away
        if taken.outcome is Outcome.DEVICE_LOST:
            raise DeviceLost(taken.reason or "the device was lost", hint=taken.hint)
        if taken.outcome is not Outcome.OK:
            raise BenchmarkFailed(f"the {side} did not execute the examples: {taken.reason}", hint=taken.hint)
        return destination

    def _compare(self, control: Path, treatment: Path) -> OutputComparison:
        try:
            streams = []
            for folder in (control, treatment):
                outputs = read_outputs(folder)
                streams.append(OutputStream(outputs.manifest.outputs, len(outputs), iter(outputs)))
            return compare_outputs(streams[0], streams[1], self.tolerance)
        except DataUnavailable as error:
            raise BenchmarkFailed(error.message, hint=error.hint) from error


def _count_examples(benchmark: Benchmark) -> int:
    """Return how many examples a launch executes: no more than a timed launch does, so that it costs no more."""
    if benchmark.iterations < 0 or benchmark.warmup < 0:
        return min(MOST_EXAMPLES, _DEFAULT_EXECUTIONS)
    return min(MOST_EXAMPLES, max(1, benchmark.warmup + benchmark.iterations))


def _as_specified(tensors: Sequence[TensorInfo]) -> tuple[Input, ...]:
    """Return inputs as specifications name them.

    Raises:
        BenchmarkUnsupported: One is of a type that no random numbers are made of.
    """
    for tensor in tensors:
        if tensor.dtype not in _NAMES:
            raise BenchmarkUnsupported(f"its input `{tensor.name}` is of type {tensor.dtype}, of which none are made")
    return tuple(Input(name=item.name, shape=item.shape, dtype=_NAMES[item.dtype]) for item in tensors)

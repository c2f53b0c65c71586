"""Evaluation as a run: latency and size as ever, and the outputs of each program against those of its origin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import ExitCode, UsageError
from harness.core.examples import DataRequest
from harness.core.protocols import Progress, Reporter
from harness.flows.measure.compared import ACCURACY, LAYERS
from harness.flows.measure.plan import file_key
from harness.flows.measure.reproduction import reproduce_run
from harness.flows.measure.run import run
from harness.flows.measure.runners import installed_runner
from harness.flows.measure.workload import load_benchmarks, load_workload, select_requested

_DEFAULT_DATA: Final = DataRequest(provider="random")
"""Data of benchmarks that name none: seeded random numbers tell fidelity, and nothing about accuracy."""


class EvaluationRequest(Struct, frozen=True):
    """Request of `harness evaluate`, beside the settings of a run.

    Attributes:
        provider: Name of the provider of examples; None leaves the choice to the specification.
        examples: Number of examples; None leaves it to the specification, else to the provider.
        layers: Whether the gap of each layer is computed too.
        kept_outputs: Folder to keep the outputs of the device in; None keeps none.
    """

    provider: str | None = None
    examples: int | None = None
    layers: bool = False
    kept_outputs: Path | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """First words of the command that repeats it."""
        words = ["harness", "evaluate"]
        words += ["--data", self.provider] if self.provider is not None else []
        words += ["--examples", str(self.examples)] if self.examples is not None else []
        return (*words, *(["--layers"] if self.layers else []))


def evaluate(
    request: EvaluationRequest,
    settings: Settings,
    progress: Progress,
    benchmarks: Sequence[Benchmark] | None = None,
    listeners: Sequence[Reporter] = (),
) -> ExitCode:
    """Evaluate one benchmark of each exported program.

    Args:
        request: What to evaluate with.
        settings: What to measure, and how.
        progress: Shows what happens.
        benchmarks: The benchmarks of the specifications, where they have been loaded already.
        listeners: Receive each result, beside the reporters of the settings.

    Raises:
        UsageError: No benchmark has an exported program, there is no such provider, or specifications are wrong.
    """
    if request.provider is not None:
        plugins.data_provider(request.provider, settings)  # a misspelt name is told before anything is exported
    loaded = load_benchmarks(settings) if benchmarks is None else benchmarks
    selected = select_requested(loaded, settings)
    evaluated = plan_evaluation(selected, request)
    if left_out := len(selected) - len(evaluated):
        progress.say(
            f"{left_out} of {len(selected)} benchmarks left out: they run a program that another one evaluates"
        )
    plan = load_workload(settings, evaluated).plan(progress)
    return run(
        plan,
        settings,
        progress,
        listeners=listeners,
        reproduce=partial(
            reproduce_run,
            settings=settings,
            side=installed_runner,
            platform=plan.platform,
            command=request.command,
        ),
        kept_outputs=request.kept_outputs,
    )


def plan_evaluation(benchmarks: Sequence[Benchmark], request: EvaluationRequest) -> tuple[Benchmark, ...]:
    """Return the first benchmark of each exported program, with the examples to evaluate it with.

    Raises:
        UsageError: None has an exported program.
    """
    planned: dict[str, Benchmark] = {}
    for benchmark in benchmarks:
        file = next((file for file in benchmark.files if file.export is not None), None)
        if file is not None:
            planned.setdefault(file_key(file, benchmark), _with_data(benchmark, request))
    if not planned:
        raise UsageError(
            "nothing to evaluate: no benchmark has a model that is exported here",
            hint="give its file an `export`: outputs are compared with those of the model's definition",
        )
    return tuple(planned.values())


def _with_data(benchmark: Benchmark, request: EvaluationRequest) -> Benchmark:
    data = benchmark.data or _DEFAULT_DATA
    if request.provider is not None and request.provider != data.provider:
        data = DataRequest(provider=request.provider)
    if request.examples is not None:
        data = data.model_copy(update={"count": request.examples})
    kinds = (*benchmark.kinds, ACCURACY, *([LAYERS] if request.layers else []))
    return benchmark.model_copy(update={"data": data, "kinds": tuple(dict.fromkeys(kinds))})

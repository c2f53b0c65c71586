"""`harness self-check`: equal builds compared for some minutes, and what that says about comparisons on each device."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

import harness
from harness.analysis.compare.sensitivity import check_benchmark
from harness.analysis.disturbances import find_disturbances
from harness.config.settings import Settings
from harness.core.comparison import Interleave, Parameters
from harness.core.device import Device
from harness.core.errors import ExitCode, UsageError
from harness.core.percent import in_percent
from harness.core.protocols import Display, is_local
from harness.core.result import Launch, Result
from harness.core.self_check import BenchmarkCheck, Disturbance, SelfCheck, Sensitivity
from harness.files.installation import SPECIFICATIONS
from harness.flows.compare import self_check
from harness.flows.compare.compare import ComparisonTask, run_comparison
from harness.flows.measure.plan import Plan
from harness.flows.measure.reporting import CollectingReporter
from harness.flows.measure.runners import installed_runner
from harness.flows.measure.workload import Workload
from harness.presentation.self_check import conclude
from harness.running.neighbours import Neighbours, NeighbourWatch

_MEASURING_SHARE: Final = 0.75
"""Share of the time that is measured; the rest is for warming up, for the states of the device and for estimates."""

_MOST_PAIRS: Final = 1000
"""Pairs of one benchmark: ten full comparisons. More would only keep the device busy."""

_ENDLESS_PRECISION: Final = 1e-9
"""Half-width of an interval that no times reach: the comparison goes on until its budget is spent."""

BUILT_IN_BENCHMARK: Final = "sort/sort-1000"
"""The built-in benchmark: a launch takes a tenth of a second, so that five minutes hold a thousand pairs."""

_STEAL: Final = 0.01
"""Share of the CPU time in other virtual machines that is worth a word."""


def built_in_specification(platform_name: str, *, is_host: bool) -> Path:
    """Return the specification that is checked where none is named: sorting in Python, which needs no torch.

    Raises:
        UsageError: The platform is not this machine, or this installation lacks the file.
    """
    if not is_host:
        raise UsageError(
            f"the built-in benchmark runs on this machine only, not on platform {platform_name}",
            hint=f"name a specification: harness self-check -b FILE -p {platform_name}",
        )
    if (file := SPECIFICATIONS / "models" / "sort.json").is_file():
        return file
    raise UsageError("this installation has no built-in specification", hint="name one: harness self-check FILE")


class SelfCheckRequest(Struct, frozen=True):
    """Request for a self-check.

    Attributes:
        minutes: Time that measuring may take on each device, beside exports, builds and the estimate.
        parameters: Seed of the coin, and what else decides.
        trials: Samples for each estimate: with 200 a share of 90 % is known to 4 points.
    """

    minutes: float
    parameters: Parameters
    trials: int = 200


def check_devices(
    workload: Workload, request: SelfCheckRequest, settings: Settings, display: Display
) -> tuple[ExitCode, tuple[SelfCheck, ...]]:
    """Compare equal builds for some minutes on every device, estimate what comparisons can show, and store it.

    Returns:
        The exit code, which says that the environment is at fault where equal programs were told apart more often than
        chance allows; and the self-check of each device.
    """
    started = time.time()
    plan = workload.plan(display)
    watch = NeighbourWatch() if is_local(plan.platform) else None
    collected = CollectingReporter()
    quiet = dataclasses.replace(
        settings, screen_reporter=False, simple_screen_reporter=False, remote_reporter=None, reporters={}
    )
    task = ComparisonTask(installed_runner, installed_runner, _unending(plan, request), self_check=True)
    outcome = run_comparison(plan, task, quiet, display, [collected])
    neighbours = None if watch is None else watch.read()
    head = Sensitivity(
        time=started,
        wall_s=0.0,
        harness_version=harness.__version__,
        specification=", ".join(file.name for file in settings.benchmark_file),
    )
    by_device: dict[str, list[Result]] = defaultdict(list)
    devices: dict[str, Device] = {}
    for result in collected.results:
        if result.device is not None:
            by_device[result.device.identity].append(result)
            devices[result.device.identity] = result.device

    def estimate(measured: Mapping[str, Result]) -> tuple[BenchmarkCheck, ...]:
        return _check_benchmarks(measured, request.trials, display)

    checks = tuple(
        self_check.store_sensitivity(
            settings, devices[identity], _examine(results, devices[identity], head, neighbours, estimate)
        )
        for identity, results in by_device.items()
    )
    return _exit_code(outcome.code, checks), checks


def _unending(plan: Plan, request: SelfCheckRequest) -> Parameters:
    """Return parameters by which each benchmark of a device is measured for its share of the time."""
    per_device: dict[str, int] = defaultdict(int)
    for assignment in plan.assignments:
        per_device[assignment.device.identity] += assignment.is_possible
    benchmarks = max(per_device.values(), default=1) or 1
    return request.parameters.model_copy(
        update={
            "max_pairs": _MOST_PAIRS,
            "interleave": Interleave.AUTO,
            "max_seconds": _MEASURING_SHARE * 60 * request.minutes / benchmarks,
            "precision": _ENDLESS_PRECISION,
        }
    )


def _examine(
    results: Sequence[Result],
    device: Device,
    head: Sensitivity,
    neighbours: Neighbours | None,
    estimate: Callable[[Mapping[str, Result]], tuple[BenchmarkCheck, ...]],
) -> Sensitivity:
    """Return the sensitivity of a device, whose `head` holds the time at which the command began."""
    measured = {result.uid: result for result in results if result.ok and result.comparison is not None}
    checks = estimate(measured)
    launches: list[Launch] = [launch for result in measured.values() for launch in result.launches]
    pairs = [result.comparison.pairs for result in measured.values() if result.comparison is not None]
    disturbances = (*find_disturbances(launches, checks, pairs, device.cores), *_steal(neighbours))
    ordered = sorted(disturbances, key=lambda disturbance: -disturbance.size)
    return head.model_copy(
        update={
            "time": time.time(),
            "wall_s": time.time() - head.time,
            "benchmarks": checks,
            "disturbances": tuple(_name_processes(disturbance, neighbours) for disturbance in ordered),
            "failures": tuple(
                f"{result.benchmark.title}: {result.reason or result.outcome.words}"
                for result in results
                if result.uid not in measured
            ),
        }
    )


def _check_benchmarks(measured: Mapping[str, Result], trials: int, display: Display) -> tuple[BenchmarkCheck, ...]:
    checks = []
    with display.task("estimating what comparisons can show", total=len(measured)) as task:
        for number, result in enumerate(measured.values()):
            task.update(completed=number, text=f"estimating what comparisons of {result.benchmark.title} can show")
            if result.comparison is not None:
                checks.append(
                    check_benchmark(
                        result.comparison,
                        title=result.benchmark.title,
                        digest=result.benchmark.digest,
                        trials=trials,
                        seed=result.comparison.parameters.seed,
                    )
                )
        task.update(completed=len(measured))
    return tuple(checks)


def _steal(neighbours: Neighbours | None) -> tuple[Disturbance, ...]:
    if neighbours is None or neighbours.steal is None or neighbours.steal < _STEAL:
        return ()
    return (
        Disturbance(
            kind="steal",
            size=neighbours.steal,
            message=f"other virtual machines took {in_percent(neighbours.steal)} of the CPU time",
            remedy="ask for CPUs of its own (a dedicated host or instance), or measure at another hour",
        ),
    )


def _name_processes(disturbance: Disturbance, neighbours: Neighbours | None) -> Disturbance:
    """Return the disturbance with the busiest processes, if it is about them."""
    if disturbance.kind != "neighbours" or neighbours is None:
        return disturbance
    if not neighbours.processes:
        named = "none that this user can see, so in another container or virtual machine"
    else:
        named = ", ".join(
            f"{neighbour.name} (pid {neighbour.pid}) {in_percent(neighbour.share)} of a CPU"
            for neighbour in neighbours.processes
        )
    return disturbance.model_copy(update={"message": f"{disturbance.message} ({named})"})


def _exit_code(measuring: ExitCode, checks: Sequence[SelfCheck]) -> ExitCode:
    """Return the exit code: verdicts of equal builds are no regressions, and undecided ones are in the estimates."""
    measured = [check.sensitivity for check in checks if check.sensitivity is not None and check.sensitivity.benchmarks]
    if not all(conclude(sensitivity).is_good for sensitivity in measured):
        return ExitCode.ENVIRONMENT
    return ExitCode.OK if measuring in {ExitCode.REGRESSION, ExitCode.UNDECIDED} else measuring

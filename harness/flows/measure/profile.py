"""`harness profile`: each benchmark in two passes, its latency without tracing and then its operators."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import ExitCode
from harness.core.note import NO_OPERATORS
from harness.core.protocols import Platform, Progress, Reporter
from harness.core.reproduction import Reproduction
from harness.core.result import Outcome, Result
from harness.flows.measure.reporting import CollectingReporter
from harness.flows.measure.reproduction import make_reproduction, shared_words
from harness.flows.measure.run import run
from harness.flows.measure.workload import Workload

TRACED_ENDING: Final = "-operators"
"""End of the identifier of the pass that times operators: its latency belongs into no series of the other."""


class ProfiledResult(Struct, frozen=True):
    """Result of both passes.

    Attributes:
        latency: The pass without tracing; None where it did not end.
        operators: The pass that times operators.
    """

    latency: Result | None
    operators: Result


def profile(
    workload: Workload, settings: Settings, progress: Progress, listeners: tuple[Reporter, ...] = ()
) -> tuple[ExitCode, tuple[ProfiledResult, ...]]:
    """Measure every benchmark without and then with its operators timed, and report both as any result.

    Args:
        workload: What to measure where.
        settings: How to measure, and which reporters get the results.
        progress: Shows what happens.
        listeners: Receive each result, too.

    Returns:
        The exit code of the run, and the results in pairs. A program that ends well without the time of any operator is
        a failed benchmark: it is not what was asked for.
    """
    passes = [(benchmark, trace(benchmark)) for benchmark in workload.benchmarks]
    origins = {each.digest: plain for plain, traced in passes for each in (plain, traced)}
    both = tuple(
        each.model_copy(update={"operators": each is traced}) for plain, traced in passes for each in (plain, traced)
    )
    plan = replace(workload, benchmarks=both).plan(progress)
    digests = {traced.digest for _, traced in passes}
    collector = CollectingReporter()
    code = run(
        plan,
        settings,
        progress,
        listeners=(*listeners, collector),
        reproduce=_reproducer(origins, settings, plan.platform),
        counted="each benchmark in two passes, latency and operators",
        judge=lambda result: _require_operators(result) if result.benchmark.digest in digests else result,
    )
    untraced = {_key(result, origins): result for result in collector.results if result.benchmark.digest not in digests}
    return code, tuple(
        ProfiledResult(untraced.get(_key(result, origins)), result)
        for result in collector.results
        if result.benchmark.digest in digests
    )


def trace(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark that times the operators of this one, in as many launches as it has at least."""
    digest = hashlib.sha256(f"{benchmark.digest}{TRACED_ENDING}".encode()).hexdigest()
    changes = {"operators": True, "identifier": f"{benchmark.identifier}{TRACED_ENDING}", "digest": digest}
    return benchmark.model_copy(update={**changes, "precision": None, "max_launches": None})


def _require_operators(result: Result) -> Result:
    """Return a result; as a failed one where the program ended well without the time of any operator."""
    if not result.ok or any(metric.is_of_operator for metric in result.metrics):
        return result
    note = next((note for note in result.notes if note.code == NO_OPERATORS), None)
    return result.model_copy(
        update={
            "outcome": Outcome.FAILED,
            "reason": note.message if note is not None else "no operator was timed",
            "hint": note.hint if note is not None else None,
            "notes": tuple(each for each in result.notes if each is not note),
        }
    )


def _key(result: Result, origins: dict[str, Benchmark]) -> tuple[str, str | None]:
    device = result.device.identity if result.device is not None else None
    return origins[result.benchmark.digest].digest, device


def _reproducer(
    origins: dict[str, Benchmark], settings: Settings, platform: Platform
) -> Callable[[Result], Reproduction | None]:
    """Return what makes the command of a result: each pass is measured again with the other."""

    def reproduce(result: Result) -> Reproduction | None:
        if result.benchmark.is_of_dictionary:
            return None
        origin = origins[result.benchmark.digest]
        command = ("harness", "profile", *shared_words(settings, platform))
        changes = {"benchmark": origin.title, "benchmark_digest": origin.digest}
        return make_reproduction(command, result).model_copy(update=changes)

    return reproduce

"""Comparison of commits on behalf of watch and bisect, which go on with the results."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from harness.config.settings import Settings
from harness.core.commit import Commit, Source
from harness.core.comparison import Parameters
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem
from harness.core.protocols import BoardRow, Display, Task
from harness.core.result import Outcome, Result
from harness.flows.compare.compare import ComparisonOutcome, ComparisonTask, run_comparison
from harness.flows.compare.requests import (
    CompareRequest,
    open_cache,
    open_source,
    validate_parameters,
)
from harness.flows.measure.plan import Builds, Failure
from harness.flows.measure.reporting import CollectingReporter
from harness.flows.measure.runners import CommitRunner, build_side
from harness.flows.measure.submodules import selected_submodules
from harness.flows.measure.workload import BenchmarkSelection, Workload, load_benchmarks, load_workload


class ControlFailed(BuildFailed):
    """The control cannot be built."""


class SilentDisplay:
    """Display that shows tasks, and neither tables nor lines.

    Args:
        display: Shows the tasks.
    """

    def __init__(self, display: Display) -> None:
        self._display = display

    def task(self, text: str, total: float | None = None) -> AbstractContextManager[Task]:
        """Show a task."""
        return self._display.task(text, total)

    def say(self, text: str) -> None:
        """Show nothing."""

    def warn(self, text: str) -> None:
        """Show nothing: who compares on behalf of others reports what went wrong."""

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[SilentDisplay]:
        """Begin a table that is not shown."""
        del title, header
        yield self

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show nothing (`Board`)."""

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Show nothing (`Board`)."""


Check = Callable[[], None]
"""Called before each pair; an error that it raises ends the comparison."""


class OpenComparers(Protocol):
    """Opens comparers: one for each kind of device."""

    def __call__(
        self, request: CompareRequest, settings: Settings, platforms: Sequence[str], display: Display, *, check: Check
    ) -> Sequence[CommitComparer]:
        """Return the comparers.

        Args:
            request: Source of the commits, and parameters of the decision.
            settings: What to measure and how, and which reporters get the results.
            platforms: Kinds of devices.
            display: Shows progress.
            check: Ends a comparison by an error.

        Raises:
            UsageError: A specification, option or name is wrong.
            EnvironmentProblem: A plug-in or a device cannot be used.
        """


def open_comparers(
    request: CompareRequest, settings: Settings, platforms: Sequence[str], display: Display, *, check: Check
) -> Sequence[CommitComparer]:
    """Return comparers on devices of this machine (`OpenComparers`). Specifications are loaded once for all."""
    benchmarks = load_benchmarks(settings)
    return [
        CommitComparer(
            load_workload(dataclasses.replace(settings, platform=name), benchmarks, platforms),
            request,
            dataclasses.replace(settings, platform=name),
            display,
            check,
        )
        for name in platforms
    ]


class CommitComparer:
    """Comparer of commits of one source.

    Args:
        workload: What to measure, and with which plug-ins.
        request: Source of the commits, and parameters of the decision.
        settings: How to measure, and which reporters get the results.
        display: Shows progress.
        check: Called before each pair; an error that it raises ends the comparison.

    Raises:
        UsageError: No source of commits is given.
    """

    def __init__(
        self,
        workload: Workload,
        request: CompareRequest,
        settings: Settings,
        display: Display,
        check: Check,
    ) -> None:
        self.workload = workload
        self.request = request
        self.settings = settings
        self.display = display
        self.check = check
        self.cache = open_cache(request, settings)
        self.source: Source = open_source(request, settings)
        self.submodules = selected_submodules(settings, self.source)

    def compare(
        self,
        control: Commit,
        treatment: Commit,
        *,
        run_type: str = "benchmark",
        selection: BenchmarkSelection | None = None,
        quiet: bool = False,
        max_pairs: int | None = None,
        alpha: float | None = None,
        resume: bool = False,
        run: str = "",
    ) -> tuple[Result, ...]:
        """Build and compare two commits; every result is safe on the disk when this returns.

        Args:
            control: The commit to compare with.
            treatment: The commit to judge.
            run_type: FAI-PEP's kind of run; reported.
            selection: The only benchmark to measure.
            quiet: Only store the results: they are parts of a whole that is reported later.
            max_pairs: Budget in pairs; None takes that of the request.
            alpha: Largest probability of a false change in each direction; None takes that of the request.
            resume: Whether pairs of an interrupted comparison of the same builds count.
            run: Identifier of the run that it is a part of; empty where it is a run of its own.

        Raises:
            ControlFailed: The control cannot be built.
            BuildFailed: The treatment cannot be built.
            BenchmarkFailed: No benchmark has numbers, through the fault of the treatment or of the specification.
            EnvironmentProblem: A device was lost, a result could not be stored, or network or disk prevented a build:
                a later attempt may succeed.
            UsageError: No attempt can succeed.
        """
        own = own_parameters(max_pairs=max_pairs, alpha=alpha)
        parameters = validate_parameters(
            {"seed": secrets.randbits(31), **self.request.parameters, **own, "interleave": self.request.interleave}
        )
        collected = CollectingReporter()
        workload = self.workload if selection is None else self.workload.restrict(selection)
        with self.cache:  # runners are kept while they are measured, and what was built ahead until then
            outcome = run_comparison(
                workload.plan(self.display),
                ComparisonTask(
                    self.side(control),
                    self.side(treatment),
                    parameters,
                    self.request.metrics,
                    resume=resume,
                    check=self.check,
                    one_record_of_same=True,
                    unequal_options=self.request.unequal_options,
                    recipes=self.request.recipes,
                    with_outputs=not quiet,  # a search asks for few pairs at a time, and for speed alone
                    run=run,
                ),
                self.report_as(run_type, quiet=quiet),
                SilentDisplay(self.display) if quiet else self.display,
                [collected],
            )
        raise_for_failure(outcome, collected.results, control, treatment)
        return tuple(collected.results)

    def build_identity(self, selection: BenchmarkSelection, commit: Commit) -> str:
        """Return the digest of the recipe that builds a commit for a benchmark, with the submodules that were chosen.

        Measurements of one commit by two recipes are those of two programs.

        Raises:
            BuildFailed: There is no recipe.
        """
        plan = self.workload.restrict(selection).plan(self.display)
        assignment = plan.assignments[0]
        framework = plan.frameworks[assignment.benchmark.framework]
        recipe = self.side(commit).recipe(framework, assignment.device.platform, plan.recipe_variant)
        return f"{recipe.digest} {'' if self.submodules is None else self.submodules}".rstrip()

    @property
    def parameters(self) -> Parameters:
        """Parameters of a comparison, whose seed and interleaving are chosen for each."""
        return validate_parameters({"seed": 0, **self.request.parameters})

    def build(self, commit: Commit) -> None:
        """Build a commit ahead of its comparison.

        Raises:
            EnvironmentProblem: No device to build for can be reached.
        """
        build_side(self.workload.plan(self.display), self.side(commit), self.display)

    def side(self, commit: Commit) -> CommitRunner:
        """Return the runner of a commit."""
        return CommitRunner(self.source, commit, self.cache, self.request.recipes, self.submodules)

    def report_as(self, run_type: str, *, quiet: bool) -> Settings:
        """Return the settings to measure with, by which only the store gets the parts of a whole."""
        settings = dataclasses.replace(self.settings, run_type=run_type)
        if not quiet:
            return settings
        return dataclasses.replace(
            settings, screen_reporter=False, simple_screen_reporter=False, remote_reporter=None, reporters={}
        )


def own_parameters(**parameters: float | None) -> dict[str, object]:
    """Return the parameters of a comparison that are not those of its request."""
    return {name: value for name, value in parameters.items() if value is not None}


def raise_for_failure(
    outcome: ComparisonOutcome, results: Sequence[Result], control: Commit, treatment: Commit
) -> None:
    """Raise the failure of a comparison as a whole, if it failed."""
    if not outcome.stored:
        raise EnvironmentProblem("not every result could be stored", hint="see the message of the local reporter above")
    for builds, commit, failed in (
        (outcome.control, control, ControlFailed),
        (outcome.treatment, treatment, BuildFailed),
    ):
        if (failure := _no_build(builds)) is not None:
            kind = EnvironmentProblem if failure.is_transient else failed
            prefix = "" if commit.short in failure.reason else f"{commit.short}: "
            raise kind(f"{prefix}{failure.reason}", hint=failure.hint)
    lost = [result for result in results if result.outcome is Outcome.DEVICE_LOST]
    if lost:
        raise EnvironmentProblem(lost[0].reason or "a device was lost", hint=lost[0].hint)
    if not any(result.comparison is not None for result in results):
        reasons = [result.reason for result in results if result.reason]
        raise BenchmarkFailed(reasons[0] if reasons else f"nothing was measured of {treatment.short}")


def _no_build(builds: Builds) -> Failure | None:
    """Return why no runner at all could be built, if so; transient failures first: they say nothing of the commit."""
    failures = [build for build in builds.values() if isinstance(build, Failure)]
    failures.sort(key=lambda failure: not failure.is_transient)
    return failures[0] if failures and len(failures) == len(builds) else None

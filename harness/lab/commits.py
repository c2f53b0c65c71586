"""Comparison of commits in a lab, on behalf of `harness watch --lab` and `harness bisect --lab`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

from harness import plugins
from harness.config.settings import Settings
from harness.core.commit import Commit
from harness.core.device import CLASS
from harness.core.errors import UsageError
from harness.core.protocols import Display
from harness.core.result import Result
from harness.flows.compare.commits import (
    Check,
    CommitComparer,
    SilentDisplay,
    own_parameters,
    raise_for_failure,
)
from harness.flows.compare.reproduction import ComparedSides
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.named_parts import load_frameworks
from harness.flows.measure.reporting import CollectingReporter
from harness.flows.measure.workload import BenchmarkSelection, Workload, load_benchmarks, select_requested
from harness.lab.client import connect
from harness.lab.comparing import LabComparison, choose_parameters, refuse, run_comparison
from harness.lab.configuration import load_security
from harness.lab.joining import find_targets
from harness.lab.platform import LabPlatform
from harness.lab.pooling import device_of
from harness.lab.sides import provide_commits
from harness.lab.submitting import JobFiles
from harness.lab.targets import reject_other_versions


class LabComparer(CommitComparer):
    """Comparer of commits on classes of devices of a lab."""

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
        """Build two commits here, and compare them in the lab (`CommitComparer.compare`)."""
        workload = self.workload if selection is None else self.workload.restrict(selection)
        settings = self.report_as(run_type, quiet=quiet)
        if selection is not None and selection.device is not None:
            settings = _on(selection.device, settings)
        display = SilentDisplay(self.display) if quiet else self.display
        files, collected = JobFiles(), CollectingReporter()
        with self.cache:
            runners = (self.side(control), self.side(treatment))
            task = LabComparison(
                workload.benchmarks,
                provide_commits(runners, self.request, settings, display, files, check=self.check),
                ComparedSides(
                    *runners,
                    choose_parameters(self.request, **own_parameters(max_pairs=max_pairs, alpha=alpha)),
                    self.request.metrics,
                    self.request.unequal_options,
                    self.request.recipes,
                ),
                resume=resume,
                with_outputs=not quiet,
                check=self.check,
                run=run,
            )
            outcome = run_comparison(task, files, settings, display, [collected])
        raise_for_failure(outcome, collected.results, control, treatment)
        return tuple(collected.results)

    def build(self, commit: Commit) -> None:
        """Do nothing: a lab is asked which devices there are when they are measured."""


def open_lab_comparers(
    request: CompareRequest, settings: Settings, platforms: Sequence[str], display: Display, *, check: Check
) -> Sequence[CommitComparer]:
    """Return the comparer of a lab (`harness.flows.compare.commits.OpenComparers`).

    Raises:
        UsageError: An option has no effect in a lab, or its devices are of several platforms.
        EnvironmentProblem: The lab does not answer.
    """
    refuse(request, settings)
    if len(platforms) > 1:
        raise UsageError("--platforms beside --lab, which has classes", hint="name them by --device-class")
    with connect(settings.lab or "", load_security(settings.lab_certificates)) as client:
        _, targets = find_targets(client, settings, display)
    reject_other_versions(targets)
    devices = [device_of(target) for target in targets]
    names = sorted({device.platform for device in devices})
    if len(names) > 1:
        raise UsageError(f"these classes are of {' and '.join(names)}", hint="name those of one by --device-class")
    loaded = load_benchmarks(settings)
    benchmarks = select_requested(loaded, settings)
    workload = Workload(
        benchmarks,
        LabPlatform(names[0], devices),
        load_frameworks(benchmarks, settings),
        tuple(device.identity for device in devices),
        loaded=tuple(loaded),
        load_framework=partial(plugins.framework, settings=settings),
    )
    return [LabComparer(workload, request, settings, display, check)]


def _on(device: str, settings: Settings) -> Settings:
    """Return the settings for a single class, or device."""
    if device.startswith(CLASS):
        return dataclasses.replace(settings, device_class=(device.removeprefix(CLASS),), devices=())
    return dataclasses.replace(settings, device_class=(), devices=(device,))

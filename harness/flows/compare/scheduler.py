"""Scheduler of one device: one pair of each benchmark in turn, until all are decided or out of budget.

Round robin spreads the pairs of each benchmark over time, so that a bad minute of the machine is shared by all.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.analysis.compare.discovery import proven_changes, select_unfinished
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem
from harness.core.measurement import Job
from harness.core.protocols import Display, Framework, Platform, Session
from harness.core.result import Outcome
from harness.files.drafts import open_scratch_folder
from harness.flows.compare.comparison_run import ComparisonRun, ComparisonSubject, Hypothesis
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.flows.compare.progress_rows import HEADER, ProgressTable
from harness.flows.measure.plan import Failure
from harness.running.launcher import Launcher
from harness.shell import Interrupted, pause

_Live = dict[ComparisonRun, None]
"""Comparisons that go on, in order."""


class RoundRobinScheduler:
    """Scheduler of the comparisons on one device.

    Args:
        device: The device to measure on.
        platform: Opens the device.
        frameworks: Frameworks by name.
        parameters: How comparisons are decided.
        journals: Folder of journals.
        resume: Whether to continue interrupted comparisons.
        discoveries: The changes that were measured to the end, on all devices.
        report: Called with each comparison when it ends.
        report_failure: Called with each comparison that cannot begin, or not be reported otherwise.
        check: Called before each pair; an error that it raises ends all comparisons.
        display: Shows how far they are.
    """

    def __init__(
        self,
        device: Device,
        platform: Platform,
        frameworks: Mapping[str, Framework],
        *,
        parameters: Parameters,
        journals: Path,
        resume: bool,
        discoveries: FalseDiscoveryFilter[Hypothesis],
        report: Callable[[ComparisonRun], None],
        report_failure: Callable[[ComparisonSubject, Failure], None],
        check: Callable[[], None],
        display: Display,
    ) -> None:
        self._device = device
        self._platform = platform
        self._frameworks = frameworks
        self._parameters = parameters
        self._journals = journals
        self._resume = resume
        self._discoveries = discoveries
        self._report = report
        self._report_failure = report_failure
        self._check = check
        self._display = display

    def run(self, subjects: Sequence[ComparisonSubject]) -> None:
        """Compare all subjects. Each of them is reported exactly once, whatever happens."""
        with contextlib.ExitStack() as stack:
            try:
                session = stack.enter_context(self._platform.open(self._device, self._display))
            except EnvironmentProblem as error:
                self._display.warn(f"✗ {self._device.name}: {error.message}")
                for subject in subjects:
                    self._report_failure(
                        subject, Failure(Outcome.DEVICE_LOST, error.message, error.hint, is_environment_problem=True)
                    )
                return
            runs = [self._comparison_run(subject, session, stack) for subject in subjects]
            board = stack.enter_context(self._display.board(f"comparing on {self._device.name}", HEADER))
            self._measure_in_turn(runs, ProgressTable(runs, board, self._discoveries))

    def _measure_in_turn(self, runs: Sequence[ComparisonRun], table: ProgressTable[ComparisonRun]) -> None:
        live = dict.fromkeys(runs)
        for run in runs:
            if run not in live:
                break  # the device was lost
            run.begin()
            table.update(run)
            self._end_failed(live, run, table)
        while live:
            self._end_finished(live)
            table.update_discoveries()
            for run in list(live):
                if run not in live:
                    continue  # it ended with a lost device
                self._check()
                run.measure_pair()
                table.update(run)
                pause(run.subject.treatment.benchmark.cooldown_s)
                self._end_failed(live, run, table)

    def _end_finished(self, live: _Live) -> None:
        """End those that want no more pairs, all at once: changes may need each other to be discovered."""
        tests = {(run, decision): decision.test for run in live for decision in run.decisions}
        unfinished = select_unfinished(tests, self._discoveries.final_with(proven_changes(tests)))
        wanting = {run for run, _ in unfinished}
        for run in [run for run in live if run not in wanting]:
            self._end(live, run)

    def _end(self, live: _Live, run: ComparisonRun) -> None:
        del live[run]
        run.end()
        try:
            self._report(run)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            reason = f"the harness itself failed: {type(error).__name__}: {error}"
            hint = "this is a defect of the harness: please report it"
            self._report_failure(run.subject, Failure(Outcome.FAILED, reason, hint))

    def _end_failed(self, live: _Live, run: ComparisonRun, table: ProgressTable[ComparisonRun]) -> None:
        """End a failed comparison; a lost device ends all others too, whose pairs stay in their journals."""
        if run.failure is None or run not in live:
            return
        self._end(live, run)
        if run.failure.outcome is Outcome.DEVICE_LOST:
            for affected in list(live):
                affected.fail(run.failure)
                table.update(affected)
                self._end(live, affected)

    def _comparison_run(
        self, subject: ComparisonSubject, session: Session, stack: contextlib.ExitStack
    ) -> ComparisonRun:
        def make_launcher(job: Job) -> Launcher:
            scratch = stack.enter_context(open_scratch_folder())
            return Launcher(job, session, self._frameworks[job.benchmark.framework], scratch, time.time)

        return ComparisonRun(
            subject, self._parameters, make_launcher=make_launcher, journals=self._journals, resume=self._resume
        )

"""One device's share of a comparison: one pair of each benchmark in turn, until all are decided or out of budget.

Taking turns spreads the pairs of each benchmark over time, so that a bad minute of the machine is shared by all.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.analysis.compare.discovery import regressions, wanting
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem
from harness.core.measurement import Job
from harness.core.protocols import Board, Display, Framework, Platform, Session
from harness.core.result import Outcome
from harness.flows.compare.comparison_run import ComparisonRun, ComparisonSubject
from harness.flows.compare.discoveries import Discoveries
from harness.flows.compare.progress_rows import HEADER, progress_row
from harness.flows.measure.plan import Failure
from harness.run.launcher import Launcher
from harness.shell import Interrupted, pause

Tell = Callable[[ComparisonRun], None]
"""Told each comparison when it leaves."""


Refuse = Callable[[ComparisonSubject, Failure], None]
"""Told what cannot even begin."""


class RoundRobinScheduler:
    """Compares on one device.

    Args:
        device: Where.
        platform: How to hold it.
        frameworks: By name.
        parameters: How comparisons are decided.
        journals: Folder of journals.
        resume: Whether to go on where an interrupted comparison was.
        discoveries: Knows the regressions that left, on all devices.
        tell: Told each comparison when it leaves.
        refuse: Told each comparison that cannot begin.
        check: Called before each pair; what it raises ends the rounds.
        display: Shown the standings.
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
        discoveries: Discoveries[ComparisonRun],
        tell: Tell,
        refuse: Refuse,
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
        self._tell = tell
        self._refuse = refuse
        self._check = check
        self._display = display

    def run(self, subjects: Sequence[ComparisonSubject]) -> None:
        """Every comparison is told exactly once, whatever happens."""
        with contextlib.ExitStack() as stack:
            try:
                session = stack.enter_context(self._platform.open(self._device, self._display))
            except EnvironmentProblem as error:
                self._display.say(f"✗ {self._device.name}: {error.message}")
                for subject in subjects:
                    self._refuse(subject, Failure(Outcome.DEVICE_LOST, error.message, error.hint, environment=True))
                return
            runs = [self._comparison_run(subject, session, stack) for subject in subjects]
            board = stack.enter_context(self._display.board(f"comparing on {self._device.name}", HEADER))
            self._take_turns(runs, board)

    def _take_turns(self, runs: Sequence[ComparisonRun], board: Board) -> None:
        live = list(runs)
        for run in runs:
            if run not in live:
                break  # the device was lost
            run.begin()
            self._show(runs, board)
            self._leave_failed(live, run)
        while live:
            self._leave_done(live)
            self._show(runs, board)
            for run in list(live):
                if run not in live:
                    continue  # it left with a lost device
                self._check()
                run.step()
                self._show(runs, board)
                pause(run.subject.treatment.benchmark.cooldown_s)
                self._leave_failed(live, run)

    def _show(self, runs: Sequence[ComparisonRun], board: Board) -> None:
        settled = self._discoveries.settled()
        board.show([progress_row(run, discovered=run in settled) for run in runs])

    def _leave_done(self, live: list[ComparisonRun]) -> None:
        """Those that want no more pairs leave, all at once: regressions may need each other to be discovered."""
        tests = {run: run.test for run in live}
        wanted = wanting(tests, self._discoveries.if_these_left(regressions(tests)))
        for run in [run for run in live if run not in wanted]:
            self._leave(live, run)

    def _leave(self, live: list[ComparisonRun], run: ComparisonRun) -> None:
        live.remove(run)
        run.end()
        try:
            self._tell(run)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            reason = f"the harness itself failed: {type(error).__name__}: {error}"
            self._refuse(run.subject, Failure(Outcome.FAILED, reason, "a defect of the harness: please report it"))

    def _leave_failed(self, live: list[ComparisonRun], run: ComparisonRun) -> None:
        """A failed comparison leaves; a lost device takes all others along, whose pairs stay in their journals."""
        if run.failure is None or run not in live:
            return
        self._leave(live, run)
        if run.failure[0] is Outcome.DEVICE_LOST:
            for other in list(live):
                other.failure = run.failure
                self._leave(live, other)

    def _comparison_run(
        self, subject: ComparisonSubject, session: Session, stack: contextlib.ExitStack
    ) -> ComparisonRun:
        def make_launcher(job: Job) -> Launcher:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="edge-harness-"))
            return Launcher(job, session, self._frameworks[job.benchmark.framework], Path(scratch), time.time)

        return ComparisonRun(
            subject, self._parameters, make_launcher=make_launcher, journals=self._journals, resume=self._resume
        )

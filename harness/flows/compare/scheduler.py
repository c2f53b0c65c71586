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
from harness.flows.compare.comparison_run import Contest, Versus
from harness.flows.compare.discoveries import Discoveries
from harness.flows.compare.progress_rows import HEADER, standing
from harness.flows.measure.plan import Failure
from harness.run.launcher import Arm
from harness.shell import Interrupted, pause

Tell = Callable[[Contest], None]
"""Told each comparison when it leaves."""


Refuse = Callable[[Versus, Failure], None]
"""Told what cannot even begin."""


class Rounds:
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
        discoveries: Discoveries[Contest],
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

    def run(self, subjects: Sequence[Versus]) -> None:
        """Every comparison is told exactly once, whatever happens."""
        with contextlib.ExitStack() as stack:
            try:
                session = stack.enter_context(self._platform.open(self._device, self._display))
            except EnvironmentProblem as error:
                self._display.say(f"✗ {self._device.name}: {error.message}")
                for versus in subjects:
                    self._refuse(versus, Failure(Outcome.DEVICE_LOST, error.message, error.hint, environment=True))
                return
            contests = [self._contest(versus, session, stack) for versus in subjects]
            board = stack.enter_context(self._display.board(f"comparing on {self._device.name}", HEADER))
            self._take_turns(contests, board)

    def _take_turns(self, contests: Sequence[Contest], board: Board) -> None:
        live = list(contests)
        for contest in contests:
            if contest not in live:
                break  # the device was lost
            contest.begin()
            self._show(contests, board)
            self._leave_failed(live, contest)
        while live:
            self._leave_done(live)
            self._show(contests, board)
            for contest in list(live):
                if contest not in live:
                    continue  # it left with a lost device
                self._check()
                contest.step()
                self._show(contests, board)
                pause(contest.versus.treatment.benchmark.cooldown_s)
                self._leave_failed(live, contest)

    def _show(self, contests: Sequence[Contest], board: Board) -> None:
        settled = self._discoveries.settled()
        board.show([standing(contest, discovered=contest in settled) for contest in contests])

    def _leave_done(self, live: list[Contest]) -> None:
        """Those that want no more pairs leave, all at once: regressions may need each other to be discovered."""
        judges = {contest: contest.judge for contest in live}
        wanted = wanting(judges, self._discoveries.if_these_left(regressions(judges)))
        for contest in [contest for contest in live if contest not in wanted]:
            self._leave(live, contest)

    def _leave(self, live: list[Contest], contest: Contest) -> None:
        live.remove(contest)
        contest.end()
        try:
            self._tell(contest)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            reason = f"the harness itself failed: {type(error).__name__}: {error}"
            self._refuse(contest.versus, Failure(Outcome.FAILED, reason, "a defect of the harness: please report it"))

    def _leave_failed(self, live: list[Contest], contest: Contest) -> None:
        """A failed comparison leaves; a lost device takes all others along, whose pairs stay in their journals."""
        if contest.failure is None or contest not in live:
            return
        self._leave(live, contest)
        if contest.failure[0] is Outcome.DEVICE_LOST:
            for other in list(live):
                other.failure = contest.failure
                self._leave(live, other)

    def _contest(self, versus: Versus, session: Session, stack: contextlib.ExitStack) -> Contest:
        def make_arm(job: Job) -> Arm:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="edge-harness-"))
            return Arm(job, session, self._frameworks[job.benchmark.framework], Path(scratch), time.time)

        return Contest(versus, self._parameters, make_arm=make_arm, journals=self._journals, resume=self._resume)

"""Resuming: nothing is lost, measured or reported twice, and no failure becomes a success."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.core.benchmark import Benchmark, HostStep
from harness.core.command import Command, Completed
from harness.core.comparison import Parameters
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem, ExitCode
from harness.core.protocols import Progress
from harness.core.result import Outcome
from harness.core.verdict import Verdict
from harness.flows.measure.plan import Plan
from harness.shell import Interrupted
from tests.flows.instant import Instant, InstantSession, Watch, plan
from tests.flows.runs import FEWEST, SAME, Run

NAMES = ["worse-on-A-B", *SAME]


def interrupting(device: str, after: int) -> Watch:
    """Press Ctrl-C during the n-th launch on a device."""
    launches = 0

    def watch(launch: str) -> None:
        nonlocal launches
        launches += launch.startswith(device)
        if launch.startswith(device) and launches > after:
            raise Interrupted("now")

    return watch


@pytest.fixture
def interrupted(tmp_path: Path) -> Run:
    """Return a run interrupted in its second round on B, while a regression on A waits for support."""
    run = Run(tmp_path)
    with pytest.raises(Interrupted):
        run.compare(["A", "B"], NAMES, watch=interrupting("B", 30))
    return run


def test_decided_pairs_are_reported_without_a_launch(interrupted: Run, tmp_path: Path) -> None:
    assert "worse-on-A-B" not in {name for name, _, _ in interrupted.recorder.verdicts()}
    again = Run(tmp_path)
    verdicts = again.compare(["A", "B"], NAMES, resume=True)
    regressions = {verdict for verdict in verdicts if verdict[2] is Verdict.REGRESSION}
    assert regressions == {("worse-on-A-B", name, Verdict.REGRESSION) for name in ("A", "B")}
    assert again.launches_of("A") == 0
    assert again.launches_of("B") > 0
    assert {result.outcome for result in again.recorder.results} == {Outcome.OK}
    assert again.waiting() == 0


def test_a_result_without_a_launch_has_a_note(interrupted: Run, tmp_path: Path) -> None:
    again = Run(tmp_path)
    again.compare(["A", "B"], NAMES, resume=True)
    (resumed_result,) = [
        result for result in again.recorder.results if result.device and result.device.name == "A" and result.comparison
    ]
    assert resumed_result.comparison is not None
    assert resumed_result.launches == ()
    assert (resumed_result.comparison.metric, resumed_result.comparison.unit) == ("NET latency", "us")
    (note,) = [note for note in resumed_result.comparison.notes if note.code == "resumed"]
    assert note.message.startswith("8 of 8 pairs")


def test_reported_results_are_neither_measured_nor_reported_again(interrupted: Run, tmp_path: Path) -> None:
    before = {(name, device) for name, device, _ in interrupted.recorder.verdicts()}
    assert len(before) >= 4
    again = Run(tmp_path)
    verdicts = {(name, device) for name, device, _ in again.compare(["A", "B"], NAMES, resume=True)}
    assert verdicts.isdisjoint(before)
    assert len(verdicts | before) == 10
    assert not any(again.launches_of(device, name) for name, device in before)
    assert f"{len(before)} comparisons were reported before the interruption: not measured again" in again.display.lines


def test_reported_results_count_and_are_sent_to_listeners_again(interrupted: Run, tmp_path: Path) -> None:
    again = Run(tmp_path)
    again.compare(["A", "B"], NAMES, resume=True)
    assert sorted(again.listener.verdicts()) == sorted([*again.recorder.verdicts(), *interrupted.recorder.verdicts()])
    assert again.reporting.verdicts.total() == 10


def test_a_reported_regression_keeps_the_exit_code_and_supports_others(tmp_path: Path) -> None:
    run, names = Run(tmp_path), ["worse-on-A-B", "worse-2-on-A", *SAME]
    with pytest.raises(Interrupted):
        run.compare(["A", "B"], names, watch=interrupting("B", 30))
    assert {verdict for verdict in run.recorder.verdicts() if verdict[2] is Verdict.REGRESSION} == {
        ("worse-on-A-B", "A", Verdict.REGRESSION),
        ("worse-2-on-A", "A", Verdict.REGRESSION),
    }
    again = Run(tmp_path)
    verdicts = again.compare(["A", "B"], names, resume=True)
    assert {verdict for verdict in verdicts if verdict[2] is Verdict.REGRESSION} == {
        ("worse-on-A-B", "B", Verdict.REGRESSION)
    }
    assert all(device == "B" for _, device, _ in verdicts)
    assert again.reporting.verdicts[Verdict.REGRESSION] == 3
    assert again.waiting() == 0


def test_a_reported_comparison_continues_with_other_parameters(interrupted: Run, tmp_path: Path) -> None:
    again = Run(tmp_path)
    verdicts = again.compare(["A", "B"], NAMES, parameters=FEWEST.model_copy(update={"margin": 0.02}), resume=True)
    assert len(verdicts) == 10


def test_a_result_that_was_deleted_is_reported_again_from_its_pairs(interrupted: Run, tmp_path: Path) -> None:
    for file in interrupted.results.rglob("result.json"):
        file.unlink()
    again = Run(tmp_path)
    assert len(again.compare(["A", "B"], NAMES, resume=True)) == 10
    assert again.launches_of("A") == 0


def test_after_a_complete_run_there_is_nothing_to_resume(tmp_path: Path) -> None:
    Run(tmp_path).compare(["A"], SAME)
    again = Run(tmp_path)
    assert len(again.compare(["A"], SAME, resume=True)) == 4
    assert all(again.launches_of("A", name) > 8 for name in SAME)


def test_an_unstored_result_is_reported_by_the_next_run_without_a_launch(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.results.write_text("a file, where a folder should be")
    run.compare(["A"], ["worse-on-A"])
    assert not run.reporting.stored
    assert run.waiting() == 1
    run.results.unlink()
    again = Run(tmp_path)
    assert again.compare(["A"], ["worse-on-A"], resume=True) == [("worse-on-A", "A", Verdict.REGRESSION)]
    assert again.launched == []
    assert again.reporting.exit_code() is ExitCode.REGRESSION
    assert again.waiting() == 0


def test_a_failure_after_the_last_pair_stays_a_failure(tmp_path: Path) -> None:
    for resume in (False, True):
        run = Run(tmp_path)
        made = plan(Instant(["A"], run.launched.append), ["worse-on-A"])
        failing = made.assignments[0].benchmark.model_copy(update={"model_after": HostStep(commands=("false",))})
        run.follow(_with(made, failing), resume=resume)
        assert [result.outcome for result in run.recorder.results] == [Outcome.FAILED]
        assert run.waiting() == 1


def test_a_rejected_regression_is_reported_again_when_a_lost_device_supports_it(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.follow(plan(_Unreachable(["A", "B"], lost="B"), NAMES))
    assert ("worse-on-A-B", "A", Verdict.UNDECIDED) in run.recorder.verdicts()
    again = Run(tmp_path)
    verdicts = again.compare(["A", "B"], NAMES, resume=True)
    assert {verdict for verdict in verdicts if verdict[2] is Verdict.REGRESSION} == {
        ("worse-on-A-B", "A", Verdict.REGRESSION),
        ("worse-on-A-B", "B", Verdict.REGRESSION),
    }
    assert again.launches_of("A") == 0


def test_pairs_beyond_a_smaller_budget_are_ignored(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(Interrupted):
        run.compare(["A"], ["worse-on-A"], parameters=Parameters(seed=3, precision=1e-9), watch=interrupting("A", 42))
    again = Run(tmp_path)
    again.compare(["A"], ["worse-on-A"], resume=True)
    assert again.recorder.results[0].comparison is not None
    assert [pair.index for pair in again.recorder.results[0].comparison.pairs] == list(range(8))
    assert again.launched == []


def test_launches_lost_before_an_interruption_prevent_no_change(tmp_path: Path) -> None:
    run, launched = Run(tmp_path), Counter[str]()
    endless = Parameters(seed=3, beta=1e-9, precision=1e-9)

    def watch(launch: str) -> None:
        launched[launch] += 1
        if launched[launch] > 50:
            raise Interrupted("now")

    with pytest.raises(Interrupted):
        run.follow(plan(_Flaky(["A"], watch), ["same"]), parameters=endless)
    again = Run(tmp_path)
    again.compare(["A"], ["same"], parameters=Parameters(seed=3), resume=True)
    (result,) = again.recorder.results
    assert result.comparison is not None
    assert result.comparison.verdict is Verdict.UNDECIDED
    assert "without that" in result.comparison.reason
    assert not result.trusted
    assert result.comparison.seconds > sum(pair.seconds for pair in result.comparison.pairs)


def test_an_error_on_one_device_does_not_lose_a_waiting_regression_of_another(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(EnvironmentProblem, match="could not be restored"):
        run.follow(plan(_Unrestorable(["A", "B"]), ["worse-on-A", *SAME]))
    assert len(run.recorder.verdicts()) == 10
    assert ("worse-on-A", "A", Verdict.UNDECIDED) in run.recorder.verdicts()
    assert run.waiting() == 10


def test_stopping_a_run_leaves_regressions_waiting(tmp_path: Path) -> None:
    run, on_b = Run(tmp_path), Counter[int]()

    def watch(launch: str) -> None:
        if launch.startswith("B"):
            on_b[threading.get_ident()] += 1

    def stop() -> None:
        if on_b[threading.get_ident()] > 30:
            raise EnvironmentProblem("a person wants it to stop")

    with pytest.raises(EnvironmentProblem, match="a person"):
        run.follow(plan(Instant(["A", "B"], watch), NAMES), check=stop)
    verdicts = {(name, device) for name, device, _ in run.recorder.verdicts()}
    assert {(name, "A") for name in SAME} <= verdicts
    assert ("worse-on-A-B", "A") not in verdicts


class _Unreachable(Instant):
    """Platform of which one device is missing."""

    def __init__(self, names: list[str], lost: str) -> None:
        super().__init__(names)
        self._lost = lost

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        if device.name == self._lost:
            raise EnvironmentProblem("it is not there")
        with super().open(device, progress) as session:
            yield session


class _Flaky(Instant):
    """Platform on which every sixth launch of the treatment crashes."""

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        yield _FlakySession(device, self._watch)


class _FlakySession(InstantSession):
    treatments = 0

    def run(self, command: Command) -> Completed:
        done = super().run(command)
        self.treatments += command.argv[0] == "/treatment"
        crashed = command.argv[0] == "/treatment" and self.treatments % 6 == 0
        return replace(done, exit_code=None, signal=11) if crashed else done


class _Unrestorable(Instant):
    """Platform of which one device cannot be restored."""

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        with super().open(device, progress) as session:
            yield session
        if device.name == "B":
            raise EnvironmentProblem("a setting of B could not be restored")


def _with(made: Plan, benchmark: Benchmark) -> Plan:
    return replace(made, assignments=tuple(replace(assignment, benchmark=benchmark) for assignment in made.assignments))

"""Comparisons on several devices: time of each report, and changes among many benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.compare.recompute import recompute
from harness.core.comparison import Parameters
from harness.core.errors import ExitCode
from harness.core.verdict import Verdict
from harness.shell import Interrupted
from tests.flows.runs import SAME, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_regressions_on_two_devices_support_each_other(run: Run) -> None:
    verdicts = run.compare(["A", "B"], ["worse-on-A-B", *SAME])
    assert len(verdicts) == 10
    assert {verdict for verdict in verdicts if verdict[2] is Verdict.REGRESSION} == {
        ("worse-on-A-B", "A", Verdict.REGRESSION),
        ("worse-on-A-B", "B", Verdict.REGRESSION),
    }
    assert run.reporting.exit_code() is ExitCode.REGRESSION
    assert run.waiting() == 0


def test_a_regression_without_support_is_reported_last_and_as_undecided(run: Run) -> None:
    verdicts = run.compare(["A", "B"], ["worse-on-A", *SAME])
    assert verdicts[-1] == ("worse-on-A", "A", Verdict.UNDECIDED)
    comparison = run.recorder.results[-1].comparison
    assert comparison is not None
    assert (comparison.verdict, comparison.discovered) == (Verdict.REGRESSION, False)
    assert 100 < comparison.evidence.regression < 200
    assert run.waiting() == 0


def test_improvements_support_each_other_and_no_regression(run: Run) -> None:
    verdicts = run.compare(["A", "B"], ["better-on-A-B", "worse-on-A", *SAME])
    assert {verdict for verdict in verdicts if verdict[2].is_change} == {
        ("better-on-A-B", "A", Verdict.IMPROVEMENT),
        ("better-on-A-B", "B", Verdict.IMPROVEMENT),
    }
    assert run.waiting() == 0


def test_an_improvement_without_support_is_reported_last_and_as_undecided(run: Run) -> None:
    verdicts = run.compare(["A", "B"], ["better-on-A", *SAME])
    assert verdicts[-1] == ("better-on-A", "A", Verdict.UNDECIDED)
    comparison = run.recorder.results[-1].comparison
    assert comparison is not None
    assert (comparison.verdict, comparison.discovered) == (Verdict.IMPROVEMENT, False)
    assert run.reporting.exit_code() is ExitCode.UNDECIDED


def test_a_sufficient_regression_is_reported_before_the_other_results(run: Run) -> None:
    slow_to_say_no_change = Parameters(seed=3, beta=1e-9, max_pairs=80)
    verdicts = run.compare(["A"], ["worse-on-A", *SAME], parameters=slow_to_say_no_change)
    assert [verdict for _, _, verdict in verdicts[1:]] == [Verdict.NO_CHANGE] * 4
    assert verdicts[0] == ("worse-on-A", "A", Verdict.REGRESSION)


def test_with_budget_left_a_regression_is_measured_until_it_is_a_discovery(run: Run) -> None:
    run.compare(["A", "B"], ["worse-on-A", *SAME], parameters=Parameters(seed=3, max_pairs=40))
    comparison = {
        (result.benchmark.identifier, result.device.name): result.comparison
        for result in run.recorder.results
        if result.device
    }["worse-on-A", "A"]
    assert comparison is not None
    assert comparison.effective_verdict is Verdict.REGRESSION
    assert comparison.evidence.regression >= 200
    assert len(comparison.pairs) > 8


def test_a_waiting_report_is_not_lost_by_an_interruption(run: Run, tmp_path: Path) -> None:
    """Interrupt the run on B while a regression on A waits for support."""
    launches = 0

    def interrupt(launch: str) -> None:
        nonlocal launches
        launches += launch.startswith("B")
        if launches > 30:
            raise Interrupted("now")

    with pytest.raises(Interrupted):
        run.compare(["A", "B"], ["worse-on-A-B", *SAME], watch=interrupt)
    assert "worse-on-A-B" not in {name for name, _, _ in run.recorder.verdicts()}
    again = Run(tmp_path)
    verdicts = again.compare(["A", "B"], ["worse-on-A-B", *SAME], resume=True)
    regressions = {verdict for verdict in verdicts if verdict[2] is Verdict.REGRESSION}
    assert regressions == {("worse-on-A-B", name, Verdict.REGRESSION) for name in ("A", "B")}
    assert again.waiting() == 0


def test_counts_are_compared_exactly_in_few_pairs(run: Run) -> None:
    run.compare(["A", "B"], ["counts-on-A"], parameters=Parameters(seed=3))
    comparisons = {result.device.name: result.comparison for result in run.recorder.results if result.device}
    slower, same = comparisons["A"], comparisons["B"]
    assert slower is not None
    assert same is not None
    assert (same.verdict, len(same.pairs), same.low, same.high) == (Verdict.NO_CHANGE, 1, 0.0, 0.0)
    assert (slower.verdict, len(slower.pairs)) == (Verdict.REGRESSION, 4)
    assert slower.low == slower.high == slower.difference == pytest.approx(0.001)
    assert recompute(slower).verdict is Verdict.REGRESSION


def test_progress_rows_show_only_discoveries_as_regressions(run: Run) -> None:
    run.compare(["A", "B"], ["worse-on-A", *SAME])
    rows = {(board.title, row.cells[0]): row.cells[-1] for board in run.display.boards for row in board.rows}
    assert rows["comparing on A", "m/worse-on-A"] == "worse?"
    run = Run(run.settings.cache_dir / "better")
    run.compare(["A", "B"], ["better-on-A", *SAME])
    assert "better?" in {row.cells[-1] for board in run.display.boards for row in board.rows}
    other = Run(run.settings.cache_dir / "other")
    other.compare(["A"], ["worse-on-A"])
    assert other.display.boards[0].rows[0].cells[-1] == "regression"

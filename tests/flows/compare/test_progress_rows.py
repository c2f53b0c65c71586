"""Progress rows: state of a comparison, and its likely verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from harness.analysis.compare.discovery import ProvenChange
from harness.core.comparison import Parameters
from harness.core.metric import FIRST_TOKEN, LATENCY
from harness.core.protocols import BoardRow
from harness.core.result import Outcome, Report
from harness.core.verdict import Verdict
from harness.flows.compare.comparison_run import ComparisonRun, Hypothesis
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.compare.progress_rows import HEADER, SUSPECTED, ProgressTable, progress_row
from harness.flows.measure.plan import Failure
from harness.running.compared_metric import ComparedMetric
from tests.presentation.comparison_samples import PARAMETERS, compared, made_pairs


@dataclass(frozen=True, eq=False)
class _Run:
    """Stub of a run with the attributes that a row uses."""

    decisions: Sequence[MetricDecision]
    failure: Failure | None = None
    title: str = "m/a"

    @property
    def pairs(self) -> int:
        return self.decisions[0].test.pairs


class _CountingBoard:
    """Board that records which rows were replaced."""

    def __init__(self) -> None:
        self.replaced: list[tuple[int, str]] = []

    def show(self, rows: Sequence[BoardRow]) -> None:
        self.replaced += [(number, row.cells[-1]) for number, row in enumerate(rows)]

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        assert row().is_decided is is_decided
        self.replaced.append((number, row().cells[-1]))


def _decided(change: float, count: int, parameters: Parameters = PARAMETERS, metric: str = LATENCY) -> MetricDecision:
    decision = MetricDecision(ComparedMetric(metric, "us"), parameters)
    for pair in made_pairs(change, count):
        decision.add(pair)
    return decision


def _run(*decisions: MetricDecision, failure: Failure | None = None) -> ComparisonRun:
    return cast("ComparisonRun", _Run(decisions, failure))


def _row(
    change: float,
    count: int,
    *,
    parameters: Parameters = PARAMETERS,
    outcome: Outcome | None = None,
    discovered: bool = True,
) -> list[str]:
    decision = _decided(change, count, parameters)
    failure = None if outcome is None else Failure(outcome, "why")
    row = progress_row(_run(decision, failure=failure), decision, discovered=discovered)
    assert len(row.cells) == len(HEADER)
    assert row.is_decided is (row.cells[-1] not in {"", *SUSPECTED.values()})
    return [cell.strip() for cell in row.cells]


def test_before_the_first_pair_no_verdict_is_shown() -> None:
    assert _row(0.0, 0) == ["m/a", "0/100", "", "", "░░░░░░░░", ""]


def test_a_row_has_pairs_difference_and_interval() -> None:
    assert _row(0.03, 20) == ["m/a", "20/100", "+2.99 %", "+2.71 … +3.26 %", "▼ ████████", "regression"]


def test_a_change_that_may_not_survive_among_many_is_a_suspicion() -> None:
    assert _row(0.03, 20, discovered=False)[4:] == ["▼ ████████", "worse?"]
    assert _row(-0.03, 20, discovered=False)[4:] == ["▲ ████████", "better?"]
    assert _row(0.0, 20, discovered=False)[5] == "no change"
    assert _row(0.03, 2, discovered=False)[5] == ""


@pytest.mark.parametrize(
    ("change", "mark", "verdict"), [(0.03, "▼", "regression"), (-0.03, "▲", "improvement"), (0.0, "=", "no change")]
)
def test_the_bar_fills_towards_the_likely_verdict(change: float, mark: str, verdict: str) -> None:
    bars = [_row(change, count)[4] for count in range(1, 21)]
    filled = [bar.count("█") for bar in bars]
    assert filled == sorted(filled)
    assert bars[-1] == f"{mark} ████████"
    undecided = [bar for bar, count in zip(bars, range(1, 21), strict=True) if not _row(change, count)[5]]
    assert undecided
    assert all("░" in bar for bar in undecided), "a full bar is a verdict"
    assert _row(change, 20)[5] == verdict


def test_a_pair_replaces_the_row_of_its_benchmark_and_those_that_became_discoveries() -> None:
    runs = [_run(_decided(*((0.03, 8) if number < 2 else (0.0, 3)))) for number in range(20)]
    discoveries: FalseDiscoveryFilter[Hypothesis] = FalseDiscoveryFilter(20, 0.05, lambda *_: None)
    board = _CountingBoard()
    table = ProgressTable(runs, board, discoveries)
    assert board.replaced[:3] == [(0, "worse?"), (1, "worse?"), (2, "")]
    board.replaced.clear()
    table.update(runs[7])
    assert board.replaced == [(7, "")]
    report = Report(result=compared("a", made_pairs(0.03, 8), discovered=False))
    for run in runs[:2]:
        discoveries.add((run, run.decisions[0]), ProvenChange(Verdict.REGRESSION, 300.0), report)
    table.update(runs[5])
    assert sorted(board.replaced[1:]) == [(0, "regression"), (1, "regression"), (5, "")]


def test_each_metric_of_a_benchmark_has_a_row() -> None:
    rate, first = _decided(0.03, 20), _decided(0.0, 20, metric=FIRST_TOKEN)
    run, board = _run(rate, first), _CountingBoard()
    table = ProgressTable([run], board, FalseDiscoveryFilter(2, 0.05, lambda *_: None))
    table.update(run)
    assert board.replaced == [(0, "worse?"), (1, "no change")] * 2
    assert progress_row(run, first, discovered=False).cells[0] == "m/a: time to first token"


def test_a_metric_that_is_not_reported_is_not_compared() -> None:
    rate, first = _decided(0.0, 0), _decided(0.0, 0, metric=FIRST_TOKEN)
    row = progress_row(_run(rate), first, discovered=False)
    assert (row.cells[-1], row.is_decided) == ("not reported", True)


def test_a_gate_never_shows_an_improvement() -> None:
    gate = PARAMETERS.model_copy(update={"gate": True})
    assert all("▲" not in _row(-0.03, count, parameters=gate)[4] for count in range(20))


def test_a_failure_is_shown_by_its_outcome() -> None:
    assert _row(0.03, 2, outcome=Outcome.DEVICE_LOST) == ["m/a", "2", "", "", "", "device lost"]


def test_the_bar_can_be_left_out_of_logs() -> None:
    assert not any(map(str.isalnum, _row(0.03, 20)[4]))
